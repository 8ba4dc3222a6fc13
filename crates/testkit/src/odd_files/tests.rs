use std::{collections::BTreeSet, fs};

use super::*;

fn made() -> (tempfile::TempDir, Vec<OddFile>) {
    let both = tempfile::tempdir().unwrap();
    let (dir, outside) = (both.path().join("bags"), both.path().join("outside"));
    fs::create_dir(&dir).unwrap();
    fs::create_dir(&outside).unwrap();
    let (first_ns, last_ns) = (1_700_000_000_000_000_000, 1_700_000_060_000_000_000);
    let place = OddPlace { dir: &dir, outside: &outside, first_ns, last_ns };
    let odd = write_odd_files(&place).unwrap();
    (both, odd)
}

fn find<'a>(odd: &'a [OddFile], path: &str) -> &'a OddFile {
    odd.iter().find(|odd| odd.path == Path::new(path)).unwrap()
}

#[test]
fn there_are_at_least_forty_and_each_is_there_under_its_own_name() {
    let (both, odd) = made();
    assert!(odd.len() >= 40, "{}", odd.len());
    let paths: BTreeSet<_> = odd.iter().map(|odd| &odd.path).collect();
    assert_eq!(paths.len(), odd.len());
    for odd in &odd {
        assert!(fs::symlink_metadata(both.path().join("bags").join(&odd.path)).is_ok(), "{odd:?}");
    }
}

#[test]
fn no_two_entries_share_a_topic_or_a_text() {
    let (_both, odd) = made();
    let mut topics = BTreeSet::new();
    let mut texts = BTreeSet::new();
    for odd in odd.iter().filter(|odd| !odd.topic.is_empty()) {
        assert!(odd.topic.starts_with(ODD_TOPICS) && topics.insert(&odd.topic), "{}", odd.topic);
        assert!(odd.must_serve <= odd.recorded.len());
        assert!(odd.recorded.iter().all(|message| texts.insert(&message.text)));
    }
}

/// The `mcap` crate also serves what it can of a chunk that was cut, which is allowed, not asked.
#[test]
fn what_must_be_served_of_a_cut_bag_is_found_whole_by_another_reader() {
    let (both, odd) = made();
    for odd in odd.iter().filter(|odd| odd.what.starts_with("cut")) {
        let bytes = fs::read(both.path().join("bags").join(&odd.path)).unwrap();
        let options = mcap::read::Options::IgnoreEndMagic;
        let served = mcap::MessageStream::new_with_options(&bytes, options.into())
            .map_or(0, |stream| stream.map_while(Result::ok).count());
        let name = odd.path.display();
        assert!(served >= odd.must_serve, "{name}: {served} of {}", odd.must_serve);
        if name.to_string().contains("loose") {
            assert_eq!(served, odd.must_serve, "{name}");
        }
    }
    assert!(find(&odd, "cut_plain_1.mcap").must_serve < find(&odd, "cut_plain_7.mcap").must_serve);
    assert_eq!(find(&odd, "no_end_zstd.mcap").must_serve, 12);
}

#[test]
fn a_link_to_a_bag_outside_names_its_topic_and_allows_nothing() {
    let (_both, odd) = made();
    let link = find(&odd, "link_out.mcap");
    assert_eq!((link.topic.as_str(), link.recorded.len()), ("/odd/outside", 0));
}

#[test]
fn a_footer_can_point_behind_its_file() {
    let (both, _odd) = made();
    let bytes = fs::read(both.path().join("bags/footer_outside.mcap")).unwrap();
    assert!(mcap::Summary::read(&bytes).is_err());
}
