"""Packet scripts: language, assertions, shell blocks, and the project's own scripts on the simulated TCP."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ackclock.replay import Verdict, datagram, replay
from ackclock.replay.expressions import Assertions
from ackclock.replay.parser import parse
from ackclock.replay.script import (
    Call,
    Code,
    DivergenceError,
    Inbound,
    Options,
    Outbound,
    Packet,
    ScriptError,
    Shell,
    UnsupportedError,
    When,
)
from ackclock.replay.shell import Discipline, Setting, settings
from ackclock.replay.simulated import Simulated

SCRIPTS = sorted((Path(__file__).parents[1] / "packetdrill").glob("*.pkt"))

OPENING = """
 0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+0 < S 0:0(0) win 65535 <mss 1000,sackOK,nop,nop,nop,wscale 7>
+0 > S. 0:0(0) ack 1 <...>
+.1 < . 1:1(0) ack 1 win 1000
+0 accept(3, ..., ...) = 4
"""


def action(text: str) -> Any:
    """The one action of a script of one event."""
    (event,) = parse(f"0 {text}").events
    return event.action


def verdict(tmp_path: Path, text: str, **options: Any) -> Verdict:
    """The verdict on ``text`` after a handshake of 100 ms."""
    file = tmp_path / "script.pkt"
    file.write_text(OPENING + text, encoding="utf-8")
    return replay(file, lambda: Simulated(**options))


# The language.


def test_packets_are_read_with_all_their_parts() -> None:
    packet = Packet("P.", 1, 1000, 1, 257, Options(sack=((2001, 3001), (5001, 6001))), 2)
    assert action("< [ect0] P. 1:1001(1000) ack 1 win 257 <sack 2001:3001 5001:6001,nop,nop>") == Inbound(
        packet
    )
    syn = Packet("SEW", 0, 0, None, 32792, Options(1000, 7, True, (100, 0)))
    assert action("< SEW 0:0(0) win 32792 <mss 1000,sackOK,TS val 100 ecr 0,nop,wscale 7>") == Inbound(syn)
    assert action("< SEWA 0:0(0) win 9") == Inbound(Packet("SEWA", 0, 0, None, 9))
    assert action("> S. 0:0(0) ack 1 <...>") == Outbound(Packet("S.", 0, 0, 1, None, None))


def test_calls_are_read_with_arguments_and_results() -> None:
    assert action("socket(..., SOCK_STREAM|SOCK_NONBLOCK, 0x10) = 3") == Call(
        "socket", [..., "SOCK_STREAM|SOCK_NONBLOCK", 16], 3
    )
    assert action("read(4, ..., 10) = -1 EAGAIN (Resource temporarily unavailable)") == Call(
        "read", [4, ..., 10], -1, "EAGAIN"
    )
    nested = action("recvmsg(4, {msg_name(...)=..., msg_iov(1)=[{..., 2000}], msg_flags=0}, 0) = 5 (bytes)")
    assert (nested.result, nested.errno) == (5, None)
    call = action('setsockopt(4, SOL_TCP, TCP_CONGESTION, "reno", 4) = 0')
    assert call.arguments == [4, "SOL_TCP", "TCP_CONGESTION", "reno", 4]
    assert action("bind(3, {sa_family = AF_INET, sin_port = htons(8080)}, ...) = 0").name == "bind"


@pytest.mark.parametrize(
    ("text", "when"),
    [
        ("0.5", When(0.5)),
        ("+.1", When(0.1, relative=True)),
        ("+.1~+.2", When(0.1, 0.2, relative=True)),
        ("1~1.5", When(1.0, 1.5)),
        ("*", When(0.0, any=True)),
        ("+0...0.010", When(0.0, relative=True, finish=0.01)),
    ],
)
def test_times_are_instants_ranges_or_any(text: str, when: When) -> None:
    assert parse(f"{text} > . 1:1(0) ack 1").events[0].when == when


def test_events_know_their_lines_and_comments_are_skipped() -> None:
    text = "// one\n--tolerance_usecs=9\n`sysctl a.b=1`\n/* two\n */ +0 %{ assert 1 == 1 }%\n"
    script = parse(text)
    assert script.options == {"tolerance_usecs": (2, "9")}
    assert [(event.line, type(event.action)) for event in script.events] == [(3, Shell), (5, Code)]


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ("0 < . 1:1(0) ack 1 win 9\n+0 < 5. 1:1(0) ack 1", 2, "the flags `5.` are not modelled"),
        ("0 < . 1:1(0) ack 1 <md5 x>", 1, "the TCP option `md5 x` is not modelled"),
        ("0 < . 1:1(0) ack 1 <sack 5:x>", 1, "the SACK block `5:x` is not modelled: it is BEGIN:END"),
        ("0 < . 1:1(0) ack 1 <sack x:5>", 1, "the SACK block `x:5` is not modelled: it is BEGIN:END"),
        ("0 > icmp unreachable", 1, "is no TCP packet of this language"),
        ("0 > (flowlabel 0x1) . 1:1(0) ack 1", 1, "is no TCP packet of this language"),
        ("0 @ what", 1, "is no packet, call, assertion or shell block"),
    ],
)
def test_what_the_language_lacks_is_unsupported(text: str, line: int, why: str) -> None:
    with pytest.raises(UnsupportedError, match=re.escape(why)) as caught:
        parse(text)
    assert caught.value.line == line


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("hello", "line 1: `hello` begins with no time"),
        ("", "line 1: there is no event in this file"),
        ("0 > . 1:3(1) ack 1", "line 1: `1:3(1)` does not add up"),
        ("0 %{ assert", "line 1: a block of assertions has no end"),
        ("0 > S 1:1(0) ack 1", "a packet has an acknowledgement only with the flag `.`"),
        ("0 socket(", "is no argument of a system call"),
        ("2~1 > . 1:1(0) ack 1", "a range of times has to be"),
        ("0 f(" + "[" * 50, "deep"),
    ],
)
def test_what_is_no_script_is_an_error(text: str, why: str) -> None:
    with pytest.raises(ScriptError, match=re.escape(why)):
        parse(text)


PIECES = [
    "0 ",
    "+.1~+.2 ",
    "* ",
    "< ",
    "> ",
    "S. ",
    "1:1001(1000) ",
    "ack 1 ",
    "<sack 1:2>",
    "%{",
    "}%",
    "`",
    "=",
    "(",
]


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=5)).map("".join))
@example("0 < . 1:1(0) ack 99999999999999999999 win 1")
def test_the_parser_answers_any_text(text: str) -> None:
    with contextlib.suppress(ScriptError, UnsupportedError):
        assert parse(text).events


# Assertions.


def test_assertions_hold_diverge_or_are_not_modelled() -> None:
    assertions = Assertions()
    assertions.run(
        "\nassert a == 2, 'text %d' % a\nassert 0 < a <= 2 and not a == 3\nb = 2 * a\nprint(a)\n", {"a": 2}
    )
    assertions.run(" assert b == 4 if a > 2 else b == 4 ", {"a": 1})
    with pytest.raises(DivergenceError, match=r"assert a == 3: a is 2"):
        assertions.run("assert a == 3", {"a": 2})
    with pytest.raises(UnsupportedError, match="`c` is not modelled"):
        assertions.run("assert c == 3", {"a": 2})


@pytest.mark.parametrize(
    "text",
    [
        "import os",
        "assert __import__('os')",
        "assert (1).__class__",
        "x = [1] * 9",
        "assert 1 / 0",
        "assert 2 ** 99",
        "(",
    ],
)
def test_other_python_is_unsupported(text: str) -> None:
    with pytest.raises(UnsupportedError):
        Assertions().run(text, {})


def test_numbers_do_not_grow_without_bound() -> None:
    with pytest.raises(UnsupportedError, match="too large"):
        Assertions().run("\n".join(["a = 9999999999"] + ["a = a * a"] * 60), {})


# Shell blocks.


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("assert round(1, -99999999) == 0", "at most 100 are allowed"),
        ("assert " + "2*" * 300 + "2", "nested more than 100 deep"),
        ("assert " + "not " * 150 + "1", "nested more than 100 deep"),
        ("assert " + "1+" * 300000 + "1", "nested more than 100 deep|no block of assertions"),
    ],
)
def test_an_assertion_costs_little(text: str, why: str) -> None:
    with pytest.raises(UnsupportedError, match=why):
        Assertions().run(text, {})


def test_a_number_beyond_64_bits_is_unsupported(tmp_path: Path) -> None:
    found = verdict(tmp_path, "+0 write(4, ..., 18446744073709551616) = 1000\n")
    assert (found.line, found.why) == (OPENING.count("\n") + 1, "has a number of more than 64 bits")


def test_rounding_is_that_of_python() -> None:
    Assertions().run("assert round(25, -1) == 20 and round(2.375, 2) == 2.38 and round(2.5) == 2", {})


def test_sysctls_are_recognised_in_all_spellings(tmp_path: Path) -> None:
    (tmp_path / "more.sh").write_text("sysctl -q net.ipv4.tcp_fack=0\n", encoding="utf-8")
    text = """./more.sh
