//! Random texts out of few words a bag, so that most bags lack most of what is looked for.

use std::fmt::Write;

use ros2_memory_testkit::prng::Prng;
use serde_json::{Value as Json, json};

/// Words of every sort: of one letter, in several alphabets, with letters whose case is odd, with
/// digits, and such as JSON and numbers are written with.
pub(crate) const WORDS: [&str; 44] = [
    "cup",
    "Cupboard",
    "red Cup",
    "SCISSORS",
    "screwdriver",
    "mug",
    "Battery",
    "LOW",
    "high",
    "motor-7",
    "motor-12",
    "over_heat",
    "at 12.5 A",
    "x",
    "Q",
    "ÄPFEL",
    "äpfel",
    "Σίσυφος",
    "ΟΔΌΣ",
    "İstanbul",
    "straße",
    "STRASSE",
    "état",
    "機器人",
    "лампа",
    "ЛАМПА",
    "e5",
    "1e5",
    "inf",
    "null",
    "true",
    "False",
    "3",
    "42",
    "3.5",
    "0x1F",
    "don't",
    "C++",
    "a/b",
    "①",
    "٣",
    "naïve\u{301}",
    "K\u{212a}",
    "[door",
];

const BETWEEN: [&str; 12] =
    [" ", " ", " ", ", ", "-", "_", ": ", "! ", " \u{2014} ", "\u{a0}", "/", "\u{301}"];

/// The words of one bag.
pub(crate) fn vocabulary(prng: &mut Prng) -> Vec<&'static str> {
    let n_words = prng.index(4) + 2;
    (0..n_words).map(|_| *prng.pick(&WORDS)).collect()
}

/// Text as people and drivers write it.
pub(crate) fn free_text(prng: &mut Prng, words: &[&str]) -> String {
    let mut text = String::new();
    for _ in 0..=prng.index(4) {
        text.push_str(prng.pick::<&str>(words));
        text.push_str(prng.pick::<&str>(&BETWEEN));
        if prng.chance(15) {
            text.push_str(&prng.below(2_000).to_string());
            text.push(' ');
        }
    }
    match prng.below(60) {
        // One word that is longer than any index keeps.
        0 => text.push_str(&"lang".repeat(30)),
        1 => text.clear(),
        2 => text.insert(0, '['),
        3 => text = text.to_uppercase(),
        _ => {}
    }
    text
}

/// A list in JSON, most often of plain names.
pub(crate) fn list(prng: &mut Prng, words: &[&str]) -> String {
    let items: Vec<Json> = (0..prng.index(4)).map(|_| item(prng, words)).collect();
    let mut text = json!(items).to_string();
    if prng.chance(8) {
        text = escaped(&text);
    }
    match prng.below(40) {
        0 | 1 => text.insert(0, '\u{a0}'),
        2..4 => text.insert_str(0, " \n"),
        // Not a list any more, but text that begins as one.
        4 => text.truncate(text.len() - 1),
        5 => text.push_str(" more"),
        _ => {}
    }
    text
}

fn item(prng: &mut Prng, words: &[&str]) -> Json {
    let word = *prng.pick(words);
    match prng.below(20) {
        0 => json!({"label": word, "score": 0.5}),
        1 => json!({"name": word, "id": 3}),
        2 => json!({"class": word, "class_name": prng.pick(words)}),
        3 => json!({"text": word}),
        4 => json!([word, [prng.pick(words)]]),
        5 => json!(prng.below(50)),
        6 => json!(0.5),
        7 => json!(prng.chance(50)),
        8 => json!(null),
        9 => json!({"label": {"of": word}}),
        10 => json!(""),
        _ => json!(word),
    }
}

/// As some writers of JSON have it: nothing but ASCII.
fn escaped(text: &str) -> String {
    let mut plain = String::new();
    for letter in text.chars() {
        if letter.is_ascii() {
            plain.push(letter);
            continue;
        }
        for unit in letter.encode_utf16(&mut [0; 2]) {
            write!(plain, "\\u{unit:04x}").unwrap();
        }
    }
    plain
}

/// Something that may stand in a text: a word of it, a part of one, some of both, or nothing like
/// it.
pub(crate) fn needle(prng: &mut Prng, text: &str) -> String {
    let letters: Vec<char> = text.chars().collect();
    let part = |start: usize, length: usize| -> String {
        letters.iter().skip(start).take(length).collect()
    };
    let start = prng.index(letters.len());
    let needle = match prng.below(12) {
        0 | 1 => {
            let words: Vec<&str> = text.split_whitespace().collect();
            if words.is_empty() { "cup".to_owned() } else { (*prng.pick(&words)).to_owned() }
        }
        2 => part(start, 1),
        3 => part(start, 2),
        4 | 5 => part(start, 3 + prng.index(4)),
        6 | 7 => part(start, 5 + prng.index(20)),
        8 => {
            let others = if prng.chance(50) { "zq" } else { "7" };
            format!("{}{others}", part(start, 4))
        }
        9 => (*prng.pick(&["zebra", "unicorn, q", "00", "98765", "ŕ", "\u{301}", "-", " "])).into(),
        _ => (*prng.pick(&WORDS)).to_owned(),
    };
    let needle = match prng.below(4) {
        0 => needle.to_uppercase(),
        1 => needle.to_lowercase(),
        _ => needle,
    };
    if needle.is_empty() { "mug".to_owned() } else { needle }
}
