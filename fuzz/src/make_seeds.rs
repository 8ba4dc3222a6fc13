//! Writes the seeds that each target starts from; those that were found stay.

use std::{fs, io, path::Path, sync::Arc};

use ros2_memory_bag::ReadOptions;
use ros2_memory_catalog::Store;
use ros2_memory_fuzz::segment;
use ros2_memory_index::{IndexedPaths, IndexedTypes, Indexer};
use ros2_memory_testkit::{
    bags::{Compression, Layout, TestChannel, TestMessage, bag_bytes},
    content::Kind,
    mcap_bytes::fixtures,
    prng::Prng,
    typed::{self, Options, Style},
};

type Made = Result<(), Box<dyn std::error::Error>>;

fn main() -> Made {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds");
    recordings(&seeds)?;
    definitions(&seeds)?;
    for (number, text) in
        ["a", "b[].a\nb[0].c.b", "c\nc[2]\nb[].b[1]", "d[1][]\ne[][0].b\nf[][]\nb[].d[1].a"]
            .iter()
            .enumerate()
    {
        write(&seeds.join("field_path").join(format!("paths_{number}")), text.as_bytes())?;
    }
    for (name, text) in [
        ("objects", "a.b[].c t\n{\"a\": {\"b\": [{\"c\": 1}, {\"c\": -2.5e3}, {}]}, \"t\": null}"),
        ("texts", "t[1] t\n{\"t\": [\"x\\u0041\\ud83d\\ude00\", \"\\n\"], \"t\": [true, false]}"),
        ("numbers", "a\n[18446744073709551615, -9223372036854775808, 0.1, 1e300, -0]"),
        ("nested", "a[][0]\n{\"a\": [[1], [], [[2]], {\"a\": [[3]]}]}"),
    ] {
        write(&seeds.join("json_message").join(name), text.as_bytes())?;
    }
    // Bytes that picks are made of; lengths are taken from the end.
    for (number, step) in [1u8, 7, 31, 101].into_iter().enumerate() {
        let bytes: Vec<u8> = (0..200u8).map(|n| n.wrapping_mul(step)).collect();
        write(&seeds.join("cdr_cursor").join(format!("picks_{number}")), &bytes)?;
    }
    picks(&seeds.join("cdr_cursor"), 8, 600)?;
    picks(&seeds.join("typed_roundtrip"), 16, 120)?;
    picks(&seeds.join("mcap_recovery"), 24, 90)?;
    for (stored, (name, is_sealed)) in catalog()?.iter().zip([("sealed", true), ("log", false)]) {
        let folder = seeds.join("catalog_segment");
        write(&folder.join(name), &segment::unframed(stored, is_sealed))?;
        let choice = if is_sealed { 2 } else { 0 };
        write(&folder.join(format!("{name}_raw")), &[&[choice], &stored[..]].concat())?;
    }
    Ok(())
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    fs::create_dir_all(path.parent().unwrap_or(path))?;
    fs::write(path, bytes)
}

/// Random bytes for inputs with a shape.
fn picks(folder: &Path, n: u64, len: usize) -> io::Result<()> {
    for seed in 0..n {
        let mut rng = Prng::new(seed);
        let bytes: Vec<u8> = (0..len).map(|_| rng.next_u64().to_le_bytes()[0]).collect();
        write(&folder.join(format!("random_{seed:02}")), &bytes)?;
    }
    Ok(())
}

fn recordings(seeds: &Path) -> Made {
    for (name, layout) in layouts() {
        let bytes = bag(&layout)?;
        write(&seeds.join("mcap_scan").join(name), &bytes)?;
        write(&seeds.join("mcap_differential").join(name), &bytes)?;
    }
    let whole = zstd::bulk::compress(&bag(&Layout::default())?, 3)?;
    write(&seeds.join("mcap_scan").join("compressed_as_a_whole"), &whole)?;
    for fixture in fixtures(0).iter().filter(|fixture| fixture.name.starts_with("by hand")) {
        let name: String =
            fixture.name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        write(&seeds.join("mcap_differential").join(&name), &fixture.bytes)?;
        write(&seeds.join("mcap_scan").join(&name), &fixture.bytes)?;
    }
    Ok(())
}

