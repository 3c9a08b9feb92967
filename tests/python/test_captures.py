"""Captures: the TCP in them, and the causes of the losses of a recorded connection."""

import json
from struct import pack

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ackclock
from ackclock import interarrival
from ackclock.captures import connections
from ackclock.errors import InputError
from calling import refused, run

CHAIN = """
duration = "20s"
profile = "ns2-linux"
flows = [{ name = "tcp", cc = "newreno", from = "a", to = "c", transport = { receive_window = WINDOW } }]

[[links]]
name = "slow"
from = "a"
to = "b"
rate = "3mbit"
delay = "50ms"
queue = "QUEUE"
reverse = {}

[[links]]
name = "last"
from = "b"
to = "c"
rate = "5mbit"
delay = "5ms"
queue = "9p"
loss = "LOSS"
reverse = {}
"""
T = 8 * (1000 + 40) / 3e6
"""The service time of a packet on the slow link, in s: 1000 bytes of payload and 40 of headers."""


def capture(folder, capsys, queue="infinite", loss="0%", window=40, place="sender"):
    """The capture of a chain whose second link is the slowest."""
    text = CHAIN.replace("QUEUE", queue).replace("LOSS", loss).replace("WINDOW", str(window))
    (folder / "chain.toml").write_text(text)
    run(capsys, "run", folder / "chain.toml", "--pcap", f"{place}:{folder}/chain.pcapng")
    return folder / "chain.pcapng"


def of(capsys, *arguments):
    """The object that the command prints."""
    status, out, _ = run(capsys, "read", "--losses", *arguments, "--json")
    assert status == 0
    return json.loads(out)["connections"]


def test_losses_of_a_wireless_link_are_told_from_a_capture(tmp_path, capsys):
    path = capture(tmp_path, capsys, loss="1%")
    [one] = of(capsys, path, "--rate", "3mbit")
    assert one["transmission_time_s"] == pytest.approx(T)
    assert len(one["losses"]) >= 10
    times, acknowledged = connections(path).flows[0].acks()
    for loss in one["losses"]:
        # It begins with the ACK before its duplicates.
        at = int(np.flatnonzero(times == loss["time_s"])[0])
        same = np.flatnonzero(acknowledged == acknowledged[at])
        assert (same[0], same.size) == (at, loss["duplicates"] + 1)
        # Gaps are multiples of T or idle times: differences below T come only from the start of a new train.
        assert loss["rho"]["A"] <= 2
        # The largest gap is the idle time between two windows, 13 T and more, the smallest T.
        assert loss["span"] > 0.9
    wireless = [loss for loss in one["losses"] if loss["cause"] == "wireless"]
    assert len(wireless) > 0.8 * len(one["losses"])
    assert max(loss["decrease"] for loss in wireless) < 0.25
    # The queue is empty, so no RTT is in a spike once the first window has left its queue.
    assert all(loss["causes"]["spike"] == "wireless" for loss in one["losses"][1:])
    # Lost segments keep their places on the link: one leaves a gap of 2 T, or more if the link was idle.
    gaps = [loss["gap_s"] - (loss["lost_segments"] + 1) * T for loss in one["losses"]]
    assert min(gaps) == pytest.approx(0, abs=1e-6)
    assert {loss["lost_segments"] for loss in one["losses"]} == {1, 2}


def test_losses_of_a_full_queue_are_congestion(tmp_path, capsys):
    [one] = of(capsys, capture(tmp_path, capsys, queue="40p", window=1000), "--rate", "3mbit")
    # The link never idles, so all gaps are T: no span, and half of the window goes, as in Reno.
    assert one["losses"]
    assert all(loss["cause"] == "congestion" for loss in one["losses"])
    # The next segment takes the place of the dropped one, and comes when the queue is full.
    assert all(loss["gap_s"] == pytest.approx(T) for loss in one["losses"])
    others = {"biaz": "congestion", "spike": "congestion", "zigzag": "congestion"}
    assert all(loss["causes"] == others for loss in one["losses"])
    assert [loss["decrease"] for loss in one["losses"]] == pytest.approx([0.5] * len(one["losses"]), abs=1e-6)


