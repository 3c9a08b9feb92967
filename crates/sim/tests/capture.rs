//! The packet capture of a run: a file that other tools open, with the events of the run.

#![expect(clippy::disallowed_methods, reason = "the tests write and read files of their own")]

mod common;

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use common::plan;
use engine::{CaptureTo, Engine as _, Job, Watch};
use record::pcapng::Point;
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

/// Runs the scenario with a capture of all places to `name`.
fn captured(name: &str) -> (PathBuf, Tables) {
    captured_of(SCENARIO, Point::All, name)
}

fn captured_of(scenario: &str, point: Point, name: &str) -> (PathBuf, Tables) {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let plan = plan(scenario);
    let job = Job { seed: plan.seed, plan: Arc::new(plan) };
    let capture = File::create(&file).unwrap();
    let capture = CaptureTo { writer: Box::new(capture), point };
    let simulator = Simulator { capture: Some(capture), ..Simulator::default() };
    let outcome = simulator.run(&job, &Watch::default()).unwrap_or_else(|failure| panic!("{failure}"));
    (file, outcome.tables)
}

fn number(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

/// The blocks of a pcapng file: type and body. The length is before and behind each.
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

    fn is_pushed(&self) -> bool {
        self.header[33] & 8 != 0
    }

    /// Bytes of TCP payload.
    fn payload(&self) -> u32 {
        self.length - 20 - 4 * u32::from(self.header[32] >> 4)
    }

    /// The address, which identifies the flow of data.
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
        // The packets that open two of the four connections are no part of the simulation: two there, one back. Nor
        // are those that close the third.
        assert_eq!(here().count() as u64, link.arrived_packets + [6, 3][index], "{}", link.name);
        assert_eq!(count("dropped"), link.dropped_packets, "{}", link.name);
        assert_eq!(count("lost"), link.lost_packets, "{}", link.name);
        assert_eq!(count("marked"), link.marked_packets, "{}", link.name);
    }
    let link = &tables.links[0];
    assert!(link.dropped_packets > 0 && link.lost_packets > 0 && link.marked_packets > 0, "{link:?}");
    let udp = packets.iter().filter(|packet| packet.interface == SENDERS && !packet.is_tcp()).count() as u64;
    // The datagrams that left, and the echoes that came back.
    assert!(udp > tables.flows[4].sender.data_packets && udp <= 2 * tables.flows[4].sender.data_packets, "{udp}");
}

#[test]
fn a_packet_that_is_dropped_while_it_waits_is_captured_again() {
    let fair = SCENARIO.replace(r#"limit = "40p""#, r#"discipline = "fq", limit = "20p""#);
    let (file, tables) = captured_of(&fair, Point::All, "evictions.pcapng");
    let file = std::fs::read(file).unwrap();
    let packets = packets(&file);
    let here = || packets.iter().filter(|packet| packet.interface == BOTTLENECK);
    let count = |words: &str| here().filter(|packet| packet.says(words)).count() as u64;
    let (evicted, refused) = (count("dropped while it waited"), count("dropped: the queue is full"));
    assert!(evicted > 0 && refused > 0, "{evicted}, {refused}");
    assert_eq!(here().count() as u64, tables.links[0].arrived_packets + evicted + 6);
    assert_eq!(tables.links[0].dropped_packets, evicted + refused);
}

#[test]
fn the_end_of_a_train_and_of_what_is_written_is_pushed() {
    let scenario = r#"
        duration = "2s"
        path = { rate = "5mbit", rtt = "40ms", queue = "100p" }
        flows = [{ cc = "newreno" }, { cc = "newreno", profile = "freebsd-9", bytes = "14000B" }]
    "#;
    let (file, _) = captured_of(scenario, Point::Sender, "pushed.pcapng");
    let file = std::fs::read(file).unwrap();
    let packets = packets(&file);
    let of =
        |flow: u8| packets.iter().filter(move |packet| packet.source() == [10, 0, 0, flow] && packet.payload() > 0);
    // A train is the data of a millisecond at twice the rate of the window, two segments at least.
    let pushed: Vec<_> = of(1).take(6).map(Packet::is_pushed).collect();
    assert_eq!(pushed, [false, true, false, true, false, true]);
    // 9 segments of 1448 bytes and one of 968.
    assert_eq!(of(2).filter(|packet| packet.is_pushed()).map(Packet::payload).collect::<Vec<_>>(), [968]);
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
    let counted: Vec<_> = tables.flows[..4].iter().map(|flow| flow.sender.retransmitted_packets).collect();
    let seen: Vec<_> = next.keys().map(|source| again.get(source).copied().unwrap_or(0)).collect();
    assert_eq!(seen, counted);
    assert!(counted.iter().sum::<u64>() > 0);
    // All else of the second flow is ECN-capable.
    assert_eq!(capable, tables.flows[1].sender.data_packets - counted[1]);
    // The third flow has an end: 100 kB.
    assert_eq!(next.into_values().nth(2), Some(100_001));
}

/// Output of tshark on `file`, or `None`, with the reason printed, if there is no tshark.
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
    let sent: u64 = tables.flows.iter().map(|flow| flow.sender.retransmitted_packets).sum();
    let noted = tables.events.columns().kind.iter().filter(|kind| **kind == EventKind::Retransmission).count() as u64;
    assert!(noted <= sent && noted > 0);
    assert_eq!(again, sent);
    assert_eq!(count("tcp.analysis.ack_lost_segment or tcp.analysis.lost_segment"), Some(0));
}

