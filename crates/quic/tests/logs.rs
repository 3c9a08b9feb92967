//! The log of noq itself: its events have the time of the run, and a seed gives the same bytes.
#![cfg(feature = "qlog")]

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use engine::{Engine as _, Failure, Job, Outcome, Watch};
use quic::{LogOf, Logs, Quic};
use serde_json::Value;

/// Written bytes, by the row of the flow and the side.
type Written = Arc<Mutex<BTreeMap<(u32, &'static str), Vec<u8>>>>;

struct Log {
    of: (u32, &'static str),
    written: Written,
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.written.lock().unwrap().entry(self.of).or_default().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn run(logs: Option<Logs>) -> Result<Outcome, Failure> {
    let toml = "duration = \"4s\"\npath = { rate = \"10mbit\", rtt = \"40ms\", queue = \"20p\" }\n\
                flows = [{ cc = \"noq:cubic\", start = \"1s\" }, { cc = \"newreno\", bytes = \"50kB\" }]";
    let plan = scenario::from_toml(toml, "test.toml").unwrap().plan(&scenario::NoFiles).unwrap();
    Quic { logs, ..Quic::default() }.run(&Job { plan: Arc::new(plan), seed: 1 }, &Watch::default())
}

/// A run, and its logs.
fn logged() -> (Outcome, BTreeMap<(u32, &'static str), Vec<u8>>) {
    let written = Written::default();
    let to = Arc::clone(&written);
    let open = move |LogOf { row, side, .. }| -> io::Result<Box<dyn Write + Send + Sync>> {
        Ok(Box::new(Log { of: (row, side), written: Arc::clone(&to) }))
    };
    let outcome = run(Logs::new(open)).unwrap();
    let written = std::mem::take(&mut *written.lock().unwrap());
    (outcome, written)
}

/// The records of a log: JSON text sequences (RFC 7464).
fn records(log: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(log).unwrap();
    assert!(text.starts_with('\u{1e}') && text.ends_with('\n'));
    text[1..].split('\u{1e}').map(|record| serde_json::from_str(record).unwrap()).collect()
}

#[test]
fn events_have_the_time_of_the_run_and_packets_are_those_of_the_tables() {
    let (outcome, written) = logged();
    let sides: Vec<_> = written.keys().copied().collect();
    assert_eq!(sides, [(0, "client"), (0, "server"), (1, "client"), (1, "server")]);
    let records = records(&written[&(0, "client")]);
    assert_eq!(records[0]["title"], "noq:cubic-0, client");
    assert_eq!(records[0]["trace"]["vantage_point"]["type"], "client");
    let times: Vec<f64> = records[1..].iter().map(|event| event["time"].as_f64().unwrap()).collect();
    assert!(times.is_sorted() && times[0] == 1000.0, "{:?}", &times[..5]);
    assert!((3990.0..=4000.0).contains(times.last().unwrap()), "{:?}", times.last());
    let of_kind = |name: &str| records.iter().filter(|event| event["name"] == name).count() as u64;
    let flow = &outcome.tables.flows[0];
    assert_eq!(of_kind("quic:packet_lost"), flow.sender.lost_packets);
    let sent = of_kind("quic:packet_sent");
    // Packets of the handshake, and acknowledgements alone, are no packets of data.
    let data = flow.sender.data_packets;
    assert!((data..data + 20).contains(&sent), "{sent} {data}");
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_a_log_changes_nothing() {
    let ((first, written), (again, same)) = (logged(), logged());
    assert!(written == same);
    let without = run(None).unwrap();
    let tables = |outcome: &Outcome| format!("{:?}", outcome.tables);
    assert_eq!([tables(&again), tables(&without)], [tables(&first), tables(&first)]);
}

#[test]
fn a_log_that_cannot_be_written_fails_the_run() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, _bytes: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let kind = |logs| match run(logs) {
        Err(Failure::Capture(error)) => Some(error.kind()),
        _ => None,
    };
    assert_eq!(kind(Logs::new(|_| Ok(Box::new(Full)))), Some(io::ErrorKind::StorageFull));
    assert_eq!(kind(Logs::new(|_| Err(io::ErrorKind::NotFound.into()))), Some(io::ErrorKind::NotFound));
}
