//! A crate depends only on layers below its own, and what a crate may not hold it does not have.

#![cfg(test)]

use std::{
    collections::BTreeSet,
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

/// The layer of each folder under `crates/`. Without one: what only tests may use.
const LAYERS: &[(&str, Option<u8>)] = &[
    ("time", Some(0)),
    ("cdr", Some(0)),
    ("msg", Some(1)),
    ("tf", Some(1)),
    ("bag", Some(2)),
    ("condition", Some(3)),
    ("index", Some(3)),
    ("catalog", Some(4)),
    ("query", Some(5)),
    ("demo", Some(5)),
    ("config", Some(6)),
    ("server", Some(7)),
    ("inspect", Some(7)),
    ("ros2-memory", Some(8)),
    ("testkit", None),
];

/// Libraries, by the first part of their names, that only some crates may use.
const CONFINED: &[(&str, &[&str])] = &[
    ("rmcp", &["server"]),
    ("axum", &["server"]),
    ("hyper", &["server"]),
    ("tokio", &["server", "ros2-memory"]),
    ("clap", &["ros2-memory"]),
    ("anyhow", &["ros2-memory"]),
    ("memmap2", &["bag"]),
];

/// The crate that may have `unsafe`, and the one file of it that has.
const UNSAFE: (&str, &str) = ("bag", "mapping.rs");

/// A crate of ours, by its folder.
#[derive(Debug, Clone)]
struct Crate {
    name: String,
    /// What the shipped code needs: normal and build dependencies.
    needs: Vec<String>,
    /// What only its tests need.
    needs_for_tests: Vec<String>,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The crates under `crates/`, as cargo sees them.
fn crates() -> Vec<Crate> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let crates_dir = fs::canonicalize(root().join("crates")).unwrap();
    let packages = metadata["packages"].as_array().unwrap().iter();
    packages.filter_map(|package| of_package(package, &crates_dir)).collect()
}

/// `None` for a package that lies elsewhere.
fn of_package(package: &Value, crates_dir: &Path) -> Option<Crate> {
    let manifest = fs::canonicalize(package["manifest_path"].as_str().unwrap()).unwrap();
    let name = manifest.parent().unwrap().strip_prefix(crates_dir).ok()?.to_str().unwrap();
    let wanted = if name == "ros2-memory" { name.into() } else { format!("ros2-memory-{name}") };
    assert_eq!(package["name"], wanted.as_str(), "packages are named after their folders");
    let needs = |is_for_tests: bool| {
        let dependencies = package["dependencies"].as_array().unwrap().iter();
        dependencies
            .filter(|dependency| (dependency["kind"] == "dev") == is_for_tests)
            .map(|dependency| dependency["name"].as_str().unwrap().to_owned())
            .collect()
    };
    Some(Crate { name: name.to_owned(), needs: needs(false), needs_for_tests: needs(true) })
}

/// The folder of a package of ours.
fn ours(package: &str) -> Option<&str> {
    if package == "ros2-memory" { Some(package) } else { package.strip_prefix("ros2-memory-") }
}

fn layer(folder: &str) -> Option<u8> {
    LAYERS.iter().find(|(name, _)| *name == folder).and_then(|(_, layer)| *layer)
}

/// What is wrong with the dependencies between our own crates.
fn against_the_layers(crates: &[Crate]) -> Vec<String> {
    let mut wrong = Vec::new();
    for of in crates {
        for needed in of.needs.iter().filter_map(|package| ours(package)) {
            // A crate without a layer lies above nothing and below nothing.
            let is_below =
                layer(&of.name).zip(layer(needed)).is_some_and(|(own, below)| below < own);
            if !is_below {
                wrong.push(format!(
                    "{} (layer {:?}) depends on {needed} (layer {:?})",
                    of.name,
                    layer(&of.name),
                    layer(needed)
                ));
            }
        }
    }
    wrong
}

/// Which crates use a library that is another's.
fn against_confinement(crates: &[Crate]) -> Vec<String> {
    let mut wrong = Vec::new();
    for of in crates {
        for (library, homes) in CONFINED {
            let is_it = |package: &&String| {
                let rest = package.strip_prefix(library);
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
            };
            if let Some(used) = of.needs.iter().find(is_it)
                && !homes.contains(&of.name.as_str())
            {
                wrong.push(format!("{} depends on {used}, which is for {homes:?}", of.name));
            }
        }
    }
    wrong
}

fn nothing() -> Vec<String> {
    Vec::new()
}

/// The Rust files under a folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}

/// Whether code, comments aside, has `unsafe` as a word of its own.
fn has_unsafe(text: &str) -> bool {
    text.lines().any(|line| {
        let code = line.split("//").next().unwrap_or_default();
        code.split(|c: char| c != '_' && !c.is_alphanumeric()).any(|word| word == "unsafe")
    })
}

#[test]
fn a_crate_depends_only_on_lower_layers() {
    assert_eq!(against_the_layers(&crates()), nothing());
}

#[test]
fn every_crate_has_its_layer_and_every_layer_its_crate() {
    let found: BTreeSet<String> = crates().into_iter().map(|of| of.name).collect();
    let listed: BTreeSet<String> = LAYERS.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(found, listed);
    let folders = fs::read_dir(root().join("crates")).unwrap().map(|entry| entry.unwrap());
    let folders: BTreeSet<String> = folders
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    assert_eq!(folders, listed);
}

#[test]
fn the_testkit_depends_on_no_crate_of_ours() {
    let crates = crates();
    let testkit = crates.iter().find(|of| of.name == "testkit").unwrap();
    let all = testkit.needs.iter().chain(&testkit.needs_for_tests);
    assert_eq!(all.filter_map(|package| ours(package)).collect::<Vec<_>>(), Vec::<&str>::new());
}

#[test]
fn libraries_stay_in_the_crates_that_are_for_them() {
    assert_eq!(against_confinement(&crates()), nothing());
}

#[test]
fn every_crate_but_one_forbids_unsafe_code() {
    for of in crates() {
        let src = root().join("crates").join(&of.name).join("src");
        let top = ["lib.rs", "main.rs"].map(|file| src.join(file));
        let top = top.iter().find(|file| file.is_file()).unwrap();
        let text = fs::read_to_string(top).unwrap();
        let attribute = if of.name == UNSAFE.0 { "deny" } else { "forbid" };
        let wanted = format!("#![{attribute}(unsafe_code)]");
        assert!(text.lines().any(|line| line == wanted), "{} lacks {wanted}", top.display());
    }
}

#[test]
fn unsafe_code_stands_in_one_file() {
    let src = root().join("crates").join(UNSAFE.0).join("src");
    let with_unsafe: Vec<PathBuf> = sources(&src)
        .into_iter()
        .filter(|file| has_unsafe(&fs::read_to_string(file).unwrap()))
        .collect();
    assert_eq!(with_unsafe, [src.join(UNSAFE.1)]);
}

#[test]
fn what_breaks_the_layers_is_named() {
    let of = |name: &str, needs: &[&str]| Crate {
        name: name.to_owned(),
        needs: needs.iter().map(|&need| need.to_owned()).collect(),
        needs_for_tests: Vec::new(),
    };
    let in_order = [of("query", &["ros2-memory-catalog", "serde_json"])];
    assert_eq!(against_the_layers(&in_order), nothing());
    for (name, needed) in [
        ("catalog", "ros2-memory-query"),
        ("query", "ros2-memory-demo"),
        ("server", "ros2-memory-testkit"),
        ("testkit", "ros2-memory-time"),
        ("demo", "ros2-memory"),
    ] {
        assert_eq!(against_the_layers(&[of(name, &[needed])]).len(), 1, "{name} and {needed}");
    }
    assert_eq!(against_confinement(&[of("server", &["tokio-util", "hyper"])]), nothing());
    assert_eq!(against_confinement(&[of("query", &["tokio-util", "axum", "hyphen"])]).len(), 2);
    assert!(has_unsafe("let map = unsafe { map() };"));
    assert!(!has_unsafe("#![deny(unsafe_code)] // nothing unsafe"));
}
