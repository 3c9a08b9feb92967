//! The floating point of `kernel/binary64.h` equals the machine's.

use std::path::Path;
use std::process::Command;

#[test]
fn results_are_those_of_the_machine_to_the_last_bit() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("binary64");
    let compiled = Command::new("cc")
        .args(["-O2", "-ffp-contract=off", "-I"])
        .arg(root.join("../../kernel"))
        .arg("-o")
        .arg(&program)
        .arg(root.join("tests/binary64.c"))
        .status();
    assert!(compiled.unwrap().success());
    let output = Command::new(&program).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}
