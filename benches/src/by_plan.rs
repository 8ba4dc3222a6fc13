//! Every message seen and its fields of interest read, by this project's plans.

use std::{path::PathBuf, sync::Arc};

use ros2_memory_bag::{
    Contents, Declarations, Direction, ReadOptions, ScanBuffers, ScannedMessage, Source, Timeline,
    TimelinePart, Visitor, scan,
};
use ros2_memory_msg::{FieldPath, Library, Plan, PlanReader, Schema};
use ros2_memory_time::TimeRange;

use crate::{Outcome, Seen, Tally};

/// The fields of interest by type; of other types the messages are counted.
const FIELDS: [(&str, &[&str]); 5] = [
    (
        "nav_msgs/msg/Odometry",
        &["pose.pose.position.x", "pose.pose.position.y", "pose.pose.position.z"],
    ),
    ("geometry_msgs/msg/Twist", &["linear.x", "angular.z"]),
    (
        "tf2_msgs/msg/TFMessage",
        &[
            "transforms[].child_frame_id",
            "transforms[].transform.translation.x",
            "transforms[].transform.translation.y",
            "transforms[].transform.translation.z",
        ],
    ),
    (
        "ros2_vision_interfaces/msg/VisionDetectionArray",
        &["detections[].label", "detections[].score"],
    ),
    ("ros2_vision_interfaces/msg/StampedString", &["data"]),
];
/// At most so many paths lead to one number each.
const MAX_NUMBERS: usize = 3;

/// The pass over whole files, one after the other, that checks everything and counts messages.
///
/// # Errors
///
/// When a file cannot be read or is damaged.
pub fn scan_messages(files: &[PathBuf]) -> Outcome<Tally> {
    struct Count(Tally);
    impl Visitor for Count {
        fn message(&mut self, _contents: &Contents, message: &ScannedMessage<'_>) {
            self.0.add(message.payload);
        }
    }
    let mut count = Count(Tally::default());
    scan_each(files, &mut count, |_| ())?;
    Ok(count.0)
}

/// The same pass, with the fields of interest read.
///
/// # Errors
///
/// When a file cannot be read or is damaged, or a message does not fit its type.
pub fn scan_fields(files: &[PathBuf]) -> Outcome<Seen> {
    let mut reader = FieldReader::default();
    scan_each(files, &mut reader, FieldReader::start_file)?;
    reader.seen()
}

/// All files merged, oldest message first, with the fields of interest read.
///
/// # Errors
///
/// When a bag cannot be read, or a message does not fit its type.
pub fn timeline_fields(parts: &[TimelinePart]) -> Outcome<Seen> {
    let mut reader = FieldReader::default();
    let mut part = 0;
    let options = ReadOptions::default();
    let (range, direction) = (TimeRange::ALL, Direction::Forward);
    let mut stream =
        Timeline::new(parts.to_vec(), range, direction, options, |_| Some(0), || false);
    while let Some(message) = stream.next() {
        if message.part != part {
            part = message.part;
            reader.start_file();
        }
        reader.read(&message.contents.declared, message.channel_index, message.payload);
    }
    if let Some((path, error)) = stream.report().skipped.first() {
        return Err(format!("{}: {error}", path.display()).into());
    }
    reader.seen()
}

fn scan_each<V: Visitor>(
    files: &[PathBuf],
    visitor: &mut V,
    start_file: impl Fn(&mut V),
) -> Outcome<()> {
    let options = ReadOptions::default();
    let mut buffers = ScanBuffers::default();
    for file in files {
        start_file(visitor);
        let mut source = Source::open_with(file, &options)?;
        let contents = scan(&mut source, &options, &mut buffers, visitor)?;
        if let Some(damage) = contents.damage.first() {
            return Err(format!("{}: {}", file.display(), damage.kind).into());
        }
    }
    Ok(())
}

/// Reads the fields of interest of each message that it is shown.
#[derive(Debug, Default)]
struct FieldReader {
    seen: Seen,
    /// The types so far. Splits declare the same types again, and keep what was compiled.
    types: Vec<Type>,
    /// By channel of the file: the place of its type, once that was looked for.
    channels: Vec<Option<usize>>,
    fault: Option<String>,
}

