//! Record by record what the `mcap` crate reads of the same bytes.

use std::{
    collections::HashMap,
    fs,
    io::Read,
    path::{Path, PathBuf},
};

use mcap::{
    read::{LinearReader, Options},
    records::Record,
};
use ros2_memory_testkit::bags::{Layout, bag_bytes};

use super::sample::{Sample, Scratch, Seen, content, layouts, samples};

fn upstream(bytes: &[u8]) -> Vec<Seen> {
    mcap::MessageStream::new(bytes)
        .unwrap()
        .map(|message| message.unwrap())
        .map(|message| Seen {
            log_time_ns: message.log_time,
            topic: message.channel.topic.clone(),
            channel_id: message.channel.id,
            sequence: message.sequence,
            publish_time_ns: message.publish_time,
            payload: message.data.into_owned(),
        })
        .collect()
}

#[test]
fn every_layout_reads_as_upstream_reads_it() {
    let scratch = Scratch::new();
    for Sample { name, bytes, .. } in samples() {
        let (bag, served) = scratch.serve(&bytes);
        assert!(served == upstream(&bytes), "{name}");
        assert_eq!(bag.contents().damage, [], "{name}");
    }
}

#[test]
fn long_files_in_every_layout_and_chunk_size_read_as_upstream_reads_them() {
    let scratch = Scratch::new();
    for (seed, (name, layout)) in (100..).zip(layouts()) {
        for (n_messages, payload_len, chunk_bytes) in
            [(3_000, 300, 4_096), (2_000, 40, 1), (300, 9_000, 100_000), (1, 5, 10), (0, 1, 10)]
        {
            let (channels, messages) = content(n_messages, payload_len, seed);
            let layout = Layout { chunk_bytes, ..layout };
            let bytes = bag_bytes(&channels, &messages, &layout).unwrap();
            let (bag, served) = scratch.serve(&bytes);
            assert!(served == upstream(&bytes), "{name}, {n_messages} messages");
            assert_eq!(bag.contents().damage, [], "{name}");
            assert_eq!(bag.contents().n_messages(), u64::from(n_messages));
        }
    }
}

/// What the crate reads of a file, whatever its ending, up to the first thing it refuses. Chunks
/// are verified; messages without a channel and those dated past 2262 are left out, as here.
fn upstream_records(bytes: &[u8]) -> Vec<Seen> {
    let options = Options::IgnoreEndMagic | Options::ValidateChunkCrcs;
    let Ok(reader) = LinearReader::new_with_options(bytes, options) else { return Vec::new() };
    let mut topics: HashMap<u16, String> = HashMap::new();
    let mut seen = Vec::new();
    let mut take = |record: Record<'_>| match record {
        Record::Channel(channel) => {
            topics.insert(channel.id, channel.topic);
        }
        Record::Message { header, data } => {
            if let Some(topic) = topics.get(&header.channel_id)
                && i64::try_from(header.log_time).is_ok()
            {
                seen.push(Seen {
                    log_time_ns: header.log_time,
                    topic: topic.clone(),
                    channel_id: header.channel_id,
                    sequence: header.sequence,
                    publish_time_ns: header.publish_time,
                    payload: data.into_owned(),
                });
            }
        }
        _ => {}
    };
    for record in reader {
        match record {
            Ok(Record::Chunk { header, data }) => {
                let Ok(inside) = mcap::read::ChunkReader::new(header, &data) else { break };
                let records: Result<Vec<_>, _> = inside.collect();
                let Ok(records) = records else { break };
                records.into_iter().for_each(&mut take);
            }
            Ok(record) => take(record),
            Err(_) => break,
        }
    }
    seen
}

/// Every recording under a folder.
fn recordings_under(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            recordings_under(&path, found);
        } else if path.to_string_lossy().contains(".mcap") {
            found.push(path);
        }
    }
}

#[test]
fn every_recording_by_others_reads_as_upstream_reads_it() {
    let data = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    if !data.is_dir() {
        println!("skipped: no recordings beside the project");
        return;
    }
    let mut files = Vec::new();
    recordings_under(&data, &mut files);
    files.sort();
    let scratch = Scratch::new();
    let (mut n_files, mut n_messages, mut n_more) = (0, 0, 0);
    for path in files {
        let mut bytes = fs::read(&path).unwrap();
        if path.extension().is_some_and(|extension| extension == "zstd") {
            let stored = std::mem::take(&mut bytes);
            zstd::Decoder::new(&stored[..]).unwrap().read_to_end(&mut bytes).unwrap();
        }
        if !bytes.starts_with(mcap::MAGIC) {
            continue;
        }
        let (_, served) = scratch.serve(&bytes);
        let mut wanted = upstream_records(&bytes);
        // Names of DDS are shown as those of ROS.
        for (theirs, ours) in wanted.iter_mut().zip(&served) {
            if theirs.topic.strip_prefix("rt").is_some_and(|topic| topic == ours.topic) {
                theirs.topic.clone_from(&ours.topic);
            }
        }
        let n = wanted.len();
        assert!(served.get(..n) == Some(&wanted[..]), "{}: {n} messages", path.display());
        // What lies behind the first thing that the crate refuses is served here only.
        n_more += served.len() - n;
        n_files += 1;
        n_messages += n;
    }
    println!("{n_files} files, {n_messages} messages, {n_more} more that the crate does not reach");
    assert!(n_files > 300 && n_messages > 10_000);
}