sysctl -q net.ipv4.tcp_rmem="4096 540000 $((15*1024*1024))" net/ipv4/tcp_sack=1 > /dev/null 2>&1
echo 3 > /sys/module/tcp_cubic/parameters/hystart_detect
ip tcp_metrics flush all; ethtool -K tun0 tso off  # comment
../common/set_sysctls.py /proc/sys/net/ipv4/tcp_min_tso_segs=10 \\
  /proc/sys/net/ipv4/tcp_frto=2
tc qdisc replace dev tun0 root fq"""
    assert list(settings(text, tmp_path)) == [
        Setting("net.ipv4.tcp_fack", "0"),
        Setting("net.ipv4.tcp_rmem", "4096 540000 15728640"),
        Setting("net.ipv4.tcp_sack", "1"),
        Setting("tcp_cubic.hystart_detect", "3"),
        Setting("net.ipv4.tcp_min_tso_segs", "10"),
        Setting("net.ipv4.tcp_frto", "2"),
        Discipline("qdisc replace dev tun0 root fq"),
    ]


@pytest.mark.parametrize("text", ["rm -rf x", "./absent.sh", "sysctl -q nothing", "echo 'x"])
def test_other_commands_are_unsupported(text: str, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError):
        list(settings(text, tmp_path))


def test_a_shell_file_that_calls_itself_is_unsupported(tmp_path: Path) -> None:
    (tmp_path / "a.sh").write_text("./a.sh\n", encoding="utf-8")
    with pytest.raises(UnsupportedError, match="more than 5 deep"):
        list(settings("./a.sh", tmp_path))


# Playing.


def test_there_are_scripts_for_the_rules_of_recovery() -> None:
    assert len(SCRIPTS) >= 20


@pytest.mark.parametrize("file", SCRIPTS, ids=lambda file: file.stem)
def test_the_simulated_tcp_matches_the_script(file: Path) -> None:
    assert replay(file, Simulated) == Verdict(str(file), "match")


def test_a_script_expects_trains_in_any_parts(tmp_path: Path) -> None:
    text = "+0 write(4, ..., 3000) = 3000\n+0 > . 1:2001(2000) ack 1\n+0 > P. 2001:3001(1000) ack 1\n"
    assert verdict(tmp_path, text).verdict == "match"


@pytest.mark.parametrize(
    ("expected", "why"),
    [
        ("+.05 > P. 1:1001(1000) ack 1", "left at 0.100 s"),
        ("+0 > . 1:1001(1000) ack 1", "`P. 1:1001(1000) ack 1` left; expected was `. 1:1001(1000) ack 1`"),
        ("+0 > P. 1:1001(1000) ack 2", "left; expected was"),
        ("+0 > P. 1:2001(2000) ack 1", "nothing left until"),
        ("+0 > P. 1:1001(1000) ack 1 <nop,nop,sack 5:6>", "expected were the options <sack 5:6>"),
        ("+0 > [ect0] P. 1:1001(1000) ack 1", "left with ECN field 0, not 2"),
        ("+0 %{ assert tcpi_snd_cwnd == 11 }%", "tcpi_snd_cwnd is 10"),
        ("+0 read(4, ..., 10) = 10", "is not modelled"),
    ],
)
def test_a_divergence_names_its_line_and_both_sides(expected: str, why: str, tmp_path: Path) -> None:
    found = verdict(tmp_path, f"+0 write(4, ..., 1000) = 1000\n{expected}\n")
    assert found.line == 10
    assert why in found.why
    assert found.verdict == ("unsupported" if "modelled" in why else "divergence")


LISTENING = """`sysctl -q net.ipv4.tcp_ecn={ecn}`
0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+0 < {syn} 0:0(0) win 32792 <mss 1000,sackOK,nop,nop,nop,wscale 7>
+0 > {answer} 0:0(0) ack 1 <...>
"""
CONNECTING = """`sysctl -q net.ipv4.tcp_ecn={ecn}`
0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 ... 0.05 connect(3, ..., ...) = 0
+0 > {syn} 0:0(0) <...>
+.05 < S. 0:0(0) ack 1 win 32767 <mss 1000,sackOK,nop,nop,nop,wscale 7>
+0 > . 1:1(0) ack 1
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (LISTENING.format(ecn=1, syn="SEWA", answer="SE."), "match"),
        (LISTENING.format(ecn=3, syn="SEW", answer="SE."), "match"),
        (LISTENING.format(ecn=3, syn="SEWA", answer="SW."), "unsupported"),
        (CONNECTING.format(ecn=4, syn="SEW"), "match"),
        (CONNECTING.format(ecn=5, syn="S"), "match"),
        (CONNECTING.format(ecn=3, syn="SEWA"), "unsupported"),
    ],
)
def test_accurate_ecn_falls_back_and_is_not_negotiated(text: str, expected: str, tmp_path: Path) -> None:
    file = tmp_path / "script.pkt"
    file.write_text(text, encoding="utf-8")
    assert replay(file, Simulated).verdict == expected


