//! The packet capture of a run: a file that other tools open, and that tells what happened.

#![expect(clippy::disallowed_methods, reason = "the tests write and read files of their own")]

#[allow(dead_code, reason = "each test takes what it needs of the common part")]
mod common;

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use common::plan;
use engine::{Engine as _, Job, Watch};
use record::{EventKind, Tables};
use sim::Simulator;

const SCENARIO: &str = r#"
    duration = "4s"
    path.rate = "5mbit"
    path.rtt = "40ms"
    path.queue = { limit = "40p", mark_above = "15p" }
    path.loss = "1%"
    path.reverse = { rate = "500kbit", queue = "30p", loss = "1%" }
    flows = [
      { cc = "newreno" },
      { cc = "cubic", transport = { ecn = true } },
      { cc = "newreno", profile = "freebsd-9", bytes = "100kB", transport = { sack = false } },
      { cc = "newreno", profile = "ns2-linux", start = "1s" },
      { cc = "newreno", kind = "datagram", source = { rate = "500kbit" }, stop = "3s" },
    ]
"#;

/// Observation points of a dumbbell with two links.
const SENDERS: u32 = 0;
const BOTTLENECK: u32 = 2;

/// ECN-capable transport (RFC 3168, section 5).
const ECT_0: u8 = 2;

/// Runs the scenario with a capture to `name`.
fn captured(name: &str) -> (PathBuf, Tables) {
    captured_of(SCENARIO, name)
}

fn captured_of(scenario: &str, name: &str) -> (PathBuf, Tables) {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let job = Job { plan: Arc::new(plan(scenario)), seed: 1 };
    let capture = File::create(&file).unwrap();
    let simulator = Simulator { capture: Some(Box::new(capture)), ..Simulator::default() };
    let outcome = simulator.run(&job, &Watch::default()).unwrap_or_else(|failure| panic!("{failure}"));
    (file, outcome.tables)
}

fn number(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

/// The blocks of a pcapng file: type and body. The length stands before and behind each.
fn blocks(file: &[u8]) -> Vec<(u32, &[u8])> {
    let mut blocks = Vec::new();
    let mut rest = file;
    while !rest.is_empty() {
        let (kind, length) = (number(rest, 0), number(rest, 4) as usize);
        assert_eq!(length % 4, 0);
        assert_eq!(number(rest, length - 4) as usize, length);
        blocks.push((kind, &rest[8..length - 4]));
        rest = &rest[length..];
    }
    blocks
}

/// A captured packet.
struct Packet<'a> {
    interface: u32,
    nanos: u64,
    /// IP and transport header.
    header: &'a [u8],
    /// With payload.
    length: u32,
    /// Options of the block: the comment, if there is one, in readable form.
    options: &'a [u8],
}

const ENHANCED_PACKET: u32 = 6;

impl<'a> Packet<'a> {
    fn read(body: &'a [u8]) -> Self {
        let captured = number(body, 12) as usize;
        Packet {
            interface: number(body, 0),
            nanos: u64::from(number(body, 4)) << 32 | u64::from(number(body, 8)),
            header: &body[20..20 + captured],
            length: number(body, 16),
            options: &body[20 + captured.next_multiple_of(4)..],
        }
    }

    fn is_tcp(&self) -> bool {
        self.header[9] == 6
    }

    /// The number of its first byte.
    fn sequence(&self) -> u32 {
        u32::from_be_bytes(self.header[24..28].try_into().unwrap())
    }

    /// The ECN field of the IP header.
    fn ecn(&self) -> u8 {
        self.header[1] & 3
    }

    /// Bytes of TCP payload.
    fn payload(&self) -> u32 {
        self.length - 20 - 4 * u32::from(self.header[32] >> 4)
    }

    /// Of data, the address stands for the flow.
    fn source(&self) -> [u8; 4] {
        self.header[12..16].try_into().unwrap()
    }

    fn says(&self, word: &str) -> bool {
        self.options.windows(word.len()).any(|window| window == word.as_bytes())
    }
}

fn packets(file: &[u8]) -> Vec<Packet<'_>> {
    let all = blocks(file);
    assert_eq!(all[0].0, 0x0a0d_0d0a, "a section header comes first");
    all.into_iter().filter(|block| block.0 == ENHANCED_PACKET).map(|block| Packet::read(block.1)).collect()
}

#[test]
fn the_capture_holds_what_the_tables_count() {
    let (file, tables) = captured("counts.pcapng");
    let file = std::fs::read(file).unwrap();
    let packets = packets(&file);
    assert!(packets.is_sorted_by_key(|packet| packet.nanos));
    for (index, link) in tables.links.iter().enumerate() {
        let here = || packets.iter().filter(|packet| packet.interface == BOTTLENECK + index as u32);
        let count = |word: &str| here().filter(|packet| packet.says(word)).count() as u64;
        assert_eq!(here().count() as u64, link.arrived_packets, "{}", link.name);
        assert_eq!(count("dropped"), link.dropped_packets, "{}", link.name);
        assert_eq!(count("lost"), link.lost_packets, "{}", link.name);
        assert_eq!(count("marked"), link.marked_packets, "{}", link.name);
    }
    let link = &tables.links[0];
    assert!(link.dropped_packets > 0 && link.lost_packets > 0 && link.marked_packets > 0, "{link:?}");
    let udp = packets.iter().filter(|packet| packet.interface == SENDERS && !packet.is_tcp()).count() as u64;
    // What left, and the echoes that came back.
    assert!(udp > tables.flows[4].data_packets && udp <= 2 * tables.flows[4].data_packets, "{udp}");
}

