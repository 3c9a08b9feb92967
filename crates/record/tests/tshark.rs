//! Captures as tshark sees them.

#![expect(clippy::disallowed_methods, reason = "the tests write and read files of their own")]

use std::path::Path;
use std::process::Command;

use record::pcapng::{Capture, Endpoint, TcpHeader, UdpHeader};
use units::{Ecn, Time};

/// Every kind of packet, at two observation points, with right and with odd lengths.
fn capture() -> Vec<u8> {
    let mut capture = Capture::new(Vec::new(), &["bottleneck", "bottleneck:reverse"]).unwrap();
    let data = TcpHeader {
        source: Endpoint::sender(7),
        destination: Endpoint::receiver(7),
        sequence: 1,
        acknowledgment: Some(1),
        ecn_echo: false,
        push: false,
        finish: false,
        window_reduced: true,
        window: 0xffff,
        timestamps: Some((10, 20)),
        sack: &[],
        ecn: Ecn::Ect0,
        opening: None,
        accurate: None,
        payload: 1448,
    };
    for index in 0..4 {
        let header = TcpHeader { sequence: 1 + 1448 * index, ..data };
        let at = Time::from_nanos(u64::from(index) * 1_200_000);
        let comment = (index == 1).then_some("lost: queue full");
        capture.packet(0, at, &header, comment).unwrap();
    }
    let acknowledgment = TcpHeader {
        source: data.destination,
        destination: data.source,
        acknowledgment: Some(1449),
        ecn_echo: true,
        window_reduced: false,
        sack: &[(2897, 5793)],
        ecn: Ecn::NotCapable,
        payload: 0,
        ..data
    };
    capture.packet(1, Time::from_nanos(5_000_000_001), &acknowledgment, None).unwrap();
    let plain = TcpHeader { timestamps: None, sack: &[], ..acknowledgment };
    capture.packet(1, Time::from_nanos(5_000_000_002), &plain, Some("marked")).unwrap();
    for payload in [0, 999] {
        let datagram = UdpHeader {
            source: Endpoint::sender(300),
            destination: Endpoint::receiver(300),
            ecn: Ecn::NotCapable,
            payload,
        };
        capture.packet(0, Time::from_nanos(6_000_000_000), &datagram, None).unwrap();
    }
    capture.finish().unwrap()
}

#[test]
fn tshark_finds_every_packet_and_no_fault() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("capture.pcapng");
    std::fs::write(&file, capture()).unwrap();
    let tshark = Command::new("tshark")
        .args(["-V", "-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE"])
        .arg("-r")
        .arg(&file)
        .output();
    let Ok(output) = tshark else {
        eprintln!("skipped: tshark is not installed");
        return;
    };
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let count = |what: &str| text.matches(what).count();
    assert_eq!(count("Encapsulation type: Raw IP"), 8, "{text}");
    for fault in ["Malformed", "[Expert Info (Error", "incorrect"] {
        assert_eq!(count(fault), 0, "{fault} in {text}");
    }
    assert_eq!(count("Header checksum status: Good"), 8);
    // Only packets without payload are captured whole, so only theirs can be checked.
    assert_eq!(count("[Checksum Status: Good]"), 3);
    for detail in [
        "Interface name: bottleneck:reverse",
        "lost: queue full",
        "TCP Option - SACK 2897-5793",
        "TSval 10, TSecr 20",
        "Frame Length: 1500 bytes",
        "Explicit Congestion Notification: ECN-Capable Transport codepoint '10'",
        "10.0.1.45",
    ] {
        assert!(text.contains(detail), "no {detail} in {text}");
    }
}
