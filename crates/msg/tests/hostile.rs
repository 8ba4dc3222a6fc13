//! Definitions made to break the reader of definitions, in each language: on a small stack, with
//! little memory, and soon, each gives a type or an error; and the types that come out read any
//! bytes under the same limits.

#![cfg(test)]
#![expect(unsafe_code, reason = "an allocator that counts has no safe form; tests only")]

use std::{
    alloc::{GlobalAlloc, Layout as Block, System},
    cell::Cell,
    env,
    fmt::Write,
    process::Command,
    sync::{Arc, mpsc},
    thread,
    time::{Duration, Instant},
};

use ros2_memory_msg::{
    DecodeLimits, DefinitionError, FieldPath, Library, MAX_DEPTH, MAX_FIELDS, Plan, Schema,
    SchemaEncoding, TypeSource, decode,
};

/// Counts the bytes that each thread holds, and leaves the rest to the system.
struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

thread_local! {
    static HELD: Cell<i64> = const { Cell::new(0) };
    static PEAK: Cell<i64> = const { Cell::new(0) };
}

fn count(bytes: i64) {
    // Nothing is counted while a thread is being torn down.
    let _gone = HELD.try_with(|held| {
        held.set(held.get() + bytes);
        let _gone = PEAK.try_with(|peak| peak.set(peak.get().max(held.get())));
    });
}

fn size(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

// SAFETY: every call goes to `System` with the arguments it came with, so its promises hold here;
// the counters are `Cell`s without destructors, and changing them does not allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, block: Block) -> *mut u8 {
        count(size(block.size()));
        // SAFETY: the caller's promise about `block` is passed on.
        unsafe { System.alloc(block) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, block: Block) {
        count(-size(block.size()));
        // SAFETY: `pointer` came from `System`, with this `block`.
        unsafe { System.dealloc(pointer, block) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, block: Block, to: usize) -> *mut u8 {
        count(size(to) - size(block.size()));
        // SAFETY: `pointer` came from `System`, with this `block`; `to` is the caller's promise.
        unsafe { System.realloc(pointer, block, to) }
    }
}

/// What a thread of a server has at the least.
const STACK_BYTES: usize = 2 << 20;
/// No definition and no message of it may take more.
const PEAK_BYTES: i64 = 64 << 20;
/// Nor longer.
const LIMIT: Duration =
    if cfg!(debug_assertions) { Duration::from_secs(3) } else { Duration::from_millis(200) };

/// Says to a process of the test from which case on it runs them.
const FROM: &str = "ROS2_MEMORY_HOSTILE_FROM";
const THE_TEST: &str =
    "a_hostile_definition_gives_an_error_or_a_type_on_a_small_stack_in_little_memory";
/// What takes so long does not end.
const HANG: Duration = Duration::from_secs(10);

const LANGUAGES: [SchemaEncoding; 4] = [
    SchemaEncoding::Ros2Msg,
    SchemaEncoding::Ros2Idl,
    SchemaEncoding::OmgIdl,
    SchemaEncoding::Ros1Msg,
];

const ROOT: &str = "p/msg/T";

/// What must come of a definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// It is past a limit, or makes no sense.
    Refused,
    /// It is odd, and may be either.
    Any,
}

struct Case {
    language: SchemaEncoding,
    name: String,
    text: String,
    fate: Fate,
}

/// How many elements a field has.
#[derive(Debug, Clone, Copy)]
enum Shape {
    One,
    Array(u64),
    Sequence,
}

/// The fields of a type: type name, shape. Their own names are numbers.
type Fields = Vec<(String, Shape)>;

