//! An entry survives its bytes, and other bytes are an error.

#![cfg(test)]

use std::{collections::HashSet, os::unix::ffi::OsStringExt, path::PathBuf, sync::Arc};

use proptest::{
    collection::{btree_map, btree_set, vec},
    prelude::*,
    sample::Index,
};
use ros2_memory_bag::{
    Channel, Chunk, ChunkChannel, Compression, ContentMark, Contents, Damage, DamageKind,
    Declarations, Ending, FileIdentity, Losses, Schema, Verdict,
};
use ros2_memory_index::{
    BagEntry, Cells, Drive, EdgeSpan, EntryForm, IndexedMark, LatchedMessage, Pose, Shared,
    Sharing, Sightings, TopicNumbers, TopicWords, Zone, decode, decode_declarations,
    decode_identity, encode, encode_declarations,
};
use ros2_memory_time::LogTime;

fn time() -> impl Strategy<Value = LogTime> {
    prop_oneof![any::<u64>(), 0..1_000u64, Just(u64::MAX), Just(1_700_000_000_000_000_000)]
        .prop_map(LogTime::from_ns)
}

fn declarations() -> impl Strategy<Value = Declarations> {
    let schema = (any::<u16>(), ".{0,9}", ".{0,9}", vec(any::<u8>(), 0..40)).prop_map(
        |(id, name, encoding, text)| Schema {
            id,
            name: name.into(),
            encoding: encoding.into(),
            text: text.into(),
        },
    );
    let channel = (any::<u16>(), ".{0,9}", any::<Option<u16>>(), ".{0,5}", ".{0,30}").prop_map(
        |(id, topic, schema, message_encoding, qos)| Channel {
            id,
            topic: topic.into(),
            schema: schema.map(u32::from),
            message_encoding: message_encoding.into(),
            offered_qos_profiles: qos.into(),
        },
    );
    (".{0,9}", ".{0,9}", vec(schema, 0..4), vec(channel, 1..5)).prop_map(
        |(profile, library, schemas, channels)| Declarations {
            profile,
            library,
            schemas,
            channels,
        },
    )
}

/// A chunk spans its channels, as a pass over a file leaves it.
fn chunk(n_channels: u32) -> impl Strategy<Value = Chunk> {
    let compression =
        prop_oneof![Just(Compression::None), Just(Compression::Lz4), Just(Compression::Zstd)];
    let verdict = prop_oneof![
        Just(Verdict::Intact),
        Just(Verdict::Unchecked),
        Just(Verdict::Damaged),
        Just(Verdict::Claimed),
        Just(Verdict::Doubtful)
    ];
    let seen = (0..n_channels, any::<u32>(), time(), time())
        .prop_map(|(channel, count, first, last)| ChunkChannel { channel, count, first, last });
    let sizes = (any::<u64>(), any::<u64>(), any::<u64>(), any::<u32>());
    (sizes, compression, verdict, any::<(bool, bool)>(), vec(seen, 0..4)).prop_map(
        |((offset, stored_len, len, crc), compression, verdict, is, channels)| Chunk {
            offset,
            stored_len,
            len,
            compression,
            crc,
            verdict,
            is_loose: is.0,
            is_sorted: is.1,
            index_len: len / 3,
            first: channels.iter().map(|seen| seen.first).min().unwrap_or_default(),
            last: channels.iter().map(|seen| seen.last).max().unwrap_or_default(),
            channels,
        },
    )
}

fn damage() -> impl Strategy<Value = Damage> {
    let kind = prop_oneof![
        Just(DamageKind::Zeros),
        Just(DamageKind::NoChunk),
        any::<(u32, u32)>().prop_map(|(expected, found)| DamageKind::Crc { expected, found }),
        ".{0,9}".prop_map(|name| DamageKind::UnknownCompression { name }),
        any::<(u64, u64)>()
            .prop_map(|(declared, limit)| DamageKind::ChunkTooLarge { declared, limit }),
        any::<(u64, u64)>().prop_map(|(needed, available)| DamageKind::Truncated {
            what: "record",
            needed,
            available
        }),
        any::<(u16, u64)>()
            .prop_map(|(channel, messages)| DamageKind::UnknownChannel { channel, messages }),
        (".{0,20}", any::<(u64, u64)>()).prop_map(|(text, (chunks, skipped_bytes))| {
            let losses = Losses { chunks, skipped_bytes, ..Losses::default() };
            DamageKind::Remembered { text, losses }
        }),
    ];
    (any::<u64>(), kind).prop_map(|(offset, kind)| Damage { offset, kind })
}