def test_the_flag_of_accurate_ecn_crosses_a_device() -> None:
    packet = Packet("SEWA", 0, 0, None, 32792, Options(1000), 0)
    written = datagram.write(packet, ("10.0.0.1", "10.0.0.2"), (1, 2), 0)
    assert datagram.read(written) == (packet, (1, 2), 0)


def test_a_time_may_be_off_by_the_tolerance_alone(tmp_path: Path) -> None:
    # The probe of a lone segment waits for SRTT + 200 ms = 300 ms, 75 ticks of 4 ms. Scripts begin in the
    # middle of a tick: 0.1 s is in tick 25, and the next eighth tick beyond 100, the 104th, is at 414 ms.
    text = "+0 write(4, ..., 1000) = 1000\n* > P. 1:1001(1000) ack 1\n+{} > P. 1:1001(1000) ack 1\n"
    # 12.5 % of 357 ms are 44.6 ms, of 362 ms 45.3 ms.
    assert verdict(tmp_path, text.format(".357")).verdict == "match"
    assert verdict(tmp_path, text.format(".362")).verdict == "divergence"
    assert verdict(tmp_path, "--tolerance_usecs=60000\n" + text.format(".362")).verdict == "match"


@pytest.mark.parametrize("reading_us", [0, 300])
def test_packets_arrive_at_the_same_times_whenever_those_that_left_are_read(
    reading_us: int, tmp_path: Path
) -> None:
    class Read(Simulated):
        """Packets are read some time after they have left."""

        def receive(self, until: float) -> tuple[float, Packet] | None:
            left = super().receive(until)
            self._nanos += reading_us * 1000
            return left

        def inject(self, packet: Packet) -> None:
            arrivals.append(round(self.now, 4))
            super().inject(packet)

    arrivals: list[float] = []
    ack = "< . 1:1(0) ack 1001 win"
    script = tmp_path / "script.pkt"
    script.write_text(
        f"{OPENING}+.01 < . 1:1(0) ack 1 win 999\n"
        # A packet that left before its time in the script counts from that, another from its departure.
        "+0 write(4, ..., 1000) = 1000\n+.001 > P. 1:1001(1000) ack 1\n"
        f"+.0005 {ack} 1000\n+.01 {ack} 999\n* write(4, ..., 1000) = 1000\n* > P. 1001:2001(1000) ack 1\n"
        f"+.0005 {ack} 1000\n",
        encoding="utf-8",
    )
    assert replay(script, Read).verdict == "match"
    assert arrivals == [0.0, 0.1, 0.11, 0.1115, 0.1215, 0.122]


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        # Only 3 and 4 are tail loss probes.
        ("tcp_early_retrans=2", "divergence"),
        ("tcp_early_retrans=4", "match"),
        # RACK is on whatever it says.
        ("tcp_recovery=0", "match"),
        ("tcp_recovery=2", "unsupported"),
        ("tcp_retries2=8", "unsupported"),
    ],
)
def test_a_sysctl_acts_as_in_the_kernel_or_is_refused(setting: str, expected: str, tmp_path: Path) -> None:
    text = "+0 write(4, ..., 20000) = 20000\n+0 > P. 1:10001(10000) ack 1\n"
    text += "+.2~+.202 > . 10001:11001(1000) ack 1\n"
    file = tmp_path / "script.pkt"
    file.write_text(f"`sysctl -q net.ipv4.{setting}`\n{OPENING}{text}", encoding="utf-8")
    found = replay(file, Simulated)
    assert found.verdict == expected
    assert ("is not modelled: " in found.why) == (expected == "unsupported")