/// A definition of these types in a language; the first is the root, `T`.
fn render(language: SchemaEncoding, types: &[(String, Fields)]) -> String {
    let mut text = String::new();
    let is_idl = matches!(language, SchemaEncoding::Ros2Idl | SchemaEncoding::OmgIdl);
    if language == SchemaEncoding::OmgIdl {
        text.push_str("module p { module msg {\n");
    }
    // IDL declares in front of use, and rosbag2 writes the root first.
    let in_order: Vec<&(String, Fields)> = if language == SchemaEncoding::OmgIdl {
        types.iter().rev().collect()
    } else {
        types.iter().collect()
    };
    for (number, (name, fields)) in in_order.into_iter().enumerate() {
        let separator = "=".repeat(80);
        match language {
            SchemaEncoding::Ros2Idl => {
                write!(text, "{separator}\nIDL: p/msg/{name}\nmodule p {{ module msg {{\n")
                    .unwrap();
            }
            SchemaEncoding::OmgIdl => {}
            _ if number > 0 => writeln!(text, "{separator}\nMSG: p/{name}").unwrap(),
            _ => {}
        }
        if is_idl {
            writeln!(text, "struct {name} {{").unwrap();
        }
        for (place, (ty, shape)) in fields.iter().enumerate() {
            match (is_idl, shape) {
                (false, Shape::One) => writeln!(text, "{ty} f{place}"),
                (false, Shape::Array(n)) => writeln!(text, "{ty}[{n}] f{place}"),
                (false, Shape::Sequence) => writeln!(text, "{ty}[] f{place}"),
                (true, Shape::One) => writeln!(text, "{ty} f{place};"),
                (true, Shape::Array(n)) => writeln!(text, "{ty} f{place}[{n}];"),
                (true, Shape::Sequence) => writeln!(text, "sequence<{ty}> f{place};"),
            }
            .unwrap();
        }
        if is_idl {
            text.push_str("};\n");
        }
        if language == SchemaEncoding::Ros2Idl {
            text.push_str("}; };\n");
        }
    }
    if language == SchemaEncoding::OmgIdl {
        text.push_str("}; };\n");
    }
    text
}

fn one(ty: &str) -> (String, Shape) {
    (ty.to_owned(), Shape::One)
}

fn ty(name: &str, fields: Fields) -> (String, Fields) {
    (name.to_owned(), fields)
}

/// Each type holds the next one, `width` times, in this shape.
fn chain(depth: usize, width: usize, shape: Shape, leaf: Fields) -> Vec<(String, Fields)> {
    let mut types = vec![ty("T", vec![("L0".to_owned(), shape); width])];
    for level in 0..depth {
        let next = format!("L{}", level + 1);
        types.push((format!("L{level}"), vec![(next, shape); width]));
    }
    types.push((format!("L{depth}"), leaf));
    types
}

