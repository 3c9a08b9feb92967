//! Messages of libbpf: they become part of the sentence of an error instead of being printed.

use std::cell::RefCell;
use std::sync::Once;

use libbpf_rs::{Error, ErrorKind, PrintLevel, set_print};

thread_local! {
    static SAID: RefCell<String> = const { RefCell::new(String::new()) };
}

/// From here on what libbpf says to this thread is kept.
pub(crate) fn keep() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        set_print(Some((PrintLevel::Warn, |_, message| SAID.with_borrow_mut(|said| said.push_str(&message)))));
    });
    SAID.with_borrow_mut(String::clear);
}

/// The verifier's message for a loop without a visible end.
const ENDLESS: &str = "infinite loop detected";

/// Its message for a program with more paths than it tries.
const TOO_LARGE: &str = "BPF program is too large";

/// Why a program was not loaded: the verifier's last line before its statistics, otherwise `error`.
pub(crate) fn why(error: &Error) -> String {
    SAID.with_borrow(|said| verdict(said)).unwrap_or_else(|| match error.kind() {
        // The kernel's tcp_validate_congestion_control says no more.
        ErrorKind::InvalidInput => {
            format!("{error:#}; it needs the callbacks ssthresh, undo_cwnd, and cong_avoid or cong_control")
        }
        _ => format!("{error:#}"),
    })
}

fn verdict(said: &str) -> Option<String> {
    let lines: Vec<&str> = said.lines().map(str::trim).collect();
    let end = lines.iter().position(|line| line.starts_with("processed "))?;
    if let Some(at) = lines[..end].iter().rposition(|line| line.starts_with(ENDLESS)) {
        // The registers of two rounds of the loop follow. The line in C is before it: a semicolon, its text, and since
        // Linux 6.10 file and number.
        let line = lines[..at].iter().rev().find_map(|line| line.strip_prefix("; "));
        let place = line.map(|line| line.rsplit_once(" @ ").map_or(line, |(_, number)| number));
        let place = place.map_or(String::new(), |place| format!(" (at {place})"));
        return Some(format!(
            "it may loop for ever{place}; a loop needs a bound that the verifier sees, or loop() of bpf.h"
        ));
    }
    let last = lines[..end].iter().rev().find(|line| !line.is_empty())?;
    if last.starts_with(TOO_LARGE) {
        return Some(
            "the verifier tried a million instructions and did not come to an end: a loop needs a smaller bound, or \
             loop() of bpf.h"
                .to_owned(),
        );
    }
    Some((*last).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_verdict_is_the_line_before_the_statistics() {
        let said = "libbpf: prog 'x': BPF program load failed: -EACCES\n-- BEGIN PROG LOAD LOG --\n0: r1 = 1\n\
                    R1 invalid mem access 'scalar'\nprocessed 12 insns (limit 1000000)\n-- END PROG LOAD LOG --\n";
        assert_eq!(verdict(said).as_deref(), Some("R1 invalid mem access 'scalar'"));
        assert_eq!(verdict("libbpf: failed to open\n"), None);
    }

    #[test]
    fn what_the_kernel_finds_invalid_lacks_callbacks() {
        let refused = |number| why(&Error::from_raw_os_error(number));
        // EINVAL, and EPERM.
        assert!(refused(22).ends_with("; it needs the callbacks ssthresh, undo_cwnd, and cong_avoid or cong_control"));
        assert!(!refused(1).contains("callbacks"));
    }

    #[test]
    fn a_loop_that_is_too_long_to_be_tried_is_named() {
        let said = "0: r1 = 1\nBPF program is too large. Processed 1000001 insn\n\
                    processed 1000001 insns (limit 1000000)\n";
        assert_eq!(
            verdict(said).as_deref(),
            Some(
                "the verifier tried a million instructions and did not come to an end: a loop needs a smaller bound, \
                 or loop() of bpf.h"
            )
        );
    }

    #[test]
    fn a_loop_without_end_is_named_with_its_line_and_without_registers() {
        let said = "0: r1 = 1\n; while (most_segments) @ mine.bpf.c:4\n3: (05) goto pc-2\n\
                    infinite loop detected at insn 2\ncur state: R1=scalar(smin=1) R10=fp0\n\
                    old state: R1=scalar(smin=1) R10=fp0\nprocessed 8 insns (limit 1000000)\n";
        assert_eq!(
            verdict(said).as_deref(),
            Some(
                "it may loop for ever (at mine.bpf.c:4); a loop needs a bound that the \
                 verifier sees, or loop() of bpf.h"
            )
        );
    }
}
