//! The position out of odometry messages: at remembered offsets, by a cursor, by a plan that hands
//! out values, by decoding the whole message, and by the peer's typed decoding.

#![expect(clippy::unwrap_used, reason = "a bench that cannot run has nobody to tell")]

use criterion::{Criterion, Throughput};
use ros2_memory_benches::{Data, Outcome, Positions, Sums};

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    position(&mut criterion);
    criterion.final_summary();
}

fn position(criterion: &mut Criterion) {
    type Way = fn(&Positions) -> Outcome<Sums>;
    let ways: [(&str, Way); 5] = [
        ("reader_at_offsets", Positions::by_offset),
        ("plan_numbers", Positions::by_cursor),
        ("plan", Positions::by_plan),
        ("whole_message", Positions::by_decoding),
        ("peer_cdr_encoding", Positions::by_peer),
    ];
    let history = Data::under(env!("CARGO_TARGET_TMPDIR")).history().unwrap();
    let positions = Positions::of(&history).unwrap();
    let expected = positions.by_peer().unwrap().map(f64::to_bits);
    let mut group = criterion.benchmark_group("odometry_position");
    group.throughput(Throughput::Elements(positions.len() as u64));
    for (name, way) in ways {
        assert_eq!(expected, way(&positions).unwrap().map(f64::to_bits), "{name}");
        group.bench_function(name, |b| b.iter(|| way(&positions).unwrap()));
    }
    group.finish();
}