/// What all languages can say.
fn common(language: SchemaEncoding) -> Vec<Case> {
    let byte = "uint8";
    let mut cases = Vec::new();
    let mut put = |name: &str, fate: Fate, types: &[(String, Fields)]| {
        let text = render(language, types);
        cases.push(Case { language, name: name.to_owned(), text, fate });
    };
    put("a type of itself", Fate::Refused, &[ty("T", vec![one("T")])]);
    put("a type of its own array", Fate::Refused, &[ty("T", vec![("T".into(), Shape::Array(2))])]);
    let loop_of_two = [ty("T", vec![one("A")]), ty("A", vec![one("B")]), ty("B", vec![one("A")])];
    put("a loop of two", Fate::Refused, &loop_of_two);
    let mut long_loop = chain(40, 1, Shape::One, vec![one("L3")]);
    put("a loop of forty", Fate::Refused, &long_loop);
    long_loop.reverse();
    put("a loop back to front", Fate::Refused, &long_loop);
    let own_list = [ty("T", vec![("T".into(), Shape::Sequence)])];
    put("a type with a list of itself", Fate::Refused, &own_list);
    for depth in [MAX_DEPTH + 1, 1_000, 10_000] {
        put(&format!("{depth} deep"), Fate::Refused, &chain(depth, 1, Shape::One, vec![one(byte)]));
    }
    put("10,000 deep lists", Fate::Refused, &chain(10_000, 1, Shape::Sequence, vec![one(byte)]));
    put("two of each for 60 levels", Fate::Any, &chain(60, 2, Shape::One, vec![one(byte)]));
    put("two of each, and nothing", Fate::Any, &chain(60, 2, Shape::One, vec![]));
    put("lists of lists, 60 levels", Fate::Any, &chain(60, 1, Shape::Sequence, vec![one(byte)]));
    put("lists of lists of nothing", Fate::Any, &chain(60, 1, Shape::Sequence, vec![]));
    put("100 fields of each, 60 levels", Fate::Any, &chain(60, 100, Shape::One, vec![one(byte)]));
    put("100,000 fields", Fate::Refused, &[ty("T", vec![one(byte); 100_000])]);
    put("one field too many", Fate::Refused, &[ty("T", vec![one(byte); MAX_FIELDS + 1])]);
    let spread: Vec<(String, Fields)> = (0..1_001)
        .map(|n| {
            let name = if n == 0 { "T".to_owned() } else { format!("L{n}") };
            let next = (n < 60).then(|| one(&format!("L{}", n + 1)));
            (name, next.into_iter().chain(vec![one(byte); 100]).collect())
        })
        .collect();
    put("100,100 fields in 1,001 types", Fate::Refused, &spread);
    let flat: Vec<(String, Fields)> =
        [ty("T", (0..5_000).map(|n| one(&format!("E{n}"))).collect())]
            .into_iter()
            .chain((0..5_000).map(|n| (format!("E{n}"), vec![one(byte)])))
            .collect();
    put("5,000 types", Fate::Any, &flat);
    for n in [1 << 31, u64::from(u32::MAX), 1 << 40, 1 << 63, u64::MAX] {
        let array = vec![(byte.to_owned(), Shape::Array(n))];
        put(&format!("an array of {n}"), Fate::Any, &[ty("T", array)]);
        let strings = vec![("string".to_owned(), Shape::Array(n))];
        put(&format!("an array of {n} strings"), Fate::Any, &[ty("T", strings)]);
        let empties = [ty("T", vec![("E".to_owned(), Shape::Array(n))]), ty("E", vec![])];
        put(&format!("an array of {n} times nothing"), Fate::Any, &empties);
    }
    let product = chain(8, 1, Shape::Array(65_536), vec![one(byte)]);
    put("a product of arrays past 2^64", Fate::Any, &product);
    let product = chain(8, 1, Shape::Array(65_536), vec![]);
    put("a product of arrays of nothing", Fate::Any, &product);
    let empties = [ty("T", vec![("E".to_owned(), Shape::Sequence)]), ty("E", vec![])];
    put("a list of nothing", Fate::Any, &empties);
    let none = [ty("T", vec![("E".to_owned(), Shape::Array(0))]), ty("E", vec![one(byte)])];
    put("an array of no elements", Fate::Any, &none);
    put("a type that is nowhere", Fate::Refused, &[ty("T", vec![one("Nowhere")])]);
    let twice = [ty("T", vec![one("A")]), ty("A", vec![one(byte)]), ty("A", vec![one("T")])];
    put("a type twice, once with a loop", Fate::Any, &twice);
    let long = "L".repeat(1 << 20);
    put("a name of 1 MiB", Fate::Any, &[ty("T", vec![one(&long)]), (long, vec![one(byte)])]);
    cases
}