def test_without_a_rate_the_gaps_between_acks_give_it(tmp_path, capsys):
    [one] = of(capsys, capture(tmp_path, capsys, loss="1%"))
    assert one["transmission_time_s"] == pytest.approx(T, rel=1e-6)


def test_a_capture_has_the_acks_that_the_sender_saw(tmp_path, capsys):
    path = capture(tmp_path, capsys, loss="1%", place="all")
    simulated = ackclock.simulate(tmp_path / "chain.toml")
    [one] = connections(path).flows
    times, acknowledged = one.acks()
    assert (one.sender, one.receiver) == ("10.0.0.1:49152", "10.128.0.1:5001")
    assert one.data.size == simulated.flows["data_packets"][0].as_py()
    assert np.all(np.diff(times) >= 0)
    # The receiver's interface has the same ACKs earlier, so that no later one is missing from them.
    [other] = connections(path, interface=1).flows
    assert other.acks()[1][-1] >= acknowledged[-1]


def test_the_three_definitions_of_rho_are_worked_out_together():
    # Gaps T, 2 T, 2.5 T and 4 T: the differences below T are 0.5 T alone, one of six.
    found = interarrival.differentiate([1.0, 2.0, 2.5, 4.0], 1.0)
    assert found.rho == {"A": 1.0, "B": 0.5, "C": pytest.approx(1 / 6)}
    assert found.span == 0.75
    # N_s = 2/(1 + exp(-1)) - 1 = 0.4621, mu = 1 - 0.75 + 0.4621 = 0.7121.
    assert found.decrease == pytest.approx(0.35605, abs=1e-5)
    assert found.as_json()["cause"] == "congestion"
    # By C the noise is 2/(1 + exp(-1/6)) - 1 = 0.0831, mu = 0.3331.
    assert interarrival.differentiate([1.0, 2.0, 2.5, 4.0], 1.0, definition="C").wireless


def ethernet(ip, vlan=b""):
    return b"\x01" * 12 + vlan + (b"\x08\x00" if ip[0] >> 4 == 4 else b"\x86\xdd") + ip


TCP = pack("!HHIIBBHHH", 1234, 80, 7, 9, 5 << 4, 0b1_0000, 100, 0, 0)


@pytest.mark.parametrize("vlan", [b"", b"\x81\x00\x00\x05"])
def test_headers_of_ethernet_and_both_versions_of_ip_are_read(tmp_path, vlan):
    # 20 bytes of IP, 20 of TCP, 1000 of payload, of which none was captured.
    four = pack("!BBHHHBBH4s4s", 0x45, 0, 1040, 0, 0, 64, 6, 0, bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2]))
    six = pack("!IHBB16s16s", 6 << 28, 1020, 6, 64, bytes(15) + b"\x01", bytes(15) + b"\x02")
    frames = [(0.0, ethernet(header + TCP, vlan)) for header in (four, six)]
    seen = connections(classic(tmp_path / "c.pcap", frames, link=1)).flows
    ends = [("10.0.0.1:1234", "10.0.0.2:80", 1040), ("::1:1234", "::2:80", 1060)]
    for one, (here, there, length) in zip(seen, ends, strict=True):
        assert (one.sender, one.receiver, one.packet_bytes) == (here, there, length)
        fields = ("sequence", "acknowledged", "flags", "payload", "window", "has_sack")
        assert one.data[list(fields)].tolist() == [(7, 9, 0b1_0000, 1000, 100, False)]


def test_what_is_no_tcp_segment_is_passed_over(tmp_path):
    datagram = pack("!BBHHHBBH4s4s", 0x45, 0, 1040, 0, 0, 64, 17, 0, bytes(4), bytes(4)) + TCP
    fragment = pack("!BBHHHBBH4s4s", 0x45, 0, 1040, 0, 5, 64, 6, 0, bytes(4), bytes(4)) + TCP
    frames = [(0.0, one) for one in (datagram, fragment, datagram[:9], b"", b"\x00", data(1)[:35])]
    assert not connections(classic(tmp_path / "c.pcap", frames)).flows


HOP_BY_HOP = b"\x06\x00\xc2\x04" + pack("!I", 69_028)
"""The options of a packet of IPv6 above 64 KiB (RFC 2675): 8 bytes of them, 20 of TCP, 69,000 of payload."""


