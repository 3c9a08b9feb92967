//! The compiler: used when the crate is built for the controllers of the house, and at run time for the user's.

use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;

/// Compiles the BPF program in `source` with the headers of `include` into the object `output`. The error is a
/// sentence.
pub(crate) fn compile(source: &Path, include: &Path, output: &Path) -> Result<(), String> {
    let mut clang = Command::new("clang");
    clang.args(["-target", "bpf", "-O2", "-g", "-Wall", "-Wextra", "-Wno-unused-parameter"]);
    // A crash of clang would leave the program in the temporary folder.
    clang.arg("-fno-crash-diagnostics");
    clang.arg("-I").arg(include).arg("-c").arg(source).arg("-o").arg(output);
    let run = match clang.output() {
        Ok(run) => run,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err("controllers for the kernel need the compiler clang, version 14 or newer, and there is none \
                in PATH: install it \
                        (Debian: apt install clang)"
                .into());
        }
        Err(error) => return Err(format!("the compiler clang does not start: {error}")),
    };
    if run.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&run.stderr);
    let first = said.lines().find(|line| line.contains("error")).or(said.lines().next()).unwrap_or("no reason given");
    Err(format!("clang cannot compile {} for BPF: {first}", source.display()))
}
