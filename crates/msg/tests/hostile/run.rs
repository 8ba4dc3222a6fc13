//! Running a case where nothing that it does can do harm.

use std::{
    env,
    process::Command,
    sync::{Arc, mpsc},
    thread,
    time::{Duration, Instant},
};

use ros2_memory_msg::{DecodeLimits, FieldPath, Library, Plan, Schema, decode};

use super::{
    allocation::{HELD, PEAK},
    cases::{Case, cases},
    render::ROOT,
};

/// What a thread of a server has at the least.
pub(super) const STACK_BYTES: usize = 2 << 20;
/// No definition and no message of it may take more.
pub(super) const PEAK_BYTES: i64 = 64 << 20;
/// Nor longer. Without optimisation only what does not end is told apart from what does.
pub(super) const LIMIT: Duration =
    if cfg!(debug_assertions) { Duration::from_secs(20) } else { Duration::from_millis(200) };

/// Says to a process of the test from which case on it runs them.
pub(super) const FROM: &str = "ROS2_MEMORY_HOSTILE_FROM";
pub(super) const THE_TEST: &str =
    "a_hostile_definition_gives_an_error_or_a_type_on_a_small_stack_in_little_memory";
/// What takes so long does not end.
pub(super) const HANG: Duration = Duration::from_secs(60);

/// Payloads that any type may meet, with the headers of every encapsulation.
pub(super) fn payloads() -> Vec<Vec<u8>> {
    let mut all = vec![Vec::new(), vec![0], vec![0xFF; 64]];
    for form in [0, 1, 2, 3, 6, 7, 8, 9, 10, 11] {
        for fill in [0, 1, 0xFF] {
            all.push([&[0, form, 0, 0][..], &[fill; 64]].concat());
        }
        all.push([&[0, form, 0, 0][..], &vec![0; 64 << 10]].concat());
    }
    all
}

/// What became of one case.
#[derive(Debug, Clone, Copy)]
pub(super) struct Outcome {
    pub(super) is_refused: bool,
    pub(super) took: Duration,
    pub(super) peak: i64,
}

/// Parses, plans and decodes on a small stack; `None` when that does not end.
pub(super) fn run(case: &Case) -> Option<Outcome> {
    let (language, text) = (case.language, case.text.clone());
    let (ended, end) = mpsc::sync_channel(1);
    let work = move || {
        let library = Library::new();
        let before = HELD.get();
        PEAK.set(before);
        let start = Instant::now();
        let result = Schema::parse_as(language, ROOT, &text, &library);
        let is_refused = result.is_err();
        match result {
            Ok(schema) => read(schema),
            // The words are made for logs and answers.
            Err(error) => assert!(!error.to_string().is_empty()),
        }
        let outcome = Outcome { is_refused, took: start.elapsed(), peak: PEAK.get() - before };
        ended.send(outcome).unwrap_or_default();
    };
    let thread = thread::Builder::new().stack_size(STACK_BYTES).spawn(work).unwrap();
    match end.recv_timeout(HANG) {
        Ok(outcome) => Some(outcome),
        Err(mpsc::RecvTimeoutError::Timeout) => None,
        Err(mpsc::RecvTimeoutError::Disconnected) => {
            thread.join().unwrap();
            unreachable!("a thread that ends well says so")
        }
    }
}

/// Runs the cases from one on, in a process of their own, and says on standard output how far it
/// is. It is over at the first that does not end.
pub(super) fn run_from(from: usize) {
    for (number, case) in cases().iter().enumerate().skip(from) {
        println!("start {number}");
        let mut outcome = run(case);
        if outcome.is_some_and(|outcome| outcome.took > LIMIT) {
            // Another process may have taken the time.
            outcome = run(case);
        }
        let Some(Outcome { is_refused, took, peak }) = outcome else { return };
        println!("end {number} {is_refused} {} {peak}", took.as_micros());
    }
}

/// The outcomes of cases, by their numbers.
pub(super) type Ended = Vec<(usize, Outcome)>;

/// What a process that ran the cases from one on said: the number and outcome of each that it
/// ended, and the one that ended it, with the reason.
pub(super) fn ask_process(from: usize) -> (Ended, Option<(usize, String)>) {
    let output = Command::new(env::current_exe().unwrap())
        .args(["--exact", THE_TEST, "--nocapture", "--test-threads=1"])
        .env(FROM, from.to_string())
        .output()
        .unwrap();
    let (mut ended, mut doing) = (Vec::new(), None);
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            // The first stands behind the name of the test.
            [.., "start", number] => doing = number.parse().ok(),
            ["end", number, is_refused, micros, peak] => {
                let outcome = Outcome {
                    is_refused: is_refused == "true",
                    took: Duration::from_micros(micros.parse().unwrap()),
                    peak: peak.parse().unwrap(),
                };
                ended.push((number.parse().unwrap(), outcome));
                doing = None;
            }
            _ => {}
        }
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    let why = if output.status.success() {
        "does not end".to_owned()
    } else {
        format!("ends the process: {}: {}", output.status, errors.trim())
    };
    assert!(doing.is_some() || output.status.success(), "{why}");
    (ended, doing.map(|number| (number, why)))
}

/// Reads every payload whole, thinned, and only the last field.
pub(super) fn read(schema: Schema) {
    let schema = Arc::new(schema);
    let last = schema.root().fields.last().map(|field| field.name.clone());
    let plan = last
        .and_then(|name| name.parse::<FieldPath>().ok())
        .and_then(|path| Plan::compile(schema.clone(), &[path]).ok());
    for payload in payloads() {
        let whole = decode(&schema, &payload, DecodeLimits::NONE).is_ok();
        let thinned = decode(&schema, &payload, DecodeLimits { max_items: 10 }).is_ok();
        assert!(thinned || !whole, "what can be read whole can be read in part");
        if let Some(plan) = &plan {
            let mut n = 0_u64;
            let is_read = plan.run(&payload, |_, _| n += 1).is_ok();
            assert!(is_read || !whole || n == 0, "what can be read whole can be read by a plan");
        }
    }
}