def test_sysctls_and_options_change_what_is_simulated(tmp_path: Path) -> None:
    text = "+0 write(4, ..., 20000) = 20000\n+0 > P. 1:10001(10000) ack 1\n"
    probe = "+.2~+.202 > . 10001:11001(1000) ack 1\n"
    assert verdict(tmp_path, text + probe).verdict == "match"
    file = tmp_path / "other.pkt"
    file.write_text("`sysctl -q net.ipv4.tcp_early_retrans=0`\n" + OPENING + text + probe, encoding="utf-8")
    assert replay(file, Simulated).verdict == "divergence"
    changed = [("flows.0.transport.initial_window", "4")]
    assert verdict(tmp_path, text, overrides=changed).verdict == "divergence"


@pytest.mark.parametrize(
    "text",
    [
        "+0 < R. 1:1(0) ack 1",
        "+0 < . 1:1(0) ack 1 win 9\n+0 > . 1:1(0) ack 1 win 77",
        "+0 `sysctl -q net.ipv4.tcp_sack=0`",
        "+0 `tc qdisc replace dev tun0 root pfifo limit 0`",
        "+0 epoll_create(1) = 5",
        "+0 %{ assert tcpi_sndbuf_limited == 0 }%",
        "+0 setsockopt(4, SOL_TCP, TCP_CORK, [1], 4) = 0",
        "+0 send(4, ..., 10, MSG_ZEROCOPY) = 10",
        "+0 write(9, ..., 10) = 10",
        "+0 write(4, NULL, 10) = 10",
        "+0 setsockopt(4) = 0",
        "+0 shutdown() = 0",
        "+0 getsockopt(4, SOL_TCP) = 0",
        "+0 fcntl(4) = 0",
        "+0 < . 1:1001(1000) ack 1 win 9\n+0 > . 1:1(0) ack 1001\n+0 close(4) = 0",
    ],
)
def test_what_is_not_modelled_is_named(text: str, tmp_path: Path) -> None:
    found = verdict(tmp_path, text + "\n")
    assert found.verdict == ("divergence" if "win 77" in text else "unsupported")
    assert found.line is not None
    assert found.line >= 9
    assert found.why


