use ros2_memory_cdr::{ByteOrder, Cursor, Encoding, Primitive, Scalar, text as cdr_text};

use crate::{
    DecodeError, FieldType, MessageEncoding, Plan, Schema, Value,
    plan::{Length, Step},
};

/// Runs a plan over the messages of a stream, remembering where the fields lay in the last one.
///
/// Messages of a topic mostly have texts and arrays of the same lengths, and then every field lies
/// where it lay before. So the lengths in front of the fields are compared with those remembered,
/// and the fields are read where they were; only a message with other lengths is walked again.
/// Gives what [`Plan::run`] gives, always: comparing lengths is all that walking would do.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use ros2_memory_cdr::{Encoding, Writer};
/// use ros2_memory_msg::{Library, Plan, PlanReader, Primitive, Scalar, Schema};
///
/// let schema = Schema::parse("p/msg/T", "string name\nfloat64 x", &Library::new()).unwrap();
/// let plan = Plan::compile(Arc::new(schema), &["x".parse().unwrap()]).unwrap();
/// let mut reader = PlanReader::new(plan);
/// let mut sum = 0.0;
/// for x in 0..10u8 {
///     let mut writer = Writer::new(Encoding::XCDR1_LE);
///     writer.string("odom");
///     writer.scalar(Scalar::F64(x.into()), Primitive::F64);
///     let payload = writer.into_payload();
///     reader.read(&payload, |_path, value| sum += value.as_f64().unwrap()).unwrap();
/// }
/// assert_eq!(sum, 45.0);
/// ```
#[derive(Debug, Clone)]
pub struct PlanReader {
    plan: Plan,
    /// Whether the plan's fields lie at offsets that depend on some lengths only.
    has_offsets: bool,
    memory: Option<Offsets>,
    /// Messages in a row that lay otherwise.
    misses: u32,
}

/// Where the fields of one message lay.
#[derive(Debug, Clone)]
struct Offsets {
    /// The encapsulation header.
    header: [u8; Encoding::HEADER_LEN],
    order: ByteOrder,
    /// Where a length stands, and its bytes.
    lengths: Vec<(usize, [u8; 4])>,
    fields: Vec<Place>,
    /// The numbers again, for those who want nothing else: where doubles lie and whose they are,
    /// and the others.
    doubles: Vec<(usize, usize)>,
    others: Vec<(Primitive, usize, usize)>,
    /// The texts: where they start, and their bytes.
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

/// Of a message with more fields or lengths, such as one with a long list, nothing is remembered.
const MAX_PLACES: usize = 4096;

impl PlanReader {
    /// A reader that remembers nothing yet.
    pub fn new(plan: Plan) -> Self {
        let is_cdr = plan.schema.message_encoding() == MessageEncoding::Cdr;
        let has_offsets = is_cdr && plan.steps.iter().all(Step::has_offset);
        Self { plan, has_offsets, memory: None, misses: 0 }
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// As [`Plan::run`].
    ///
    /// # Errors
    ///
    /// As [`Plan::run`].
    #[inline]
    pub fn read<'a>(
        &'a mut self,
        payload: &'a [u8],
        mut visit: impl FnMut(usize, Value<'a>),
    ) -> Result<(), DecodeError> {
        let Self { plan, has_offsets, memory, misses } = self;
        if let Some(memory) = memory.as_ref().filter(|memory| memory.fits(payload)) {
            *misses = 0;
            memory.visit(payload, &mut visit);
            return Ok(());
        }
        learn(plan, *has_offsets, memory, misses, payload);
        plan.run(payload, visit)
    }
}

impl PlanReader {
    /// Hands out the numbers of a message whose texts are those of the remembered one, in the order
    /// of [`Self::read`], and returns whether it is such a message. Of others, nothing is handed
    /// out.
    ///
    /// For messages that name the same things again and again, such as lists of transforms: what
    /// the texts mean need not be looked up.
    #[inline]
    pub fn numbers_of_same_texts(
        &self,
        payload: &[u8],
        mut visit: impl FnMut(usize, Scalar),
    ) -> bool {
        let Some(memory) = &self.memory else { return false };
        let is_same = memory.fits(payload)
            && memory
                .texts
                .iter()
                .all(|(offset, text)| payload.get(*offset..*offset + text.len()) == Some(&**text));
        if is_same {
            for place in &memory.fields {
                if let PlaceKind::Number(kind) = place.kind
                    && let Some(value) = kind.read_at(payload, place.offset, memory.order)
                {
                    visit(place.path, value);
                }
            }
        }
        is_same
    }

