//! Small files that ask for a lot of memory or time.

use std::{env, fs, process::Command, time::Duration};

use ros2_memory_bag::{Bag, Direction, ReadOptions, Timeline};
use ros2_memory_testkit::mcap_bytes::{
    Codec, FileSpec, Part, compressed, crc32,
    records::{
        MAGIC, RawChunk, RawMessage, channel, chunk, footer, header, lying_record, map, message,
        op, record, schema, text,
    },
};
use ros2_memory_time::TimeRange;
use rustix::time::{ClockId, clock_gettime};

use super::{
    allocation::peak_of,
    failures::Failures,
    rig::{Scratch, part},
};

/// A chunk may take as much as it declares, up to this configured limit.
const MAX_CHUNK_BYTES: u64 = 32 << 20;
/// No file may take more than this over what was held before.
const PEAK: i64 = 64 << 20;
/// Nor more processor time than this: the wall clock tells of other processes too.
const LIMIT: Duration =
    if cfg!(debug_assertions) { Duration::from_secs(5) } else { Duration::from_millis(200) };
/// Set in the process that reads nothing else.
const ALONE: &str = "ROS2_MEMORY_BOMBS_ALONE";

/// What this process took so far, of all processors.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap(), u32::try_from(time.tv_nsec).unwrap())
}

/// In a process of its own, so that the size of the process says something.
#[test]
fn no_file_makes_the_reader_grow_or_stall() {
    if env::var_os(ALONE).is_none() {
        let output = Command::new(env::current_exe().unwrap())
            .args(["--exact", "bombs::no_file_makes_the_reader_grow_or_stall", "--nocapture"])
            .env(ALONE, "1")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        println!("{said}");
        assert!(output.status.success(), "{}:\n{said}\n{errors}", output.status);
        return;
    }
    let mut failures = Failures::default();
    let scratch = Scratch::new();
    let (mut n, mut worst_bytes, mut worst_time) =
        (0, (0, String::new()), (Duration::ZERO, String::new()));
    for (what, bytes) in all() {
        n += 1;
        scratch.write(&bytes);
        let measure = || {
            let before = reset_peak_kib();
            let start = processor_time();
            let (_, peak) = peak_of(|| read(&scratch));
            let took = processor_time().saturating_sub(start);
            let grown = before.zip(peak_kib()).map_or(0, |(before, after)| (after - before) << 10);
            (took, peak.max(grown))
        };
        let (mut took, peak) = measure();
        for _ in 0..2 {
            if took > LIMIT {
                // Once in a while the kernel counts its own work for ours.
                took = took.min(measure().0);
            }
        }
        if peak > worst_bytes.0 {
            worst_bytes = (peak, what.clone());
        }
        if took > worst_time.0 {
            worst_time = (took, what.clone());
        }
        if peak > PEAK {
            failures.note(&what, "stays within 64 MiB", format!("{} MiB", peak >> 20));
        }
        if took > LIMIT {
            failures.note(&what, "ends soon", format!("{took:?}"));
        }
    }
    println!(
        "bombs: {n}; most bytes {} KiB by {}; longest {:?} by {}",
        worst_bytes.0 >> 10,
        worst_bytes.1,
        worst_time.0,
        worst_time.1
    );
    failures.check();
    assert!(n >= 60, "{n}");
}

/// Reads a file in every way to its end, keeping nothing.
fn read(scratch: &Scratch) -> u64 {
    let mut sum = 0;
    let options = options();
    let scanned = Bag::open_unindexed(&scratch.path, &options).ok();
    let indexed = Bag::open_indexed(&scratch.path, &options).ok().flatten();
    for bag in scanned.into_iter().chain(indexed) {
        sum += drain(&bag, Direction::Forward) + drain(&bag, Direction::Reverse);
    }
    sum
}

fn options() -> ReadOptions {
    ReadOptions { max_chunk_bytes: MAX_CHUNK_BYTES, ..ReadOptions::default() }
}

