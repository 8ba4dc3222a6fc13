use crate::{DecodeError, Layout, Plan, Value};

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
    has_layouts: bool,
    memory: Option<Layout>,
    /// How often the memory fitted, and how often another message was remembered.
    n_hits: u64,
    n_learned: u64,
}

/// So often what is remembered has to fit before another message is remembered for it: where each
/// message lies otherwise than the last, remembering would only cost.
const HITS_A_LESSON: u64 = 16;
/// But the first few are free.
const FREE_LESSONS: u64 = 8;

/// Whether another message may be remembered.
pub fn may_learn(n_learned: u64, n_hits: u64) -> bool {
    n_learned < FREE_LESSONS + n_hits / HITS_A_LESSON
}

impl PlanReader {
    /// A reader that remembers nothing yet.
    pub fn new(plan: Plan) -> Self {
        let has_layouts = plan.has_layouts();
        Self { plan, has_layouts, memory: None, n_hits: 0, n_learned: 0 }
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
        if self.fits(payload) {
            if let Some(memory) = &self.memory {
                memory.visit(payload, &mut visit);
            }
            return Ok(());
        }
        self.learn(payload);
        self.plan.run(payload, visit)
    }

    /// As [`Plan::numbers`].
    ///
    /// # Errors
    ///
    /// As [`Plan::run`].
    #[inline]
    pub fn numbers(&mut self, payload: &[u8], out: &mut [f64]) -> Result<(), DecodeError> {
        if self.fits(payload) {
            if let Some(memory) = &self.memory {
                memory.put_numbers(payload, out);
            }
            return Ok(());
        }
        self.learn(payload);
        self.plan.numbers(payload, out)
    }

    #[inline]
    fn fits(&mut self, payload: &[u8]) -> bool {
        let fits = self.memory.as_ref().is_some_and(|memory| memory.fits(payload));
        self.n_hits += u64::from(fits);
        fits
    }

    /// Remembers where the fields of a message lie.
    #[cold]
    fn learn(&mut self, payload: &[u8]) {
        if self.has_layouts && may_learn(self.n_learned, self.n_hits) {
            self.n_learned += 1;
            self.memory = Layout::of(&self.plan, payload);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ros2_memory_cdr::{Encoding, Primitive, Scalar, Writer};

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
        assert!(plan(&["e", "a", "b[]"]).has_layouts());
        assert!(!plan(&["b"]).has_layouts());
        assert!(!plan(&["b[2]"]).has_layouts());
    }
}