    /// As [`Plan::numbers`].
    ///
    /// # Errors
    ///
    /// As [`Plan::run`].
    #[inline]
    pub fn numbers(&mut self, payload: &[u8], out: &mut [f64]) -> Result<(), DecodeError> {
        if let Some(memory) = &self.memory
            && memory.fits(payload)
        {
            self.misses = 0;
            for (offset, path) in &memory.doubles {
                let bytes = payload.get(*offset..).and_then(|rest| rest.first_chunk());
                if let (Some(slot), Some(bytes)) = (out.get_mut(*path), bytes) {
                    *slot = f64::from_le_bytes(*bytes);
                }
            }
            for (kind, offset, path) in &memory.others {
                let value = kind.read_at(payload, *offset, memory.order);
                if let (Some(slot), Some(value)) = (out.get_mut(*path), value) {
                    *slot = value.as_f64();
                }
            }
            return Ok(());
        }
        let Self { plan, has_offsets, memory, misses } = self;
        learn(plan, *has_offsets, memory, misses, payload);
        plan.numbers(payload, out)
    }
}

/// Remembers where the fields of a message lie. Where each lies otherwise than the last, learning
/// would only cost: it is tried at the first, second, fourth message of such a row, and so on.
#[cold]
fn learn(
    plan: &Plan,
    has_offsets: bool,
    memory: &mut Option<Offsets>,
    misses: &mut u32,
    payload: &[u8],
) {
    *misses = misses.saturating_add(1);
    if has_offsets && misses.is_power_of_two() {
        *memory = Offsets::of(plan, payload);
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

impl Offsets {
    /// Walks a message to learn where its fields lie; `None` when it cannot be walked to the last
    /// of them, has headers around its values, or too many fields.
    fn of(plan: &Plan, payload: &[u8]) -> Option<Self> {
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
        for place in &found.fields {
            match place.kind {
                PlaceKind::Number(Primitive::F64) if order == ByteOrder::Little => {
                    found.doubles.push((place.offset, place.path));
                }
                PlaceKind::Number(kind) => found.others.push((kind, place.offset, place.path)),
                PlaceKind::Text(len) => {
                    let bytes = payload.get(place.offset..place.offset + len)?;
                    found.texts.push((place.offset, bytes.into()));
                }
            }
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

    /// Hands out the fields of a message that fits.
    #[inline]
    fn visit<'a>(&self, payload: &'a [u8], visit: &mut impl FnMut(usize, Value<'a>)) {
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
    fn fits(&self, payload: &[u8]) -> bool {
        let Some(walked) = payload.get(..self.end) else { return false };
        walked.first_chunk() == Some(&self.header)
            && self.lengths.iter().all(|(offset, length)| {
                walked.get(*offset..*offset + 4).and_then(|rest| rest.first_chunk()) == Some(length)
            })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ros2_memory_cdr::Writer;

    use super::*;
    use crate::{Library, Schema};

    const TEXT: &str = "string a\nuint8[] b\nint16 c\nstring d\nfloat64 e";

    fn plan(paths: &[&str]) -> Plan {
        let schema = Schema::parse("p/msg/T", TEXT, &Library::new()).unwrap();
        let paths: Vec<_> = paths.iter().map(|path| path.parse().unwrap()).collect();
        Plan::compile(Arc::new(schema), &paths).unwrap()
    }

    fn payload(encoding: Encoding, texts: [&str; 2], n_bytes: usize, number: i16) -> Vec<u8> {
        let mut writer = Writer::new(encoding);
        writer.string(texts[0]);
        writer.sequence_len(n_bytes);
        (0..n_bytes).for_each(|_| writer.scalar(Scalar::U64(7), Primitive::U8));
        writer.scalar(Scalar::I64(number.into()), Primitive::I16);
        writer.string(texts[1]);
        writer.scalar(Scalar::F64(f64::from(number) / 3.0), Primitive::F64);
        writer.into_payload()
    }

    #[test]
    fn messages_of_any_lengths_in_any_order_give_what_the_plan_gives() {
        let plan = plan(&["e", "c", "d", "b[]"]);
        let mut reader = PlanReader::new(plan.clone());
        let mut n = 0u32;
        for round in 0..400usize {
            let encoding = if round % 7 < 5 { Encoding::XCDR1_LE } else { Encoding::XCDR1_BE };
            let texts = ["x".repeat(round / 3 % 5), "y".repeat(round / 11 % 3)];
            let number = i16::try_from(round).unwrap();
            let payload = payload(encoding, [&texts[0], &texts[1]], round / 5 % 4, number);
            let (mut wanted, mut found) = (Vec::new(), Vec::new());
            plan.run(&payload, |path, value| wanted.push((path, value))).unwrap();
            reader.read(&payload, |path, value| found.push((path, value))).unwrap();
            assert_eq!(wanted, found);
            n += 1;
        }
        assert_eq!(n, 400);
    }

    #[test]
    fn numbers_come_alone_only_where_the_texts_are_the_same() {
        let plan = plan(&["c", "d", "e"]);
        let mut reader = PlanReader::new(plan.clone());
        let first = payload(Encoding::XCDR1_LE, ["ab", "same"], 2, 1);
        assert!(!reader.numbers_of_same_texts(&first, |_, _| unreachable!("nothing is known")));
        reader.read(&first, |_, _| ()).unwrap();
        for (texts, n_bytes, is_same) in [
            // The plan takes no `a`: another text of the same length is the same message.
            (["xy", "same"], 2, true),
            (["ab", "else"], 2, false),
            (["ab", "longer"], 2, false),
            (["ab", "same"], 3, false),
        ] {
            let other = payload(Encoding::XCDR1_LE, texts, n_bytes, 77);
            let (mut wanted, mut found) = (Vec::new(), Vec::new());
            plan.run(&other, |path, value| {
                if let Value::Scalar(number) = value {
                    wanted.push((path, number));
                }
            })
            .unwrap();
            let was =
                reader.numbers_of_same_texts(&other, |path, number| found.push((path, number)));
            assert_eq!(was, is_same, "{texts:?} {n_bytes}");
            assert_eq!(found, if is_same { wanted } else { Vec::new() });
        }
    }

    #[test]
    fn every_cut_gives_what_the_plan_gives() {
        let plan = plan(&["c", "e"]);
        let whole = payload(Encoding::XCDR1_LE, ["ab", "c"], 3, 5);
        for len in 0..=whole.len() {
            let mut reader = PlanReader::new(plan.clone());
            reader.read(&whole, |_, _| ()).unwrap();
            let (mut wanted, mut found) = (Vec::new(), Vec::new());
            let by_plan = plan.run(&whole[..len], |path, value| wanted.push((path, value)));
            let by_reader = reader.read(&whole[..len], |path, value| found.push((path, value)));
            assert_eq!((by_plan, wanted), (by_reader, found), "{len}");
        }
    }

    #[test]
    fn single_elements_and_whole_lists_are_walked_each_time() {
        assert!(PlanReader::new(plan(&["e", "a", "b[]"])).has_offsets);
        assert!(!PlanReader::new(plan(&["b"])).has_offsets);
        assert!(!PlanReader::new(plan(&["b[2]"])).has_offsets);
    }
}
