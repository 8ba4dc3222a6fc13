//! The names that ROS 2 gives its topics and types on DDS, turned back into those of ROS.
//!
//! Source: the ROS 2 design article "Topic and Service name mapping to DDS", and the names that
//! `rosidl` generates.

/// The type of ROS that DDS knows as `name`: `nav_msgs/msg/Odometry` for
/// `nav_msgs::msg::dds_::Odometry_`. `None` for any other name.
pub(super) fn ros_type(name: &str) -> Option<String> {
    let (namespace, type_name) = name.split_once("::dds_::")?;
    let (package, kind) = namespace.split_once("::")?;
    let type_name = type_name.strip_suffix('_')?;
    let is_plain = |part: &str| !part.is_empty() && !part.contains([':', '/']);
    (matches!(kind, "msg" | "srv" | "action") && is_plain(package) && is_plain(type_name))
        .then(|| format!("{package}/{kind}/{type_name}"))
}

/// The topic of ROS that DDS knows as `topic`: `/odom` for `rt/odom`. Requests and replies of
/// services, and what is no topic of ROS, are `None`.
pub(super) fn ros_topic(topic: &str) -> Option<&str> {
    topic.strip_prefix("rt").filter(|rest| rest.starts_with('/') && rest.len() > 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_of_dds_become_those_of_ros() {
        for (dds, ros) in [
            ("nav_msgs::msg::dds_::Odometry_", "nav_msgs/msg/Odometry"),
            ("p::srv::dds_::T_Request_", "p/srv/T_Request"),
            ("p::action::dds_::Fib_SendGoal_Response_", "p/action/Fib_SendGoal_Response"),
        ] {
            assert_eq!(ros_type(dds).as_deref(), Some(ros));
        }
        for other in [
            "nav_msgs/msg/Odometry",
            "nav_msgs::msg::Odometry",
            "p::msg::dds_::T",
            "p::idl::dds_::T_",
            "::msg::dds_::T_",
            "p::msg::dds_::_",
            "p::q::msg::dds_::T_",
            "p::msg::dds_::T::U_",
        ] {
            assert_eq!(ros_type(other), None, "{other}");
        }
    }

    #[test]
    fn only_topics_lose_their_prefix() {
        assert_eq!(ros_topic("rt/odom"), Some("/odom"));
        assert_eq!(ros_topic("rt/ns/odom"), Some("/ns/odom"));
        for other in ["rt/", "rt", "rtx/odom", "rq/addRequest", "rr/addReply", "/rt/odom", "odom"] {
            assert_eq!(ros_topic(other), None, "{other}");
        }
    }
}
