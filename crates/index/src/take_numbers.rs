//! Taking numbers and positions out of messages.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use ros2_memory_bag::Declarations;
use ros2_memory_msg::{
    DecodeError, FieldPath, FieldType, Library, MessageEncoding, Plan, PlanReader, Scalar, Schema,
    Value,
};
use ros2_memory_time::LogTime;

use crate::{
    Cell, Cells, DriveRules, IndexedPaths, IndexedTypes, TopicNumbers, Zone,
    cells::cell_of,
    definition::Definition,
    drive::DriveSum,
    zones::{Span, round_down, round_up},
};

/// A topic that has been in more places in one bag is everywhere.
const MAX_CELLS: usize = 1024;

/// Makes readers for channels whose numbers are indexed, one a definition.
#[derive(Debug, Default)]
pub(crate) struct NumberReader {
    types: Arc<IndexedTypes>,
    library: Arc<Library>,
    places: HashMap<Definition, Option<usize>>,
    readers: Vec<Compiled>,
}

/// How to take the numbers out of the messages of one definition.
#[derive(Debug)]
pub(crate) struct Compiled {
    reader: PlanReader,
    wanted: Arc<WantedNumbers>,
    /// The numbers of one message, where each path leads to one.
    row: Vec<f64>,
}

/// What is taken: the numbers, then x, y and perhaps z of the position.
#[derive(Debug, PartialEq)]
struct WantedNumbers {
    zones: Vec<Arc<str>>,
    position: Option<Arc<str>>,
    has_height: bool,
    /// Whether each path leads to exactly one number.
    is_plain: bool,
    rules: DriveRules,
}

/// What was taken of one topic so far.
#[derive(Debug)]
pub(crate) struct NumbersTaken {
    channel: u32,
    wanted: Arc<WantedNumbers>,
    zones: Vec<Span>,
    cells: Option<BTreeSet<Cell>>,
    last_cell: Option<Cell>,
    drive: DriveSum,
    is_complete: bool,
}

impl NumberReader {
    pub(crate) fn new(types: Arc<IndexedTypes>, library: Arc<Library>) -> Self {
        Self { types, library, ..Self::default() }
    }

    /// The reader for a channel, by number; `None` where no numbers of it are indexed, and when
    /// its definition cannot be used.
    pub(crate) fn reader(&mut self, declared: &Declarations, channel: u32) -> Option<usize> {
        let channel = declared.channel(channel)?;
        let text = declared.schema(channel)?;
        let Self { places, readers, library, types } = self;
        let paths = types.get(&text.name)?;
        if paths.numbers.is_empty() && paths.position.is_none() {
            return None;
        }
        *places.entry(Definition::of(channel, text)).or_insert_with_key(|key| {
            readers.push(compile(&key.schema(library)?, paths, types.rules)?);
            Some(readers.len() - 1)
        })
    }

    pub(crate) fn compiled(&mut self, number: usize) -> Option<&mut Compiled> {
        self.readers.get_mut(number)
    }
}

/// Without the paths that this definition of the type does not have.
fn compile(schema: &Arc<Schema>, paths: &IndexedPaths, rules: DriveRules) -> Option<Compiled> {
    let fits =
        |path: &&FieldPath| Plan::compile(schema.clone(), std::slice::from_ref(*path)).is_ok();
    let numbers: Vec<FieldPath> = paths.numbers.iter().filter(fits).cloned().collect();
    let part = |position: &FieldPath, name: &str| {
        let path: FieldPath = format!("{position}.{name}").parse().ok()?;
        fits(&&path).then_some(path)
    };
    let planes = paths.position.as_ref();
    let planes = planes.and_then(|at| Some((at, part(at, "x")?, part(at, "y")?)));
    let height = planes.as_ref().and_then(|(at, ..)| part(at, "z"));
    let mut all = numbers.clone();
    all.extend(planes.iter().flat_map(|(_, x, y)| [x.clone(), y.clone()]));
    all.extend(height.clone());
    let plan = Plan::compile(schema.clone(), &all).ok().filter(|_| !all.is_empty())?;
    let wanted = WantedNumbers {
        zones: numbers.iter().map(|path| path.to_string().into()).collect(),
        position: planes.map(|(at, ..)| at.to_string().into()),
        has_height: height.is_some(),
        is_plain: all.iter().all(|path| leads_to_one_number(schema, path)),
        rules,
    };
    let row = vec![f64::NAN; all.len()];
    Some(Compiled { reader: PlanReader::new(plan), wanted: Arc::new(wanted), row })
}

/// Whether every message has one number at a path.
fn leads_to_one_number(schema: &Schema, path: &FieldPath) -> bool {
    if schema.message_encoding() == MessageEncoding::Json {
        return false;
    }
    let mut inside = Some(schema.root());
    let mut found = None;
    for segment in path.segments() {
        let fields = inside.map(|ty| &ty.fields);
        let field = fields.and_then(|all| all.iter().find(|field| field.name == segment.field));
        let Some(field) = field.filter(|_| segment.indices.is_empty()) else { return false };
        found = Some(&field.ty);
        inside = match field.ty {
            FieldType::Struct(id) => Some(schema.struct_type(id)),
            _ => None,
        };
    }
    matches!(found, Some(FieldType::Primitive(_)))
}