@pytest.mark.parametrize(
    "header",
    [
        pack("!BBHHHBBH4s4s", 0x45, 0, 0, 0, 0, 64, 6, 0, bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2])),
        pack("!IHBB16s16s", 6 << 28, 0, 6, 64, bytes(15) + b"\x01", bytes(15) + b"\x02"),
        pack("!IHBB16s16s", 6 << 28, 0, 0, 64, bytes(15) + b"\x01", bytes(15) + b"\x02") + HOP_BY_HOP,
    ],
    ids=["IPv4", "IPv6", "IPv6 with hop-by-hop options"],
)
def test_a_packet_that_the_card_will_cut_has_the_length_of_its_frame(tmp_path, header):
    whole = ethernet(header + TCP)
    path = classic(tmp_path / "c.pcap", [(0.0, whole)], link=1)
    # The frame had 69,000 bytes of payload, of which none was captured.
    text = bytearray(path.read_bytes())
    text[36:40] = pack("<I", len(whole) + 69_000)
    path.write_bytes(text)
    [one] = connections(path).flows
    assert (one.data["payload"].tolist(), one.packet_bytes) == ([69_000], len(whole) - 14 + 69_000)


def test_headers_before_tcp_in_ipv6_are_passed(tmp_path):
    options = b"\x3c\x00" + bytes(6) + b"\x06\x01" + bytes(14)
    six = pack("!IHBB16s16s", 6 << 28, 24 + 1020, 0, 64, bytes(15) + b"\x01", bytes(15) + b"\x02")
    [one] = connections(classic(tmp_path / "c.pcap", [(0.0, six + options + TCP)])).flows
    assert (one.sender, one.data["payload"].tolist()) == ("::1:1234", [1000])


def test_acknowledgement_numbers_go_on_after_they_have_wrapped(tmp_path):
    packets = [(0.0, data(2**32 - 2000, 1000)), (0.1, data(2**32 - 1000, 1500))]
    numbers = (2**32 - 1000, 0, 2**32 - 1000, 500)
    packets += [(1.0 + place, ack(number, 5000)) for place, number in enumerate(numbers)]
    [one] = connections(classic(tmp_path / "c.pcap", packets)).flows
    times, acknowledged = one.acks()
    # The third is older than the second: it was overtaken.
    assert times.tolist() == [1.0, 2.0, 4.0]
    assert acknowledged.tolist() == [0.0, 1000.0, 1500.0]
    assert (one.begin.tolist(), one.end.tolist(), one.acked.tolist()) == (
        [0, 1000],
        [1000, 2500],
        [1000, 2000, 1000, 2500],
    )


def test_sack_blocks_are_places_in_the_data(tmp_path):
    two = pack("!BBBBIIII", 1, 1, 5, 18, 2001, 3001, 4001, 5001)
    packets = [(0.0, data(1)), (0.1, ack(1001, 9, two)), (0.2, ack(1001, 9)), (0.3, ack(1001, 9, SACK_BLOCK))]
    [one] = connections(classic(tmp_path / "c.pcap", packets)).flows
    assert one.answers["has_sack"].tolist() == [True, False, True]
    assert one.blocks[["packet", "low", "high", "number"]].tolist() == [
        (1, 2000, 3000, 0),
        (1, 4000, 5000, 1),
        (3, 3000, 4000, 0),
    ]


def test_a_port_that_is_used_again_is_another_connection(tmp_path):
    opening = [syn(A, B, (40000, 5001), number) for number in (0, 0, 70_000)]
    packets = [(0.0, opening[0]), (0.1, opening[1]), (0.2, data(1)), (0.3, data(1001))]
    packets += [(1.0, opening[2]), (1.1, data(70_001))]
    seen = connections(classic(tmp_path / "c.pcap", packets)).flows
    assert [(one.data.size, one.openings[0].sequence) for one in seen] == [(2, 0), (1, 70_000)]
    [first, _] = seen
    assert (first.openings[0].segment, first.openings[0].scale, first.openings[1]) == (1460, 7, None)


