//! The message definitions that go into a recording, so that it can be read anywhere.

const SEPARATOR: &str =
    "================================================================================\n";

/// Definition of every type used here: name, fields, and the types its fields have.
///
/// Fields and constants are those of the ROS 2 interface packages; the types of
/// `ros2_vision_interfaces` are the vision node's.
const TYPES: &[(&str, &str, &[&str])] = &[
    ("builtin_interfaces/Time", "int32 sec\nuint32 nanosec\n", &[]),
    (
        "std_msgs/Header",
        "builtin_interfaces/Time stamp\nstring frame_id\n",
        &["builtin_interfaces/Time"],
    ),
    ("std_msgs/Bool", "bool data\n", &[]),
    ("geometry_msgs/Point", "float64 x\nfloat64 y\nfloat64 z\n", &[]),
    ("geometry_msgs/Vector3", "float64 x\nfloat64 y\nfloat64 z\n", &[]),
    ("geometry_msgs/Quaternion", "float64 x 0\nfloat64 y 0\nfloat64 z 0\nfloat64 w 1\n", &[]),
    (
        "geometry_msgs/Pose",
        "geometry_msgs/Point position\ngeometry_msgs/Quaternion orientation\n",
        &["geometry_msgs/Point", "geometry_msgs/Quaternion"],
    ),
    (
        "geometry_msgs/PoseWithCovariance",
        "geometry_msgs/Pose pose\nfloat64[36] covariance\n",
        &["geometry_msgs/Pose"],
    ),
    (
        "geometry_msgs/Twist",
        "geometry_msgs/Vector3 linear\ngeometry_msgs/Vector3 angular\n",
        &["geometry_msgs/Vector3"],
    ),
    (
        "geometry_msgs/TwistWithCovariance",
        "geometry_msgs/Twist twist\nfloat64[36] covariance\n",
        &["geometry_msgs/Twist"],
    ),
    (
        "geometry_msgs/Transform",
        "geometry_msgs/Vector3 translation\ngeometry_msgs/Quaternion rotation\n",
        &["geometry_msgs/Vector3", "geometry_msgs/Quaternion"],
    ),
    (
        "geometry_msgs/TransformStamped",
        "std_msgs/Header header\nstring child_frame_id\ngeometry_msgs/Transform transform\n",
        &["std_msgs/Header", "geometry_msgs/Transform"],
    ),
    (
        "tf2_msgs/TFMessage",
        "geometry_msgs/TransformStamped[] transforms\n",
        &["geometry_msgs/TransformStamped"],
    ),
    (
        "nav_msgs/Odometry",
        "std_msgs/Header header\nstring child_frame_id\ngeometry_msgs/PoseWithCovariance pose\n\
         geometry_msgs/TwistWithCovariance twist\n",
        &[
            "std_msgs/Header",
            "geometry_msgs/PoseWithCovariance",
            "geometry_msgs/TwistWithCovariance",
        ],
    ),
    (
        "sensor_msgs/LaserScan",
        "std_msgs/Header header\nfloat32 angle_min\nfloat32 angle_max\nfloat32 angle_increment\n\
         float32 time_increment\nfloat32 scan_time\nfloat32 range_min\nfloat32 range_max\n\
         float32[] ranges\nfloat32[] intensities\n",
        &["std_msgs/Header"],
    ),
    (
        "sensor_msgs/BatteryState",
        "uint8 POWER_SUPPLY_STATUS_UNKNOWN=0\nuint8 POWER_SUPPLY_STATUS_CHARGING=1\n\
         uint8 POWER_SUPPLY_STATUS_DISCHARGING=2\nuint8 POWER_SUPPLY_STATUS_NOT_CHARGING=3\n\
         uint8 POWER_SUPPLY_STATUS_FULL=4\nuint8 POWER_SUPPLY_HEALTH_UNKNOWN=0\n\
         uint8 POWER_SUPPLY_HEALTH_GOOD=1\nuint8 POWER_SUPPLY_HEALTH_OVERHEAT=2\n\
         uint8 POWER_SUPPLY_HEALTH_DEAD=3\nuint8 POWER_SUPPLY_HEALTH_OVERVOLTAGE=4\n\
         uint8 POWER_SUPPLY_HEALTH_UNSPEC_FAILURE=5\nuint8 POWER_SUPPLY_HEALTH_COLD=6\n\
         uint8 POWER_SUPPLY_HEALTH_WATCHDOG_TIMER_EXPIRE=7\n\
         uint8 POWER_SUPPLY_HEALTH_SAFETY_TIMER_EXPIRE=8\n\
         uint8 POWER_SUPPLY_TECHNOLOGY_UNKNOWN=0\nuint8 POWER_SUPPLY_TECHNOLOGY_NIMH=1\n\
         uint8 POWER_SUPPLY_TECHNOLOGY_LION=2\nuint8 POWER_SUPPLY_TECHNOLOGY_LIPO=3\n\
         uint8 POWER_SUPPLY_TECHNOLOGY_LIFE=4\nuint8 POWER_SUPPLY_TECHNOLOGY_NICD=5\n\
         uint8 POWER_SUPPLY_TECHNOLOGY_LIMN=6\nuint8 POWER_SUPPLY_TECHNOLOGY_TERNARY=7\n\
         uint8 POWER_SUPPLY_TECHNOLOGY_VRLA=8\n\
         std_msgs/Header header\nfloat32 voltage\nfloat32 temperature\nfloat32 current\n\
         float32 charge\nfloat32 capacity\nfloat32 design_capacity\nfloat32 percentage\n\
         uint8 power_supply_status\nuint8 power_supply_health\nuint8 power_supply_technology\n\
         bool present\nfloat32[] cell_voltage\nfloat32[] cell_temperature\nstring location\n\
         string serial_number\n",
        &["std_msgs/Header"],
    ),
    ("diagnostic_msgs/KeyValue", "string key\nstring value\n", &[]),
    (
        "diagnostic_msgs/DiagnosticStatus",
        "byte OK=0\nbyte WARN=1\nbyte ERROR=2\nbyte STALE=3\nbyte level\nstring name\n\
         string message\nstring hardware_id\ndiagnostic_msgs/KeyValue[] values\n",
        &["diagnostic_msgs/KeyValue"],
    ),
    (
        "diagnostic_msgs/DiagnosticArray",
        "std_msgs/Header header\ndiagnostic_msgs/DiagnosticStatus[] status\n",
        &["std_msgs/Header", "diagnostic_msgs/DiagnosticStatus"],
    ),
    (
        "rcl_interfaces/Log",
        "byte DEBUG=10\nbyte INFO=20\nbyte WARN=30\nbyte ERROR=40\nbyte FATAL=50\n\
         builtin_interfaces/Time stamp\nuint8 level\nstring name\nstring msg\nstring file\n\
         string function\nuint32 line\n",
        &["builtin_interfaces/Time"],
    ),
    (
        "ros2_vision_interfaces/StampedString",
        "std_msgs/Header header\nstring data\n",
        &["std_msgs/Header"],
    ),
    (
        "ros2_vision_interfaces/VisionDetection",
        "string label\nfloat32 score\n# pixels: left, top, right, bottom\nint32[4] box\n\
         # in the frame of the array's header, when has_point\ngeometry_msgs/Point point\n\
         bool has_point\nstring track_id\n",
        &["geometry_msgs/Point"],
    ),
    (
        "ros2_vision_interfaces/VisionDetectionArray",
        "std_msgs/Header header\nstring skill\n\
         ros2_vision_interfaces/VisionDetection[] detections\n",
        &["std_msgs/Header", "ros2_vision_interfaces/VisionDetection"],
    ),
];

