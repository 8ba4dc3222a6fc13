use std::ops::Range;

use ros2_memory_cdr::{ByteOrder, Cursor, Encoding, Primitive, text as cdr_text};

use crate::{
    FieldType, MessageEncoding, Plan, Schema, Value,
    plan::{Length, Step},
};

/// Where the fields that a plan takes lie in one message, and in every other with texts and arrays
/// of the same lengths.
#[derive(Debug, Clone)]
pub struct Layout {
    /// The encapsulation header.
    header: [u8; Encoding::HEADER_LEN],
    order: ByteOrder,
    /// Where a length stands, and its bytes.
    lengths: Vec<(usize, [u8; 4])>,
    fields: Vec<Place>,
    /// Where little-endian doubles lie and whose they are, and the other numbers.
    doubles: Vec<(usize, usize)>,
    others: Vec<NumberPlace>,
    /// Where lengths and texts stand, those that follow each other as one, and the bytes there.
    texts: Vec<(usize, Box<[u8]>)>,
    /// What was walked ends here.
    end: usize,
}

/// One field: its path's number, what it is, and where its bytes start.
#[derive(Debug, Clone, Copy)]
struct Place {
    path: usize,
    kind: PlaceKind,
    offset: usize,
}

#[derive(Debug, Clone, Copy)]
enum PlaceKind {
    Number(Primitive),
    /// Text of this many bytes, its terminator included.
    Text(usize),
}

/// A number of a message: which path leads to it, what it is, and where it starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NumberPlace {
    /// The path, by number.
    pub path: usize,
    /// The type.
    pub kind: Primitive,
    /// From the start of the payload.
    pub offset: usize,
    /// The order of its bytes.
    pub order: ByteOrder,
}

/// Of a message with more fields or lengths, such as one with a long list, nothing is remembered.
const MAX_PLACES: usize = 4096;

impl Plan {
    /// Whether its fields lie at offsets that depend on some lengths only.
    pub(crate) fn has_layouts(&self) -> bool {
        self.schema.message_encoding() == MessageEncoding::Cdr
            && self.steps.iter().all(Step::has_offset)
    }

    /// Where the fields lie in a message; `None` when they cannot be found by lengths alone, as
    /// with optional fields, single elements of lists or whole ones, or cannot be found at all.
    pub fn layout(&self, payload: &[u8]) -> Option<Layout> {
        if self.has_layouts() { Layout::of(self, payload) } else { None }
    }
}

impl Step {
    /// Whether what it does depends on nothing but lengths.
    fn has_offset(&self) -> bool {
        match self {
            Self::SkipPrimitives { .. }
            | Self::SkipString
            | Self::Take {
                ty: FieldType::Primitive(_) | FieldType::String, stays: false, ..
            } => true,
            Self::Skip(FieldType::Sequence(element)) => {
                matches!(**element, FieldType::Primitive(_))
            }
            Self::Elements { each, at, .. } => {
                at.is_empty() && !each.is_empty() && each.iter().all(Self::has_offset)
            }
            Self::Skip(_) | Self::Take { .. } => false,
        }
    }
}

impl Layout {
    /// Walks a message to learn where its fields lie; `None` when it cannot be walked to the last
    /// of them, has headers around its values, or too many fields.
    pub(crate) fn of(plan: &Plan, payload: &[u8]) -> Option<Self> {
        let mut cursor = Cursor::new(payload).ok()?;
        if !plan.schema.is_plain_in(cursor.encoding()) {
            return None;
        }
        let (header, order) = (*payload.first_chunk()?, cursor.encoding().order);
        let mut found = Self {
            header,
            order,
            lengths: Vec::new(),
            fields: Vec::new(),
            doubles: Vec::new(),
            others: Vec::new(),
            texts: Vec::new(),
            end: 0,
        };
        found.walk(&plan.schema, &plan.steps, payload, &mut cursor)?;
        found.end = cursor.offset();
        let mut texts: Vec<Range<usize>> =
            found.lengths.iter().map(|(offset, length)| *offset..*offset + length.len()).collect();
        for place in &found.fields {
            match place.kind {
                PlaceKind::Number(Primitive::F64) if order == ByteOrder::Little => {
                    found.doubles.push((place.offset, place.path));
                }
                PlaceKind::Number(kind) => {
                    let Place { path, offset, .. } = *place;
                    found.others.push(NumberPlace { path, kind, offset, order });
                }
                PlaceKind::Text(len) => texts.push(place.offset..place.offset + len),
            }
        }
        for run in joined(texts) {
            found.texts.push((run.start, payload.get(run)?.into()));
        }
        Some(found)
    }