@pytest.mark.parametrize("length", [3, 5, 18])
def test_an_option_of_a_syn_with_a_wrong_length_is_none(tmp_path, capsys, length):
    options = bytes([2, length]) + b"\xff" * 16 + bytes([3, length]) + b"\x07" * 16
    packets = [
        (0.0, syn(A, B, (40000, 5001), 0)),
        (0.1, syn(B, A, (5001, 40000), 0, options)),
        (0.2, data(1)),
    ]
    path = classic(tmp_path / "c.pcap", packets)
    assert run(capsys, "read", path)[0] == 0
    [one] = connections(path).flows
    assert (one.openings[1].segment, one.openings[1].scale) == (None, None)


def test_what_is_no_capture_is_refused_in_a_sentence(tmp_path, capsys):
    (tmp_path / "text.pcapng").write_text("this is no capture, it is a text")
    assert "is no whole capture in pcapng or pcap" in refused(capsys, "read", tmp_path / "text.pcapng")
    (tmp_path / "text.log").write_text("this is no capture, it is a text")
    assert "is text, and no log of a kind that is read: " in refused(capsys, "read", tmp_path / "text.log")
    (tmp_path / "a.toml").write_text("duration = '1s'")
    assert refused(capsys, "read", tmp_path / "a.toml").endswith(
        f"`ackclock run {tmp_path}/a.toml` runs a scenario"
    )
    assert "No such file" in refused(capsys, "read", tmp_path / "none.pcapng")
    path = capture(tmp_path, capsys)
    assert "--interface 9: the capture has" in refused(capsys, "read", "--losses", path, "--interface", 9)
    assert "--definition D: must be one of A, B, C" in refused(
        capsys, "read", "--losses", path, "--definition", "D"
    )
    assert "--rate 0mbit: must be above 0" in refused(capsys, "read", "--losses", path, "--rate", "0mbit")
    assert (
        refused(capsys, "read", "--losses", path, "--rate", "x")
        == "--rate: `x` is not a rate: write it like `10mbit`"
    )
    assert "--sensitivity 0: must be above 0" in refused(capsys, "read", "--losses", path, "--sensitivity", 0)


A, B = bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2])


def packet(source, destination, ports, sequence, acknowledged, window, payload=0, options=b""):
    """A packet of IPv4 with a TCP segment."""
    offset = (5 + len(options) // 4) << 12 | 0b1_0000
    tcp = pack("!HHIIHHHH", *ports, sequence, acknowledged, offset, window, 0, 0) + options + bytes(payload)
    head = pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(tcp), 0, 0x4000, 64, 6, 0, source, destination)
    return head + tcp


OF_LINUX = b"\x02\x04\x05\xb4\x01\x03\x03\x07"
"""Options of a SYN: segment size, window scale."""


def syn(source, destination, ports, sequence, options=OF_LINUX):
    whole = packet(source, destination, ports, sequence, 0, 64240, 0, options)
    return whole[:33] + b"\x02" + whole[34:]


def data(sequence, size=1000):
    return packet(A, B, (40000, 5001), sequence, 1, 60000, size)


def ack(number, window, options=b""):
    return packet(B, A, (5001, 40000), 1, number, window, 0, options)


def classic(path, packets, link=101, order="<", magic=0xA1B2C3D4, unit=1e-6, most=65535):
    """A capture as ``tcpdump -w`` writes it, with ``-s`` ``most``."""
    out = pack(f"{order}IHHiIII", magic, 2, 4, 0, 0, most, link)
    for time, one in packets:
        seconds, fraction = int(time), round((time % 1) / unit)
        kept = one[:most]
        out += pack(f"{order}IIII", 1_000_000_000 + seconds, fraction, len(kept), len(one)) + kept
    path.write_bytes(out)
    return path


SACK_BLOCK = pack("!BBBBII", 1, 1, 5, 10, 3001, 4001)
ANSWERS = {
    "the window closes and probes are answered": ([5000, 0, 0, 0, 0, 0], 0, b"", 0),
    "the application reads": ([5000, 6000, 7000, 8000, 9000, 10000], 1000, b"", 0),
    "duplicates": ([5000] * 6, 1000, b"", 5),
    "duplicates with SACK and a growing window": ([5000, 6000, 7000, 8000, 9000, 10000], 1000, SACK_BLOCK, 5),
}


