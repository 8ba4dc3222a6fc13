use std::borrow::Cow;

/// The name that ROS 2 gives a type: `nav_msgs/Odometry` becomes `nav_msgs/msg/Odometry`, and so
/// do `nav_msgs::msg::Odometry` and DDS's `nav_msgs::msg::dds_::Odometry_`.
///
/// Names with three parts (`pkg/msg/T`, `pkg/srv/T_Event`) and names of types outside ROS stay as
/// they are.
///
/// # Examples
///
/// ```
/// use ros2_memory_msg::canonical_type_name;
///
/// assert_eq!(canonical_type_name("nav_msgs/Odometry"), "nav_msgs/msg/Odometry");
/// assert_eq!(canonical_type_name("std_msgs::msg::dds_::String_"), "std_msgs/msg/String");
/// assert_eq!(canonical_type_name("HelloWorld"), "HelloWorld");
/// ```
pub fn canonical_type_name(name: &str) -> Cow<'_, str> {
    if let Some(name) = from_scoped_name(name) {
        return Cow::Owned(name);
    }
    match name.split_once('/') {
        Some((package, rest)) if !rest.contains('/') => Cow::Owned(format!("{package}/msg/{rest}")),
        _ => Cow::Borrowed(name),
    }
}

/// The ROS name behind a name with `::`, when it is one of the forms that ROS makes.
fn from_scoped_name(name: &str) -> Option<String> {
    let mut parts = name.split("::");
    let (package, kind) = (parts.next()?, parts.next()?);
    let is_kind = matches!(kind, "msg" | "srv" | "action");
    let short = match (parts.next()?, parts.next(), parts.next()) {
        ("dds_", Some(mangled), None) => mangled.strip_suffix('_')?,
        (short, None, _) => short,
        _ => return None,
    };
    is_kind.then(|| format!("{package}/{kind}/{short}"))
}
