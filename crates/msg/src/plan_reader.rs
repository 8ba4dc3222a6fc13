use ros2_memory_cdr::{ByteOrder, Cursor, Encoding, Primitive};

use crate::{DecodeError, FieldType, MessageEncoding, Plan, Value, plan::Step};

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
    /// What was walked ends here.
    end: usize,
}

/// One field: its path's number, its type, and where its bytes start.
#[derive(Debug, Clone, Copy)]
struct Place {
    path: usize,
    kind: Primitive,
    offset: usize,
}

impl PlanReader {
    /// A reader that remembers nothing yet.
    pub fn new(plan: Plan) -> Self {
        let is_cdr = plan.schema.message_encoding() == MessageEncoding::Cdr;
        let has_offsets = is_cdr && plan.steps.iter().all(Step::has_offset);
        Self { plan, has_offsets, memory: None }
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
        let remembered = self.memory.as_ref().filter(|memory| memory.fits(payload));
        if let Some(memory) = remembered {
            for place in &memory.fields {
                if let Some(value) = place.kind.read_at(payload, place.offset, memory.order) {
                    visit(place.path, Value::Scalar(value));
                }
            }
            return Ok(());
        }
        if self.has_offsets {
            self.memory = Offsets::of(&self.plan, payload);
        }
        self.plan.run(payload, visit)
    }
}

impl PlanReader {
    /// As [`Plan::numbers`].
    ///
    /// # Errors
    ///
    /// As [`Plan::run`].
    #[inline]
    pub fn numbers(&mut self, payload: &[u8], out: &mut [f64]) -> Result<(), DecodeError> {
        let remembered = self.memory.as_ref().filter(|memory| memory.fits(payload));
        if let Some(memory) = remembered {
            for place in &memory.fields {
                let value = place.kind.read_at(payload, place.offset, memory.order);
                if let (Some(slot), Some(value)) = (out.get_mut(place.path), value) {
                    *slot = value.as_f64();
                }
            }
            return Ok(());
        }
        if self.has_offsets {
            self.memory = Offsets::of(&self.plan, payload);
        }
        self.plan.numbers(payload, out)
    }
}

impl Step {
    /// Whether what it does depends on nothing but lengths.
    fn has_offset(&self) -> bool {
        match self {
            Self::SkipPrimitives { .. }
            | Self::SkipString
            | Self::Take { ty: FieldType::Primitive(_), stays: false, .. } => true,
            Self::Skip(FieldType::Sequence(element)) => {
                matches!(**element, FieldType::Primitive(_))
            }
            Self::Skip(_) | Self::Take { .. } | Self::Elements { .. } => false,
        }
    }
}

impl Offsets {
    /// Walks a message to learn where its fields lie; `None` when it cannot be walked to the last
    /// of them, or has headers around its values.
    fn of(plan: &Plan, payload: &[u8]) -> Option<Self> {
        let mut cursor = Cursor::new(payload).ok()?;
        if !plan.schema.is_plain_in(cursor.encoding()) {
            return None;
        }
        let (header, order) = (*payload.first_chunk()?, cursor.encoding().order);
        let mut found = Self { header, order, lengths: Vec::new(), fields: Vec::new(), end: 0 };
        for step in &plan.steps {
            match step {
                Step::SkipPrimitives { size, count } => {
                    cursor.skip_primitives(*size, *count).ok()?;
                }
                Step::SkipString => {
                    found.note_length(payload, &cursor)?;
                    cursor.string_bytes().ok()?;
                }
                Step::Skip(FieldType::Sequence(element)) => {
                    let FieldType::Primitive(kind) = **element else { return None };
                    found.note_length(payload, &cursor)?;
                    cursor.skip_primitive_sequence(kind.size()).ok()?;
                }
                Step::Take { path, ty: FieldType::Primitive(kind), .. } => {
                    let offset = cursor.next_offset(kind.size());
                    found.fields.push(Place { path: *path, kind: *kind, offset });
                    cursor.skip_primitives(kind.size(), 1).ok()?;
                }
                Step::Skip(_) | Step::Take { .. } | Step::Elements { .. } => return None,
            }
        }
        found.end = cursor.offset();
        Some(found)
    }

    /// Remembers the length in front of the cursor.
    fn note_length(&mut self, payload: &[u8], cursor: &Cursor<'_>) -> Option<()> {
        let offset = cursor.next_offset(4);
        let length = *payload.get(offset..)?.first_chunk()?;
        self.lengths.push((offset, length));
        Some(())
    }

    /// Whether the fields of `payload` lie where those of the remembered message did.
    #[inline]
    fn fits(&self, payload: &[u8]) -> bool {
        payload.len() >= self.end
            && payload.first_chunk() == Some(&self.header)
            && self.lengths.iter().all(|(offset, length)| {
                payload.get(*offset..).and_then(|rest| rest.first_chunk()) == Some(length)
            })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ros2_memory_cdr::{Scalar, Writer};

    use super::*;
    use crate::{Library, Schema};

    const TEXT: &str = "string a\nuint8[] b\nint16 c\nstring d\nfloat64 e";

    fn plan(paths: &[&str]) -> Plan {
        let schema = Schema::parse("p/msg/T", TEXT, &Library::new()).unwrap();
        let paths: Vec<_> = paths.iter().map(|path| path.parse().unwrap()).collect();
        Plan::compile(Arc::new(schema), &paths).unwrap()
    }

    fn payload(encoding: Encoding, a: &str, b: usize, c: i16, d: &str, e: f64) -> Vec<u8> {
        let mut w = Writer::new(encoding);
        w.string(a);
        w.sequence_len(b);
        (0..b).for_each(|_| w.scalar(Scalar::U64(7), Primitive::U8));
        w.scalar(Scalar::I64(c.into()), Primitive::I16);
        w.string(d);
        w.scalar(Scalar::F64(e), Primitive::F64);
        w.into_payload()
    }

    #[test]
    fn messages_of_any_lengths_in_any_order_give_what_the_plan_gives() {
        let plan = plan(&["e", "c"]);
        let mut reader = PlanReader::new(plan.clone());
        let mut n = 0u32;
        for round in 0..400usize {
            let encoding = if round % 7 < 5 { Encoding::XCDR1_LE } else { Encoding::XCDR1_BE };
            let (a, d) = ("x".repeat(round / 3 % 5), "y".repeat(round / 11 % 3));
            let c = i16::try_from(round).unwrap();
            let payload = payload(encoding, &a, round / 5 % 4, c, &d, f64::from(c) / 3.0);
            let (mut wanted, mut found) = (Vec::new(), Vec::new());
            plan.run(&payload, |path, value| wanted.push((path, value))).unwrap();
            reader.read(&payload, |path, value| found.push((path, value))).unwrap();
            assert_eq!(wanted, found);
            n += 1;
        }
        assert_eq!(n, 400);
    }

    #[test]
    fn every_cut_gives_what_the_plan_gives() {
        let plan = plan(&["c", "e"]);
        let whole = payload(Encoding::XCDR1_LE, "ab", 3, 5, "c", 1.5);
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
    fn fields_behind_structs_in_lists_are_walked_each_time() {
        assert!(PlanReader::new(plan(&["e"])).has_offsets);
        assert!(!PlanReader::new(plan(&["a"])).has_offsets);
    }
}