/// Text that is none, in any language.
fn noise(language: SchemaEncoding) -> Vec<Case> {
    let mib = 1 << 20;
    let texts = [
        ("no text", String::new()),
        ("1 MiB of spaces", " ".repeat(mib)),
        ("1 MiB of newlines", "\n".repeat(mib)),
        ("1 MiB of equal signs", "=".repeat(mib)),
        ("1 MiB of separators", format!("{}\n", "=".repeat(80)).repeat(mib / 81)),
        ("1 MiB of one letter", "a".repeat(mib)),
        ("1 MiB of hashes", "#".repeat(mib)),
        ("1 MiB of zeros", "\0".repeat(mib)),
        ("1 MiB of opening brackets", "[".repeat(mib)),
        ("1 MiB of opening angles", "sequence<".repeat(mib / 9)),
        ("1 MiB of opening braces", "module a{".repeat(mib / 9)),
        ("1 MiB of parentheses", "(".repeat(mib)),
        ("1 MiB of quotes", "\"".repeat(mib)),
        ("1 MiB of open comments", "/*".repeat(mib / 2)),
        ("1 MiB of backslashes", "\\\n".repeat(mib / 2)),
        ("1 MiB of constants", "int32 A=1\n".repeat(mib / 10)),
        ("1 MiB of one field", "int32 a\n".repeat(mib / 8)),
        ("1 MiB of colons", "::".repeat(mib / 2)),
        ("1 MiB of at signs", "@".repeat(mib)),
        ("1 MiB of two-byte letters", "\u{e9}".repeat(mib / 2)),
        ("a field of a huge array", "int32[99999999999999999999999999] a\n".to_owned()),
        ("a field of a negative array", "int32[-1] a\n".to_owned()),
        ("an array that is not closed", "int32[ a\nint32[4 b\n".to_owned()),
        ("a block without a name", format!("int32 a\n{}\nMSG:\nint32 b\n", "=".repeat(80))),
        ("an IDL block without a name", format!("{}\nIDL:\nmodule p {{", "=".repeat(80))),
        ("a long line of no sense", "x y z; ".repeat(mib / 7)),
    ];
    let case = |(name, text): (&str, String)| {
        let name = name.to_owned();
        Case { language, name, text, fate: Fate::Any }
    };
    texts.into_iter().map(case).collect()
}

/// What only IDL can say: without end, and odd.
fn idl(language: SchemaEncoding) -> Vec<Case> {
    let head = if language == SchemaEncoding::Ros2Idl {
        format!("{}\nIDL: p/msg/T\n", "=".repeat(80))
    } else {
        String::new()
    };
    let mut cases = Vec::new();
    let mut put = |name: &str, fate: Fate, body: String| {
        let text = format!("{head}module p {{ module msg {{\n{body}\n}}; }};\n");
        cases.push(Case { language, name: name.to_owned(), text, fate });
    };
    deep_idl(&mut put);
    odd_idl(&mut put);
    cases
}

/// The type `T` with one field.
fn root(field: &str) -> String {
    format!("struct T {{ {field} }};")
}

/// Takes a name, what must come of it, and the text of a module.
type Put<'a> = &'a mut dyn FnMut(&str, Fate, String);

fn deep_idl(put: Put<'_>) {
    for depth in [100, 10_000] {
        let nested = format!("{}octet{}", "sequence<".repeat(depth), ">".repeat(depth));
        put(&format!("lists in lists, {depth}"), Fate::Refused, root(&format!("{nested} a;")));
        let spaced = format!("{}octet{}", "sequence<".repeat(depth), " >".repeat(depth));
        put(&format!("spaced lists, {depth}"), Fate::Refused, root(&format!("{spaced} a;")));
        let sum = format!("const long N = {}1{};", "(".repeat(depth), ")".repeat(depth));
        put(&format!("{depth} parentheses"), Fate::Any, sum + &root("octet a[N];"));
        let minus = format!("const long N = {}1;", "-".repeat(depth));
        put(&format!("{depth} minus signs"), Fate::Any, minus + &root("octet a[N];"));
        let long_sum = format!("const long N = 1{};", " + 1".repeat(depth));
        put(&format!("a sum of {depth}"), Fate::Any, long_sum + &root("octet a[N];"));
        let modules = "module m {".repeat(depth) + "struct A { octet a; };" + &"};".repeat(depth);
        put(&format!("{depth} modules"), Fate::Any, modules + &root("octet a;"));
        let mut aliases = String::from("typedef octet A0;");
        for n in 1..=depth {
            writeln!(aliases, "typedef A{} A{n};", n - 1).unwrap();
        }
        put(&format!("{depth} aliases"), Fate::Any, aliases + &root(&format!("A{depth} a;")));
        let mut lists = String::from("typedef octet A0;");
        for n in 1..=depth {
            writeln!(lists, "typedef sequence<A{}> A{n};", n - 1).unwrap();
        }
        put(
            &format!("{depth} list aliases"),
            Fate::Refused,
            lists + &root(&format!("A{depth} a;")),
        );
        let mut parents = String::from("struct A0 { octet a; };");
        for n in 1..=depth {
            writeln!(parents, "struct A{n} : A{} {{ octet a{n}; }};", n - 1).unwrap();
        }
        put(
            &format!("{depth} parents"),
            Fate::Any,
            parents + &format!("struct T : A{depth} {{}};"),
        );
        let notes = format!("@a({}1{})", "(".repeat(depth), ")".repeat(depth));
        put(
            &format!("a note with {depth} parentheses"),
            Fate::Any,
            root(&format!("{notes} octet a;")),
        );
        let dims = "[2]".repeat(depth);
        put(&format!("{depth} dimensions"), Fate::Any, root(&format!("octet a{dims};")));
        let scope = "a::".repeat(depth);
        put(&format!("{depth} scopes"), Fate::Refused, root(&format!("{scope}B a;")));
    }
}