fn drain(bag: &Bag, direction: Direction) -> u64 {
    let parts = vec![part(bag)];
    let mut timeline =
        Timeline::new(parts, TimeRange::ALL, direction, options(), |_| Some(0), || false);
    let mut sum = 0;
    while let Some(message) = timeline.next() {
        sum += message.payload.len() as u64;
    }
    sum
}

/// The most that the process ever had in memory, where the system says it.
fn peak_kib() -> Option<i64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}

/// Forgets what the process had before; what it has now.
fn reset_peak_kib() -> Option<i64> {
    fs::write("/proc/self/clear_refs", "5").ok()?;
    peak_kib()
}

fn all() -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    lying_chunks(&mut all);
    lying_records(&mut all);
    lying_fields(&mut all);
    lying_frames(&mut all);
    lying_indexes(&mut all);
    true_bombs(&mut all);
    slow_ones(&mut all);
    all
}

fn good_chunk(first: u32) -> Part {
    let of = |sequence: u32| RawMessage {
        channel: 1,
        sequence,
        log_time_ns: 1_000 + u64::from(sequence),
        publish_time_ns: 1_000,
        payload: vec![0, 1, 0, 0, 1, 0, 0, 0, 0],
    };
    Part::Chunk((first..first + 5).map(|sequence| message(&of(sequence))).collect())
}

fn declarations() -> Vec<Part> {
    vec![
        Part::Record(schema(1, "std_msgs/msg/String", "ros2msg", b"string data\n")),
        Part::Record(channel(1, 1, "/a", "cdr", &[])),
    ]
}

/// A closed file with the bad records between two good chunks.
fn around(bad: Vec<Part>) -> Vec<u8> {
    let parts = [declarations(), vec![good_chunk(0)], bad, vec![good_chunk(10)]].concat();
    FileSpec { parts, ..FileSpec::default() }.bytes()
}

fn plain(stored: Vec<u8>) -> RawChunk {
    RawChunk {
        start_ns: 1_000,
        end_ns: 2_000,
        uncompressed_size: stored.len() as u64,
        // Not worked out byte by byte where that takes seconds.
        crc: if stored.len() > 4 << 20 { 0 } else { crc32(&stored) },
        compression: String::new(),
        stored_size: stored.len() as u64,
        stored,
    }
}

fn packed(codec: Codec, inflated: &[u8]) -> RawChunk {
    let (compression, stored) = compressed(codec, inflated);
    let stored_size = stored.len() as u64;
    let compression = compression.to_owned();
    RawChunk { compression, stored_size, stored, ..plain(inflated.to_vec()) }
}

const NAMES: [(&str, Codec); 3] = [("", Codec::None), ("lz4", Codec::Lz4), ("zstd", Codec::Zstd)];

/// Chunks whose sizes are not theirs.
fn lying_chunks(all: &mut Vec<(String, Vec<u8>)>) {
    let inner = match good_chunk(5) {
        Part::Chunk(records) => records.concat(),
        Part::Record(record) => record,
    };
    for (name, codec) in NAMES {
        for size in [31 << 20, 32 << 20, (32 << 20) + 1, 64 << 30, 1 << 63, u64::MAX] {
            for with_crc in [true, false] {
                let lie = RawChunk { uncompressed_size: size, ..packed(codec, &inner) };
                let lie = if with_crc { lie } else { RawChunk { crc: 0, ..lie } };
                let what = format!("a {name:?} chunk that says {size} bytes, crc {with_crc}");
                all.push((what, around(vec![Part::Record(chunk(&lie))])));
            }
        }
        for size in [30 << 20, 200 << 20, 1 << 40, u64::MAX] {
            let lie = RawChunk { stored_size: size, ..packed(codec, &inner) };
            let what = format!("a {name:?} chunk that says {size} stored bytes");
            all.push((what, around(vec![Part::Record(chunk(&lie))])));
        }
    }
}