/// The types of the demonstration, and random ones in every language.
fn definitions(seeds: &Path) -> Made {
    for kind in Kind::ALL {
        let name = kind.type_name().rsplit('/').next().unwrap_or_default();
        write(&seeds.join("msg_parse").join(name), kind.definition().as_bytes())?;
    }
    for seed in 0..4 {
        let mut rng = Prng::new(seed);
        let style = Style::random(&mut rng);
        let small = |options| Options { max_structs: 3, max_fields: 6, ..options };
        let ros1 = typed::random_types(small(Options::ros1()), &mut rng);
        let ros2 = typed::random_types(small(Options::ros2()), &mut rng);
        let idl = typed::random_types(small(Options::idl()), &mut rng);
        for text in [
            typed::ros1msg(&ros1, style, &mut rng),
            typed::ros2msg(&ros2, style, &mut rng),
            typed::omgidl(&ros2, style, &mut rng),
            typed::ros2idl(&ros2, style, &mut rng),
            typed::omgidl(&idl, style, &mut rng),
            typed::ros2idl(&idl, style, &mut rng),
        ] {
            let name = format!("{}_{seed}", text.encoding);
            if text.encoding.ends_with("msg") {
                write(&seeds.join("msg_parse").join(name), text.text.as_bytes())?;
            } else {
                let root = &text.schema_name;
                let short = root.rsplit([':', '/']).next().unwrap_or_default();
                let bytes = format!("{root}\n{}", text.text);
                let name = format!("{name}_{short}");
                write(&seeds.join("idl_parse").join(name), bytes.as_bytes())?;
            }
        }
    }
    Ok(())
}

fn layouts() -> Vec<(&'static str, Layout)> {
    let plain = Layout { chunk_bytes: 150, ..Layout::default() };
    vec![
        ("none", plain),
        ("lz4", Layout { compression: Compression::Lz4, ..plain }),
        ("zstd", Layout { compression: Compression::Zstd, ..plain }),
        ("unchunked", Layout { chunked: false, ..plain }),
        ("no_crc", Layout { with_crc: false, ..plain }),
        ("no_summary", Layout { with_summary: false, with_message_index: false, ..plain }),
    ]
}

fn bag(layout: &Layout) -> io::Result<Vec<u8>> {
    let channel = |id, topic: &str| TestChannel {
        id,
        topic: topic.into(),
        type_name: Kind::Text.type_name().into(),
        definition: Kind::Text.definition().into(),
        latched: id == 2,
    };
    let messages: Vec<TestMessage> = (0..8u32)
        .map(|n| TestMessage {
            channel: 1 + u16::from(n % 3 == 0),
            log_time_ns: 1_000 + u64::from(n ^ 1),
            publish_time_ns: 1_000,
            sequence: n,
            payload: vec![0, 1, 0, 0, 2, 0, 0, 0, b'a', 0],
        })
        .collect();
    bag_bytes(&[channel(1, "/a"), channel(2, "/b")], &messages, layout)
}

/// The only segment of a catalog over two bags, one of them gone.
/// The tests' recordings hold strings: these are taken for labels.
fn indexed() -> IndexedTypes {
    let mut types = IndexedTypes::default();
    let labels = vec!["data".parse().expect("a path")];
    types.insert("std_msgs/msg/String", IndexedPaths { labels, ..IndexedPaths::default() });
    types
}

/// A sealed segment and a log, with an entry each.
fn catalog() -> Result<[Vec<u8>; 2], Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let mut entries = Vec::new();
    for (name, layout) in layouts().into_iter().take(2) {
        let path: Arc<Path> = Path::new(name).into();
        fs::write(folder.path().join(&path), bag(&layout)?)?;
        let mut indexer = Indexer::new(Arc::new(indexed()), Arc::default());
        let mut entry = indexer.index(folder.path(), &path, &ReadOptions::default(), None)?;
        // Of no file system, so that the seeds come out the same everywhere.
        (entry.identity.device, entry.identity.inode, entry.identity.mtime_ns) = (1, 2, 3);
        entries.push(Arc::new(entry));
    }
    let dir = folder.path().join("catalog");
    fs::create_dir(&dir)?;
    Store::open(&dir)?.0.rewrite(&entries[..1], &entries[1..])?;
    let file = |number: u32| fs::read(dir.join(format!("segment-{number:08}")));
    Ok([file(1)?, file(2)?])
}
