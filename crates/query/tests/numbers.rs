//! Intervals, statistics and thinned lists of a number, against the same worked out over plain
//! vectors.

#![cfg(test)]
#![expect(clippy::cast_precision_loss, reason = "counts and nanoseconds of small histories")]

mod common;

use std::path::Path;

use ros2_memory_query::Memory;
use ros2_memory_testkit::{
    bags::{Layout, TestChannel, TestMessage, write_bag},
    payload::{ByteOrder, CdrWriter},
    prng::Prng,
};
use serde_json::{Value, json};

use self::common::{call, memory_over};

const S: u64 = 1_000_000_000;
const T0: u64 = 1_796_000_000 * S;

/// One message of a topic: its time and its number.
type Sample = (u64, f64);

fn channel(id: u16, topic: &str) -> TestChannel {
    TestChannel {
        id,
        topic: topic.to_owned(),
        type_name: "std_msgs/msg/Float64".to_owned(),
        definition: "float64 data\n".to_owned(),
        latched: false,
    }
}

fn write(path: &Path, topics: &[(&str, &[Sample])]) {
    let (mut channels, mut messages) = (Vec::new(), Vec::new());
    for (id, (topic, samples)) in (1..).zip(topics) {
        channels.push(channel(id, topic));
        for (log_time_ns, number) in *samples {
            let mut writer = CdrWriter::new(ByteOrder::Little);
            writer.f64(*number);
            let (log_time_ns, payload) = (*log_time_ns, writer.finish());
            messages.push(TestMessage {
                channel: id,
                log_time_ns,
                publish_time_ns: log_time_ns,
                sequence: 0,
                payload,
            });
        }
    }
    messages.sort_by_key(|message| message.log_time_ns);
    write_bag(path, &channels, &messages, &Layout::default()).unwrap();
}

/// A number that wanders and pauses, in bags of a few messages; some bags overlap the one before.
fn history(prng: &mut Prng, n_bags: u64) -> Vec<Vec<Sample>> {
    let (mut at, mut level) = (T0, 0i64);
    (0..n_bags)
        .map(|_| {
            if prng.below(8) == 0 {
                at = at.saturating_sub(2 * S).max(T0);
            }
            (0..=prng.below(9))
                .map(|_| {
                    at += [S / 10, S, S, 3 * S, 90 * S][prng.index(5)] + prng.below(1000);
                    level = (level + [-1, 0, 0, 1][prng.index(4)]).clamp(-4, 4);
                    (at, level as f64 / 2.0)
                })
                .collect()
        })
        .collect()
}

fn in_order(bags: &[Vec<Sample>]) -> Vec<Sample> {
    let mut all: Vec<Sample> = bags.iter().flatten().copied().collect();
    all.sort_by_key(|(at, _)| *at);
    all
}

fn answer(memory: &Memory, tool: &str, arguments: &Value) -> Value {
    let reply = call(memory, tool, arguments);
    assert_eq!(reply.error, None, "{tool} {arguments}: {}", reply.value);
    reply.value
}

/// Start, end and count of each stretch in which all numbers match, the newest first.
fn plain_intervals(
    samples: &[Sample],
    is_match: impl Fn(f64) -> bool,
    max_gap_ns: u64,
) -> Vec<(u64, u64, u64, Option<u64>)> {
    let mut found: Vec<(u64, u64, u64, Option<u64>)> = Vec::new();
    let mut before: Option<(u64, bool)> = None;
    for (at, number) in samples {
        let matches = is_match(*number);
        if let (Some((_, true)), Some(last)) = (before, found.last_mut()) {
            last.3 = Some(*at);
        }
        match (before, found.last_mut()) {
            (Some((then, true)), Some(last)) if matches && at - then <= max_gap_ns => {
                (last.1, last.3) = (*at, None);
                last.2 += 1;
            }
            _ if matches => found.push((*at, *at, 1, None)),
            _ => {}
        }
        before = Some((*at, matches));
    }
    found.reverse();
    found
}

/// Microseconds since the start, of seconds that are good to a quarter of one.
fn us_of(value: &Value) -> Option<f64> {
    value.as_f64().map(|seconds| (seconds - (T0 / S) as f64) * 1e6)
}

fn is_near(told: &Value, wanted: Option<u64>) -> bool {
    match (us_of(told), wanted.map(|ns| (ns - T0) as f64 / 1e3)) {
        (Some(told), Some(wanted)) => (told - wanted).abs() <= 1.0,
        (told, wanted) => told.is_none() && wanted.is_none(),
    }
}

