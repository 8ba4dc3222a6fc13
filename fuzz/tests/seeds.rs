//! Every target over every seed, without a fuzzer.

use std::{
    collections::BTreeSet,
    fs,
    panic::catch_unwind,
    path::{Path, PathBuf},
};

use ros2_memory_fuzz::targets;

fn here(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// The names in a folder, without their endings.
fn names(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    entries
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
        .collect()
}

#[test]
fn every_target_holds_on_every_seed() {
    let mut broken = Vec::new();
    for (name, run) in targets::ALL {
        let mut n = 0;
        let mut files: Vec<PathBuf> = fs::read_dir(here("seeds").join(name))
            .unwrap_or_else(|error| panic!("{name} has no seeds: {error}"))
            .map(|entry| entry.unwrap().path())
            .collect();
        files.sort();
        for file in files {
            let bytes = fs::read(&file).unwrap();
            if catch_unwind(|| run(&bytes)).is_err() {
                broken.push(file);
            }
            n += 1;
        }
        println!("{name}: {n} inputs");
        assert!(n > 0, "{name} has no seeds");
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn each_target_has_its_program_and_its_seeds_and_no_other_has() {
    let listed: BTreeSet<String> =
        targets::ALL.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(names(&here("fuzz_targets")), listed);
    assert_eq!(names(&here("seeds")), listed);
    let manifest = fs::read_to_string(here("Cargo.toml")).unwrap();
    for name in &listed {
        assert!(manifest.contains(&format!("path = \"fuzz_targets/{name}.rs\"")), "{name}");
    }
}

#[test]
fn any_first_bytes_are_an_input_of_every_target() {
    for (_, run) in targets::ALL {
        for len in [0, 1, 7, 64, 300] {
            run(&vec![0; len]);
            run(&vec![0xFF; len]);
        }
    }
}
