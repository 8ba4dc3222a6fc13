//! Names of topics and frames as people and planners write them.

use globset::{GlobBuilder, GlobMatcher};
use ros2_memory_catalog::{Snapshot, TopicSummary};

use crate::{ErrorCode, refusal::Refusal};

/// How many near names a refusal offers.
const MAX_NEAR: usize = 5;
/// Longer names are none: a topic has at most 255 characters.
const MAX_NAME_CHARS: usize = 255;

/// The topics that a name or glob means, by name: `*` stands for one token, `**` for any depth.
///
/// # Errors
///
/// `unknown_topic` with the nearest names when there is none, `bad_argument` for a name that can
/// be no topic.
pub(crate) fn resolve_topics<'s>(
    snapshot: &'s Snapshot,
    wanted: &str,
) -> Result<Vec<&'s TopicSummary>, Refusal> {
    let shown = repeated(wanted);
    if wanted.chars().nth(MAX_NAME_CHARS).is_some() || wanted.trim().is_empty() {
        return Err(Refusal::bad_argument(format!("topic {shown:?} is not the name of a topic")));
    }
    if let Some(topic) = snapshot.topic(wanted) {
        return Ok(vec![topic]);
    }
    if is_glob(wanted) {
        let matcher = glob(wanted).ok_or_else(|| {
            Refusal::bad_argument(format!("topic {shown:?} is not a glob"))
                .hint("* stands for one token of a name, ** for any depth")
        })?;
        let matching: Vec<_> =
            snapshot.topics().filter(|topic| matcher.is_match(&*topic.topic)).collect();
        if !matching.is_empty() {
            return Ok(matching);
        }
    } else if let Some(topic) = snapshot.topic(&format!("/{wanted}")) {
        return Ok(vec![topic]);
    }
    let near = nearest(wanted, snapshot.topics().map(|topic| &*topic.topic));
    let refusal =
        Refusal::new(ErrorCode::UnknownTopic, format!("no recording has a topic {shown:?}"));
    Err(if near.is_empty() {
        refusal.hint("list_recorded_topics shows what there is")
    } else {
        refusal.hint(format!("the nearest names are {}", near.join(", ")))
    })
}

/// A caller's word as a reply may repeat it.
pub(crate) fn repeated(word: &str) -> String {
    word.chars().filter(|c| !c.is_control()).take(80).collect()
}

/// Whether a name is a pattern.
pub(crate) fn is_glob(name: &str) -> bool {
    name.contains('*')
}

/// A glob over topic names. Only `*` and `**` have a meaning; everything else is literal.
pub(crate) fn glob(pattern: &str) -> Option<GlobMatcher> {
    let mut literal = String::with_capacity(pattern.len());
    for c in pattern.chars() {
        match c {
            '?' | '[' | ']' | '{' | '}' | '\\' | '!' => {
                literal.push('\\');
                literal.push(c);
            }
            c => literal.push(c),
        }
    }
    let glob = GlobBuilder::new(&literal).literal_separator(true).backslash_escape(true).build();
    glob.ok().map(|glob| glob.compile_matcher())
}

/// The names most like `wanted`, nearest first: those that hold it or that it holds, and those a
/// few letters away.
pub(crate) fn nearest<'n>(wanted: &str, names: impl Iterator<Item = &'n str>) -> Vec<&'n str> {
    let wanted: String = wanted.to_lowercase().chars().filter(|c| *c != '*').take(80).collect();
    let tail = wanted.rsplit('/').find(|token| !token.is_empty()).unwrap_or("");
    let mut near: Vec<(usize, &str)> = names
        .filter_map(|name| {
            let folded = name.to_lowercase();
            let distance = strsim::osa_distance(&wanted, &folded);
            let holds = !tail.is_empty() && folded.contains(tail);
            let limit = wanted.chars().count().max(3) / 2;
            (holds || distance <= limit).then_some((distance, name))
        })
        .collect();
    near.sort_unstable();
    near.into_iter().take(MAX_NEAR).map(|(_, name)| name).collect()
}

/// The names of topics, for a reply.
pub(crate) fn joined(topics: &[&TopicSummary]) -> String {
    let names: Vec<&str> = topics.iter().take(MAX_NEAR).map(|topic| &*topic.topic).collect();
    if topics.len() > names.len() {
        format!("{} and {} more", names.join(", "), topics.len() - names.len())
    } else {
        names.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_is_one_token_and_two_are_any_depth() {
        let is_match = |pattern: &str, name: &str| glob(pattern).unwrap().is_match(name);
        assert!(is_match("/vision/*/scene_objects", "/vision/scene/scene_objects"));
        assert!(!is_match("/vision/*", "/vision/scene/scene_objects"));
        assert!(is_match("/vision/**", "/vision/scene/scene_objects"));
        assert!(is_match("**/odom", "/robot_1/odom") && is_match("/**", "/odom"));
        assert!(!is_match("/a?", "/ab") && !is_match("/[a]", "/a") && is_match("/{a}", "/{a}"));
    }

    #[test]
    fn slips_and_parts_of_a_name_are_near() {
        let names = ["/odom", "/cmd_vel", "/vision/scene/scene_objects", "/battery_state"];
        let near = |wanted| nearest(wanted, names.into_iter());
        assert_eq!(near("/odmo"), ["/odom"]);
        assert_eq!(near("scene_objects"), ["/vision/scene/scene_objects"]);
        assert_eq!(near("/batery_state"), ["/battery_state"]);
        assert!(near("/completely/different/thing/here").is_empty());
    }
}