    fn walk(
        &mut self,
        schema: &Schema,
        steps: &[Step],
        payload: &[u8],
        cursor: &mut Cursor<'_>,
    ) -> Option<()> {
        for step in steps {
            if self.fields.len() + self.lengths.len() > MAX_PLACES {
                return None;
            }
            match step {
                Step::SkipPrimitives { size, count } => {
                    cursor.skip_primitives(*size, *count).ok()?;
                }
                Step::SkipString => {
                    self.note_length(payload, cursor)?;
                    cursor.skip_string().ok()?;
                }
                Step::Skip(FieldType::Sequence(element)) => {
                    let FieldType::Primitive(kind) = **element else { return None };
                    self.note_length(payload, cursor)?;
                    cursor.skip_primitive_sequence(kind.size()).ok()?;
                }
                Step::Take { path, ty: FieldType::Primitive(kind), .. } => {
                    let offset = cursor.next_offset(kind.size());
                    self.fields.push(Place { path: *path, kind: PlaceKind::Number(*kind), offset });
                    cursor.skip_primitives(kind.size(), 1).ok()?;
                }
                Step::Take { path, ty: FieldType::String, .. } => {
                    let offset = cursor.next_offset(4) + 4;
                    self.note_length(payload, cursor)?;
                    cursor.skip_string().ok()?;
                    let kind = PlaceKind::Text(cursor.offset() - offset);
                    self.fields.push(Place { path: *path, kind, offset });
                }
                Step::Elements { len, element, each, .. } => {
                    let len = match len {
                        Length::Fixed(len) => *len,
                        Length::Counted => {
                            self.note_length(payload, cursor)?;
                            cursor.sequence_len(schema.min_size(element)).ok()?
                        }
                    };
                    if len > MAX_PLACES {
                        return None;
                    }
                    for _ in 0..len {
                        self.walk(schema, each, payload, cursor)?;
                    }
                }
                Step::Skip(_) | Step::Take { .. } => return None,
            }
        }
        Some(())
    }

    /// Remembers the length in front of the cursor.
    fn note_length(&mut self, payload: &[u8], cursor: &Cursor<'_>) -> Option<()> {
        let offset = cursor.next_offset(4);
        let length = *payload.get(offset..)?.first_chunk()?;
        self.lengths.push((offset, length));
        Some(())
    }

