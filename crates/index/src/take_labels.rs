//! Taking labels out of messages.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet, HashMap},
    fmt,
    sync::Arc,
};

use ros2_memory_bag::Declarations;
use ros2_memory_msg::{DecodeLimits, FieldPath, Library, Plan, Scalar, Value};
use ros2_memory_time::LogTime;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::{
    IndexedPaths, IndexedTypes, Sightings, TopicWords,
    definition::Definition,
    texts::Texts,
    words::{MAX_WORD_BYTES, each_word},
};

/// A longer text is no label.
const MAX_LABEL_BYTES: usize = 200;
/// A topic that names more in one bag has labels that are none, such as numbers.
const MAX_LABELS: usize = 4096;
/// A topic that says more words in one bag cannot be ruled out by them.
const MAX_WORDS: usize = 4096;
/// What an object of a JSON list calls its label.
const LABEL_KEYS: [&str; 6] = ["label", "name", "class", "class_name", "class_id", "object"];

/// Makes plans for channels whose labels are indexed, one a definition.
#[derive(Debug, Default)]
pub(crate) struct LabelReader {
    types: Arc<IndexedTypes>,
    library: Arc<Library>,
    plans: HashMap<Definition, Option<LabelPlan>>,
}

/// How to take the labels out of the messages of one channel.
#[derive(Debug, Clone)]
pub(crate) struct LabelPlan {
    plan: Arc<Plan>,
    /// The paths below this number are those of labels, the others those of text.
    n_labels: usize,
}

/// What was taken of one topic so far.
#[derive(Debug)]
pub(crate) struct TopicLabels {
    channel: u32,
    times: Vec<LogTime>,
    labels: BTreeMap<Arc<str>, Vec<u32>>,
    is_complete: bool,
    has_other_values: bool,
    /// Whether a path of labels is configured: the labels of a topic with free text alone are kept
    /// only when some of it is a list.
    has_label_paths: bool,
    /// The words of free text; `None` when some are missing.
    words: Option<BTreeSet<Arc<str>>>,
}

impl LabelReader {
    pub(crate) fn new(types: Arc<IndexedTypes>, library: Arc<Library>) -> Self {
        Self { types, library, ..Self::default() }
    }

    /// The plan for a channel; `None` where no labels of it are indexed, and when its definition
    /// cannot be used.
    pub(crate) fn plan(&mut self, declared: &Declarations, channel: u32) -> Option<LabelPlan> {
        let channel = declared.channel(channel)?;
        let text = declared.schema(channel)?;
        let paths = self.types.get(&text.name)?;
        if paths.labels.is_empty() && paths.text.is_empty() {
            return None;
        }
        let (key, library) = (Definition::of(channel, text), &self.library);
        self.plans.entry(key).or_insert_with_key(|key| compile(key, library, paths)).clone()
    }
}

/// Without the paths that this definition of the type does not have.
fn compile(source: &Definition, library: &Library, paths: &IndexedPaths) -> Option<LabelPlan> {
    let schema = source.schema(library)?;
    let fits =
        |path: &&FieldPath| Plan::compile(schema.clone(), std::slice::from_ref(*path)).is_ok();
    let mut all: Vec<FieldPath> = paths.labels.iter().filter(fits).cloned().collect();
    let n_labels = all.len();
    all.extend(paths.text.iter().filter(fits).cloned());
    let plan = Plan::compile(schema.clone(), &all).ok().filter(|_| !all.is_empty())?;
    Some(LabelPlan { plan: Arc::new(plan), n_labels })
}

impl TopicLabels {
    /// `has_other_values` when the topic had messages that are not gone over.
    pub(crate) fn new(channel: u32, has_other_values: bool) -> Self {
        Self {
            channel,
            times: Vec::new(),
            labels: BTreeMap::new(),
            is_complete: true,
            has_other_values,
            has_label_paths: false,
            words: (!has_other_values).then(BTreeSet::new),
        }
    }

    /// What was taken of a bag that has grown since.
    pub(crate) fn of(known: &Sightings, words: Option<&TopicWords>) -> Self {
        let none = (!known.has_other_values).then(BTreeSet::new);
        Self {
            channel: known.channel,
            times: known.times.clone(),
            labels: known.labels.iter().cloned().collect(),
            is_complete: known.is_complete,
            has_other_values: known.has_other_values,
            has_label_paths: true,
            words: words.map(|of| of.words.iter().cloned().collect()).or(none),
        }
    }

    /// What was taken of a bag that has grown since, of a topic that names nothing.
    pub(crate) fn of_words(known: &TopicWords) -> Self {
        let words = Some(known.words.iter().cloned().collect());
        Self { words, ..Self::new(known.channel, true) }
    }

    pub(crate) fn channel(&self) -> u32 {
        self.channel
    }

    /// Takes what a message names.
    pub(crate) fn take(
        &mut self,
        texts: &mut Texts,
        plan: &LabelPlan,
        log_time: LogTime,
        payload: &[u8],
    ) {
        self.has_label_paths |= plan.n_labels > 0;
        let Ok(ordinal) = u32::try_from(self.times.len()) else {
            self.miss();
            return;
        };
        self.times.push(log_time);
        let outcome = plan.plan.run_limited(payload, DecodeLimits::NONE, |path, value| {
            let is_label = path < plan.n_labels;
            self.value(texts, ordinal, &value, is_label);
        });
        self.is_complete &= outcome.is_ok();
        if outcome.is_err() {
            self.words = None;
        }
    }

