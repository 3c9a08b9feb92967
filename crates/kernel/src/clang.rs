//! The compiler: used when the crate is built for the controllers of the house, and at run time for the user's.

use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;

/// Compiles the BPF program in `source` with the headers of `include` into the object `output`. The error is a
/// sentence.
pub(crate) fn compile(source: &Path, include: &Path, output: &Path) -> Result<(), String> {
    let mut clang = Command::new("clang");
    clang.args(["-target", "bpf", "-O2", "-g", "-Wall", "-Wextra", "-Wno-unused-parameter"]);
    // Where Debian has the headers of a processor, which the kernel's headers include.
    clang.arg("-idirafter").arg(format!("/usr/include/{}-linux-gnu", std::env::consts::ARCH));
    // A crash of clang would leave the program in the temporary folder.
    clang.arg("-fno-crash-diagnostics");
    // Headers of libbpf and of the C library ask for the processor of the kernel.
    let [short, defined] = if cfg!(target_arch = "aarch64") { ["arm64", "__aarch64__"] } else { ["x86", "__x86_64__"] };
    clang.arg(format!("-D__TARGET_ARCH_{short}")).arg(format!("-D{defined}"));
    let beside = source.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    clang.arg("-I").arg(include).arg("-I").arg(beside).arg("-c").arg(source).arg("-o").arg(output);
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
    Err(format!("clang cannot compile {} for BPF: {}", source.display(), explained(first)))
}

/// The compiler's error about an operation that BPF lacks, in words for the author of the C.
fn explained(line: &str) -> String {
    if line.contains("Cannot select") && (line.contains("sdiv") || line.contains("srem")) {
        // The place is last. If clang has moved the code, the place of the function around it follows.
        let place = line.rsplit_once(", ").and_then(|(_, place)| place.split(" @").next());
        let place = place.filter(|place| place.contains(':')).map_or(String::new(), |place| format!("{place}: "));
        return format!("{place}BPF has no signed division: divide numbers without sign, and the sign apart");
    }
    if line.contains("'bpf/") && line.contains("file not found") {
        return format!("{line}: the headers of libbpf are missing (Debian: apt install libbpf-dev)");
    }
    let called = line.split_once("built-in function '__").and_then(|(_, rest)| rest.split_once('\''));
    // The names of libgcc for single (sf) and double (df) precision, such as __floatunsidf and __muldf3.
    if called.is_some_and(|(name, _)| name.contains("sf") || name.contains("df")) {
        let place = line.split_once("error:").map_or("", |(place, _)| place);
        return format!("{place}BPF has no floating point: see fraction() and scaled_down() of ack.h");
    }
    line.to_owned()
}

#[cfg(test)]
mod tests {
    use super::explained;

    #[test]
    fn a_signed_division_is_named_with_its_place() {
        let line = "fatal error: error in backend: Cannot select: 0x175ced18: i64 = sdiv 0x175cf2c8, 0x175cf7a8, \
                    ./mine.bpf.c:35:49 @[ ./mine.bpf.c:25:1 ]";
        assert_eq!(
            explained(line),
            "./mine.bpf.c:35:49: BPF has no signed division: divide numbers without sign, and the sign apart"
        );
    }

    #[test]
    fn floating_point_is_named_with_its_place_and_other_complaints_stay() {
        let line = "./mine.bpf.c:35:13: error: A call to built-in function '__floatunsidf' is not supported.";
        assert_eq!(
            explained(line),
            "./mine.bpf.c:35:13: BPF has no floating point: see fraction() and scaled_down() of ack.h"
        );
        let line = "./mine.bpf.c:35:13: error: A call to built-in function 'memcmp' is not supported.";
        assert_eq!(explained(line), line);
    }
}