fn odd_idl(put: Put<'_>) {
    put("an alias of itself", Fate::Refused, "typedef A A;".to_owned() + &root("A a;"));
    let two = "typedef B A; typedef A B;".to_owned();
    put("two aliases of each other", Fate::Refused, two + &root("A a;"));
    let itself = "const long N = N + 1;".to_owned();
    put("a constant of itself", Fate::Refused, itself + &root("octet a[N];"));
    let by_zero = "const long N = 1 / 0;".to_owned();
    put("a division by zero", Fate::Refused, by_zero + &root("octet a[N];"));
    let least = "const long N = (-9223372036854775807 - 1) / -1;".to_owned();
    put("the least divided by -1", Fate::Any, least + &root("octet a[N];"));
    let product = "const long N = 9223372036854775807 * 9223372036854775807;".to_owned();
    put("a constant past 2^64", Fate::Any, product + &root("octet a[N];"));
    let shift = "const long N = 1 << 200;".to_owned();
    put("a shift by 200", Fate::Any, shift + &root("octet a[N];"));
    let mut doubling = String::from("const long C0 = 1;");
    for n in 1..=5_000 {
        writeln!(doubling, "const long C{n} = C{0} + C{0};", n - 1).unwrap();
    }
    put("5,000 constants that double", Fate::Any, doubling + &root("octet a[C5000];"));
    let mut doubling = String::from("typedef octet A0[2];");
    for n in 1..=60 {
        writeln!(doubling, "typedef A{} A{n}[65536];", n - 1).unwrap();
    }
    put("sixty dimensions of 65,536", Fate::Any, doubling + &root("A60 a;"));
    let labels: Vec<String> = (0..100_000).map(|n| format!("L{n}")).collect();
    let labels = labels.join(",");
    put("an enum of 100,000", Fate::Any, format!("enum E {{ {labels} }};") + &root("E a;"));
    let cases_of: Vec<String> = (0..20_000).map(|n| format!("case {n}: octet a{n};")).collect();
    let cases_of = cases_of.concat();
    let union = format!("union U switch (long) {{ {cases_of} }};");
    put("a union of 20,000", Fate::Any, union + &root("U a;"));
    put(
        "a union of itself",
        Fate::Refused,
        "union U switch (long) { case 1: U a; };".to_owned() + &root("U a;"),
    );
    put(
        "a parent of itself",
        Fate::Refused,
        "struct A : A { octet a; };".to_owned() + &root("A a;"),
    );
    put(
        "a parent that is the child",
        Fate::Refused,
        "struct A : T { octet a; };".to_owned() + "struct T : A { octet b; };",
    );
    put("a map of itself", Fate::Refused, root("map<string, T> a;"));
    put("a bound of 2^64", Fate::Any, root("sequence<octet, 18446744073709551616> a;"));
    put(
        "a text that does not end",
        Fate::Any,
        "const string S = \"abc".to_owned() + &root("octet a;"),
    );
    put("a comment that does not end", Fate::Refused, "/* ".to_owned() + &root("octet a;"));
    put("a struct that does not end", Fate::Refused, "struct T { octet a;".to_owned());
    put(
        "an include of itself",
        Fate::Any,
        "#include \"p/msg/T.idl\"\n".to_owned() + &root("octet a;"),
    );
    put("a macro", Fate::Any, "#define T T T\n".to_owned() + &root("octet a;"));
    put("an empty struct", Fate::Any, root(""));
}