/// Notes of tshark on each packet of `file`: the number of the packet, its first byte, and the notes.
fn notes(file: &Path) -> Option<Vec<(usize, [String; 3])>> {
    let fields = ["frame.number", "ip.src", "tcp.seq_raw", "_ws.expert.message"];
    let fields = fields.iter().flat_map(|field| ["-e", field]);
    let text = tshark(file, &["-Y", "_ws.expert", "-T", "fields"].into_iter().chain(fields).collect::<Vec<_>>())?;
    let row = |line: &str| {
        let mut cells = line.split('\t').map(str::to_owned);
        let number = cells.next().unwrap().parse().unwrap();
        (number, [(); 3].map(|()| cells.next().unwrap()))
    };
    Some(text.lines().map(row).collect())
}

#[test]
fn a_capture_is_what_the_sender_sees_and_tshark_notes_nothing_that_is_not_so() {
    let (file, tables) = captured_of(SCENARIO, Point::Sender, "sender.pcapng");
    let Some(notes) = notes(&file) else { return };
    let bytes = std::fs::read(&file).unwrap();
    let packets = packets(&bytes);
    assert!(packets.is_sorted_by_key(|packet| packet.nanos) && packets.iter().all(|packet| packet.interface == 0));
    let (mut opened, mut closed, mut again) = (0, 0, 0);
    for (number, [source, sequence, note]) in &notes {
        let packet = &packets[number - 1];
        let mut earlier = packets[..number - 1].iter().filter(|other| other.source() == packet.source());
        match note.as_str() {
            note if note.starts_with("Connection establish") => opened += 1,
            note if note.starts_with("Connection finish") => closed += 1,
            note if note.starts_with("Duplicate ACK") => {
                assert!(earlier.any(|other| other.header[28..32] == packet.header[28..32]), "{number}: {note}");
            }
            // Up to version 4.0 tshark takes what leaves less than the RTT of the handshake after the newest segment
            // for out of order, also in a capture of a real sender. It is a retransmission nevertheless.
            note if note.contains("retransmission") || note.contains("out-of-order") => {
                again += 1;
                assert!(earlier.any(|other| other.sequence() == packet.sequence()), "{number}: {source} {sequence}");
            }
            note => panic!("{number}: {note}"),
        }
    }
    // The SYN and the SYN-ACK of four connections.
    assert_eq!(opened, 8);
    // The FINs of the one that has an end.
    assert_eq!(closed, 2);
    assert_eq!(again, tables.flows.iter().map(|flow| flow.sender.retransmitted_packets).sum::<u64>());
}