/// The definition of `package/msg/Name`, followed by those of all types it needs, each once.
pub(crate) fn definition(type_name: &str) -> String {
    let short = type_name.replace("/msg/", "/");
    let mut order = vec![];
    gather(&short, &mut order);
    let mut text = String::new();
    for (name, fields) in order {
        if name != short {
            text.push_str(SEPARATOR);
            text.push_str("MSG: ");
            text.push_str(name);
            text.push('\n');
        }
        text.push_str(fields);
    }
    text
}

fn gather(name: &str, order: &mut Vec<(&'static str, &'static str)>) {
    let known = order.iter().any(|(seen, _)| *seen == name);
    if let Some((name, fields, needs)) = TYPES.iter().find(|it| it.0 == name).filter(|_| !known) {
        order.push((name, fields));
        for need in *needs {
            gather(need, order);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_a_field_has_is_listed_and_defined() {
        for (name, fields, needs) in TYPES {
            for line in fields.lines().filter(|line| !line.starts_with('#')) {
                let kind = line.split(['[', ' ']).next().unwrap();
                assert_eq!(kind.contains('/'), needs.contains(&kind), "{name}: {line}");
            }
            for need in *needs {
                assert!(TYPES.iter().any(|it| it.0 == *need), "{name} needs {need}");
            }
        }
    }

    #[test]
    fn a_definition_holds_each_dependency_once() {
        let text = definition("nav_msgs/msg/Odometry");
        assert!(text.starts_with("std_msgs/Header header\n"));
        assert_eq!(text.matches("MSG: geometry_msgs/Vector3\n").count(), 1);
        assert_eq!(text.matches("MSG: ").count(), 9);
        assert_eq!(text.matches(SEPARATOR).count(), 9);
    }
}
