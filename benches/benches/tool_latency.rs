//! Every tool, warm, in process, over an hour in 360 bags.

#![expect(clippy::unwrap_used, reason = "a bench that cannot run has nobody to tell")]

use criterion::Criterion;
use ros2_memory_bag::Compression;
use ros2_memory_benches::{Data, Opened, TOOL_CALLS, arguments, ask, call_arguments};
use ros2_memory_query::{CallContext, Memory, Reply};
use serde_json::{Map, Value};

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    tools(&mut criterion);
    criterion.final_summary();
}

fn tools(criterion: &mut Criterion) {
    let data = Data::under(env!("CARGO_TARGET_TMPDIR"));
    let bags = data.hour(Compression::Zstd).unwrap();
    let catalog = data.empty_folder().unwrap();
    let memory = Opened::configuration(&bags, catalog.path()).unwrap().memory().unwrap();

    let mut group = criterion.benchmark_group("tool");
    group.sample_size(20);
    for (tool, text) in TOOL_CALLS {
        let arguments = call_arguments(&memory, text).unwrap();
        group.bench_function(tool, |b| b.iter(|| ask(&memory, tool, &arguments).unwrap()));
    }
    // The dearest search: every bag is read before the answer is that there is none.
    let never = arguments(
        r#"{"topic": "/vision/*/scene_objects", "condition_type": "contains", "value": "unicorn"}"#,
    );
    let never = never.unwrap();
    group.bench_function("find_last_match_never_seen", |b| {
        b.iter(|| {
            let reply = ask_for_nothing(&memory, &never);
            assert!(reply.value.is_null());
            reply
        });
    });
    group.finish();
}

/// [`ask`] takes `null` for a failure.
fn ask_for_nothing(memory: &Memory, arguments: &Map<String, Value>) -> Reply {
    let context = CallContext::with_time_limit(memory.settings().time_limit);
    memory.call("find_last_match", arguments, &context)
}