/// Records whose lengths are not theirs, in the data, in a chunk and at the end of a cut file.
fn lying_records(all: &mut Vec<(String, Vec<u8>)>) {
    for opcode in (op::HEADER..=op::DATA_END).chain([op::PRIVATE]) {
        for length in [u64::from(u32::MAX), 1 << 40, u64::MAX - 8, u64::MAX] {
            let lie = lying_record(opcode, length, &[1; 40]);
            let what = format!("a record {opcode:#04x} of {length} bytes");
            all.push((format!("{what} in the data"), around(vec![Part::Record(lie.clone())])));
            let inside = Part::Record(chunk(&plain(lie.clone())));
            all.push((format!("{what} in a chunk"), around(vec![inside])));
            let parts = [declarations(), vec![good_chunk(0)]].concat();
            let cut = FileSpec { parts, ..FileSpec::default() }.lay(&mut |_, _| {}).data;
            all.push((format!("{what} at the end"), [cut, lie].concat()));
        }
    }
}

/// Texts, maps and arrays whose lengths are not theirs.
fn lying_fields(all: &mut Vec<(String, Vec<u8>)>) {
    let id = 1_u16.to_le_bytes();
    for length in [1 << 31, u32::MAX] {
        let long = length.to_le_bytes();
        let fields: [(&str, u8, Vec<u8>); 10] = [
            ("profile", op::HEADER, long.to_vec()),
            ("library", op::HEADER, [text("ros2"), long.to_vec()].concat()),
            ("name of a schema", op::SCHEMA, [&id[..], &long].concat()),
            (
                "text of a schema",
                op::SCHEMA,
                [&id[..], &text("T"), &text("ros2msg"), &long].concat(),
            ),
            ("topic", op::CHANNEL, [&id[..], &id, &long].concat()),
            (
                "map of a channel",
                op::CHANNEL,
                [&id[..], &id, &text("/a"), &text("cdr"), &long].concat(),
            ),
            ("array of a message index", op::MESSAGE_INDEX, [&id[..], &long].concat()),
            ("map of a metadata", op::METADATA, [&text("a")[..], &long].concat()),
            ("name of an attachment", op::ATTACHMENT, [&[0; 16][..], &long].concat()),
            ("compression of a chunk", op::CHUNK, [&[0; 28][..], &long].concat()),
        ];
        for (what, opcode, body) in fields {
            let lie = Part::Record(record(opcode, &[&body[..], &[7; 30]].concat()));
            all.push((format!("{what} of {length} bytes"), around(vec![lie])));
        }
        let pairs = [map(&[]), long.to_vec()].concat();
        let lie = [&id[..], &id, &text("/a"), &text("cdr"), &pairs].concat();
        all.push((
            format!("bytes behind a map, {length}"),
            around(vec![Part::Record(record(op::CHANNEL, &lie))]),
        ));
    }
}

