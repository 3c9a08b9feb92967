//! A crash in the code of a controller ends the process with a sentence that names the file. The tests run the
//! controller in a child.
#![allow(unsafe_code)]

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Command, Output};

use control::Parameters;
use control::testing::World;
use shim::Source;

/// The controller and the signal that the child is to meet.
const CASE: &str = "ACKCLOCK_TEST_CRASH";

/// A controller that does `what` when a connection begins.
fn doing(what: &str) -> String {
    format!(
        "#include \"ack.h\"\nextern void abort(void);\nextern void exit(int);\n\
         static u32 deep(volatile u32 *of) {{ volatile u32 here = *of + 1; return deep(&here) + here; }}\n\
         CALLBACK_1(void, mine_init, struct sock *, sk) {{ volatile u32 n = 0; if (0) deep(&n); {what} }}\n\
         CALLBACK_1(u32, mine_ssthresh, struct sock *, sk) {{ return 2; }}\n\
         CALLBACK_3(void, mine_cong_avoid, struct sock *, sk, u32, ack, u32, acked) {{}}\n\
         CALLBACK_1(u32, mine_undo_cwnd, struct sock *, sk) {{ return 2; }}\n\
         CONTROLLER(\"mine\", .init = mine_init, .ssthresh = mine_ssthresh, .cong_avoid = mine_cong_avoid,\n\
                    .undo_cwnd = mine_undo_cwnd);\n"
    )
}

#[test]
#[ignore = "the others run it"]
fn child() {
    let Ok(case) = std::env::var(CASE) else { return };
    // SAFETY: a child that hangs ends by a signal.
    unsafe { libc::alarm(300) };
    // The folder may have a space in its name.
    let (file, signal) = case.rsplit_once(' ').unwrap();
    let source = Source::open(&PathBuf::from(file)).unwrap();
    let mut controller = source.build(&Parameters::new()).unwrap();
    controller.on_start(&mut World::new().context());
    // SAFETY: sends the signal to this thread.
    unsafe { libc::raise(signal.parse().unwrap()) };
    std::process::exit(3);
}

/// How the child ends with a controller that does `what`, and meets `signal` afterwards: its end and its last line.
fn ended(name: &str, what: &str, signal: libc::c_int) -> (Output, String) {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("crash").join(name);
    fs::create_dir_all(&folder).unwrap();
    let file = folder.join("mine.bpf.c");
    fs::write(&file, doing(what)).unwrap();
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "child", "--nocapture"])
        .env(CASE, format!("{} {signal}", file.display()))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&child.stderr).replace(&file.display().to_string(), "mine.bpf.c");
    let line = said.lines().find(|line| line.starts_with("ackclock: ")).unwrap_or_default().to_owned();
    (child, line)
}

#[test]
fn a_crash_is_told_with_the_file_the_callback_and_the_reason() {
    let trap = "an illegal instruction: __builtin_trap, or a division by zero";
    for (name, what, why, signal) in [
        ("address", "*(volatile int *)8 = 1;", "a wrong address or endless recursion", libc::SIGSEGV),
        ("recursion", "n = deep(&n);", "a wrong address or endless recursion", libc::SIGSEGV),
        // A compiler makes a trap of a division by zero that it sees.
        ("trap", "n /= 0; __builtin_trap();", trap, libc::SIGILL),
        ("abort", "abort();", "abort", libc::SIGABRT),
    ] {
        let (child, line) = ended(name, what, 0);
        assert_eq!(line, format!("ackclock: a crash in the code of `mine.bpf.c`, in init: {why}"));
        let status = child.status;
        // What handled a wrong address before is Rust's, which aborts where the stack has overflown.
        assert!([Some(signal), Some(libc::SIGABRT)].contains(&status.signal()), "{name}: {status}");
    }
}

#[test]
fn a_crash_elsewhere_names_the_file_that_may_have_caused_it() {
    for (name, signal, why) in
        [("after-abort", libc::SIGABRT, "abort"), ("after-division", libc::SIGFPE, "a division by zero")]
    {
        let (child, line) = ended(name, "", signal);
        let of = "ackclock: a crash after code of `mine.bpf.c` ran, which may have written out of bounds: ";
        assert_eq!(line, format!("{of}{why}"));
        assert_eq!(child.status.signal(), Some(signal), "{name}: {}", child.status);
    }
}

#[test]
fn a_controller_that_calls_exit_ends_the_program_with_a_sentence() {
    let (child, line) = ended("exit", "exit(0);", 0);
    assert_eq!(line, "ackclock: the code of `mine.bpf.c` ended the program by exit");
    assert_eq!(child.status.code(), Some(70));
    // No code runs when the child itself ends.
    let (child, line) = ended("none", "", 0);
    assert_eq!((child.status.code(), line.as_str()), (Some(3), ""));
}
