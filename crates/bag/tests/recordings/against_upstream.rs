//! Record by record what the `mcap` crate reads of the same bytes.

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