    /// The numbers, in the order of the message.
    pub fn numbers(&self) -> impl Iterator<Item = NumberPlace> + '_ {
        let order = self.order;
        self.fields.iter().filter_map(move |place| match place.kind {
            PlaceKind::Number(kind) => {
                Some(NumberPlace { path: place.path, kind, offset: place.offset, order })
            }
            PlaceKind::Text(_) => None,
        })
    }

    /// Whether a message has the same lengths and, where the plan takes any, the same texts: then
    /// its numbers are in the same places, and its texts need not be looked at.
    #[inline]
    pub fn has_same_texts(&self, payload: &[u8]) -> bool {
        let Some(walked) = payload.get(..self.end) else { return false };
        let is_there = |(offset, text): &(usize, Box<[u8]>)| {
            walked.get(*offset..).is_some_and(|rest| rest.starts_with(text))
        };
        // Lengths are among the texts.
        walked.first_chunk() == Some(&self.header) && self.texts.iter().all(is_there)
    }

    /// Puts the numbers of a message that fits where their paths say.
    #[inline]
    pub(crate) fn put_numbers(&self, payload: &[u8], out: &mut [f64]) {
        for (offset, path) in &self.doubles {
            let bytes = payload.get(*offset..).and_then(|rest| rest.first_chunk());
            if let (Some(slot), Some(bytes)) = (out.get_mut(*path), bytes) {
                *slot = f64::from_le_bytes(*bytes);
            }
        }
        for place in &self.others {
            let value = place.kind.read_at(payload, place.offset, place.order);
            if let (Some(slot), Some(value)) = (out.get_mut(place.path), value) {
                *slot = value.as_f64();
            }
        }
    }

    /// Hands out the fields of a message that fits.
    #[inline]
    pub(crate) fn visit<'a>(&self, payload: &'a [u8], visit: &mut impl FnMut(usize, Value<'a>)) {
        for place in &self.fields {
            match place.kind {
                PlaceKind::Number(kind) => {
                    if let Some(value) = kind.read_at(payload, place.offset, self.order) {
                        visit(place.path, Value::Scalar(value));
                    }
                }
                PlaceKind::Text(len) => {
                    let bytes = payload.get(place.offset..).and_then(|rest| rest.get(..len));
                    visit(place.path, Value::String(cdr_text(bytes.unwrap_or_default())));
                }
            }
        }
    }

    /// Whether the fields of `payload` lie where those of the remembered message did.
    #[inline]
    pub(crate) fn fits(&self, payload: &[u8]) -> bool {
        let Some(walked) = payload.get(..self.end) else { return false };
        walked.first_chunk() == Some(&self.header)
            && self.lengths.iter().all(|(offset, length)| {
                walked.get(*offset..*offset + 4).and_then(|rest| rest.first_chunk()) == Some(length)
            })
    }
}

/// Ranges in order, those that touch each other as one. What stands in between to align the next
/// is taken in: compared too, it costs a look-up at worst.
fn joined(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    const MAX_PADDING: usize = 3;
    ranges.sort_by_key(|range| range.start);
    let mut joined: Vec<Range<usize>> = Vec::new();
    for range in ranges {
        match joined.last_mut() {
            Some(last) if range.start <= last.end + MAX_PADDING => {
                last.end = last.end.max(range.end);
            }
            _ => joined.push(range),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ros2_memory_cdr::{Scalar, Writer};

    use super::*;
    use crate::Library;

    fn payload(texts: [&str; 2], n_bytes: usize, number: i16) -> Vec<u8> {
        let mut writer = Writer::new(Encoding::XCDR1_LE);
        writer.string(texts[0]);
        writer.sequence_len(n_bytes);
        (0..n_bytes).for_each(|_| writer.scalar(Scalar::U64(7), Primitive::U8));
        writer.scalar(Scalar::I64(number.into()), Primitive::I16);
        writer.string(texts[1]);
        writer.scalar(Scalar::F64(f64::from(number) / 3.0), Primitive::F64);
        writer.into_payload()
    }

    #[test]
    fn a_message_with_the_same_texts_has_its_numbers_in_the_same_places() {
        let text = "string a\nuint8[] b\nint16 c\nstring d\nfloat64 e";
        let schema = Schema::parse("p/msg/T", text, &Library::new()).unwrap();
        let paths = ["c", "d", "e"].map(|path| path.parse().unwrap());
        let plan = Plan::compile(Arc::new(schema), &paths).unwrap();
        let layout = plan.layout(&payload(["ab", "same"], 2, 1)).unwrap();
        for (texts, n_bytes, is_same) in [
            // The plan takes no `a`: another text of the same length is the same message.
            (["xy", "same"], 2, true),
            (["ab", "else"], 2, false),
            (["ab", "longer"], 2, false),
            (["ab", "same"], 3, false),
        ] {
            let other = payload(texts, n_bytes, 77);
            assert_eq!(layout.has_same_texts(&other), is_same, "{texts:?} {n_bytes}");
            let mut wanted = Vec::new();
            plan.run(&other, |path, value| {
                if let Value::Scalar(number) = value {
                    wanted.push((path, number));
                }
            })
            .unwrap();
            let read = |place: NumberPlace| {
                Some((place.path, place.kind.read_at(&other, place.offset, place.order)?))
            };
            if is_same {
                assert_eq!(layout.numbers().filter_map(read).collect::<Vec<_>>(), wanted);
            }
            for len in 0..other.len() {
                assert!(!layout.has_same_texts(&other[..len]), "{len}");
            }
        }
    }
}
