"""Own controllers that fail in any method: a sentence has the file and the method, the status is 2."""

import shutil
import sys

import pytest

from ackclock import _engine
from calling import refused
from test_supervised import command

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="controllers in files need Linux")

SERIES = _engine.version().rpartition(".")[0]

PATH = ("--rate", "10mbit", "--rtt", "40ms", "--queue", "20p", "--duration", "9s")
LOSSY = ("--set", "path.loss=1%")
OVERTAKING = ("--set", "path.jitter=30ms", "--set", "path.reorder=true")
"""Packets that overtake others are taken for lost, which is undone."""

CALLBACKS = {
    "init": ("1", "void", "struct sock *, sk"),
    "pkts_acked": ("2", "void", "struct sock *, sk, const struct ack_sample *, sample"),
    "in_ack_event": ("2", "void", "struct sock *, sk, u32, flags"),
    "cong_avoid": ("3", "void", "struct sock *, sk, u32, ack, u32, acked"),
    "cong_control": ("4", "void", "struct sock *, sk, u32, ack, u32, flag, const struct rate_sample *, rs"),
    "ssthresh": ("1", "u32", "struct sock *, sk"),
    "set_state": ("2", "void", "struct sock *, sk, u8, next"),
    "cwnd_event": ("2", "void", "struct sock *, sk, u32, event"),
    "undo_cwnd": ("1", "u32", "struct sock *, sk"),
    "release": ("1", "void", "struct sock *, sk"),
}
"""The functions of a controller in C, with their number of arguments, result and arguments."""

FAULTS = {
    "*(volatile int *)0 = 1;": ("SIGSEGV", "a wrong address or endless recursion"),
    "volatile int zero = 0; zero = 5 / zero;": ("SIGFPE", "a division by zero"),
    "abort();": ("SIGABRT", "abort"),
    "__builtin_trap();": ("SIGILL", "an illegal instruction: __builtin_trap, or a division by zero"),
}
"""Code that ends a process, with its signal and the reason in the sentence."""


def in_c(failing, code):
    """A controller in C with every function, of which one has this code."""
    text = '#include "ack.h"\nextern void abort(void);\n'
    for name, (count, result, arguments) in CALLBACKS.items():
        body = code if name == failing else ""
        end = " return 5;" if result == "u32" else ""
        text += f"CALLBACK_{count}({result}, mine_{name}, {arguments}) {{ {body}{end} }}\n"
    # With cong_control there is no cong_avoid.
    without = "cong_control" if failing != "cong_control" else "cong_avoid"
    functions = ", ".join(f".{name} = mine_{name}" for name in CALLBACKS if name != without)
    return f'{text}CONTROLLER("mine", {functions});\n'


@pytest.mark.parametrize("name", CALLBACKS)
def test_a_crash_in_any_function_in_c_names_file_and_function(folder, name):
    code, (number, why) = list(FAULTS.items())[list(CALLBACKS).index(name) % len(FAULTS)]
    (folder / "mine.bpf.c").write_text(in_c(name, code))
    path = OVERTAKING if name == "undo_cwnd" else LOSSY
    status, said = command("compare", "./mine.bpf.c", *PATH, *path)
    assert (status, said.splitlines()) == (
        2,
        [
            f"ackclock: a crash in the code of `{folder}/mine.bpf.c`, in {name}: {why}",
            f"ackclock: ./mine.bpf.c: its process was ended by {number}",
        ],
    )


@pytest.mark.parametrize("name", ["init", "ssthresh", "release"])
def test_a_loop_without_end_in_a_function_in_c_is_over_at_the_limit(folder, name):
    (folder / "mine.bpf.c").write_text(in_c(name, "for (volatile int i = 0;; i++);"))
    status, said = command("compare", "./mine.bpf.c", *PATH, *LOSSY, "--limit", "5s")
    assert (status, said.splitlines()[-1]) == (2, "ackclock: ./mine.bpf.c: was not over after 5s (--limit)")


EVENTS = {
    "on_start": "",
    "on_handshake": ", _rtt: units::Span",
    "on_ack": ", _ack: &Ack",
    "on_duplicate_ack": ", _ack: &Ack",
    "on_loss": ", _loss: &Loss",
    "on_ecn": ", _marks: &Marks",
    "on_recovered": "",
    "on_timeout": ", _loss: &Loss",
    "on_spurious": "",
    "on_idle_restart": "",
    "on_sent": ", _sent: &Transmission",
    "on_transmit_start": ", _start: &TransmitStart",
    "on_segment_delivered": ", _segment: &SegmentReport",
    "on_segment_lost": ", _segment: &SegmentReport",
    "on_timer": "",
}
"""The events of a controller in Rust, with their arguments behind the context."""

