//! Which bags a condition has to be looked for in.

use ros2_memory_catalog::{Probe, Snapshot, TopicSummary};
use ros2_memory_condition::Condition;
use ros2_memory_index::{Span, WordQuery};

use super::matching::Search;
use crate::{IndexUse, TypePaths, query::Query};

/// Those of some bags in which a message may match: an index, where there is one, proves that the
/// others have none.
pub(crate) fn candidates(
    query: &mut Query<'_>,
    snapshot: &Snapshot,
    topics: &[&TopicSummary],
    places: Vec<u32>,
    search: &Search,
) -> Vec<u32> {
    let n_bags = places.len() as u64;
    let (index, places) = pass_over(query, snapshot, topics, places, search);
    let bags_passed_over = n_bags - places.len() as u64;
    query.stats.index = if bags_passed_over > 0 { index } else { IndexUse::None };
    query.stats.bags_passed_over += bags_passed_over;
    places
}

fn pass_over(
    query: &Query<'_>,
    snapshot: &Snapshot,
    topics: &[&TopicSummary],
    places: Vec<u32>,
    search: &Search,
) -> (IndexUse, Vec<u32>) {
    let map = query.types.map();
    let field = search.field.as_ref();
    let path_of = |of_type: &dyn Fn(&TypePaths) -> Option<String>, type_name: &str| match field {
        Some(field) => Some(field.to_string()),
        None => map.get(type_name).and_then(of_type),
    };
    let value_of = |type_name: &str| {
        path_of(&|paths| paths.field("value").map(ToString::to_string), type_name)
    };
    let numbers = |spans: Vec<Span>, places| {
        let probe = Probe::Number { spans, path_of: &value_of };
        (IndexUse::Numbers, snapshot.may_match(topics, places, &probe))
    };
    match &search.condition {
        Condition::Contains(contains) => {
            let is_indexed = |type_name: &str| {
                let Some(field) = field else { return true };
                map.get(type_name).is_some_and(|paths| {
                    paths.index.labels.contains(field) || paths.index.text.contains(field)
                })
            };
            let probe = Probe::Text {
                is_wanted: &|label| contains.is_in(label),
                words: WordQuery::new(contains.folded()),
                is_indexed: &is_indexed,
            };
            (IndexUse::Text, snapshot.may_match(topics, places, &probe))
        }
        Condition::Equals(equals) => match equals.numbers() {
            Some(wanted) => numbers(wanted.into_iter().map(around).collect(), places),
            None => (IndexUse::None, places),
        },
        Condition::Bound(bound) if bound.is_above => {
            numbers(vec![Span { min: bound.limit, ..Span::ALL }], places)
        }
        Condition::Bound(bound) => numbers(vec![Span { max: bound.limit, ..Span::ALL }], places),
        Condition::NearPosition(near) => {
            let position = |paths: &TypePaths| paths.position().map(ToString::to_string);
            let probe = Probe::Place {
                x_m: near.x_m,
                y_m: near.y_m,
                radius_m: near.tolerance_m,
                path_of: &|type_name| path_of(&position, type_name),
            };
            (IndexUse::Places, snapshot.may_match(topics, places, &probe))
        }
    }
}

/// What counts as equal to a number, and a little more.
fn around(number: f64) -> Span {
    // Equal is what differs by 1e-9 of the larger, or has the same single: half a step of those is
    // 6e-8.
    let reach = 1e-7 * number.abs() + f64::from(f32::MIN_POSITIVE);
    Span { min: number - reach, max: number + reach }
}
