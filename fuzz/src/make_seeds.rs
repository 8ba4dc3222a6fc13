//! Writes the seeds that each target starts from.

use std::{fs, io, path::Path, sync::Arc};

use ros2_memory_bag::ReadOptions;
use ros2_memory_catalog::Store;
use ros2_memory_fuzz::segment;
use ros2_memory_index::Indexer;
use ros2_memory_testkit::{
    bags::{Compression, Layout, TestChannel, TestMessage, bag_bytes},
    content::Kind,
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds");
    for (name, layout) in layouts() {
        write(&seeds.join("mcap_scan").join(name), &bag(&layout)?)?;
    }
    for kind in Kind::ALL {
        let name = kind.type_name().rsplit('/').next().unwrap_or_default();
        write(&seeds.join("msg_parse").join(name), kind.definition().as_bytes())?;
    }
    for (number, text) in ["a", "b[].a\nb[0].c.b", "c\nc[2]\nb[].b[1]"].iter().enumerate() {
        write(&seeds.join("field_path").join(format!("paths_{number}")), text.as_bytes())?;
    }
    // Bytes that the picks of a type are made of; lengths are taken from the end.
    for (number, step) in [1u8, 7, 31, 101].into_iter().enumerate() {
        let bytes: Vec<u8> = (0..200u8).map(|n| n.wrapping_mul(step)).collect();
        write(&seeds.join("cdr_cursor").join(format!("picks_{number}")), &bytes)?;
    }
    let stored = catalog()?;
    write(&seeds.join("catalog_segment").join("entries"), &segment::unframed(&stored))?;
    write(&seeds.join("catalog_segment").join("raw"), &[&[0], &stored[..]].concat())?;
    Ok(())
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    fs::create_dir_all(path.parent().unwrap_or(path))?;
    fs::write(path, bytes)
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
fn catalog() -> Result<Vec<u8>, Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let mut entries = Vec::new();
    for (name, layout) in layouts().into_iter().take(2) {
        let path: Arc<Path> = Path::new(name).into();
        fs::write(folder.path().join(&path), bag(&layout)?)?;
        let mut indexer = Indexer::default();
        let mut entry = indexer.index(folder.path(), &path, &ReadOptions::default(), None)?;
        // Of no file system, so that the seeds come out the same everywhere.
        (entry.identity.device, entry.identity.inode, entry.identity.mtime_ns) = (1, 2, 3);
        entries.push(Arc::new(entry));
    }
    let dir = folder.path().join("catalog");
    fs::create_dir(&dir)?;
    Store::open(&dir)?.0.rewrite(&entries[..1], &entries[1..])?;
    Ok(fs::read(dir.join("segment-00000001"))?)
}
