//! Every message of an hour, 360 bags: this project's ordered stream, the peer's two readers and
//! a plain walk, over the same files.

#![expect(clippy::unwrap_used, reason = "a bench that cannot run has nobody to tell")]

use criterion::{BenchmarkGroup, Criterion, Throughput, measurement::WallTime};
use ros2_memory_bag::{Compression, ReadOptions};
use ros2_memory_benches::{Data, indexed_reader, message_stream, plain_walk, timeline};

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    for compression in [Compression::None, Compression::Zstd, Compression::Lz4] {
        scan(&mut criterion, compression);
    }
    criterion.final_summary();
}

fn scan(criterion: &mut Criterion, compression: Compression) {
    let data = Data::under(env!("CARGO_TARGET_TMPDIR"));
    let files = data.hour_files(compression).unwrap();
    let parts = data.hour_parts(compression).unwrap();
    let verifying = ReadOptions { verify_always: true, ..ReadOptions::default() };

    let expected = plain_walk(&files).unwrap();
    assert_eq!(expected, timeline(&parts, ReadOptions::default()));
    assert_eq!(expected, message_stream(&files, true).unwrap());
    assert_eq!(expected, indexed_reader(&files).unwrap());

    let throughput =
        Throughput::ElementsAndBytes { elements: expected.messages, bytes: expected.bytes };
    let mut group = criterion.benchmark_group(format!("scan_hour_{}", compression.as_str()));
    group.sample_size(10).throughput(throughput);
    row(&mut group, "timeline", || timeline(&parts, ReadOptions::default()));
    row(&mut group, "timeline_checks_crc", || timeline(&parts, verifying));
    row(&mut group, "peer_message_stream", || message_stream(&files, false).unwrap());
    row(&mut group, "peer_message_stream_checks_crc", || message_stream(&files, true).unwrap());
    row(&mut group, "peer_indexed_reader", || indexed_reader(&files).unwrap());
    row(&mut group, "plain_walk", || plain_walk(&files).unwrap());
    group.finish();
}

fn row<T>(group: &mut BenchmarkGroup<'_, WallTime>, name: &str, mut pass: impl FnMut() -> T) {
    group.bench_function(name, |b| b.iter(&mut pass));
}
