//! Which labels are known, and what a caller's word for one means.

use std::sync::Arc;

use ros2_memory_catalog::{LabelSummary, Snapshot, Wanted};
use ros2_memory_time::{LogTime, TimeRange};
use serde_json::{Map, Value as Json, json};

use crate::{
    answers::topics::nothing_recorded,
    names::{nearest, repeated},
    query::Query,
    refusal::{Answer, Refusal},
};

/// The labels in a range, the most often seen first.
pub(crate) fn list_labels(query: &mut Query<'_>, range: TimeRange, like: Option<&str>) -> Answer {
    let topics = query.snapshot.topics_with_labels();
    if topics.is_empty() {
        return Err(no_labels(query));
    }
    note_incomplete(query);
    let folded = like.map(str::to_lowercase);
    let mut labels = query.snapshot.labels(&[], range);
    let n_all = labels.len();
    if let Some(folded) = &folded {
        labels.retain(|of| of.label.to_lowercase().contains(folded));
    }
    if labels.is_empty() {
        let near = like.map(|like| near_labels(&query.snapshot, like)).unwrap_or_default();
        let what = like.map_or_else(String::new, |like| format!(" like {:?}", repeated(like)));
        let refusal = Refusal::no_data(format!("no label{what} was seen in that time"));
        return Err(if near.is_empty() {
            refusal.hint(query.recorded())
        } else {
            refusal.hint(format!("the nearest are {}", near.join(", ")))
        });
    }
    sort_by_count(&mut labels);
    let listed = labels.iter().map(|of| {
        json!({
            "label": &*of.label,
            "count": of.count,
            "last_ts": of.span.1.to_unix_s(),
            "first_ts": of.span.0.to_unix_s(),
        })
    });
    let mut map = Map::new();
    map.insert("labels".into(), listed.collect());
    map.insert("n_labels".into(), json!(n_all));
    map.insert("topics".into(), json!(topics.iter().map(|topic| &**topic).collect::<Vec<_>>()));
    Ok(Json::Object(map))
}

/// The refusal where nothing recorded has labels.
pub(crate) fn no_labels(query: &Query<'_>) -> Refusal {
    if query.snapshot.time_span().is_none() {
        return nothing_recorded(query);
    }
    Refusal::no_data("no recorded topic has labels that are indexed")
        .hint("name the type and the path of its labels under `index:` in message_schemas.yaml")
}

/// Says so when what is not found may be there all the same.
pub(crate) fn note_incomplete(query: &mut Query<'_>) {
    let n = query.snapshot.n_incomplete();
    if n > 0 {
        query.note(format!(
            "in {n} bags some messages could not be read for labels, or name what is too long"
        ));
    }
}

/// The label that a word means: itself, else the first that differs by case alone.
pub(crate) fn known_label(snapshot: &Snapshot, word: &str) -> Option<Arc<str>> {
    let names = snapshot.label_names();
    if let Ok(place) = names.binary_search_by(|name| (**name).cmp(word)) {
        return names.get(place).cloned();
    }
    let folded = word.to_lowercase();
    names.iter().find(|name| name.to_lowercase() == folded).cloned()
}

/// The labels most like a word, nearest first.
pub(crate) fn near_labels(snapshot: &Snapshot, word: &str) -> Vec<String> {
    let names = snapshot.label_names();
    nearest(word, names.iter().map(|name| &**name)).into_iter().map(ToOwned::to_owned).collect()
}

/// When each of some labels was last seen.
pub(crate) fn last_times(snapshot: &Snapshot, labels: &[String], range: TimeRange) -> Vec<Json> {
    let last = |label: &String| {
        let sighting = snapshot.last_sighting(label, range)?;
        Some(json!({"label": label, "last_ts": sighting.time.to_unix_s()}))
    };
    labels.iter().filter_map(last).collect()
}

/// The most often seen labels, most first.
pub(crate) fn most_seen(snapshot: &Snapshot, n: usize) -> Vec<LabelSummary> {
    let mut labels = snapshot.labels(&[], TimeRange::ALL);
    sort_by_count(&mut labels);
    labels.truncate(n);
    labels
}

fn sort_by_count(labels: &mut [LabelSummary]) {
    labels.sort_by(|a, b| (b.count, &a.label).cmp(&(a.count, &b.label)));
}

/// What a text such as `person AND (door OR "fire door") AND NOT cat` wants of a message.
///
/// Words between the operators make one label. AND binds closer than OR; a comma is an OR.
///
/// # Errors
///
/// In words, what is wrong with the text; [`Unknown`] names are left to the caller.
pub(crate) fn parse_wanted(text: &str) -> Result<Wanted, String> {
    let tokens = tokens(text)?;
    let mut parser = Parser { tokens: &tokens, at: 0, depth: 0 };
    let wanted = parser.any()?;
    match parser.tokens.get(parser.at) {
        None => Ok(wanted),
        Some(token) => Err(format!("{token:?} is not expected there")),
    }
}

/// Replaces the words of what is wanted by the labels they mean; those that mean none are
/// appended to `unknown`.
pub(crate) fn resolve(snapshot: &Snapshot, wanted: Wanted, unknown: &mut Vec<String>) -> Wanted {
    match wanted {
        Wanted::Label(word) => {
            let known = known_label(snapshot, &word);
            if known.is_none() {
                unknown.push(word.to_string());
            }
            Wanted::Label(known.unwrap_or(word))
        }
        Wanted::All(all) => {
            Wanted::All(all.into_iter().map(|one| resolve(snapshot, one, unknown)).collect())
        }
        Wanted::Any(any) => {
            Wanted::Any(any.into_iter().map(|one| resolve(snapshot, one, unknown)).collect())
        }
        Wanted::Not(not) => Wanted::Not(Box::new(resolve(snapshot, *not, unknown))),
    }
}