def test_sockets_have_the_numbers_of_the_script(tmp_path: Path) -> None:
    file = tmp_path / "numbers.pkt"
    text = (OPENING + "+0 write(4, ..., 10) = 10\n").replace("(3,", "(7,").replace("= 3", "= 7")
    file.write_text(text.replace("(4,", "(12,").replace("= 4", "= 12"), encoding="utf-8")
    assert replay(file, Simulated).verdict == "match"


def test_nothing_is_written_after_the_end(tmp_path: Path) -> None:
    text = (
        "+0 shutdown(4, SHUT_WR) = 0\n+0 > F. 1:1(0) ack 1\n+0 write(4, ..., 10) = -1 EPIPE (Broken pipe)\n"
    )
    assert verdict(tmp_path, text).verdict == "match"


def test_an_ack_of_what_was_never_sent_is_ignored(tmp_path: Path) -> None:
    text = "+0 < F. 1:1(0) ack 9999 win 9\n+0 < . 1:1001(1000) ack 1 win 9\n+0 > . 1:1(0) ack 1001\n"
    assert verdict(tmp_path, text).verdict == "match"


@pytest.mark.parametrize(
    ("command", "paces"),
    [
        ("qdisc replace dev tun0 root fq", True),
        ("qdisc replace dev tun0 root fq limit 100", True),
        ("qdisc replace dev tun0 root fq_codel", False),
        ("qdisc replace dev tun0 root pfifo", False),
    ],
)
def test_the_discipline_fq_paces(command: str, paces: bool) -> None:
    assert Discipline(command).paces == paces
