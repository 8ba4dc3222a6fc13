//! Configurations of one catalog, and where each makes a condition look.

use std::{
    fs,
    path::Path,
    sync::{Arc, LazyLock},
    time::Duration,
};

use ros2_memory_config::{Loader, load_definitions};
use ros2_memory_msg::Library;
use ros2_memory_query::Memory;

use crate::said::Type;

/// Which message types are configured how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Types {
    /// As shipped.
    Shipped,
    /// Other fields are indexed, and some conditions look elsewhere.
    Other,
    /// Little is indexed.
    Bare,
}

/// How a memory is opened.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Configured {
    pub(crate) types: Types,
    pub(crate) jitter_m: f64,
    pub(crate) max_speed_mps: f64,
}

static LIBRARY: LazyLock<Arc<Library>> = LazyLock::new(|| Arc::new(load_definitions(&[]).library));

const OTHER: &str = r#"
schemas:
  std_msgs/msg/String: {value: data}
  rcl_interfaces/msg/Log: {name: name, level: level, msg: msg}
  ros2_vision_interfaces/msg/VisionDetectionArray: {skill: skill, detections: detections}
  sensor_msgs/msg/BatteryState: {value: voltage, percentage: percentage}
  std_msgs/msg/Float64: {value: data}
  nav_msgs/msg/Odometry: {position: pose.pose.position, orientation: pose.pose.orientation}
  geometry_msgs/msg/PoseStamped: {position: pose.position, orientation: pose.orientation}
index:
  std_msgs/msg/String: {labels: data}
  rcl_interfaces/msg/Log: {labels: name, text: msg, numbers: level}
  ros2_vision_interfaces/msg/VisionDetectionArray:
    {labels: skill, text: "detections[].label", position: "detections[].point"}
  sensor_msgs/msg/BatteryState: {numbers: [voltage]}
  nav_msgs/msg/Odometry: {numbers: pose.pose.position.x, position: pose.pose.position}
  geometry_msgs/msg/PoseStamped: {numbers: pose.position.x}
"#;

const BARE: &str = r"
schemas:
  std_msgs/msg/String: {value: data}
  rcl_interfaces/msg/Log: {msg: msg}
  ros2_vision_interfaces/msg/VisionDetectionArray: {skill: skill}
  nav_msgs/msg/Odometry: {position: pose.pose.position, orientation: pose.pose.orientation}
index:
  ros2_vision_interfaces/msg/VisionDetectionArray: {labels: skill, numbers: 'detections[].score'}
";

impl Types {
    pub(crate) const ALL: [Self; 3] = [Self::Shipped, Self::Other, Self::Bare];

    const fn text(self) -> &'static str {
        match self {
            Self::Shipped => "{}\n",
            Self::Other => OTHER,
            Self::Bare => BARE,
        }
    }

    /// Where `contains` looks without a field.
    pub(crate) const fn text_paths(self, of: Type) -> &'static [&'static str] {
        match (of, self) {
            (Type::Text | Type::Stamped, _) => &["data"],
            (Type::Log, Self::Shipped | Self::Other) => &["name", "msg"],
            // Nothing of it is configured: all of its text counts.
            (Type::Log, Self::Bare) => &["name", "msg", "file", "function"],
            (Type::Seen, Self::Shipped) => &["detections[].label"],
            (Type::Seen, Self::Other) => &["skill", "detections[].label"],
            (Type::Seen, Self::Bare) => &["skill"],
            _ => &[],
        }
    }

    /// Where `equals`, `above` and `below` look without a field.
    pub(crate) const fn value_path(self, of: Type) -> Option<&'static str> {
        match (of, self) {
            (
                Type::Text
                | Type::Stamped
                | Type::Float64
                | Type::Float32
                | Type::Int32
                | Type::Bool,
                _,
            ) => Some("data"),
            (Type::Battery, Self::Other) => Some("voltage"),
            (Type::Battery, Self::Shipped | Self::Bare) => Some("percentage"),
            _ => None,
        }
    }

    /// Where `near_position` looks without a field.
    pub(crate) const fn place_path(self, of: Type) -> Option<&'static str> {
        match (of, self) {
            (Type::Odometry, _) => Some("pose.pose.position"),
            (Type::Pose, _) => Some("pose.position"),
            (Type::Point, _) => Some("point"),
            (Type::Seen, Self::Shipped | Self::Other) => Some("detections[].point"),
            _ => None,
        }
    }
}

impl Configured {
    /// Opens the memory over a directory, with or without waiting for the first look through it.
    pub(crate) fn open(&self, dir: &Path, is_waited_for: bool) -> Memory {
        let own = tempfile::tempdir().unwrap();
        fs::write(own.path().join("message_schemas.yaml"), self.types.text()).unwrap();
        let overrides = vec![
            format!("recording.bag_dir={}", dir.display()),
            "recorder=none".to_owned(),
            format!("data.jitter_m={}", self.jitter_m),
            format!("data.max_speed_mps={}", self.max_speed_mps),
        ];
        let from = Loader { dir: Some(own.path().to_owned()), overrides };
        let loaded = from.load(&|_| None).expect("the configuration loads");
        let mut catalog = loaded.catalog_settings(LIBRARY.clone());
        // The folder is looked through when it has changed, without a pause for more changes.
        catalog.watch = false;
        let memory = Memory::open(catalog, loaded.query_settings(), loaded.schema_map())
            .expect("the bag directory opens");
        if is_waited_for {
            assert!(memory.wait_until_indexed(Duration::from_secs(60)));
        }
        memory
    }
}