/// Whether something is to be there, not only something to be absent.
pub(crate) fn wants_something(wanted: &Wanted) -> bool {
    match wanted {
        Wanted::Label(_) => true,
        Wanted::All(all) => all.iter().any(wants_something),
        Wanted::Any(any) => any.iter().all(wants_something),
        Wanted::Not(_) => false,
    }
}

#[derive(Debug, Clone, PartialEq)]
enum Token {
    Word(String),
    And,
    Or,
    Not,
    Open,
    Close,
}

fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let mut tokens: Vec<Token> = Vec::new();
    let mut words: Vec<&str> = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let (token, behind) = if let Some(quoted) = rest.strip_prefix('"') {
            let (label, behind) = quoted.split_once('"').ok_or("a quote is not closed")?;
            (Some(Token::Word(label.to_owned())), behind)
        } else if let Some(behind) = rest.strip_prefix('(') {
            (Some(Token::Open), behind)
        } else if let Some(behind) = rest.strip_prefix(')') {
            (Some(Token::Close), behind)
        } else if let Some(behind) = rest.strip_prefix(',') {
            (Some(Token::Or), behind)
        } else {
            let end = rest.find(|c: char| c.is_whitespace() || "(),\"".contains(c));
            let (word, behind) = rest.split_at(end.unwrap_or(rest.len()));
            let operator = match word {
                "AND" | "and" | "&&" => Some(Token::And),
                "OR" | "or" | "||" => Some(Token::Or),
                "NOT" | "not" => Some(Token::Not),
                word => {
                    words.push(word);
                    None
                }
            };
            (operator, behind)
        };
        rest = behind.trim_start();
        if (token.is_some() || rest.is_empty()) && !words.is_empty() {
            tokens.push(Token::Word(words.join(" ")));
            words.clear();
        }
        tokens.extend(token);
    }
    Ok(tokens)
}

struct Parser<'t> {
    tokens: &'t [Token],
    at: usize,
    depth: usize,
}

/// Deeper brackets are no question that anybody asks.
const MAX_BRACKETS: usize = 20;

impl Parser<'_> {
    fn next_is(&mut self, token: &Token) -> bool {
        let is_next = self.tokens.get(self.at) == Some(token);
        self.at += usize::from(is_next);
        is_next
    }

    fn any(&mut self) -> Result<Wanted, String> {
        let mut any = vec![self.all()?];
        while self.next_is(&Token::Or) {
            any.push(self.all()?);
        }
        Ok(if any.len() == 1 { any.remove(0) } else { Wanted::Any(any) })
    }

    fn all(&mut self) -> Result<Wanted, String> {
        let mut all = vec![self.one()?];
        loop {
            let is_not = self.tokens.get(self.at) == Some(&Token::Not);
            if !is_not && !self.next_is(&Token::And) {
                break;
            }
            all.push(self.one()?);
        }
        Ok(if all.len() == 1 { all.remove(0) } else { Wanted::All(all) })
    }

    fn one(&mut self) -> Result<Wanted, String> {
        self.depth += 1;
        if self.depth > MAX_BRACKETS {
            return Err(format!("more than {MAX_BRACKETS} brackets or NOTs in each other"));
        }
        let wanted = if self.next_is(&Token::Not) {
            Wanted::Not(Box::new(self.one()?))
        } else if self.next_is(&Token::Open) {
            let wanted = self.any()?;
            if !self.next_is(&Token::Close) {
                return Err("a bracket is not closed".to_owned());
            }
            wanted
        } else {
            match self.tokens.get(self.at) {
                Some(Token::Word(word)) => {
                    self.at += 1;
                    Wanted::Label(word.as_str().into())
                }
                Some(token) => return Err(format!("{token:?} stands where a label should")),
                None => return Err("a label is missing at the end".to_owned()),
            }
        };
        self.depth -= 1;
        Ok(wanted)
    }
}

/// The moment before which something was last seen, as a range.
pub(crate) fn before(before: Option<LogTime>) -> TimeRange {
    TimeRange::new(LogTime::ZERO, before.unwrap_or(LogTime::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn label(word: &str) -> Wanted {
        Wanted::Label(word.into())
    }

    #[test]
    fn operators_bind_as_everywhere_and_words_join() {
        let parsed = |text: &str| parse_wanted(text).unwrap();
        assert_eq!(parsed("postage stamp"), label("postage stamp"));
        assert_eq!(
            parsed("person AND door OR cat"),
            Wanted::Any(vec![Wanted::All(vec![label("person"), label("door")]), label("cat")])
        );
        assert_eq!(
            parsed("person and (door, \"fire door\") NOT cat"),
            Wanted::All(vec![
                label("person"),
                Wanted::Any(vec![label("door"), label("fire door")]),
                Wanted::Not(Box::new(label("cat"))),
            ])
        );
    }

    #[test]
    fn what_makes_no_sense_is_said() {
        for text in ["", "AND", "a AND", "(a", "a)", "NOT", "\"a", "a OR OR b"] {
            assert!(parse_wanted(text).is_err(), "{text}");
        }
        assert!(parse_wanted(&"(".repeat(100_000)).is_err());
        assert!(parse_wanted(&format!("{}a", "NOT ".repeat(100_000))).is_err());
    }

    #[test]
    fn only_what_is_to_be_there_can_be_looked_for() {
        for (text, is_something) in
            [("a", true), ("NOT a", false), ("a NOT b", true), ("a OR NOT b", false)]
        {
            assert_eq!(wants_something(&parse_wanted(text).unwrap()), is_something, "{text}");
        }
    }
}
