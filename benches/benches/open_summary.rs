//! 360 splits of ten seconds: from nothing to an index, from the catalog to the first answer,
//! and the peer's reading of every summary.

#![expect(clippy::unwrap_used, reason = "a bench that cannot run has nobody to tell")]

use std::time::{Duration, Instant};

use criterion::Criterion;
use ros2_memory_bag::Compression;
use ros2_memory_benches::{Data, Opened, arguments, ask, summaries};

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    open(&mut criterion);
    criterion.final_summary();
}

fn open(criterion: &mut Criterion) {
    let data = Data::under(env!("CARGO_TARGET_TMPDIR"));
    let bags = data.hour(Compression::Zstd).unwrap();
    let files = data.hour_files(Compression::Zstd).unwrap();
    assert!(summaries(&files).unwrap() >= files.len());

    let mut group = criterion.benchmark_group("open_360_splits");
    group.sample_size(20);
    group.bench_function("first_index", |b| {
        b.iter_custom(|n| {
            timed(n, || {
                let catalog = data.empty_folder().unwrap();
                let opened = Opened::configuration(&bags, catalog.path()).unwrap();
                let started = Instant::now();
                let memory = opened.memory().unwrap();
                (started.elapsed(), (memory, catalog))
            })
        });
    });
    let catalog = data.empty_folder().unwrap();
    let ten = arguments(r#"{"seconds_ago": 10}"#).unwrap();
    group.bench_function("restart_to_first_answer", |b| {
        b.iter_custom(|n| {
            timed(n, || {
                let started = Instant::now();
                let opened = Opened::configuration(&bags, catalog.path()).unwrap();
                let memory = opened.memory().unwrap();
                ask(&memory, "get_position_seconds_ago", &ten).unwrap();
                (started.elapsed(), memory)
            })
        });
    });
    group.bench_function("configuration_and_definitions", |b| {
        b.iter_with_large_drop(|| Opened::configuration(&bags, catalog.path()).unwrap());
    });
    group.bench_function("peer_summaries", |b| b.iter(|| summaries(&files).unwrap()));
    group.finish();
}

/// The sum of `n` openings; closing is not measured.
fn timed<T>(n: u64, mut open: impl FnMut() -> (Duration, T)) -> Duration {
    (0..n)
        .map(|_| {
            let (taken, opened) = open();
            drop(opened);
            taken
        })
        .sum()
}
