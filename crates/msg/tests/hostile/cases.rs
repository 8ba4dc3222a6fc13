//! What is made to break the reader.

use std::fmt::Write;

use ros2_memory_msg::{MAX_DEPTH, MAX_FIELDS, SchemaEncoding};

use super::render::{Fields, LANGUAGES, Shape, chain, one, render, ty};

/// What must come of a definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// It is past a limit, or makes no sense.
    Refused,
    /// It is odd, and may be either.
    Any,
}

pub(super) struct Case {
    pub(super) language: SchemaEncoding,
    pub(super) name: String,
    pub(super) text: String,
    pub(super) fate: Fate,
}

pub(super) fn cases() -> Vec<Case> {
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
pub(super) fn root(field: &str) -> String {
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