impl NumbersTaken {
    /// Nothing yet; `known` is what was taken of a bag that has grown since, and `is_complete`
    /// that nothing of the topic was passed over before.
    pub(crate) fn new(
        channel: u32,
        compiled: &Compiled,
        known: Option<&TopicNumbers>,
        is_complete: bool,
    ) -> Self {
        let wanted = &compiled.wanted;
        let mut taken = Self {
            channel,
            wanted: wanted.clone(),
            zones: vec![Span::NONE; wanted.zones.len()],
            cells: wanted.position.is_some().then(BTreeSet::new),
            last_cell: None,
            drive: DriveSum::new(wanted.rules),
            is_complete,
        };
        let Some(known) = known else { return taken };
        for (path, span) in wanted.zones.iter().zip(&mut taken.zones) {
            // One that is missing was given up.
            let zone = known.zones.iter().find(|zone| zone.path == *path);
            *span = zone.map_or(Span::ALL, |of| Span { min: of.min.into(), max: of.max.into() });
        }
        taken.cells = known.cells.as_ref().map(|of| of.cells.iter().copied().collect());
        taken.drive = DriveSum::behind(wanted.rules, known.drive);
        if known.drive.is_none() {
            taken.drive.lose();
        }
        taken
    }

    pub(crate) fn channel(&self) -> u32 {
        self.channel
    }

    /// Takes note that some messages of the topic could not be read at all.
    pub(crate) fn miss(&mut self) {
        self.is_complete = false;
    }

    /// Takes the numbers of a message.
    pub(crate) fn take(&mut self, compiled: &mut Compiled, log_time: LogTime, payload: &[u8]) {
        if !self.is_complete {
            return;
        }
        // Another definition of the type, with other fields.
        let is_same = Arc::ptr_eq(&self.wanted, &compiled.wanted) || self.wanted == compiled.wanted;
        let outcome = if compiled.wanted.is_plain {
            self.take_row(compiled, log_time, payload)
        } else {
            self.take_each(compiled, log_time, payload)
        };
        self.is_complete = is_same && outcome.is_ok();
    }

    fn take_row(
        &mut self,
        compiled: &mut Compiled,
        log_time: LogTime,
        payload: &[u8],
    ) -> Result<(), DecodeError> {
        compiled.row.fill(f64::NAN);
        compiled.reader.numbers(payload, &mut compiled.row)?;
        let (numbers, position) =
            compiled.row.split_at_checked(self.zones.len()).unwrap_or_default();
        for (span, number) in self.zones.iter_mut().zip(numbers) {
            span.add(*number);
        }
        if let [x, y, rest @ ..] = position {
            self.place(*x, *y);
            let z = if self.wanted.has_height { rest.first() } else { None };
            self.drive.add(log_time, [*x, *y, z.copied().unwrap_or(f64::NAN)]);
        }
        Ok(())
    }

    fn take_each(
        &mut self,
        compiled: &mut Compiled,
        log_time: LogTime,
        payload: &[u8],
    ) -> Result<(), DecodeError> {
        let n_zones = self.zones.len();
        let (mut x, mut n_positions, mut at) = (None, 0u32, [f64::NAN; 3]);
        compiled.reader.read(payload, |path, value| match path.checked_sub(n_zones) {
            None => {
                let Some(span) = self.zones.get_mut(path) else { return };
                if !each_number(&value, |number| span.add(number)) {
                    *span = Span::ALL;
                }
            }
            Some(part) => {
                let number = value.as_f64().unwrap_or(f64::NAN);
                if let Some(slot) = at.get_mut(part) {
                    *slot = number;
                }
                match (part, x) {
                    (0, _) => {
                        n_positions += 1;
                        x = Some(number);
                    }
                    // Fields come in the order of the message: y behind its x, or this type is odd.
                    (1, Some(of_it)) => {
                        self.place(of_it, number);
                        x = None;
                    }
                    (1, None) => self.cells = None,
                    _ => {}
                }
            }
        })?;
        match n_positions {
            1 => self.drive.add(log_time, at),
            _ => self.drive.lose(),
        }
        Ok(())
    }

    #[inline]
    fn place(&mut self, x: f64, y: f64) {
        let cell = cell_of(x, y);
        // It mostly is where it was.
        if cell == self.last_cell || cell.is_none() {
            return;
        }
        self.last_cell = cell;
        if let (Some(cells), Some(cell)) = (&mut self.cells, cell) {
            cells.insert(cell);
            if cells.len() > MAX_CELLS {
                self.cells = None;
            }
        }
    }

    /// What there is of the topic; `None` when some of it is missing.
    pub(crate) fn finish(self) -> Option<TopicNumbers> {
        let Self { channel, wanted, zones, cells, drive, is_complete, .. } = self;
        if !is_complete {
            return None;
        }
        let zones = wanted.zones.iter().zip(zones).filter(|(_, span)| *span != Span::ALL);
        let zones = zones.map(|(path, span)| Zone {
            path: path.clone(),
            min: round_down(span.min),
            max: round_up(span.max),
        });
        let cells = wanted.position.clone().zip(cells);
        Some(TopicNumbers {
            channel,
            zones: zones.collect(),
            cells: cells.map(|(path, of)| Cells { path, cells: of.into_iter().collect() }),
            drive: wanted.position.is_some().then(|| drive.finish()).flatten(),
        })
    }
}

/// Hands out the numbers of a value; returns whether it is made of numbers alone.
fn each_number(value: &Value<'_>, mut visit: impl FnMut(f64)) -> bool {
    match value {
        Value::Scalar(scalar) => visit(scalar.as_f64()),
        Value::Primitives(numbers) => numbers.iter().map(Scalar::as_f64).for_each(visit),
        _ => return false,
    }
    true
}