fn contents() -> impl Strategy<Value = Contents> {
    declarations().prop_flat_map(|declared| {
        let n_channels = u32::try_from(declared.channels.len()).unwrap();
        // One less than the largest: the bytes hold the place plus one.
        let ending = prop_oneof![
            Just(Ending::Closed),
            (0..u64::MAX).prop_map(|served_to| Ending::Open { served_to })
        ];
        let lists = (vec(chunk(n_channels), 0..5), vec(damage(), 0..5));
        (Just(declared), lists, ending, any::<(u64, u64)>()).prop_map(
            |(declared, (chunks, damage), ending, (n_attachments, n_metadata))| Contents {
                declared: Arc::new(declared),
                chunks,
                ending,
                damage,
                n_attachments,
                n_metadata,
            },
        )
    })
}

fn entry() -> impl Strategy<Value = BagEntry> {
    contents().prop_flat_map(|contents| {
        let n_channels = u32::try_from(contents.declared.channels.len()).unwrap();
        let path = vec(1..=u8::MAX, 0..20)
            .prop_map(|bytes| PathBuf::from(std::ffi::OsString::from_vec(bytes)));
        let identity =
            any::<(u64, u64, u64, i64)>().prop_map(|(device, inode, size_bytes, mtime_ns)| {
                FileIdentity { device, inode, size_bytes, mtime_ns }
            });
        let latched = (0..n_channels, time(), vec(any::<u8>(), 0..30)).prop_map(
            |(channel, log_time, payload)| LatchedMessage {
                channel,
                log_time,
                payload: payload.into(),
            },
        );
        let edge = (".{0,9}", ".{0,9}", any::<bool>(), any::<u64>(), time(), time()).prop_map(
            |(parent, child, is_static, count, first, last)| EdgeSpan {
                parent: parent.into(),
                child: child.into(),
                is_static,
                count,
                first,
                last,
            },
        );
        let labels = btree_map(".{1,9}", btree_set(0..9u32, 1..9), 0..4);
        let sightings = (0..n_channels, vec(time(), 9..20), labels, any::<(bool, bool)>())
            .prop_map(|(channel, mut times, labels, (is_complete, has_other_values))| {
                times.sort();
                let labels = labels
                    .into_iter()
                    .map(|(label, ordinals)| (label.into(), ordinals.into_iter().collect()))
                    .collect();
                Sightings { channel, times, labels, is_complete, has_other_values }
            });
        let words = (0..n_channels, btree_set("[a-z]{1,5}", 0..5)).prop_map(|(channel, words)| {
            TopicWords { channel, words: words.iter().map(|word| word.as_str().into()).collect() }
        });
        let lists = (
            vec(latched, 0..4),
            vec(edge, 0..4),
            vec(sightings, 0..3),
            vec(words, 0..3),
            vec(numbers(n_channels), 0..3),
        );
        (Just(contents), path, identity, any::<(u32, u32)>(), lists).prop_map(
            |(contents, path, identity, (mark, indexed), lists)| {
                let (latched, edges, sightings, words, numbers) = lists;
                let declared = Declarations::clone(&contents.declared);
                BagEntry {
                    path: path.into(),
                    identity,
                    mark: ContentMark(mark),
                    contents: Arc::new(contents),
                    latched,
                    edges,
                    transform_skew_ns: mark.into(),
                    sightings: one_a_topic(sightings, &declared, |of| of.channel),
                    words: one_a_topic(words, &declared, |of| of.channel),
                    numbers: one_a_topic(numbers, &declared, |of| of.channel),
                    indexed: IndexedMark(indexed),
                }
            },
        )
    })
}

fn numbers(n_channels: u32) -> impl Strategy<Value = TopicNumbers> {
    let zone = ("[a-z.]{1,9}", any::<f32>(), any::<f32>()).prop_filter_map("numbers", |zone| {
        let (path, min, max) = zone;
        (!min.is_nan() && !max.is_nan()).then(|| Zone { path: path.into(), min, max })
    });
    let cells = ("[a-z.]{1,9}", btree_set(any::<(i32, i32)>(), 0..5))
        .prop_map(|(path, cells)| Cells { path: path.into(), cells: cells.into_iter().collect() });
    let pose = || {
        let parts = (-1e6..1e6f64, -1e6..1e6f64, -1e6..1e6f64);
        (time(), parts).prop_map(|(time, (x, y, z))| Pose { time, at_m: [x, y, z] })
    };
    let sums = (0.0..1e9f64, 0.0..1e3f64, any::<(u32, u32, u32)>());
    let drive = (pose(), pose(), pose(), sums).prop_map(|(first, mut corner, last, sums)| {
        // A waypoint has no height.
        corner.at_m[2] = 0.0;
        let (distance_m, fastest_mps, (n_poses, n_jumps, n_invalid)) = sums;
        Drive { first, corner, last, distance_m, fastest_mps, n_poses, n_jumps, n_invalid }
    });
    let parts = (vec(zone, 0..4), proptest::option::of(cells), proptest::option::of(drive));
    (0..n_channels, parts).prop_map(|(channel, (zones, cells, drive))| TopicNumbers {
        channel,
        zones,
        cells,
        drive,
    })
}