/// Payloads that any type may meet, with the headers of every encapsulation.
fn payloads() -> Vec<Vec<u8>> {
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
struct Outcome {
    is_refused: bool,
    took: Duration,
    peak: i64,
}

/// Parses, plans and decodes on a small stack; `None` when that does not end.
fn run(case: &Case) -> Option<Outcome> {
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
fn run_from(from: usize) {
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
type Ended = Vec<(usize, Outcome)>;

/// What a process that ran the cases from one on said: the number and outcome of each that it
/// ended, and the one that ended it, with the reason.
fn ask_process(from: usize) -> (Ended, Option<(usize, String)>) {
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
fn read(schema: Schema) {
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

fn cases() -> Vec<Case> {
    LANGUAGES
        .into_iter()
        .flat_map(|language| {
            let mut cases = common(language);
            cases.extend(noise(language));
            if matches!(language, SchemaEncoding::Ros2Idl | SchemaEncoding::OmgIdl) {
                cases.extend(idl(language));
            }
            cases
        })
        .collect()
}

/// In processes of their own: one that overflows its stack cannot say so, and a thread that does
/// not end cannot be stopped.
#[test]
fn a_hostile_definition_gives_an_error_or_a_type_on_a_small_stack_in_little_memory() {
    if let Ok(from) = env::var(FROM) {
        return run_from(from.parse().unwrap());
    }
    let cases = cases();
    let mut broken = Vec::new();
    let (mut refused, mut worst, mut slowest) = (0, 0, Duration::ZERO);
    let mut from = 0;
    while from < cases.len() {
        let (ended, stopped) = ask_process(from);
        let name = |number: usize| format!("{:?}, {}", cases[number].language, cases[number].name);
        from = stopped.as_ref().map_or(cases.len(), |(number, _)| number + 1);
        for (number, outcome) in ended {
            refused += usize::from(outcome.is_refused);
            worst = worst.max(outcome.peak);
            slowest = slowest.max(outcome.took);
            let mut note = |what: String| broken.push(format!("{}: {what}", name(number)));
            if cases[number].fate == Fate::Refused && !outcome.is_refused {
                note("is taken".to_owned());
            }
            if outcome.took > LIMIT {
                note(format!("takes {:?}", outcome.took));
            }
            if outcome.peak > PEAK_BYTES {
                note(format!("takes {} MiB", outcome.peak >> 20));
            }
        }
        broken.extend(stopped.map(|(number, why)| format!("{}: {why}", name(number))));
    }
    let n = cases.len();
    println!("{n} definitions, {refused} refused, most {} KiB, longest {slowest:?}", worst >> 10);
    assert!(broken.is_empty(), "{} promises broken:\n{}", broken.len(), broken.join("\n"));
    assert!(n >= 40 && refused >= 40, "{refused} of {n}");
}

#[test]
fn what_the_limits_allow_is_taken() {
    for language in LANGUAGES {
        let deepest = chain(MAX_DEPTH - 2, 1, Shape::One, vec![one("uint8")]);
        let text = render(language, &deepest);
        assert!(Schema::parse_as(language, ROOT, &text, &Library::new()).is_ok(), "{language:?}");
        let widest = render(language, &[ty("T", vec![one("uint8"); MAX_FIELDS])]);
        let widest = Schema::parse_as(language, ROOT, &widest, &Library::new());
        assert!(widest.is_ok(), "{language:?}: {:?}", widest.err());
    }
}

#[test]
fn a_library_of_loops_is_an_error() {
    let mut library = Library::new();
    library.add("p/msg/A", "B b\n").unwrap();
    library.add("p/msg/B", "A a\n").unwrap();
    assert!(Schema::from_library("p/msg/A", &library).is_err());
    let embedded = Schema::parse(ROOT, "A a\n", &library);
    assert!(matches!(embedded, Err(DefinitionError::Recursive { .. })), "{embedded:?}");
    for level in 0..10_000 {
        library.add(&format!("p/msg/L{level}"), &format!("L{} x\n", level + 1)).unwrap();
    }
    assert!(Schema::from_library("p/msg/L0", &library).is_err());
}

/// Each pair is of one name and two texts, of which the file's own is taken.
#[test]
fn a_files_own_definition_is_taken_before_the_librarys_and_the_librarys_only_without_one() {
    let kinds = ["int8", "uint16", "int32", "float32", "int64", "float64", "string", "bool"];
    let mut n = 0;
    for own in kinds {
        for other in kinds.iter().filter(|other| **other != own) {
            let mut library = Library::new();
            library.add(ROOT, &format!("{other} theirs\n")).unwrap();
            let schema = |text: &str| {
                let source = TypeSource {
                    type_name: ROOT,
                    schema_encoding: "ros2msg",
                    message_encoding: "cdr",
                    text: text.as_bytes(),
                };
                Schema::for_channel(&source, &library).unwrap()
            };
            assert_eq!(schema(&format!("{own} ours\n")).root().fields[0].name, "ours");
            assert_eq!(schema("").root().fields[0].name, "theirs");
            n += 1;
        }
    }
    assert!(n >= 30, "{n} pairs");
}

/// Of a thinned list what is not kept is walked over, and nothing of the payload bounds a walk
/// over values that take no bytes: 2^40 of them stand in a type with two of the next, 40 deep.
#[test]
fn values_of_no_bytes_are_not_walked_over_one_by_one() {
    let mut definitions = Vec::new();
    for note in ["", "@final", "@appendable", "@mutable"] {
        for leaf in ["N x;", "N x[2];", "N x[2][3];"] {
            let mut text = format!("struct N {{}};\n{note} struct A0 {{ {leaf} }};\n");
            for n in 1..=40 {
                writeln!(text, "{note} struct A{n} {{ A{0} a; A{0} b; }};", n - 1).unwrap();
            }
            for field in ["@optional A40 a;", "@optional octet o; sequence<A40> a;", "A40 a[2];"] {
                let element = format!("@final struct E {{ {field} }};\n");
                let text = text.clone() + &element + &root("@optional octet o; E many[20];");
                definitions.push(format!("module p {{ module msg {{\n{text}\n}}; }};\n"));
            }
        }
    }
    let (tell, told) = mpsc::sync_channel(1);
    let expected = definitions.len();
    let walk = move || {
        for text in definitions {
            let schema =
                Schema::parse_as(SchemaEncoding::OmgIdl, ROOT, &text, &Library::new()).unwrap();
            let mut n_read = 0;
            for form in [1, 3, 7, 9, 11] {
                for at in 0..64 {
                    let mut payload = [&[0, form, 0, 0][..], &[0; 1024]].concat();
                    payload[4 + at] = 1;
                    let thinned = DecodeLimits { max_items: 3 };
                    n_read += u32::from(decode(&schema, &payload, thinned).is_ok());
                }
            }
            tell.send((text, n_read)).unwrap_or_default();
        }
    };
    thread::Builder::new().name("no bytes".to_owned()).spawn(walk).unwrap();
    for n in 0..expected {
        let (text, n_read) = told.recv_timeout(HANG).unwrap_or_else(|_| panic!("{n} does not end"));
        assert!(n_read > 0 || text.contains("A40 a[2]"), "none is read:\n{text}");
    }
}