#[test]
fn a_packet_that_is_dropped_while_it_waits_is_captured_again() {
    let fair = SCENARIO.replace(r#"limit = "40p""#, r#"discipline = "fq", limit = "20p""#);
    let (file, tables) = captured_of(&fair, "evictions.pcapng");
    let file = std::fs::read(file).unwrap();
    let packets = packets(&file);
    let here = || packets.iter().filter(|packet| packet.interface == BOTTLENECK);
    let count = |words: &str| here().filter(|packet| packet.says(words)).count() as u64;
    let (evicted, refused) = (count("dropped while it waited"), count("dropped: the queue is full"));
    assert!(evicted > 0 && refused > 0, "{evicted}, {refused}");
    assert_eq!(here().count() as u64, tables.links[0].arrived_packets + evicted);
    assert_eq!(tables.links[0].dropped_packets, evicted + refused);
}

#[test]
fn a_sequence_number_advances_or_is_a_retransmission() {
    let (file, tables) = captured("sequences.pcapng");
    let file = std::fs::read(file).unwrap();
    let mut next: BTreeMap<[u8; 4], u32> = BTreeMap::new();
    let mut again: BTreeMap<[u8; 4], u64> = BTreeMap::new();
    let mut capable = 0;
    let sent = |packet: &&Packet<'_>| packet.interface == SENDERS && packet.is_tcp() && packet.payload() > 0;
    for packet in packets(&file).iter().filter(sent) {
        let next = next.entry(packet.source()).or_insert(1);
        if packet.sequence() == *next {
            *next += packet.payload();
            capable += u64::from(packet.ecn() == ECT_0);
        } else {
            assert!(packet.sequence() < *next, "a hole before {}", packet.sequence());
            assert_eq!(packet.ecn(), 0, "no retransmission is ECN-capable (RFC 3168, section 6.1.5)");
            *again.entry(packet.source()).or_insert(0) += 1;
        }
    }
    let counted: Vec<_> = tables.flows[..4].iter().map(|flow| flow.retransmitted_packets).collect();
    let seen: Vec<_> = next.keys().map(|source| again.get(source).copied().unwrap_or(0)).collect();
    assert_eq!(seen, counted);
    assert!(counted.iter().sum::<u64>() > 0);
    // Of the second flow all else is.
    assert_eq!(capable, tables.flows[1].data_packets - counted[1]);
    // The third flow has an end: 100 kB.
    assert_eq!(next.into_values().nth(2), Some(100_001));
}

/// What tshark says of `file`; `None`, with the reason printed, if there is no tshark.
fn tshark(file: &Path, arguments: &[&str]) -> Option<String> {
    let checks = ["ip.check_checksum:TRUE", "tcp.check_checksum:TRUE", "udp.check_checksum:TRUE"];
    let mut command = Command::new("tshark");
    command.arg("-r").arg(file).args(arguments).args(checks.iter().flat_map(|check| ["-o", check]));
    let Ok(output) = command.output() else {
        eprintln!("skipped: tshark is not installed");
        return None;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A copy of `file` with the packets of one observation point only, as a capture on one machine would have them.
fn seen_at(file: &Path, interface: u32) -> PathBuf {
    let bytes = std::fs::read(file).unwrap();
    let mut copy = Vec::new();
    for (kind, body) in blocks(&bytes) {
        if kind != ENHANCED_PACKET || number(body, 0) == interface {
            let length = (body.len() as u32 + 12).to_le_bytes();
            copy.extend(kind.to_le_bytes());
            copy.extend(length);
            copy.extend(body);
            copy.extend(length);
        }
    }
    let name = file.with_extension(format!("{interface}.pcapng"));
    std::fs::write(&name, copy).unwrap();
    name
}

#[test]
fn tshark_finds_no_fault_in_any_packet() {
    let (file, _) = captured("faults.pcapng");
    let Some(text) = tshark(&file, &["-V"]) else { return };
    for fault in ["Malformed", "[Expert Info (Error", "incorrect", "Checksum Status: Bad"] {
        let place = text.find(fault);
        let around = place.map(|at| text[at.saturating_sub(2000)..(at + 200).min(text.len())].to_owned());
        assert_eq!(around, None, "{fault}");
    }
    for detail in ["SACK", "Congestion Experienced", "ECN-Echo: Set", "Congestion Window Reduced: Set", "User Datagram"]
    {
        assert!(text.contains(detail), "{detail}");
    }
}

#[test]
fn tshark_counts_the_retransmissions_that_were_sent_and_no_ack_of_what_was_not() {
    let (file, tables) = captured("retransmissions.pcapng");
    let sender = seen_at(&file, SENDERS);
    let count = |filter: &str| Some(tshark(&sender, &["-Y", filter])?.lines().count() as u64);
    let Some(again) = count(
        "tcp.len > 0 and (tcp.analysis.retransmission or tcp.analysis.fast_retransmission or \
         tcp.analysis.spurious_retransmission or tcp.analysis.out_of_order)",
    ) else {
        return;
    };
    let sent: u64 = tables.flows.iter().map(|flow| flow.retransmitted_packets).sum();
    let noted = tables.events.columns().kind.iter().filter(|kind| **kind == EventKind::Retransmission).count() as u64;
    assert!(noted <= sent && noted > 0);
    assert_eq!(again, sent);
    assert_eq!(count("tcp.analysis.ack_lost_segment or tcp.analysis.lost_segment"), Some(0));
}