#[test]
fn intervals_are_those_of_a_plain_list() {
    let (mut n_intervals, mut n_passed_over, mut n_pages) = (0, 0, 0);
    for seed in 0..60 {
        let mut prng = Prng::new(seed);
        let bags = history(&mut prng, 40);
        let folder = tempfile::tempdir().unwrap();
        for (number, bag) in bags.iter().enumerate() {
            let far = [(bag[0].0, 50.0)];
            write(
                &folder.path().join(format!("{number}.mcap")),
                &[("/level", bag), ("/far", &far)],
            );
        }
        let memory = memory_over(folder.path());
        let all = in_order(&bags);
        for _ in 0..8 {
            let limit = f64::from(i32::try_from(prng.below(9)).unwrap() - 4) / 2.0;
            let is_above = prng.below(2) == 0;
            let max_gap_s = [1, 5, 60, 1000][prng.index(4)];
            let is_match = |x: f64| if is_above { x > limit } else { x < limit };
            let wanted = plain_intervals(&all, is_match, max_gap_s * S);
            let page = 1 + prng.index(6);
            let mut arguments = json!({
                "topic": "/level", "condition_type": if is_above { "above" } else { "below" },
                "value": limit, "max_gap_s": max_gap_s, "limit": page,
            });
            let mut told = Vec::new();
            loop {
                let reply = call(&memory, "find_intervals", &arguments);
                assert_eq!(reply.error, None, "seed {seed}: {}", reply.value);
                n_passed_over += reply.stats.bags_passed_over;
                told.extend(reply.value["intervals"].as_array().unwrap().iter().cloned());
                match reply.value.get("next") {
                    Some(next) => arguments["end"] = next["end"].clone(),
                    None => break,
                }
                n_pages += 1;
            }
            let context = format!("seed {seed}: {arguments}\n{told:#?}\n{wanted:?}");
            assert_eq!(told.len(), wanted.len(), "{context}");
            for (number, (told, wanted)) in told.iter().zip(&wanted).enumerate() {
                let (first, last, n, next) = wanted;
                assert!(is_near(&told["start"], Some(*first)), "{context}");
                assert!(is_near(&told["end"], Some(*last)), "{context}");
                assert_eq!(told["messages"], *n, "{context}");
                // What lies behind a page is not looked at again.
                if number % page != 0 {
                    assert!(is_near(&told["until"], *next), "{context}");
                }
            }
            n_intervals += told.len();
        }
    }
    println!("{n_intervals} intervals, {n_pages} pages, {n_passed_over} bags passed over");
    assert!(n_intervals > 1000 && n_passed_over > 1000 && n_pages > 100);
}

#[test]
fn statistics_are_those_of_a_plain_list() {
    for seed in 0..40 {
        let mut prng = Prng::new(seed);
        let bags = history(&mut prng, 30);
        let folder = tempfile::tempdir().unwrap();
        for (number, bag) in bags.iter().enumerate() {
            write(&folder.path().join(format!("{number}.mcap")), &[("/level", bag)]);
        }
        let memory = memory_over(folder.path());
        let all = in_order(&bags);
        let (from, to) = (prng.index(all.len() / 2), all.len() / 2 + prng.index(all.len() / 2));
        let (start, end) = (all[from].0, all[to].0);
        let arguments = json!({"topic": "/level", "start": start.to_string(), "end": end.to_string(), "buckets": 3});
        let told = answer(&memory, "get_statistics", &arguments);
        let inside: Vec<f64> =
            all.iter().filter(|(at, _)| (start..=end).contains(at)).map(|(_, x)| *x).collect();
        let n = inside.len() as f64;
        let mean = inside.iter().sum::<f64>() / n;
        let deviation = (inside.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n).sqrt();
        let mut sorted = inside.clone();
        sorted.sort_by(f64::total_cmp);
        let close = |told: &Value, wanted: f64| {
            let told = told.as_f64().unwrap();
            assert!((told - wanted).abs() < 1e-9, "seed {seed}: {told} is not {wanted}");
        };
        assert_eq!(told["count"], inside.len());
        close(&told["min"]["value"], sorted[0]);
        close(&told["max"]["value"], sorted[sorted.len() - 1]);
        close(&told["mean"], mean);
        close(&told["std_dev"], deviation);
        for (name, percent) in [("p5", 5), ("p50", 50), ("p95", 95)] {
            let rank = (percent * sorted.len()).div_ceil(100).max(1);
            close(&told["percentiles"][name], sorted[rank - 1]);
        }
        let parts = told["buckets"].as_array().unwrap();
        let in_parts: u64 = parts.iter().map(|part| part["n"].as_u64().unwrap()).sum();
        assert_eq!(in_parts, inside.len() as u64, "seed {seed}");
    }
}