/// Compressed data whose own headers lie.
fn lying_frames(all: &mut Vec<(String, Vec<u8>)>) {
    let mut put = |what: &str, compression: &str, size: u64, stored: Vec<u8>| {
        let lie = RawChunk {
            compression: compression.to_owned(),
            uncompressed_size: size,
            crc: 0,
            ..plain(stored)
        };
        all.push((
            format!("{what}, said to be {size} bytes"),
            around(vec![Part::Record(chunk(&lie))]),
        ));
    };
    let zstd_magic = [0x28, 0xB5, 0x2F, 0xFD];
    // A last block of raw bytes, and one of a repeated byte, 128 KiB of it.
    let raw_block = |n: u32| ((n << 3) | 1).to_le_bytes()[..3].to_vec();
    let repeated = |is_last: bool| {
        let head = (128_u32 << 10 << 3) | 2 | u32::from(is_last);
        [&head.to_le_bytes()[..3], &[0]].concat()
    };
    for size in [100, 4_000, 30 << 20, 200 << 20] {
        // The frame says 2^60 bytes.
        let huge =
            [&zstd_magic[..], &[0b1110_0000], &(1_u64 << 60).to_le_bytes(), &raw_block(4), b"abcd"];
        put("a zstd frame of 2^60 bytes", "zstd", size, huge.concat());
        // Windows of 128 MiB, 2 GiB and the largest that can be written.
        for (log, byte) in [(27_u8, (27_u8 - 10) << 3), (31, (31 - 10) << 3), (41, 0xFF)] {
            let window = [&zstd_magic[..], &[0, byte], &raw_block(4), b"abcd"].concat();
            put(&format!("a zstd window of 2^{log} bytes"), "zstd", size, window);
            let blocks: Vec<u8> = (0..2_000).flat_map(|n| repeated(n == 1_999)).collect();
            let bomb = [&zstd_magic[..], &[0, byte], &blocks].concat();
            put(&format!("a zstd window of 2^{log} bytes, 250 MiB of zeros"), "zstd", size, bomb);
        }
        let skippable = [&[0x50, 0x2A, 0x4D, 0x18][..], &u32::MAX.to_le_bytes(), b"abc"].concat();
        put("a zstd frame to skip, of 4 GiB", "zstd", size, skippable);
        let many: Vec<u8> = compressed(Codec::Zstd, b"abc").1.repeat(2_000);
        put("2,000 zstd frames", "zstd", size, many);
        let lz4_huge = [
            &[0x04, 0x22, 0x4D, 0x18, 0b0110_1000, 0x70][..],
            &(1_u64 << 60).to_le_bytes(),
            &[0, 4, 0, 0, 0x80],
            b"abcd",
        ];
        put("an lz4 frame of 2^60 bytes", "lz4", size, lz4_huge.concat());
        let lz4_block = [
            &[0x04, 0x22, 0x4D, 0x18, 0b0110_0000, 0x70, 0x73][..],
            &[0xFF, 0xFF, 0xFF, 0x7F],
            b"abcd",
        ];
        put("an lz4 block of 2 GiB", "lz4", size, lz4_block.concat());
        put("an lz4 bomb", "lz4", size, compressed(Codec::Lz4, &vec![0; 40 << 20]).1);
        put("a zstd bomb", "zstd", size, compressed(Codec::Zstd, &vec![0; 100 << 20]).1);
    }
}

/// Summaries whose lengths are not theirs.
fn lying_indexes(all: &mut Vec<(String, Vec<u8>)>) {
    for length in [u32::MAX, 1 << 31] {
        let long = length.to_le_bytes();
        for (what, opcode, fixed) in
            [("chunk index", op::CHUNK_INDEX, 32), ("statistics", op::STATISTICS, 42)]
        {
            let lie = record(opcode, &[&vec![1; fixed][..], &long, &[7; 30]].concat());
            let parts = [declarations(), vec![good_chunk(0)]].concat();
            let mut laid = FileSpec { parts, ..FileSpec::default() }.lay(&mut |_, _| {});
            laid.tail.summary.as_mut().unwrap().others.push(lie);
            all.push((format!("map of a {what} of {length} bytes"), laid.finish()));
        }
    }
    for start in [8, 9, 1 << 40, u64::MAX - 100, u64::MAX] {
        let head = [&MAGIC[..], &header("ros2", "x"), &footer(start, start, 0), &MAGIC].concat();
        all.push((format!("a summary at {start}"), head));
    }
    let mut laid =
        FileSpec { parts: [declarations(), vec![good_chunk(0)]].concat(), ..FileSpec::default() }
            .lay(&mut |_, _| {});
    let index = laid.tail.summary.as_ref().unwrap().chunks[0].clone();
    laid.tail.summary.as_mut().unwrap().chunks = vec![index; 50_000];
    all.push(("50,000 entries of one chunk".to_owned(), laid.finish()));
}