/// A type by its name and definition, and how its fields are reached.
#[derive(Debug)]
struct Type {
    name: Arc<str>,
    text: Arc<[u8]>,
    fields: Fields,
}

#[derive(Debug)]
enum Fields {
    /// None is of interest.
    None,
    /// So many numbers, at most one for each path.
    Numbers(PlanReader, usize),
    /// Texts, and numbers in lists.
    Values(PlanReader),
}

impl Visitor for FieldReader {
    #[inline]
    fn message(&mut self, contents: &Contents, message: &ScannedMessage<'_>) {
        self.read(&contents.declared, message.channel, message.payload);
    }
}

impl FieldReader {
    /// In another file the channels mean something else.
    fn start_file(&mut self) {
        self.channels.clear();
    }

    #[inline]
    fn read(&mut self, declared: &Declarations, channel: u32, payload: &[u8]) {
        self.seen.tally.add(payload);
        let place = match self.channels.get(channel as usize) {
            Some(Some(place)) => *place,
            _ => self.look_up(declared, channel),
        };
        let seen = &mut self.seen;
        let outcome = match self.types.get_mut(place).map(|ty| &mut ty.fields) {
            None | Some(Fields::None) => return,
            Some(Fields::Numbers(reader, n)) => {
                let mut numbers = [0.0; MAX_NUMBERS];
                let numbers = numbers.split_at_mut(*n).0;
                reader.numbers(payload, numbers).map(|()| {
                    for number in numbers {
                        seen.number(*number);
                    }
                })
            }
            Some(Fields::Values(reader)) => reader.read(payload, |_path, value| {
                if let Some(number) = value.as_f64() {
                    seen.number(number);
                } else if let Some(text) = value.as_str() {
                    seen.text(text);
                }
            }),
        };
        if let Err(error) = outcome {
            self.fault.get_or_insert_with(|| error.to_string());
        }
    }

    /// The place of the type of a channel that this file has not shown yet.
    #[cold]
    fn look_up(&mut self, declared: &Declarations, channel: u32) -> usize {
        let schema = declared.channel(channel).and_then(|channel| declared.schema(channel));
        let (name, text) = schema.map_or_else(
            || (Arc::from(""), Arc::from([])),
            |schema| (schema.name.clone(), schema.text.clone()),
        );
        let known = self.types.iter().position(|ty| ty.name == name && ty.text == text);
        let place = known.unwrap_or_else(|| {
            let fields = Fields::of(&name, &text).unwrap_or_else(|error| {
                self.fault.get_or_insert_with(|| error.to_string());
                Fields::None
            });
            self.types.push(Type { name, text, fields });
            self.types.len() - 1
        });
        let index = channel as usize;
        if self.channels.len() <= index {
            self.channels.resize(index + 1, None);
        }
        if let Some(slot) = self.channels.get_mut(index) {
            *slot = Some(place);
        }
        place
    }

    fn seen(self) -> Outcome<Seen> {
        match self.fault {
            Some(fault) => Err(fault.into()),
            None => Ok(self.seen),
        }
    }
}

impl Fields {
    fn of(type_name: &str, text: &[u8]) -> Outcome<Self> {
        let Some((_, paths)) = FIELDS.iter().find(|(name, _)| *name == type_name) else {
            return Ok(Self::None);
        };
        let schema = Schema::parse(type_name, str::from_utf8(text)?, &Library::new())?;
        let parsed: Vec<FieldPath> =
            paths.iter().map(|path| path.parse()).collect::<Result<_, _>>()?;
        let reader = PlanReader::new(Plan::compile(Arc::new(schema), &parsed)?);
        let is_numeric = parsed.len() <= MAX_NUMBERS
            && paths.iter().all(|path| path.ends_with(['x', 'y', 'z']) && !path.contains("[]"));
        Ok(if is_numeric { Self::Numbers(reader, parsed.len()) } else { Self::Values(reader) })
    }
}
