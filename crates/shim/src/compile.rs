//! From a C file to a shared object, which is kept in the user's cache.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::Path;
use std::process::{Command, Output};

use scratch::Scratch;

use crate::style::Style;
use crate::{Error, cache};

/// The functions of the kernel, which are compiled with every controller.
const KFUNCS: &str = "shim/kfuncs.c";

/// The files that a controller includes: every header of `kernel/` by its path there, and [`KFUNCS`].
const HEADERS: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/headers.rs"));

/// The folder of compiled controllers in the cache.
pub(crate) const FOLDER: &str = "controllers";

/// Looked for in this order.
const COMPILERS: [&str; 3] = ["cc", "clang", "gcc"];

const PREPROCESS: &[&str] = &["-std=gnu17", "-ffreestanding", "-E"];

/// Arithmetic wraps and memory may be looked at as any type, as in the kernel.
const COMPILE: &[&str] = &[
    "-std=gnu17",
    "-ffreestanding",
    "-O2",
    "-fPIC",
    "-shared",
    "-fvisibility=hidden",
    "-fno-strict-aliasing",
    "-fwrapv",
    "-Werror=implicit-function-declaration",
    "-Werror=int-conversion",
];

/// The shared object of the controller at `path`.
pub(crate) fn compile(path: &Path) -> Result<Vec<u8>, Error> {
    let file = path.display();
    let text = fs::read(path).map_err(|error| Error::Source(format!("`{file}` cannot be read: {error}")))?;
    let style = Style::of(&String::from_utf8_lossy(&text));
    let failed = |error: io::Error| Error::Source(format!("temporary files: {error}"));
    let scratch = Scratch::new().map_err(failed)?;
    write_headers(&scratch).map_err(failed)?;
    let flags = style.prepare(&scratch).map_err(failed)?;
    let (compiler, output) = preprocess(&COMPILERS, path, &scratch, &flags)?;
    let mut text = accepted(path, output)?.stdout;
    let tail = style.tail(&String::from_utf8_lossy(&text));
    text.extend(tail.map_err(|why| Error::Source(format!("`{file}` {why}")))?.bytes());
    let kept = cache::folder(FOLDER).map(|folder| folder.join(format!("{}.so", fingerprint(compiler, &text))));
    if let Some(object) = kept.as_deref().and_then(|kept| fs::read(kept).ok()) {
        return Ok(object);
    }
    // The text that was hashed is compiled, even if the file changes meanwhile. Its line markers keep the places of
    // errors.
    let (input, out) = (scratch.path("controller.i"), scratch.path("controller.so"));
    fs::write(&input, &text).map_err(failed)?;
    let output = Command::new(compiler)
        .env("LC_ALL", "C")
        .args(COMPILE)
        .arg("-I")
        .arg(scratch.folder())
        .arg("-o")
        .arg(&out)
        .args([input, scratch.path(KFUNCS)])
        .output();
    accepted(path, output.map_err(|error| Error::Source(format!("`{compiler}` cannot be run: {error}")))?)?;
    let object = fs::read(&out).map_err(failed)?;
    if let Some(kept) = kept {
        // Without the cache it is compiled again the next time: no more than that.
        let _ = cache::keep(&object, &kept);
    }
    Ok(object)
}