ANSWERS = {
    "poll_timeout": ("Option<Time>", "Some(self.due)"),
    "pacing_rate": ("Option<Rate>", "None"),
    "send_quantum": ("u32", "1"),
    "window": ("f64", "20.0"),
    "slow_start_threshold": ("f64", "2.0"),
}
"""The decisions of a controller in Rust, which are asked for when it is made and after each event."""

OTHERS = ("make", "wants", "probe")

METHODS = (*EVENTS, *ANSWERS, *OTHERS)

IN_RUST = """use control::range::from;
use control::{Ack, Aim, Context, Controller, Entry, Literal, Loss, Marks, Parameter, Probe, Range, Reports};
use control::{SegmentReport, Transmission, TransmitStart, Wants};
use units::{Rate, Span, Time};

pub const ENTRY: Entry = Entry {
    name: "mine",
    title: "Mine",
    summary: "Panics in the method with the number `at`, of those asked after events behind the first ACK",
    source: "mine",
    aim: Aim::General,
    parameters: &[Parameter {
        name: "at",
        default: Literal::Integer(99),
        unit: "",
        range: Range::Integer(from(0).up_to(99)),
        meaning: "The method",
        source: "mine",
    }],
    probes: &[],
    make: |given| {
        let at = given.get("at").map_or(99, |at| at.as_u64().unwrap());
        let mine = Mine { at, due: Time::ZERO, acks: 0 };
        mine.at(MAKE);
        Ok(Box::new(mine))
    },
};

struct Mine { at: u64, due: Time, acks: u64 }

impl Mine {
    fn at(&self, method: u64) { assert!(self.at != method, "as it is to") }
}
"""


def in_rust():
    """A crate's controller in Rust that panics in the method whose number a parameter is."""
    lines = [IN_RUST.replace("MAKE", str(METHODS.index("make"))), "impl Controller for Mine {"]
    for name, arguments in EVENTS.items():
        after = {
            "on_ack": "self.acks += 1;",
            "on_timer": "self.due = cx.now + Span::from_millis(100);",
        }.get(name, "let _ = cx;")
        called = f"self.at({METHODS.index(name)}); {after}"
        lines.append(f"    fn {name}(&mut self, cx: &mut Context<'_>{arguments}) {{ {called} }}")
    for name, (kind, answer) in ANSWERS.items():
        called = f"if self.acks > 0 {{ self.at({METHODS.index(name)}) }} {answer}"
        lines.append(f"    fn {name}(&self) -> {kind} {{ {called} }}")
    wants = "transmit_start: true, sent: true, timer: true, segments: Reports::All, ..Wants::default()"
    lines.append(f"    fn wants(&self) -> Wants {{ self.at({METHODS.index('wants')}); Wants {{ {wants} }} }}")
    lines.append(f"    fn probe(&self, _out: &mut dyn Probe) {{ self.at({METHODS.index('probe')}) }}")
    return "\n".join([*lines, "}\n"])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def crate(tmp_path_factory):
    """A crate with that controller, which Cargo builds once."""
    if shutil.which("cargo") is None:
        pytest.skip("needs Cargo")
    folder = tmp_path_factory.mktemp("crate") / "mine"
    (folder / "src").mkdir(parents=True)
    (folder / "src/lib.rs").write_text(in_rust())
    (folder / "Cargo.toml").write_text(
        '[package]\nname = "mine"\nversion = "0.1.0"\nedition = "2024"\n\n'
        f'[dependencies]\nackclock-control = "{SERIES}"\nackclock-units = "{SERIES}"\n'
    )
    return folder


ASKED = {
    "on_ecn": ("--set", "flows.0.transport.ecn=true", "--set", "path.queue.mark_above=5p"),
    "on_timeout": ("--set", "path.loss=60%"),
    "on_spurious": OVERTAKING,
    "on_idle_restart": ("--set", 'flows.0.source={ rate = "2mbit", on = "0.2s", off = "2s" }'),
}
"""The settings by which a method is called that a path with few losses does not call."""


@pytest.mark.parametrize("name", METHODS)
def test_a_panic_in_any_method_in_rust_names_file_and_method(capsys, crate, name):
    said = refused(capsys, "compare", f"{crate}(at={METHODS.index(name)})", *PATH, *ASKED.get(name, LOSSY))
    lines = (crate / "src/lib.rs").read_text().splitlines()
    line = next(number for number, text in enumerate(lines, 1) if "assert!" in text)
    event = f"in {name}" if name in (*EVENTS, "probe") else "in on_ack"
    where = "while it was made" if name in ("make", "wants") else event
    why = f"`{crate}/Cargo.toml` panicked {where}: as it is to ({crate}/src/lib.rs, line {line})"
    assert said.endswith(why), said
