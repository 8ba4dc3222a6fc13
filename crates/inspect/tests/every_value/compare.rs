//! What is the same value in both readings.

use base64::{Engine, prelude::BASE64_STANDARD};

use crate::json::Json;

/// Compares a value as `cat` shows it with one as `python/expected.py` tells it; counts the
/// numbers, texts and flags that were compared.
///
/// Fields come in the same order. Numbers are the same when they are the same to the last bit;
/// those that are not finite are null to `cat`.
pub(crate) fn compare(
    ours: &Json<'_>,
    theirs: &Json<'_>,
    path: &str,
    compared: &mut u64,
) -> Result<(), String> {
    let differ = || Err(format!("{path}: {}, others read {}", short(ours), short(theirs)));
    if let Json::Map(fields) = theirs
        && let [(tag, inner)] = &**fields
        && tag.starts_with('$')
    {
        return tagged(ours, tag, inner, path, compared);
    }
    *compared += 1;
    match (ours, theirs) {
        (Json::List(ours), Json::List(theirs)) if ours.len() == theirs.len() => {
            *compared -= 1;
            for (i, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
                compare(ours, theirs, &format!("{path}[{i}]"), compared)?;
            }
            Ok(())
        }
        (Json::Map(ours), Json::Map(theirs)) if ours.len() == theirs.len() => {
            *compared -= 1;
            for ((name, ours), (other_name, theirs)) in ours.iter().zip(theirs) {
                if name != other_name {
                    return Err(format!("{path}: field {name}, others read {other_name}"));
                }
                compare(ours, theirs, &format!("{path}.{name}"), compared)?;
            }
            Ok(())
        }
        (Json::Null, Json::Text(number)) if ["$nan", "$inf", "$-inf"].contains(&&**number) => {
            Ok(())
        }
        (Json::Text(ours), Json::Text(theirs)) => {
            let theirs = theirs.strip_prefix('$').unwrap_or(theirs);
            if ours == theirs { Ok(()) } else { differ() }
        }
        (Json::Number(ours), Json::Number(theirs)) if is_same_number(ours, theirs) => Ok(()),
        (Json::Bool(_) | Json::Null, _) if ours == theirs => Ok(()),
        _ => differ(),
    }
}

/// Whole numbers by their digits, others by their bits as doubles.
fn is_same_number(ours: &str, theirs: &str) -> bool {
    let is_whole = |text: &str| !text.contains(['.', 'e', 'E']);
    let bits = |text: &str| text.parse::<f64>().unwrap().to_bits();
    match (is_whole(ours), is_whole(theirs)) {
        (true, true) => ours == theirs,
        (false, false) => bits(ours) == bits(theirs),
        _ => false,
    }
}

fn tagged(
    ours: &Json<'_>,
    tag: &str,
    inner: &Json<'_>,
    path: &str,
    compared: &mut u64,
) -> Result<(), String> {
    match (tag, ours, inner) {
        ("$f32", Json::List(ours), Json::List(theirs)) if ours.len() == theirs.len() => {
            for (i, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
                tagged(ours, tag, theirs, &format!("{path}[{i}]"), compared)?;
            }
            return Ok(());
        }
        ("$f32", Json::Number(ours), Json::Number(theirs)) => {
            *compared += 1;
            // Ours is the shortest text of the single, theirs that of the double it equals.
            let theirs: f64 = theirs.parse().unwrap();
            let ours: f32 = ours.parse().unwrap();
            if f64::from(ours).to_bits() == theirs.to_bits() {
                return Ok(());
            }
        }
        ("$f32", Json::Null, Json::Text(_)) => return compare(ours, inner, path, compared),
        ("$bytes" | "$chars", Json::List(items), Json::Text(base64)) => {
            let octets = BASE64_STANDARD.decode(base64).unwrap();
            *compared += octets.len() as u64;
            let is_same = |(item, octet): (&Json<'_>, &u8)| matches!(item, Json::Number(text) if text.parse() == Ok(*octet));
            if items.len() == octets.len() && items.iter().zip(&octets).all(is_same) {
                return Ok(());
            }
        }
        _ => {}
    }
    Err(format!("{path}: {}, others read {tag} {}", short(ours), short(inner)))
}

fn short(value: &Json<'_>) -> String {
    format!("{value:?}").chars().take(200).collect()
}

#[test]
fn only_the_same_is_the_same() {
    let same = |ours: &str, theirs: &str| {
        let mut compared = 0;
        let outcome = compare(&Json::read(ours), &Json::read(theirs), "", &mut compared);
        outcome.is_ok().then_some(compared)
    };
    for (ours, theirs, n) in [
        ("1", "1", 1),
        ("0.1", "1e-1", 1),
        ("0.1", r#"{"$f32": 0.10000000149011612}"#, 1),
        ("[0.5, null]", r#"{"$f32": [0.5, "$nan"]}"#, 2),
        ("null", r#""$-inf""#, 1),
        (r#""$nan""#, r#""$$nan""#, 1),
        ("[0, 255]", r#"{"$bytes": "AP8="}"#, 2),
        (r#"{"a": "x", "b": [true, {}]}"#, r#"{"a": "x", "b": [true, {}]}"#, 2),
    ] {
        assert_eq!(same(ours, theirs), Some(n), "{ours} {theirs}");
    }
    for (ours, theirs) in [
        ("1", "2"),
        ("1", "1.0"),
        ("-0.0", "0.0"),
        ("0.1", "0.10000000149011612"),
        ("0.1", r#"{"$f32": 0.1000000149}"#),
        ("0.3", r#""$nan""#),
        ("null", r#""nan""#),
        ("null", "0"),
        ("[1]", "[1, 2]"),
        ("[1]", r#"{"$bytes": "AP8="}"#),
        ("[0, 254]", r#"{"$bytes": "AP8="}"#),
        (r#"{"a": 1}"#, r#"{"b": 1}"#),
        (r#"{"a": 1}"#, r#"{"a": 1, "b": 1}"#),
        ("true", "1"),
        (r#""x""#, r#""y""#),
    ] {
        assert_eq!(same(ours, theirs), None, "{ours} {theirs}");
    }
}
