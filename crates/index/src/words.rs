//! Text as words, so that a text can be ruled out without reading the messages.

use std::borrow::Cow;

/// A longer word is not kept: the text it stands in cannot be ruled out.
pub(crate) const MAX_WORD_BYTES: usize = 64;

/// The words of a text, case folded as conditions fold it, each digit as `0`.
///
/// A word is a run of letters and digits. Digits are one and the same, since counters and
/// measurements would fill the index with words that nobody asks for.
pub fn each_word(text: &str, mut visit: impl FnMut(&str)) {
    let folded = fold(text);
    folded
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .for_each(&mut visit);
}

fn fold(text: &str) -> Cow<'_, str> {
    let is_folded =
        |byte: u8| byte.is_ascii_lowercase() || !byte.is_ascii_alphanumeric() || byte == b'0';
    if text.is_ascii() && text.bytes().all(is_folded) {
        return Cow::Borrowed(text);
    }
    let digit = |c: char| if c.is_ascii_digit() { '0' } else { c };
    // As a whole: how a letter is folded may depend on its neighbours.
    Cow::Owned(text.to_lowercase().chars().map(digit).collect())
}

/// What must stand among the words of a text that contains a substring.
///
/// # Examples
///
/// ```
/// use ros2_memory_index::WordQuery;
///
/// let query = WordQuery::new("attery LOW on").unwrap();
/// let words = |text: &str| {
///     let mut words = Vec::new();
///     ros2_memory_index::each_word(text, |word| words.push(word.to_owned()));
///     words
/// };
/// let may_hold = |text: &str| {
///     query.parts().iter().all(|part| words(text).iter().any(|word| part.fits(word)))
/// };
/// assert!(may_hold("Battery low: only 12 %"));
/// assert!(!may_hold("battery full"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WordQuery {
    parts: Vec<WordPart>,
}

/// One word of a query, or what the query has of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WordPart {
    text: Box<str>,
    /// Whether a word of the text must begin where this does.
    begins: bool,
    /// Whether a word of the text must end where this does.
    ends: bool,
}

impl WordQuery {
    /// The words of a substring; `None` when it has none, or reads as a number: a list in JSON
    /// holds numbers that may be written otherwise.
    pub fn new(substring: &str) -> Option<Self> {
        if substring.parse::<f64>().is_ok() && substring.contains(|c: char| c.is_ascii_digit()) {
            return None;
        }
        let folded = fold(substring);
        let mut parts = Vec::new();
        let mut rest: &str = &folded;
        while let Some(start) = rest.find(char::is_alphanumeric) {
            let at = folded.len() - rest.len() + start;
            let word = rest.get(start..).unwrap_or_default();
            let end = word.find(|c: char| !c.is_alphanumeric()).unwrap_or(word.len());
            let (word, behind) = word.split_at(end);
            parts.push(WordPart { text: word.into(), begins: at > 0, ends: !behind.is_empty() });
            rest = behind;
        }
        (!parts.is_empty()).then_some(Self { parts })
    }

    /// Each must fit a word of the text.
    pub fn parts(&self) -> &[WordPart] {
        &self.parts
    }
}

impl WordPart {
    /// Whether this may be, or be a part of, a word.
    pub fn fits(&self, word: &str) -> bool {
        match (self.begins, self.ends) {
            (true, true) => *word == *self.text,
            (true, false) => word.starts_with(&*self.text),
            (false, true) => word.ends_with(&*self.text),
            (false, false) => word.contains(&*self.text),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn words(text: &str) -> Vec<String> {
        let mut words = Vec::new();
        each_word(text, |word| words.push(word.to_owned()));
        words
    }

    fn may_hold(text: &str, query: &WordQuery) -> bool {
        let words = words(text);
        query.parts().iter().all(|part| words.iter().any(|word| part.fits(word)))
    }

    #[test]
    fn words_are_folded_and_digits_are_one() {
        assert_eq!(
            words("Motor-7 STALLED at 12.5 A"),
            ["motor", "0", "stalled", "at", "00", "0", "a"]
        );
        assert_eq!(words("Äpfel, ΣΊΣΥΦΟΣ"), ["äpfel", "σίσυφος"]);
        assert!(words("... !").is_empty());
    }

    #[test]
    fn a_query_without_words_or_that_is_a_number_rules_nothing_out() {
        for text in ["", " - ", "12", "-1.5e3"] {
            assert_eq!(WordQuery::new(text), None, "{text}");
        }
        assert!(WordQuery::new("inf").is_some() && WordQuery::new("3 cups").is_some());
    }

    #[test]
    fn words_at_the_ends_of_a_query_may_be_parts_of_words() {
        let query = WordQuery::new("ery low, onl").unwrap();
        assert!(may_hold("Battery LOW, only 3 %", &query));
        assert!(!may_hold("battery lowest, only", &query));
        assert!(!may_hold("low battery", &query));
    }

    proptest! {
        /// What a text contains is never ruled out.
        #[test]
        fn every_substring_of_a_text_may_be_in_it(
            text in "[a-cA-C0-2Ääσς .,é\u{130}K]{0,24}", from in 0usize..24, len in 1usize..12
        ) {
            let lower = text.to_lowercase();
            let part: String = lower.chars().skip(from).take(len).collect();
            if let Some(query) = WordQuery::new(&part)
                && lower.contains(&part.to_lowercase())
            {
                prop_assert!(may_hold(&text, &query), "{text:?} {part:?}");
            }
        }
    }
}