#[test]
fn of_many_bags_the_extremes_are_exact_and_most_are_not_read() {
    let mut prng = Prng::new(7);
    let bags = history(&mut prng, 700);
    let folder = tempfile::tempdir().unwrap();
    let highest = bags[345][0].0;
    for (number, bag) in bags.iter().enumerate() {
        let mut bag = bag.clone();
        if number == 345 {
            bag[0].1 = 1234.5678;
        }
        write(&folder.path().join(format!("{number}.mcap")), &[("/level", &bag)]);
    }
    let memory = memory_over(folder.path());
    let arguments = json!({"topic": "/level", "start": 0, "end": "now", "buckets": 4});
    let reply = call(&memory, "get_statistics", &arguments);
    let (told, stats) = (reply.value, reply.stats);
    assert!(stats.bags_passed_over > 300 && stats.bags_opened < 400, "{stats:?}");
    assert_eq!(told["max"]["value"], 1234.5678);
    let handle = answer(&memory, "expand", &json!({"handle": told["max"]["handle"]}));
    assert_eq!(handle["timestamp_ns"], highest.to_string());
    assert_eq!(told["min"]["value"], -2.0);
    assert!(told["note"].as_str().unwrap().contains("evenly"), "{told}");
    let parts = told["buckets"].as_array().unwrap();
    let highest_of_parts = parts.iter().filter_map(|part| part["max"].as_f64());
    assert_eq!(json!(highest_of_parts.fold(f64::MIN, f64::max)), 1234.5678);
}

/// Largest triangle three buckets, as the thesis has it, over a whole list.
fn plain_lttb(points: &[Sample], n: usize) -> Vec<u64> {
    let inner = points.len() - 2;
    let bucket_of = |index: usize| (index - 1) * (n - 2) / inner;
    let mut kept = vec![points[0]];
    for bucket in 0..n - 2 {
        let of = |bucket: usize| -> Vec<Sample> {
            let inside = (1..=inner).filter(|index| bucket_of(*index) == bucket);
            inside.map(|index| points[index]).collect()
        };
        let mut next = of(bucket + 1);
        if next.is_empty() {
            next = vec![points[points.len() - 1]];
        }
        let x = |at: u64| (at - T0) as f64;
        let mean_x = next.iter().map(|(at, _)| x(*at)).sum::<f64>() / next.len() as f64;
        let mean_y = next.iter().map(|(_, y)| *y).sum::<f64>() / next.len() as f64;
        let a = kept[kept.len() - 1];
        let area = |b: &Sample| {
            let (ax, ay, bx, by) = (x(a.0), a.1, x(b.0), b.1);
            (ax * (by - mean_y) + bx * (mean_y - ay) + mean_x * (ay - by)).abs()
        };
        let largest = of(bucket).into_iter().fold(None, |best: Option<Sample>, point| match best {
            Some(best) if area(&best) >= area(&point) => Some(best),
            _ => Some(point),
        });
        kept.extend(largest);
    }
    kept.push(points[points.len() - 1]);
    kept.into_iter().map(|(at, _)| at).collect()
}

#[test]
fn thinned_lists_keep_the_peaks_and_the_shape() {
    let mut prng = Prng::new(11);
    let samples: Vec<Sample> = (0..2_000u64)
        .map(|i| {
            let noise = prng.below(1000) as f64 / 1e4;
            (T0 + i * S / 10 + prng.below(1000), (i as f64 / 90.0).sin() + noise)
        })
        .collect();
    let mut peaked = samples.clone();
    (peaked[777].1, peaked[1234].1) = (40.0, -40.0);
    let folder = tempfile::tempdir().unwrap();
    for (number, part) in peaked.chunks(300).enumerate() {
        write(&folder.path().join(format!("{number}.mcap")), &[("/level", part)]);
    }
    let memory = memory_over(folder.path());
    let ask = |method: &str, max_samples: usize| -> Vec<u64> {
        let arguments = json!({
            "topic": "/level", "start": 0, "end": "now", "max_samples": max_samples,
            "method": method, "max_bytes": 200_000,
        });
        let list = answer(&memory, "get_topic_in_range", &arguments);
        let times = list.as_array().unwrap().iter();
        times.filter_map(|of| of["timestamp_ns"].as_str()?.parse().ok()).collect()
    };
    for max_samples in [4, 5, 10, 33, 100] {
        let kept = ask("minmax", max_samples);
        assert!(kept.len() <= max_samples, "{} of {max_samples}", kept.len());
        assert!(kept.is_sorted());
        assert!([777, 1234].iter().all(|at| kept.contains(&peaked[*at].0)), "{max_samples}");
        let kept = ask("lttb", max_samples);
        assert_eq!(kept, plain_lttb(&peaked, max_samples), "{max_samples}");
    }
    let kept = ask("stride", 100);
    assert!(!kept.contains(&peaked[777].0), "else the test shows nothing");
    assert_eq!(ask("lttb", 500).len(), 500);
}

#[test]
fn a_method_without_a_number_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let samples: Vec<Sample> = (0..10u64).map(|i| (T0 + i * S, 1.0)).collect();
    write(&folder.path().join("a.mcap"), &[("/level", &samples)]);
    let memory = memory_over(folder.path());
    let arguments = json!({
        "topic": "/level", "start": 0, "end": "now", "max_samples": 3, "method": "minmax",
        "field": "nothing.like.it",
    });
    let reply = call(&memory, "get_topic_in_range", &arguments);
    assert_eq!(reply.value["error"], "bad_argument", "{}", reply.value);
}