#[test]
fn a_connection_is_opened_before_its_first_data() {
    const PATH: &str = r#"duration = "2s"
        phase_noise = false
        path.rate = "5mbit"
        path.rtt = "40ms"
        path.queue = "50p"
        flows = [
          { cc = "newreno", start = "1s", transport = { ecn = "accurate", receive_window = 100 } },
          { cc = "newreno", profile = "freebsd-9", stop = "500ms" },
        ]"#;
    let (file, _) = captured_of(PATH, Point::Sender, "opening.pcapng");
    let bytes = std::fs::read(&file).unwrap();
    let packets = packets(&bytes);
    // The run begins a day into 1970.
    let ms = |packet: &Packet<'_>| packet.nanos as i64 / 1_000_000 - 86_400_000;
    let word = |packet: &Packet<'_>, at: usize| u32::from_be_bytes(packet.header[at..at + 4].try_into().unwrap());
    let of = |flow: u8| {
        let mine = packets.iter().filter(|packet| packet.header[15] == flow || packet.header[19] == flow);
        mine.take(4).map(|packet| (ms(packet), packet.header[32] & 1, packet.header[33])).collect::<Vec<_>>()
    };
    // With a handshake data leave an RTT after the start. AE, CWR and ECE with the SYN ask for accurate ECN, CWR alone
    // agrees and confirms, and ACE counts from 5.
    assert_eq!(of(1), [(1000, 1, 0xc2), (1040, 0, 0x92), (1040, 0, 0x90), (1040, 1, 0x50)]);
    // Without one the connection is open as the flow starts.
    assert_eq!(of(2), [(-40, 0, 0x02), (0, 0, 0x12), (0, 0, 0x10), (0, 0, 0x10)]);
    let first: Vec<_> = packets.iter().filter(|packet| packet.header[15] == 1 || packet.header[19] == 1).collect();
    // 144,800 bytes of window are shifted by two bits. The announced largest segment does not subtract options.
    assert_eq!(first[1].header[40..44], [2, 4, 5, 0xb4]);
    assert_eq!(first[1].header[56..60], [1, 3, 3, 2]);
    let ack = first.iter().find(|packet| packet.source()[1] == 128 && packet.header[33] & 2 == 0).unwrap();
    assert_eq!(u16::from_be_bytes(ack.header[34..36].try_into().unwrap()), 36_200);
    // Data echo the SYN-ACK, which left 20 ms before, and then the ACKs.
    assert_eq!((word(first[3], 44), word(first[3], 48)), (86_401_040, 86_401_020));
    let later = first.iter().find(|packet| packet.payload() > 0 && packet.nanos >= ack.nanos).unwrap();
    assert_eq!(word(later, 48), word(ack, 44));
}

#[test]
fn a_connection_closes_when_all_is_acknowledged() {
    const PATH: &str = r#"
        duration = "1s"
        phase_noise = false
        path = { rate = "5mbit", rtt = "40ms", queue = "50p" }
        flows = [{ cc = "newreno", bytes = "14000B" }]
    "#;
    let closing = |point: Point, name: &str| {
        let (file, _) = captured_of(PATH, point, name);
        let bytes = std::fs::read(&file).unwrap();
        let seen = packets(&bytes);
        let word = |packet: &Packet<'_>, at: usize| u32::from_be_bytes(packet.header[at..at + 4].try_into().unwrap());
        let last = seen[seen.len() - 4..].iter();
        last.map(|packet| (packet.nanos, packet.header[33], word(packet, 24), word(packet, 28))).collect::<Vec<_>>()
    };
    // The last ACK, FIN, FIN and ACK: flags, first byte and acknowledged byte.
    let expected = [(0x10, 1, 14_001), (0x11, 14_001, 1), (0x11, 1, 14_002), (0x10, 14_002, 2)];
    let at_sender = closing(Point::Sender, "closing-sender.pcapng");
    assert_eq!(at_sender.iter().map(|packet| (packet.1, packet.2, packet.3)).collect::<Vec<_>>(), expected);
    let after = |packets: &[(u64, u8, u32, u32)]| packets.iter().map(|p| p.0 - packets[0].0).collect::<Vec<_>>();
    assert_eq!(after(&at_sender), [0, 0, 40_000_000, 40_000_000]);
    // The last ACK takes 20 ms to the sender.
    let at_receiver = closing(Point::Receiver, "closing-receiver.pcapng");
    assert_eq!(at_receiver.iter().map(|packet| (packet.1, packet.2, packet.3)).collect::<Vec<_>>(), expected);
    assert_eq!(after(&at_receiver), [0, 40_000_000, 40_000_000, 80_000_000]);
}