@pytest.mark.parametrize(("windows", "outstanding", "options", "duplicates"), ANSWERS.values(), ids=ANSWERS)
def test_duplicate_acks_are_those_of_rfc_5681(tmp_path, windows, outstanding, options, duplicates):
    packets = [(0.0, data(1)), (0.001, data(1001)), (0.02, ack(1001, 5000)), (0.021, ack(2001, windows[0]))]
    packets += [(0.022, data(2001, outstanding))] if outstanding else []
    packets += [(0.03 + 0.001 * k, ack(2001, window, options)) for k, window in enumerate(windows[1:])]
    [one] = connections(classic(tmp_path / "c.pcap", packets)).flows
    times, acknowledged = one.acks()
    assert acknowledged.tolist() == [0.0, 1000.0] + [1000.0] * duplicates
    assert times[:2] == pytest.approx([0.02, 0.021])
    found = interarrival.duplicate_ack_times(times, acknowledged)
    assert [run.size - 1 for run in found] == ([duplicates] if duplicates else [])


@pytest.mark.parametrize(
    ("order", "magic", "unit"),
    [("<", 0xA1B2C3D4, 1e-6), (">", 0xA1B2C3D4, 1e-6), ("<", 0xA1B23C4D, 1e-9), (">", 0xA1B23C4D, 1e-9)],
)
def test_a_classic_capture_is_read(tmp_path, order, magic, unit):
    packets = [(0.25, data(1)), (0.5, ack(1001, 5000)), (3.75, data(1001)), (4.125, ack(2001, 5000))]
    path = classic(tmp_path / "c.pcap", packets, order=order, magic=magic, unit=unit)
    [one] = connections(path).flows
    assert one.acks()[0] == pytest.approx([0.25, 3.875], abs=1e-12)
    with pytest.raises(InputError, match="--interface 1: the capture has 1"):
        connections(path, interface=1)


ETHERNET, WIRELESS = b"\x02" * 12, b"\x88\x01" + bytes(24)
FRAMES = {
    "Ethernet": (1, ETHERNET + b"\x08\x00"),
    "two VLANs": (1, ETHERNET + b"\x88\xa8\x00\x05\x81\x00\x00\x06\x08\x00"),
    "PPPoE": (1, ETHERNET + b"\x88\x64\x11\x00\x00\x01\x00\x00\x00\x21"),
    "PPP": (9, b"\x00\x21"),
    "PPP with a short protocol": (9, b"\x21"),
    "PPP of a serial line": (50, b"\xff\x03\x00\x21"),
    "raw": (12, b""),
    "loopback": (0, b"\x02\x00\x00\x00"),
    "cooked": (113, bytes(14) + b"\x08\x00"),
    "cooked, version 2": (276, b"\x08\x00" + bytes(18)),
    "802.11": (105, WIRELESS + b"\xaa\xaa\x03\x00\x00\x00\x08\x00"),
    "radiotap": (127, b"\x00\x00\x0a\x00" + bytes(6) + WIRELESS + b"\xaa\xaa\x03\x00\x00\x00\x08\x00"),
}


@pytest.mark.parametrize(("link", "header"), FRAMES.values(), ids=FRAMES)
def test_frames_of_every_link_carry_packets(tmp_path, link, header):
    path = classic(tmp_path / "c.pcap", [(0.0, header + data(1)), (1.0, header + ack(1001, 9))], link=link)
    [one] = connections(path).flows
    assert (one.sender, one.packet_bytes, one.answers.size) == ("10.0.0.1:40000", 1040, 1)
    shorter = [(0.0, header[:cut]) for cut in range(len(header))]
    assert not connections(classic(tmp_path / "short.pcap", shorter, link=link)).flows


def test_an_unknown_link_is_one_sentence(tmp_path, capsys):
    said = refused(capsys, "read", classic(tmp_path / "c.pcap", [(0.0, data(1))], link=147))
    assert said.startswith(f"{tmp_path / 'c.pcap'}: link type 147: must be one of 0, 1, 9")