/// The output of the first of these compilers that there is.
fn preprocess(
    compilers: &[&'static str],
    path: &Path,
    scratch: &Scratch,
    flags: &[String],
) -> Result<(&'static str, Output), Error> {
    for &compiler in compilers {
        let output = Command::new(compiler)
            .env("LC_ALL", "C")
            .args(PREPROCESS)
            .args(flags)
            .arg("-I")
            .arg(scratch.folder())
            .arg(path)
            .output();
        match output {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(Error::Source(format!("`{compiler}` cannot be run: {error}"))),
            Ok(output) => return Ok((compiler, output)),
        }
    }
    let file = path.display();
    Err(Error::Source(format!(
        "`{file}` cannot be compiled: there is no C compiler (`cc`, `clang` or `gcc`) on the PATH"
    )))
}

/// `output`, unless the compiler found an error: then the first one, which begins with file and line.
pub(crate) fn accepted(path: &Path, output: Output) -> Result<Output, Error> {
    if output.status.success() {
        return Ok(output);
    }
    let messages = String::from_utf8_lossy(&output.stderr);
    let mut said = messages.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = said.clone().find(|line| line.contains("error: ")).or_else(|| said.next());
    let first = first.map_or_else(|| format!("the compiler does not say why ({})", output.status), str::to_owned);
    Err(Error::Source(format!("`{}` does not compile: {first}", path.display())))
}

/// 128 bits over all that the object depends on. The text of shim.h has the version of the compiler in it.
fn fingerprint(compiler: &str, text: &[u8]) -> String {
    let mut hashers = [DefaultHasher::new(), DefaultHasher::new()];
    for (i, hasher) in hashers.iter_mut().enumerate() {
        (i, compiler, COMPILE, std::env::consts::ARCH, kfuncs()).hash(hasher);
        // Line markers name the folder of the headers, which is another each time.
        text.split(|&byte| byte == b'\n').filter(|line| !line.starts_with(b"# ")).for_each(|line| line.hash(hasher));
    }
    hashers.iter().map(|hasher| format!("{:016x}", hasher.finish())).collect()
}

fn kfuncs() -> &'static str {
    HEADERS.iter().find(|(name, _)| *name == KFUNCS).map_or("", |(_, text)| text)
}

fn write_headers(scratch: &Scratch) -> io::Result<()> {
    fs::create_dir(scratch.path("shim"))?;
    HEADERS.iter().try_for_each(|(name, text)| fs::write(scratch.path(name), text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_compiler_that_there_is_reads_the_file() {
        let scratch = Scratch::new().unwrap();
        let file = scratch.path("mine.c");
        fs::write(&file, "int mine;\n").unwrap();
        let (compiler, output) = preprocess(&["there-is-none", "cc"], &file, &scratch, &[]).unwrap();
        assert_eq!(compiler, "cc");
        assert!(String::from_utf8_lossy(&output.stdout).contains("int mine;"));
        let none = preprocess(&["there-is-none"], &file, &scratch, &[]).unwrap_err().to_string();
        assert!(none.ends_with("cannot be compiled: there is no C compiler (`cc`, `clang` or `gcc`) on the PATH"));
        // A folder is no program.
        let denied = preprocess(&["/", "cc"], &file, &scratch, &[]).unwrap_err().to_string();
        assert!(denied.starts_with("`/` cannot be run: "), "{denied}");
    }

    #[test]
    fn a_compiler_that_fails_without_an_error_is_told_with_what_it_says_or_its_end() {
        let refused = |script: &str| {
            let output = Command::new("sh").args(["-c", script]).output().unwrap();
            accepted(Path::new("mine.c"), output).unwrap_err().to_string()
        };
        let said = "`mine.c` does not compile: cc1: out of memory";
        assert_eq!(refused("printf '\\ncc1: out of memory\\n' >&2; exit 1"), said);
        let end = "`mine.c` does not compile: the compiler does not say why (signal: 9 (SIGKILL))";
        assert_eq!(refused("echo >&2; kill -9 $$"), end);
    }

    #[test]
    fn objects_differ_by_compiler_text_and_functions_of_the_kernel_and_not_by_folders() {
        assert!(kfuncs().contains("tcp_slow_start"));
        let of = |compiler, text: &str| fingerprint(compiler, text.as_bytes());
        let one = of("cc", "# 1 \"/tmp/a/ack.h\"\nint mine;");
        assert_eq!(one, of("cc", "# 1 \"/tmp/b/ack.h\"\nint mine;"));
        assert!(one != of("gcc", "int mine;") && one != of("cc", "int yours;") && one.len() == 32);
    }
}
