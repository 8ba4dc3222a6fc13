//! A random type with a random value, written by the generator of the tests: read as it was
//! written, and with any damage in any way alike.

use std::sync::Arc;

use arbitrary::{Arbitrary, Unstructured};
use ros2_memory_msg::{DecodeLimits, FieldPath, Library, Plan, Schema, TypeSource, Value, decode};
use ros2_memory_testkit::{
    prng::Prng,
    typed::{self, DefinitionText, Family, Layout, Options, Quirks, Style, TypeSet},
};

use crate::{
    agreement,
    typed_values::{are_written, is_written},
};

#[derive(Debug, Arbitrary)]
struct Input {
    family: u8,
    /// How many structures and fields of each there may be.
    n_structs: u8,
    n_fields: u8,
    language: u8,
    layout: u8,
    type_seed: u64,
    style_seed: Option<u64>,
    value_seed: u64,
    quirks_seed: Option<u64>,
    path_seed: u64,
    mutations: Vec<Mutation>,
}

/// A change of the payload.
#[derive(Debug, Arbitrary)]
enum Mutation {
    Flip { at: u16, bit: u8 },
    Set { at: u16, byte: u8 },
    Word { at: u16, word: u32 },
    Cut { len: u16 },
    Insert { at: u16, byte: u8, n: u8 },
    Remove { at: u16, n: u8 },
    Representation(u8),
}

/// `data` makes an input of seeds and changes.
pub fn run(data: &[u8]) {
    let Ok(input) = Input::arbitrary_take_rest(Unstructured::new(data)) else { return };
    let set = input.types();
    let text = input.text(&set);
    let source = TypeSource {
        type_name: &text.schema_name,
        schema_encoding: text.encoding,
        message_encoding: if text.encoding == "ros1msg" { "ros1" } else { "cdr" },
        text: text.text.as_bytes(),
    };
    let schema = Schema::for_channel(&source, &Library::new());
    let schema = Arc::new(schema.unwrap_or_else(|error| panic!("{error}\n{}", text.text)));

    let wanted = typed::random_value(&set, &mut Prng::new(input.value_seed));
    let layout = input.layout(&set);
    let payload = typed::encode(&set, &wanted, layout);
    let read = decode(&schema, &payload, DecodeLimits::NONE);
    let read = read.unwrap_or_else(|error| panic!("{error}\n{layout:?}\n{}", text.text));
    assert!(is_written(&read, &wanted), "{read:?}\n{wanted:?}\n{layout:?}\n{}", text.text);

    let paths = typed::paths(&set, &wanted, &mut Prng::new(input.path_seed));
    let parsed: Vec<FieldPath> =
        paths.iter().map(|(path, _)| path.parse().expect("a path of the generator")).collect();
    let plan = Plan::compile(schema.clone(), &parsed).expect("paths that fit");
    let mut by_path: Vec<Vec<Value<'_>>> = vec![Vec::new(); paths.len()];
    plan.run(&payload, |number, value| by_path[number].push(value)).expect("what was written");
    for (found, (path, wanted)) in by_path.iter().zip(&paths) {
        assert!(are_written(found, wanted), "{path}: {found:?}\n{wanted:?}\n{}", text.text);
    }

    let mut damaged = payload.clone();
    input.mutations.iter().take(8).for_each(|mutation| mutation.apply(&mut damaged));
    let may_have_lengths = set.family == Family::Idl
        || layout.encoding.is_version_2()
        || damaged.get(..4) != payload.get(..4) && set.family != Family::Ros1;
    agreement::check(&schema, &[&payload, &damaged, &payload], &parsed, may_have_lengths);
}

impl Input {
    fn types(&self) -> TypeSet {
        let options = match self.family % 3 {
            0 => Options::ros1(),
            1 => Options::ros2(),
            _ => Options::idl(),
        };
        let options = Options {
            max_structs: u64::from(self.n_structs % 6) + 1,
            max_fields: u64::from(self.n_fields % 12) + 1,
            ..options
        };
        typed::random_types(options, &mut Prng::new(self.type_seed))
    }

    fn text(&self, set: &TypeSet) -> DefinitionText {
        let mut rng = Prng::new(self.style_seed.unwrap_or_default());
        let style = match self.style_seed {
            Some(_) => Style::random(&mut rng),
            None => Style::PLAIN,
        };
        match (set.family, self.language % 3) {
            (Family::Ros1, _) => typed::ros1msg(set, style, &mut rng),
            (Family::Ros2, 0) => typed::ros2msg(set, style, &mut rng),
            (_, 0 | 1) => typed::omgidl(set, style, &mut rng),
            _ => typed::ros2idl(set, style, &mut rng),
        }
    }

    fn layout(&self, set: &TypeSet) -> Layout {
        let fitting = Layout::fitting(set);
        let layout = fitting[usize::from(self.layout) % fitting.len()];
        match self.quirks_seed {
            Some(seed) => layout.with_quirks(Quirks::random(&mut Prng::new(seed))),
            None => layout,
        }
    }
}

impl Mutation {
    fn apply(&self, payload: &mut Vec<u8>) {
        // Places past the end wrap around, so that none is wasted.
        let place = |at: u16| usize::from(at) % payload.len().max(1);
        match *self {
            Self::Flip { at, bit } => {
                let at = place(at);
                if let Some(byte) = payload.get_mut(at) {
                    *byte ^= 1 << (bit % 8);
                }
            }
            Self::Set { at, byte } => {
                let at = place(at);
                if let Some(place) = payload.get_mut(at) {
                    *place = byte;
                }
            }
            Self::Word { at, word } => {
                // Where lengths stand.
                let at = place(at) / 4 * 4;
                let bytes = word.to_le_bytes();
                payload.iter_mut().skip(at).zip(bytes).for_each(|(place, byte)| *place = byte);
            }
            Self::Cut { len } => payload.truncate(place(len)),
            Self::Insert { at, byte, n } => {
                let at = place(at);
                payload.splice(at..at, std::iter::repeat_n(byte, usize::from(n)));
            }
            Self::Remove { at, n } => {
                let start = place(at);
                let end = (start + usize::from(n)).min(payload.len());
                payload.drain(start..end);
            }
            Self::Representation(byte) => {
                if let Some(place) = payload.get_mut(1) {
                    *place = byte % 16;
                }
            }
        }
    }
}