def test_a_damaged_length_is_one_sentence(tmp_path, capsys):
    for damaged in (10**6 + 4, 0xFFFFFFFC):
        text = capture(tmp_path, capsys).read_bytes()
        second = int.from_bytes(text[4:8], "little")
        (tmp_path / "damaged.pcapng").write_bytes(
            text[: second + 4] + damaged.to_bytes(4, "little") + text[second + 8 :]
        )
        said = refused(capsys, "read", tmp_path / "damaged.pcapng")
        assert "is no whole capture in pcapng or pcap" in said
    record = classic(tmp_path / "c.pcap", [(0.0, data(1))])
    record.write_bytes(record.read_bytes()[:32] + b"\xff\xff\xff\x7f" + record.read_bytes()[36:])
    assert "is no whole capture" in refused(capsys, "read", record)


def two_formats(folder):
    """One capture as pcap and as pcapng, and the bytes of its head and of a packet in each."""
    packets = [(0.25 * number, data(1 + 20 * number, 20)) for number in range(4)]
    old = classic(folder / "c.pcap", packets)
    section = pack("<IIIHHqI", 0x0A0D0D0A, 28, 0x1A2B3C4D, 1, 0, -1, 28)
    text = section + pack("<IIHHII", 1, 20, 101, 0, 0, 20)
    head = len(text)
    for time, one in packets:
        ticks = round(time * 1e6)
        text += (
            pack("<IIIIIII", 6, 32 + len(one), 0, 0, ticks, len(one), len(one))
            + one
            + pack("<I", 32 + len(one))
        )
    (folder / "c.pcapng").write_bytes(text)
    return [(old, 24, 16 + len(packets[0][1])), (folder / "c.pcapng", head, 32 + len(packets[0][1]))]


def test_a_capture_that_ends_within_a_packet_is_read_up_to_there(tmp_path, capsys):
    for path, head, size in two_formats(tmp_path):
        text = path.read_bytes()
        for length in range(len(text) + 1):
            path.write_bytes(text[:length])
            whole, rest = divmod(length - head, size)
            if whole >= 1:
                seen = connections(path)
                assert [one.data.size for one in seen.flows] == [whole]
                assert bool(seen.remark) == (rest > 0)
            elif rest and length > head:
                with pytest.raises(InputError, match=r"is no whole capture in .*: it ends before"):
                    connections(path)
        path.write_bytes(text[:-7])
        status, _, err = run(capsys, "read", path)
        assert (status, err.count("ends within a packet, as a killed tcpdump leaves it")) == (0, 1)


def test_sections_and_interfaces_of_pcapng_have_their_own_units(tmp_path):
    def block(kind, body, order):
        body += bytes(-len(body) % 4)
        return pack(f"{order}II", kind, 12 + len(body)) + body + pack(f"{order}I", 12 + len(body))

    def section(order, resolution, ticks):
        text = block(0x0A0D0D0A, pack(f"{order}IHHq", 0x1A2B3C4D, 1, 0, -1), order)
        for link in (1, 101):
            option = pack(f"{order}HHBxxxHH", 9, 1, resolution, 0, 0)
            text += block(1, pack(f"{order}HHI", link, 0, 0) + option, order)
        for of, time in ((1, ticks[0]), (0, 0), (1, ticks[1])):
            one = data(1 + 1000 * time)
            text += block(6, pack(f"{order}IIIII", of, 0, time, len(one), len(one)) + one, order)
        return text

    path = tmp_path / "c.pcapng"
    # Milliseconds, then quarters of a second.
    path.write_bytes(section("<", 3, (500, 750)) + section(">", 0x82, (4, 5)))
    [one] = connections(path, interface=1).flows
    assert one.data["time"].tolist() == [0.0, 0.25, 0.5, 0.75]


@settings(max_examples=300)
@given(st.data())
def test_no_bytes_end_in_anything_but_a_sentence(tmp_path_factory, draw):
    folder = tmp_path_factory.mktemp("mutations")
    path, _, _ = draw.draw(st.sampled_from(two_formats(folder)))
    text = bytearray(path.read_bytes())
    for _ in range(draw.draw(st.integers(1, 6))):
        place = draw.draw(st.integers(0, len(text) - 1))
        text[place] = draw.draw(st.integers(0, 255) | st.sampled_from([0, 0x7F, 0xFF]))
    path.write_bytes(text[: draw.draw(st.integers(0, len(text)))])
    try:
        for one in connections(path).flows:
            one.acks()
            one.events()
    except InputError:
        pass