/// A topic has what is known of it together, whichever of its channels it came over.
fn one_a_topic<T>(all: Vec<T>, declared: &Declarations, channel: impl Fn(&T) -> u32) -> Vec<T> {
    let mut seen = HashSet::new();
    let topic = |of: &T| declared.channel(channel(of)).map(|channel| channel.topic.clone());
    all.into_iter().filter(|of| seen.insert(topic(of))).collect()
}

/// What is left of an entry of which tables hold the rest.
fn beside_tables(mut entry: BagEntry) -> BagEntry {
    for of in &mut entry.sightings {
        of.times.clear();
        of.labels.clear();
    }
    entry.words.iter_mut().for_each(|of| of.words.clear());
    for numbers in &mut entry.numbers {
        numbers.zones.clear();
        numbers.drive = None;
        numbers.cells.iter_mut().for_each(|of| of.cells.clear());
    }
    entry
}

/// The entry with each fault in words, as it comes back.
fn remembered(mut entry: BagEntry) -> BagEntry {
    let contents = Arc::make_mut(&mut entry.contents);
    for damage in &mut contents.damage {
        let (text, losses) = (damage.kind.to_string(), damage.kind.losses());
        damage.kind = DamageKind::Remembered { text, losses };
    }
    entry
}

/// An entry's bytes, and what they share with others.
fn encoded(entry: &BagEntry, form: EntryForm) -> (Vec<u8>, Shared) {
    let (mut sharing, mut shared) = (Sharing::default(), Shared::default());
    let bytes = encode(entry, &mut sharing, form);
    sharing.take_fresh().into_iter().for_each(|item| shared.push(item));
    (bytes, shared)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_entry_comes_back_as_it_went(entry in entry()) {
        let declared = decode_declarations(&encode_declarations(&entry.contents.declared)).unwrap();
        prop_assert_eq!(&declared, &*entry.contents.declared);
        let (bytes, shared) = encoded(&entry, EntryForm::Whole);
        let declared = Arc::new(declared);
        let back = decode(&bytes, &declared, &shared, EntryForm::Whole).unwrap();
        let identity = decode_identity(&bytes, &shared).unwrap();
        prop_assert_eq!(identity, (entry.path.to_path_buf(), entry.identity, entry.mark));
        let entry = remembered(entry);
        prop_assert_eq!(&back, &entry);
        let (bytes, shared) = encoded(&entry, EntryForm::BesideTables);
        let back = decode(&bytes, &declared, &shared, EntryForm::BesideTables).unwrap();
        prop_assert_eq!(back, beside_tables(entry));
    }

    /// What a prefix holds is incomplete: a list or its count is missing.
    #[test]
    fn a_cut_entry_is_an_error(entry in entry(), cut in any::<Index>()) {
        let (bytes, shared) = encoded(&entry, EntryForm::Whole);
        let declared = &entry.contents.declared;
        let cut_bytes = &bytes[..cut.index(bytes.len())];
        prop_assert!(decode(cut_bytes, declared, &shared, EntryForm::Whole).is_err());
        let bytes = encode_declarations(declared);
        prop_assert!(decode_declarations(&bytes[..cut.index(bytes.len())]).is_err());
    }

    #[test]
    fn random_bytes_panic_nowhere(bytes in vec(any::<u8>(), 0..300), entry in entry()) {
        drop(decode_declarations(&bytes));
        let (_, shared) = encoded(&entry, EntryForm::Whole);
        for form in [EntryForm::Whole, EntryForm::BesideTables] {
            drop(decode(&bytes, &entry.contents.declared, &shared, form));
        }
    }

    #[test]
    fn changed_bytes_panic_nowhere_and_name_no_channel_that_is_not_there(
        entry in entry(),
        changes in vec(any::<(Index, u8)>(), 1..5),
    ) {
        let (mut bytes, shared) = encoded(&entry, EntryForm::Whole);
        for (at, value) in &changes {
            let at = at.index(bytes.len());
            bytes[at] = *value;
        }
        if let Ok(changed) = decode(&bytes, &entry.contents.declared, &shared, EntryForm::Whole) {
            let declared = &changed.contents.declared;
            let seen = changed.contents.chunks.iter().flat_map(|chunk| &chunk.channels);
            prop_assert!(seen.map(|seen| seen.channel).all(|c| declared.channel(c).is_some()));
            prop_assert!(changed.latched.iter().all(|m| declared.channel(m.channel).is_some()));
            for sightings in &changed.sightings {
                let mut ordinals = sightings.labels.iter().flat_map(|(_, ordinals)| ordinals);
                prop_assert!(ordinals.all(|ordinal| (*ordinal as usize) < sightings.times.len()));
            }
        }
        let mut bytes = encode_declarations(&entry.contents.declared);
        for (at, value) in &changes {
            let at = at.index(bytes.len());
            bytes[at] = *value;
        }
        drop(decode_declarations(&bytes));
    }
}
