//! What libbpf says on the way: kept for the sentence of an error instead of printed.

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
    lines[..end].iter().rev().find(|line| !line.is_empty()).map(ToString::to_string)
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
}
