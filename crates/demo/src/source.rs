use crate::{
    chance::Chance,
    definitions::definition,
    record::ChannelSpec,
    timetable::{Stamps, Timetable},
};

/// What one channel publishes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    Odometry,
    OdomTransform,
    MapTransform,
    CameraMount,
    LaserMount,
    Command,
    Scan,
    Battery,
    Diagnostics,
    Estop,
    Log,
    Description,
    SceneObjects,
    Detections,
}

/// The channels in the order of their numbers.
pub(crate) const SOURCES: [Source; 14] = [
    Source::Odometry,
    Source::OdomTransform,
    Source::MapTransform,
    Source::CameraMount,
    Source::LaserMount,
    Source::Command,
    Source::Scan,
    Source::Battery,
    Source::Diagnostics,
    Source::Estop,
    Source::Log,
    Source::Description,
    Source::SceneObjects,
    Source::Detections,
];

const DELAY_NS: (u64, u64) = (500_000, 3_500_000);
const EARLY_NS: (u64, u64) = (500_000, 1_600_000);
const LATE_NS: (u64, u64) = (2_200_000, 1_800_000);
const MS: u64 = 1_000_000;
/// Both dynamic transforms share a phase, so that their stamps coincide once a second.
const TRANSFORM_PHASE_NS: u64 = 4_300_271;

impl Source {
    pub(crate) fn channel(self) -> ChannelSpec {
        let (topic, type_name) = self.topic_and_type();
        let latched = matches!(self, Self::CameraMount | Self::LaserMount);
        ChannelSpec { topic, type_name, definition: definition(type_name), latched }
    }

    /// The place of the channel's log times in the raster, for channels that publish on events.
    pub(crate) const fn event_phase_ns(self) -> u64 {
        if matches!(self, Self::Estop) { 33_900_419 } else { 37_600_103 }
    }

    /// When the channel publishes, given the stamps of events for those that wait for some.
    pub(crate) fn timetable(self, chance: Chance, event_stamps_ns: Vec<u64>) -> Timetable {
        let every =
            |period_ms: u64, phase_ns| Stamps::Every { period_ns: period_ms * MS, phase_ns };
        // The phases leave room for the delays: modulo 50 ms no two windows overlap.
        let (stamps, delay_ns) = match self {
            Self::CameraMount => (Stamps::At(vec![0]), (500_000, 200_000)),
            Self::LaserMount => (Stamps::At(vec![0]), (700_000, 200_000)),
            Self::Odometry => (every(50, 600_137), DELAY_NS),
            Self::OdomTransform => (every(50, TRANSFORM_PHASE_NS), EARLY_NS),
            Self::MapTransform => (every(1000, 200 * MS + TRANSFORM_PHASE_NS), LATE_NS),
            Self::Command => (every(100, 8_000_059), DELAY_NS),
            Self::Scan => (every(500, 111_700_313), DELAY_NS),
            Self::Detections => (every(500, 165_400_211), DELAY_NS),
            Self::Battery => (every(1000, 369_100_033), DELAY_NS),
            Self::Diagnostics => (every(1000, 622_800_197), DELAY_NS),
            Self::SceneObjects => (every(1000, 476_500_389), DELAY_NS),
            Self::Description => (every(2000, 830_200_157), DELAY_NS),
            Self::Estop | Self::Log => (Stamps::At(event_stamps_ns), DELAY_NS),
        };
        Timetable { stamps, chance, channel: self as u8, delay_ns }
    }

    const fn topic_and_type(self) -> (&'static str, &'static str) {
        match self {
            Self::Odometry => ("/odom", "nav_msgs/msg/Odometry"),
            Self::OdomTransform | Self::MapTransform => ("/tf", "tf2_msgs/msg/TFMessage"),
            Self::CameraMount | Self::LaserMount => ("/tf_static", "tf2_msgs/msg/TFMessage"),
            Self::Command => ("/cmd_vel", "geometry_msgs/msg/Twist"),
            Self::Scan => ("/scan", "sensor_msgs/msg/LaserScan"),
            Self::Battery => ("/battery_state", "sensor_msgs/msg/BatteryState"),
            Self::Diagnostics => ("/diagnostics", "diagnostic_msgs/msg/DiagnosticArray"),
            Self::Estop => ("/estop", "std_msgs/msg/Bool"),
            Self::Log => ("/rosout", "rcl_interfaces/msg/Log"),
            Self::Description => {
                ("/vision/scene/scene_description", "ros2_vision_interfaces/msg/StampedString")
            }
            Self::SceneObjects => {
                ("/vision/scene/scene_objects", "ros2_vision_interfaces/msg/StampedString")
            }
            Self::Detections => (
                "/vision/find_object/detections_meta",
                "ros2_vision_interfaces/msg/VisionDetectionArray",
            ),
        }
    }
}
