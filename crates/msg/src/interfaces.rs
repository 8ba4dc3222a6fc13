//! The message types that ROS makes of a service and of an action.
//!
//! Sources: ROS 2 design, "Actions", and REP 2012 (service introspection).

use crate::{Definition, TypeSpec};
use ros2_memory_cdr::Primitive;

/// The types that recordings hold of a service: its parts, and the events that tell of a call.
const OF_SERVICE: [&str; 3] = ["_Event", "_Request", "_Response"];
/// The types that recordings hold of an action, the longest endings first.
const OF_ACTION: [&str; 12] = [
    "_SendGoal_Request",
    "_SendGoal_Response",
    "_SendGoal_Event",
    "_GetResult_Request",
    "_GetResult_Response",
    "_GetResult_Event",
    "_FeedbackMessage",
    "_SendGoal",
    "_GetResult",
    "_Feedback",
    "_Result",
    "_Goal",
];

/// Replaces a text of several parts, which stand first and bear one name, by the types that are
/// made of them. Definitions of one part stay as they are.
pub(crate) fn expand(mut all: Vec<Definition>) -> Vec<Definition> {
    let Some(root) = all.first().map(|first| first.name.clone()) else { return all };
    let n_parts = all.iter().take_while(|definition| definition.name == root).count();
    let kind = all.first().map_or("msg", Definition::kind).to_owned();
    let made = match (kind.as_str(), n_parts) {
        ("srv", 2) => service(base_name(&root, &OF_SERVICE), all.drain(..2).collect()),
        ("action", 3) => action(base_name(&root, &OF_ACTION), all.drain(..3).collect()),
        _ => return all,
    };
    // The type that was asked for comes first.
    let (mut wanted, rest): (Vec<_>, Vec<_>) = made.into_iter().partition(|d| d.name == root);
    wanted.extend(rest);
    wanted.extend(all);
    wanted
}

/// The name of the service or action that a type is made of.
fn base_name<'n>(name: &'n str, endings: &[&str]) -> &'n str {
    endings.iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name)
}

fn service(base: &str, parts: Vec<Definition>) -> Vec<Definition> {
    let mut made: Vec<Definition> = parts
        .into_iter()
        .zip(["_Request", "_Response"])
        .map(|(part, ending)| Definition { name: format!("{base}{ending}"), ..part })
        .collect();
    made.push(event(base));
    made
}

/// Tells of one call: who, when, and at most one request and one response.
fn event(base: &str) -> Definition {
    let mut event = Definition::empty(format!("{base}_Event"));
    let some = |name: String| TypeSpec::Sequence(Box::new(TypeSpec::Named(name)));
    event.push("info", named("service_msgs/ServiceEventInfo"));
    event.push("request", some(format!("{base}_Request")));
    event.push("response", some(format!("{base}_Response")));
    event
}

fn action(base: &str, parts: Vec<Definition>) -> Vec<Definition> {
    let mut made: Vec<Definition> = parts
        .into_iter()
        .zip(["_Goal", "_Result", "_Feedback"])
        .map(|(part, ending)| Definition { name: format!("{base}{ending}"), ..part })
        .collect();
    let mut add = |ending: &str, fields: &[(&str, TypeSpec)]| {
        let mut definition = Definition::empty(format!("{base}{ending}"));
        for (name, ty) in fields {
            definition.push(name, ty.clone());
        }
        made.push(definition);
    };
    let goal_id = ("goal_id", named("unique_identifier_msgs/UUID"));
    let part = |ending: &str| TypeSpec::Named(format!("{base}{ending}"));
    add("_SendGoal_Request", &[goal_id.clone(), ("goal", part("_Goal"))]);
    add(
        "_SendGoal_Response",
        &[
            ("accepted", TypeSpec::Primitive(Primitive::Bool)),
            ("stamp", named("builtin_interfaces/Time")),
        ],
    );
    add("_GetResult_Request", std::slice::from_ref(&goal_id));
    add(
        "_GetResult_Response",
        &[("status", TypeSpec::Primitive(Primitive::I8)), ("result", part("_Result"))],
    );
    add("_FeedbackMessage", &[goal_id, ("feedback", part("_Feedback"))]);
    made.push(event(&format!("{base}_SendGoal")));
    made.push(event(&format!("{base}_GetResult")));
    made
}

fn named(name: &str) -> TypeSpec {
    TypeSpec::Named(name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(root: &str, text: &str) -> Vec<String> {
        Definition::parse_all(root, text).unwrap().into_iter().map(|d| d.name).collect()
    }

    #[test]
    fn the_text_of_a_service_gives_its_three_types_the_wanted_one_first() {
        let text = "int64 a\nint64 b\n---\nint64 sum";
        assert_eq!(
            names("p/srv/Add_Event", text),
            ["p/srv/Add_Event", "p/srv/Add_Request", "p/srv/Add_Response"]
        );
        assert_eq!(names("p/srv/Add_Response", text)[0], "p/srv/Add_Response");
        let all = Definition::parse_all("p/srv/Add_Request", text).unwrap();
        assert_eq!(all[0].fields.len(), 2);
    }

    #[test]
    fn the_text_of_an_action_gives_what_goes_over_the_wire() {
        let text = "int32 order\n---\nint32[] sequence\n---\nint32[] partial";
        let all = Definition::parse_all("p/action/Fib_FeedbackMessage", text).unwrap();
        assert_eq!(all[0].name, "p/action/Fib_FeedbackMessage");
        let fields: Vec<_> = all[0].fields.iter().map(|f| f.name.as_str()).collect();
        assert_eq!(fields, ["goal_id", "feedback"]);
        assert!(all.iter().any(|d| d.name == "p/action/Fib_GetResult_Event"));
    }

    #[test]
    fn dashes_in_a_message_are_a_bad_line() {
        assert!(Definition::parse_all("p/msg/T", "int32 a\n---\nint32 b").is_err());
    }

    #[test]
    fn a_service_has_two_parts_and_an_action_three() {
        assert!(Definition::parse_all("p/srv/T", "---\n---").is_err());
        assert!(Definition::parse_all("p/action/T", "---\n---").is_ok());
        assert!(Definition::parse_all("p/action/T", "---\n---\n---").is_err());
    }
}
