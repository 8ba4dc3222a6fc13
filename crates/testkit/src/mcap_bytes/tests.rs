use std::collections::BTreeSet;

use super::*;

fn by_the_crate(bytes: &[u8]) -> Vec<(u16, u32, u64, u64, String, Vec<u8>)> {
    mcap::MessageStream::new(bytes)
        .unwrap()
        .map(|message| message.unwrap())
        .map(|m| {
            let topic = m.channel.topic.clone();
            (m.channel.id, m.sequence, m.log_time, m.publish_time, topic, m.data.to_vec())
        })
        .collect()
}

fn by_the_walk(walked: &Walked) -> Vec<(u16, u32, u64, u64, String, Vec<u8>)> {
    let of = |placed: &Placed| {
        let Placed { message: m, topic, .. } = placed.clone();
        (m.channel, m.sequence, m.log_time_ns, m.publish_time_ns, topic, m.payload)
    };
    walked.messages.iter().map(of).collect()
}

#[test]
fn the_walker_finds_what_the_mcap_crate_finds() {
    for fixture in fixtures(3) {
        let name = fixture.name;
        let walked = by_the_walk(&fixture.walked);
        assert_eq!(walked.len(), 24, "{name}");
        assert_eq!(walked, by_the_crate(&fixture.bytes), "{name}");
    }
}

#[test]
fn indexes_written_by_hand_are_right_for_the_mcap_crate() {
    for fixture in fixtures(4).iter().filter(|fixture| fixture.walked.has_chunk_index) {
        let name = fixture.name;
        let summary = mcap::Summary::read(&fixture.bytes).unwrap().unwrap();
        let mut n = 0;
        for chunk in &summary.chunk_indexes {
            let messages = summary.stream_chunk(&fixture.bytes, chunk).unwrap();
            n += messages.inspect(|message| assert!(message.is_ok(), "{name}")).count();
            if chunk.message_index_length == 0 {
                // The crate takes a chunk without message indexes for a broken one.
                continue;
            }
            let unsorted_indexes = summary.read_message_indexes(&fixture.bytes, chunk).unwrap();
            let places = unsorted_indexes
                .iter()
                .flat_map(|(channel, entries)| entries.iter().map(|entry| (channel.id, *entry)));
            for (channel, entry) in places {
                let found = summary.seek_message(&fixture.bytes, chunk, &entry).unwrap();
                assert_eq!((found.channel.id, found.log_time), (channel, entry.log_time));
            }
        }
        let chunked = fixture.walked.messages.iter();
        let chunked = chunked.filter(|m| fixture.walked.holders[m.holder].is_chunk).count();
        assert_eq!(n, chunked, "{name}");
        if let Some(statistics) = summary.stats {
            assert_eq!(statistics.message_count, 24, "{name}");
        }
    }
}

#[test]
fn equal_seeds_make_equal_files_and_no_two_makes_are_alike() {
    let (a, b) = (fixtures(8), fixtures(8));
    assert!(a.iter().zip(&b).all(|(a, b)| a.bytes == b.bytes));
    assert!(a.len() >= 12);
    let names: BTreeSet<&str> = a.iter().map(|fixture| fixture.name).collect();
    assert_eq!(names.len(), a.len());
    for fixture in &a {
        assert!(fixture.bytes.len() <= 24 << 10, "{}: {}", fixture.name, fixture.bytes.len());
    }
}

#[test]
fn checksums_that_are_said_to_be_there_are_right() {
    for fixture in fixtures(5) {
        let Walked { data_end, has_data_crc, spans, .. } = &fixture.walked;
        let said = &fixture.bytes[data_end + 9..data_end + 13];
        let said = u32::from_le_bytes(said.try_into().unwrap());
        assert_eq!(*has_data_crc, said != 0);
        if *has_data_crc {
            assert_eq!(said, crc32(&fixture.bytes[..*data_end]), "{}", fixture.name);
        }
        let footer = spans.last().unwrap();
        let of_footer = |from: usize, to| &fixture.bytes[footer.start + from..footer.start + to];
        let start = u64::from_le_bytes(of_footer(9, 17).try_into().unwrap());
        let said = u32::from_le_bytes(of_footer(25, 29).try_into().unwrap());
        if said != 0 {
            let from = if start == 0 { footer.start } else { usize::try_from(start).unwrap() };
            assert_eq!(said, crc32(&fixture.bytes[from..footer.end - 4]), "{}", fixture.name);
        }
    }
}
