//! A file that is read again and again while it grows ends up known as if it were read once.

use ros2_memory_bag::{
    Bag, Channel, Contents, ReadOptions, ScanBuffers, ScannedMessage, Source, Visitor, scan,
    scan_on,
};
use ros2_memory_testkit::prng::Prng;

use super::{
    hand::{Hand, HandChunk, channel, message},
    sample::{Sample, Scratch, samples, served},
};

/// Notes what a pass shows.
#[derive(Default)]
struct Shown(Vec<(Channel, u64, Vec<u8>)>);

impl Visitor for Shown {
    fn message(&mut self, contents: &Contents, message: &ScannedMessage<'_>) {
        let channel = contents.declared.channel(message.channel).unwrap().clone();
        self.0.push((channel, message.log_time.as_ns(), message.payload.to_vec()));
    }
}

/// The contents after a pass at each of `lengths`, each going on where the one before ended.
fn grow(scratch: &Scratch, bytes: &[u8], lengths: &[usize]) -> (Contents, Shown) {
    let options = ReadOptions::default();
    let (mut buffers, mut shown) = (ScanBuffers::default(), Shown::default());
    let mut known: Option<Contents> = None;
    for length in lengths {
        scratch.write(&bytes[..*length]);
        let mut source = Source::open(&scratch.path).unwrap();
        known = match known {
            None => scan(&mut source, &options, &mut buffers, &mut shown).ok(),
            Some(known) => {
                Some(scan_on(&mut source, &options, &mut buffers, &mut shown, known).unwrap())
            }
        };
    }
    (known.unwrap(), shown)
}

/// Runs of messages outside chunks end where a pass ended, so they are compared by what they
/// hold.
fn assert_same(scratch: &Scratch, bytes: &[u8], lengths: &[usize], is_chunked: bool, what: &str) {
    let (whole, shown_once) = grow(scratch, bytes, &[bytes.len()]);
    let (grown, shown) = grow(scratch, bytes, lengths);
    assert!(shown.0 == shown_once.0, "{what}: other messages were shown");
    if is_chunked {
        assert_eq!(grown, whole, "{what}");
    }
    assert_eq!(grown.declared, whole.declared, "{what}");
    assert_eq!((grown.ending, &grown.damage), (whole.ending, &whole.damage), "{what}");
    assert_eq!(grown.n_messages(), whole.n_messages(), "{what}");
    let reference = Bag::open_unindexed(&scratch.path, &ReadOptions::default()).unwrap();
    let identity = reference.source().identity();
    let bag = Bag::open(&scratch.path, identity, grown.into(), &ReadOptions::default()).unwrap();
    assert!(served(&bag) == served(&reference), "{what}");
}

#[test]
fn any_one_stop_on_the_way_changes_nothing() {
    let scratch = Scratch::new();
    for Sample { name, layout, bytes, .. } in samples() {
        for stop in (0..bytes.len()).step_by(7) {
            let lengths = [stop, bytes.len()];
            assert_same(&scratch, &bytes, &lengths, layout.chunked, &format!("{name} at {stop}"));
        }
    }
}

#[test]
fn any_number_of_stops_changes_nothing() {
    let mut prng = Prng::new(77);
    let scratch = Scratch::new();
    for Sample { name, layout, bytes, .. } in samples() {
        for round in 0..10 {
            let mut lengths: Vec<usize> =
                (0..prng.between(2, 60)).map(|_| prng.index(bytes.len())).collect();
            lengths.sort_unstable();
            lengths.push(bytes.len());
            let what = format!("{name}, round {round}: {lengths:?}");
            assert_same(&scratch, &bytes, &lengths, layout.chunked, &what);
        }
    }
}

/// A recorder declares a channel when its first message comes, and a number may get another
/// meaning.
#[test]
fn channels_that_are_declared_on_the_way_are_known() {
    let mut hand = Hand::new();
    hand.declare();
    let chunks: Vec<u64> = (0..6u16)
        .map(|n| {
            let topic = format!("/late_{n}");
            let records = [
                message(1, n.into(), b"x"),
                channel(10 + n, 1, &topic, "cdr"),
                channel(5, 1, &topic, "cdr"),
                message(10 + n, n.into(), b"y"),
                message(5, n.into(), b"z"),
                message(99, n.into(), b"of no channel"),
            ];
            hand.put(&HandChunk::zstd(&records.concat()).record())
        })
        .collect();
    hand.put(&channel(30, 1, "/loose", "cdr"));
    hand.put(&message(30, 50, b"loose"));
    let bytes = hand.close(&chunks);
    let scratch = Scratch::new();
    for stop in 0..bytes.len() {
        assert_same(&scratch, &bytes, &[stop, bytes.len()], true, &format!("at {stop}"));
    }
}

#[test]
fn a_file_that_shrank_is_no_panic() {
    let scratch = Scratch::new();
    let Sample { bytes, .. } = samples().swap_remove(0);
    let (known, _) = grow(&scratch, &bytes, &[bytes.len() - 1]);
    scratch.write(&bytes[..20]);
    let mut source = Source::open(&scratch.path).unwrap();
    let buffers = &mut ScanBuffers::default();
    let again = scan_on(&mut source, &ReadOptions::default(), buffers, &mut (), known.clone());
    assert_eq!(again.unwrap().chunks, known.chunks);
}