#[test]
fn every_place_sees_the_opening_when_it_passes() {
    const PATH: &str = r#"
        duration = "1s"
        path = { rate = "5mbit", rtt = "40ms", queue = "50p", reverse = { rate = "1mbit" } }
        flows = [{ cc = "newreno" }]
    "#;
    let opening = |point: Point, name: &str| {
        let (file, _) = captured_of(PATH, point, name);
        let bytes = std::fs::read(&file).unwrap();
        let first =
            packets(&bytes).into_iter().map(|packet| (packet.nanos / 1_000_000 - 86_400_000, packet.header[33]));
        first.take(3).collect::<Vec<_>>()
    };
    assert_eq!(opening(Point::Sender, "at-sender.pcapng"), [(0, 0x02), (40, 0x12), (40, 0x10)]);
    assert_eq!(opening(Point::Receiver, "at-receiver.pcapng"), [(20, 0x02), (20, 0x12), (60, 0x10)]);
    // Both ways.
    let (file, tables) = captured_of(PATH, Point::Bottleneck, "at-bottleneck.pcapng");
    let bytes = std::fs::read(&file).unwrap();
    let seen = packets(&bytes);
    assert!(seen.iter().all(|packet| packet.interface == 0));
    let data = seen.iter().filter(|packet| packet.payload() > 0).count() as u64;
    let acks = seen.iter().filter(|packet| packet.source()[1] == 128).count() as u64;
    assert_eq!([data + 2, acks], [tables.links[0].arrived_packets, tables.links[1].arrived_packets]);
    assert_eq!(seen.len() as u64, data + acks + 2);
    let all = opening(Point::All, "at-all.pcapng");
    assert_eq!(all[0], (0, 0x02));
}

/// TSval and TSecr.
fn timestamps(packet: &Packet<'_>) -> (u32, u32) {
    let word = |at: usize| u32::from_be_bytes(packet.header[at..at + 4].try_into().unwrap());
    (word(44), word(48))
}

#[test]
fn timestamps_are_ticks_of_the_clock_of_the_host() {
    // The RTT of 61.2 ms is 61 or 62 whole milliseconds, by the phase of the clock. The FIN leaves on the ACK of all.
    let mut shown = Vec::new();
    for seed in 1..=20 {
        let text = format!(
            "duration = '1s'\nseed = {seed}\npath = {{ rate = '10mbit', rtt = '60ms', queue = '84p' }}\n\
             flows = [{{ cc = 'newreno', bytes = '1448B', transport = {{ clock_tick = '1ms', timer_tick = '0s' }} }}]"
        );
        let (file, tables) = captured_of(&text, Point::Sender, "phase.pcapng");
        let bytes = std::fs::read(&file).unwrap();
        let packets = packets(&bytes);
        let [.., ack, fin, _, _] = &packets[..] else { panic!("no end") };
        let by_timestamps = timestamps(fin).0 - timestamps(ack).1;
        assert_eq!(f64::from(by_timestamps), tables.flows[0].rtt_min_ms, "seed {seed}");
        shown.push(by_timestamps);
    }
    shown.sort_unstable();
    shown.dedup();
    assert_eq!(shown, [61, 62]);
}