/// Files that really hold what they say.
fn true_bombs(all: &mut Vec<(String, Vec<u8>)>) {
    let private = |len: usize| lying_record(op::PRIVATE, len as u64, &vec![0; len]);
    let big = |log_time_ns: u64, len: usize| {
        let payload = vec![0; len];
        message(&RawMessage { channel: 1, sequence: 0, log_time_ns, publish_time_ns: 0, payload })
    };
    for codec in [Codec::Zstd, Codec::Lz4] {
        let zeros = packed(codec, &private(30 << 20));
        all.push((
            format!("{codec:?}: 30 MiB of zeros"),
            around(vec![Part::Record(chunk(&zeros))]),
        ));
        let payload = packed(codec, &big(5_000, 30 << 20));
        let what = format!("{codec:?}: a message of 30 MiB of zeros");
        all.push((what, around(vec![Part::Record(chunk(&payload))])));
        // Each spans the time of all others, so that all may be open at once.
        let inner = [big(1_500, 2 << 20), big(9_000, 10)].concat();
        let raw = RawChunk { start_ns: 1_500, end_ns: 9_000, ..packed(codec, &inner) };
        let overlapping = vec![Part::Record(chunk(&raw)); 16];
        all.push((format!("{codec:?}: 16 chunks of 2 MiB at one time"), around(overlapping)));
    }
}

/// Files of many small things.
fn slow_ones(all: &mut Vec<(String, Vec<u8>)>) {
    let tiny = record(op::PRIVATE, b"");
    all.push((
        "100,000 empty records".to_owned(),
        around(vec![Part::Record(tiny.repeat(100_000))]),
    ));
    let packed_tiny = packed(Codec::Zstd, &tiny.repeat(1_000_000));
    all.push((
        "a million empty records in a chunk".to_owned(),
        around(vec![Part::Record(chunk(&packed_tiny))]),
    ));
    let empty = chunk(&plain(Vec::new()));
    all.push(("10,000 empty chunks".to_owned(), around(vec![Part::Record(empty.repeat(10_000))])));
    all.push(("1 MiB of zeros".to_owned(), around(vec![Part::Record(vec![0; 1 << 20])])));
    all.push(("1 MiB of ones".to_owned(), around(vec![Part::Record(vec![0xFF; 1 << 20])])));
    all.push((
        "1 MiB of chunk opcodes".to_owned(),
        around(vec![Part::Record(vec![op::CHUNK; 1 << 20])]),
    ));
    all.push((
        "1 MiB of message opcodes".to_owned(),
        around(vec![Part::Record(vec![op::MESSAGE; 1 << 20])]),
    ));
    let ladder: Vec<u8> = (0..20_000_u64)
        .flat_map(|n| lying_record(op::CHUNK, (20_000 - n) * 9 + 100, b""))
        .collect();
    all.push(("chunks that each hold the rest".to_owned(), around(vec![Part::Record(ladder)])));
    let broken = chunk(&RawChunk { crc: 1, ..plain(vec![0; 64]) });
    all.push(("5,000 broken chunks".to_owned(), around(vec![Part::Record(broken.repeat(5_000))])));
    let magic = MAGIC.repeat(100_000);
    all.push(("100,000 magics".to_owned(), around(vec![Part::Record(magic)])));
    let again: Vec<u8> =
        (0..60_000_u16).flat_map(|n| channel(n % 7, 1, &format!("/{n}"), "cdr", &[])).collect();
    all.push((
        "a channel declared 60,000 times".to_owned(),
        around(vec![Part::Record(again.clone())]),
    ));
    let inside = packed(Codec::Zstd, &again);
    all.push(("and in a chunk".to_owned(), around(vec![Part::Record(chunk(&inside))])));
    let mut nested = plain(message(&RawMessage {
        channel: 1,
        sequence: 0,
        log_time_ns: 1_500,
        publish_time_ns: 0,
        payload: vec![0; 10],
    }));
    for _ in 0..300 {
        nested = plain(chunk(&nested));
    }
    all.push((
        "300 chunks inside each other".to_owned(),
        around(vec![Part::Record(chunk(&nested))]),
    ));
    let mut turtle = packed(Codec::Zstd, &vec![0; 1 << 20]);
    for _ in 0..50 {
        turtle = packed(Codec::Zstd, &chunk(&turtle));
    }
    all.push((
        "50 zstd chunks inside each other".to_owned(),
        around(vec![Part::Record(chunk(&turtle))]),
    ));
}