    fn value(&mut self, texts: &mut Texts, ordinal: u32, value: &Value<'_>, is_label: bool) {
        match value {
            Value::String(text) => {
                // As the condition has it: any space in front, not only what JSON knows as such.
                let start = text.trim_start();
                if start.starts_with('[') {
                    let mut has_others = false;
                    let mut item = |item: Item<'_>| match item {
                        Item::Label(label) => self.name(texts, ordinal, label),
                        Item::Other => has_others = true,
                    };
                    let mut json = serde_json::Deserializer::from_str(start);
                    let listed = Items(&mut item).deserialize(&mut json).and_then(|()| json.end());
                    self.has_other_values |= has_others;
                    if has_others {
                        // An escape stands for a letter that the words do not show.
                        let is_plain = listed.is_err() || !text.contains('\\');
                        self.words = self.words.take().filter(|_| is_plain);
                        self.say(texts, text);
                    }
                    if listed.is_ok() {
                        return;
                    }
                }
                if is_label {
                    self.name(texts, ordinal, text);
                } else {
                    self.has_other_values = true;
                    self.say(texts, text);
                }
            }
            Value::Scalar(Scalar::I64(number)) if is_label => {
                self.name(texts, ordinal, &number.to_string());
            }
            Value::Scalar(Scalar::U64(number)) if is_label => {
                self.name(texts, ordinal, &number.to_string());
            }
            Value::List(list) => {
                for item in &list.items {
                    self.value(texts, ordinal, item, is_label);
                }
            }
            Value::Absent => {}
            _ => {
                self.has_other_values = true;
                self.words = None;
            }
        }
    }

    /// Takes the words of free text.
    fn say(&mut self, texts: &mut Texts, text: &str) {
        let Some(words) = &mut self.words else { return };
        let mut is_too_much = false;
        each_word(text, |word| {
            if word.len() > MAX_WORD_BYTES || words.len() >= MAX_WORDS {
                is_too_much = true;
            } else if !words.contains(word) {
                words.insert(texts.shared(word));
            }
        });
        if is_too_much {
            self.words = None;
        }
    }

    /// Takes note that some messages of the topic could not be read at all.
    pub(crate) fn miss(&mut self) {
        self.is_complete = false;
        self.words = None;
    }

    fn name(&mut self, texts: &mut Texts, ordinal: u32, label: &str) {
        if label.is_empty() {
            return;
        }
        if let Some(ordinals) = self.labels.get_mut(label) {
            if ordinals.last() != Some(&ordinal) {
                ordinals.push(ordinal);
            }
        } else if label.len() > MAX_LABEL_BYTES || self.labels.len() >= MAX_LABELS {
            self.is_complete = false;
        } else {
            self.labels.insert(texts.shared(label), vec![ordinal]);
        }
    }

    /// The words of the topic's free text, when there is any and none are missing.
    pub(crate) fn words(&mut self) -> Option<TopicWords> {
        let words = self.words.take().filter(|_| self.has_other_values)?;
        Some(TopicWords { channel: self.channel, words: words.into_iter().collect() })
    }

    /// What the topic of this bag names; `None` when it names nothing and was not meant to.
    pub(crate) fn finish(self) -> Option<Sightings> {
        let Self {
            channel, mut times, labels, is_complete, has_other_values, has_label_paths, ..
        } = self;
        let is_text_alone = !has_label_paths && labels.is_empty() && has_other_values;
        if times.is_empty() || is_text_alone {
            return None;
        }
        let mut labels: Vec<_> = labels.into_iter().collect();
        if !times.is_sorted() {
            // Recorded out of order: numbered anew, equal times as they came.
            let mut order: Vec<usize> = (0..times.len()).collect();
            order.sort_by_key(|place| times.get(*place).copied());
            let mut new = vec![0u32; times.len()];
            for (ordinal, place) in (0u32..).zip(&order) {
                if let Some(slot) = new.get_mut(*place) {
                    *slot = ordinal;
                }
            }
            times.sort();
            for (_, ordinals) in &mut labels {
                for ordinal in ordinals.iter_mut() {
                    *ordinal = new.get(*ordinal as usize).copied().unwrap_or_default();
                }
                ordinals.sort_unstable();
            }
        }
        Some(Sightings { channel, times, labels, is_complete, has_other_values })
    }
}

/// What stands in a list.
enum Item<'a> {
    Label(&'a str),
    /// Something that is no label.
    Other,
}

/// Reads a JSON list and hands on what its items are called.
struct Items<'n, F>(&'n mut F);

impl<'de, F: FnMut(Item<'_>)> DeserializeSeed<'de> for Items<'_, F> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de, F: FnMut(Item<'_>)> Visitor<'de> for Items<'_, F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while items.next_element_seed(OneItem(self.0))?.is_some() {}
        Ok(())
    }
}

/// One item: a text, or an object that has a label.
struct OneItem<'n, F>(&'n mut F);

impl<'de, F: FnMut(Item<'_>)> DeserializeSeed<'de> for OneItem<'_, F> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, F: FnMut(Item<'_>)> Visitor<'de> for OneItem<'_, F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a label")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        (self.0)(Item::Label(text));
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        while let Some(key) = fields.next_key::<Cow<'de, str>>()? {
            if LABEL_KEYS.contains(&&*key) {
                fields.next_value_seed(OneItem(&mut *self.0))?;
            } else {
                (self.0)(Item::Other);
                fields.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while items.next_element_seed(OneItem(&mut *self.0))?.is_some() {}
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        (self.0)(Item::Other);
        Ok(())
    }

    fn visit_i64<E>(self, number: i64) -> Result<(), E> {
        (self.0)(Item::Label(&number.to_string()));
        Ok(())
    }

    fn visit_u64<E>(self, number: u64) -> Result<(), E> {
        (self.0)(Item::Label(&number.to_string()));
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        (self.0)(Item::Other);
        Ok(())
    }
}
