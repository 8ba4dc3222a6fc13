use std::borrow::Cow;

/// The long form of a type's name: `nav_msgs/Odometry` becomes `nav_msgs/msg/Odometry`.
///
/// Names with three parts (`pkg/msg/T`, `pkg/srv/T_Event`) and names without a package stay as
/// they are.
///
/// # Examples
///
/// ```
/// assert_eq!(ros2_memory_msg::canonical_type_name("nav_msgs/Odometry"), "nav_msgs/msg/Odometry");
/// ```
pub fn canonical_type_name(name: &str) -> Cow<'_, str> {
    match name.split_once('/') {
        Some((package, rest)) if !rest.contains('/') => Cow::Owned(format!("{package}/msg/{rest}")),
        _ => Cow::Borrowed(name),
    }
}
