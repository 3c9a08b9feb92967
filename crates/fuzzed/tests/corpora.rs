//! Every file of `fuzz/corpora/` satisfies its property: what fuzzers found before, and where they begin.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fs, io};

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz").join(name)
}

/// The entries of a folder in `fuzz/`, in the order of their names.
fn entries(name: &str) -> BTreeSet<PathBuf> {
    let found = fs::read_dir(folder(name))
        .and_then(|entries| entries.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<BTreeSet<_>>>());
    found.unwrap_or_else(|error| panic!("fuzz/{name}: {error}"))
}

fn replay(target: &str, hold: impl Fn(&[u8])) {
    for file in entries(&format!("corpora/{target}")) {
        println!("{}", file.display());
        hold(&fs::read(&file).expect("a file"));
    }
}

/// A test for each fuzzer, with its property.
macro_rules! replayed {
    ($($(#[$condition:meta])? $target:ident: $hold:expr,)+) => {
        $($(#[$condition])? #[test] fn $target() {
            replay(stringify!($target), $hold);
        })+

        #[test]
        fn every_fuzzer_has_its_replay() {
            let replayed = BTreeSet::from([$(stringify!($target)),+].map(|target| folder("targets").join(target)));
            let fuzzers = entries("targets").iter().map(|file| file.with_extension("")).collect::<BTreeSet<_>>();
            assert_eq!(replayed, fuzzers);
        }
    };
}

replayed! {
    endpoints: fuzzed::endpoints::hold,
    #[cfg(target_os = "linux")]
    plugins: fuzzed::plugins::hold,
    runs: |input| {
        fuzzed::runs::hold(input);
    },
    scenario: fuzzed::scenario_text::hold,
    tables: fuzzed::tables::hold,
    tc: fuzzed::tc::hold,
}
