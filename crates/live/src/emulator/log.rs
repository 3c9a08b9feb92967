//! The log of a queue, one line a packet and event, as Mahimahi's `mm-link` writes it and its graphs read it.
//!
//! Comment lines come first, one with the `base timestamp`. The others are in order of time:
//!
//! ```text
//! 12 + 1500      a packet of 1500 bytes arrives at the queue
//! 13 # 1500      the link could send 1500 bytes: an opportunity of a trace, or what a rate allows in a millisecond
//! 13 - 1500 1    a packet has left the link, 1 ms after it arrived
//! # 14 d 1 1500  a packet is dropped: a comment, as the graphs know no such event
//! ```
//!
//! Times are whole milliseconds since the start, rounded down, and delays their differences. The emulator only sends
//! [`Entry`]s. A thread of its own writes.

use std::collections::VecDeque;
use std::io::{self, BufWriter, Write};
use std::iter::Peekable;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};

use network::{OPPORTUNITY, Offered, Service, Trace};
use units::{Bytes, Span, Time};

use crate::host::system;

/// The span between writes.
const TICK: Span = Span::from_millis(50);

/// The span of a line of capacity, where that is a rate.
const CAPACITY_STEP: Span = Span::from_millis(1);

/// An event at the queue, at a time of the run.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Entry {
    /// A packet reaches the queue.
    Arrival { at: Time, size: Bytes },
    /// The service of a packet starts: its last bit leaves at `finish`.
    Departure { arrived: Time, finish: Time, size: Bytes },
    /// A packet that arrived is dropped.
    Drop { at: Time, size: Bytes },
    /// The run is over.
    End { at: Time },
}

/// The emulator's end. A send never waits.
pub(crate) type Log = Sender<Entry>;

/// Writes the log of one link.
pub(crate) struct Writer<W: Write> {
    entries: Receiver<Entry>,
    file: BufWriter<W>,
    /// Times, and the bytes that could be sent since the one before.
    opportunities: Peekable<Box<dyn Iterator<Item = (Time, u64)> + Send>>,
    /// Packets whose last bit had not left by the latest event: when it does, when they arrived, and their size.
    leaving: VecDeque<(Time, Time, Bytes)>,
}

impl<W: Write> Writer<W> {
    /// A writer to `file` for a link of this `service`, and where to send entries.
    pub(crate) fn new(file: W, service: &Service) -> (Log, Self) {
        let (log, entries) = channel();
        let opportunities: Box<dyn Iterator<Item = (Time, u64)> + Send> = match service {
            Service::Unlimited => Box::new(std::iter::empty()),
            Service::Trace(trace) => Box::new(Trace::times(trace.clone()).map(|at| (at, OPPORTUNITY.get()))),
            Service::Fixed(_) | Service::Steps(_) | Service::Shaped(_) => Box::new(by_the_step(service)),
        };
        let file = BufWriter::new(file);
        (log, Self { entries, file, opportunities: opportunities.peekable(), leaving: VecDeque::new() })
    }

    /// Writes the comment lines `head`, and entries until nobody can send any more.
    ///
    /// # Errors
    /// The file cannot be written: it ends somewhere.
    pub(crate) fn run(mut self, head: &[String]) -> io::Result<()> {
        for line in head {
            // A name given by a user may span lines.
            writeln!(self.file, "# {}", line.replace('\n', " "))?;
        }
        writeln!(self.file, "# base timestamp: 0")?;
        loop {
            match self.entries.try_recv() {
                Ok(entry) => self.write(entry)?,
                Err(TryRecvError::Disconnected) => return self.file.flush(),
                Err(TryRecvError::Empty) => {
                    // Sleeping instead of waiting for an entry spares the emulator the waking.
                    self.file.flush()?;
                    system::sleep(TICK);
                }
            }
        }
    }

    fn write(&mut self, entry: Entry) -> io::Result<()> {
        match entry {
            Entry::Arrival { at, size } => {
                self.catch_up(at)?;
                writeln!(self.file, "{} + {}", millis(at), size.get())
            }
            Entry::Departure { arrived, finish, size } => {
                self.leaving.push_back((finish, arrived, size));
                Ok(())
            }
            Entry::Drop { at, size } => {
                self.catch_up(at)?;
                writeln!(self.file, "# {} d 1 {}", millis(at), size.get())
            }
            Entry::End { at } => self.catch_up(at + Span::from_nanos(1)),
        }
    }

    /// Writes the events before `now`. At one instant opportunities come first.
    fn catch_up(&mut self, now: Time) -> io::Result<()> {
        loop {
            let leaves = self.leaving.front().map_or(Time::NEVER, |first| first.0);
            if let Some((at, bytes)) = self.opportunities.next_if(|&(at, _)| at < now && at <= leaves) {
                if bytes > 0 {
                    writeln!(self.file, "{} # {bytes}", millis(at))?;
                }
            } else if let Some((finish, arrived, size)) = self.leaving.pop_front_if(|first| first.0 < now) {
                let (left, came) = (millis(finish), millis(arrived));
                writeln!(self.file, "{left} - {} {}", size.get(), left - came)?;
            } else {
                return Ok(());
            }
        }
    }
}

/// The whole bytes that `service` allows in each step.
fn by_the_step(service: &Service) -> impl Iterator<Item = (Time, u64)> + Send + use<> {
    let mut offered = Offered::new(service);
    let (mut at, mut before) = (Time::ZERO, 0);
    std::iter::from_fn(move || {
        at += CAPACITY_STEP;
        let by_now = offered.bytes_by(at)? as u64;
        let bytes = by_now - before;
        before = by_now;
        Some((at, bytes))
    })
}

const fn millis(at: Time) -> u64 {
    at.as_nanos() / 1_000_000
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use units::Rate;

    use super::*;

    const FULL: Bytes = Bytes::new(1500);

    fn at(micros: u64) -> Time {
        Time::ZERO + Span::from_micros(micros)
    }

    fn written(service: &Service, entries: &[Entry]) -> String {
        let mut text = Vec::new();
        let (log, writer) = Writer::new(&mut text, service);
        for &entry in entries {
            log.send(entry).unwrap();
        }
        drop(log);
        writer.run(&["link".to_owned(), "command line: a\nb".to_owned()]).unwrap();
        let text = String::from_utf8(text).unwrap();
        text.strip_prefix("# link\n# command line: a b\n# base timestamp: 0\n").unwrap().to_owned()
    }

    #[test]
    fn lines_are_in_order_of_time_though_departures_are_known_before() {
        let service = Service::Fixed(Rate::from_mbit(10));
        let entries = [
            Entry::Departure { arrived: at(5900), finish: at(7100), size: FULL },
            Entry::Arrival { at: at(5900), size: FULL },
            Entry::Arrival { at: at(6000), size: Bytes::new(52) },
            Entry::Departure { arrived: at(6000), finish: at(7142), size: Bytes::new(52) },
            Entry::Arrival { at: at(7120), size: FULL },
            Entry::Drop { at: at(7120), size: FULL },
            Entry::Departure { arrived: at(7120), finish: Time::NEVER, size: FULL },
            Entry::End { at: at(7142) },
        ];
        let text = written(&service, &entries);
        let packets: Vec<&str> = text.lines().filter(|line| !line.contains(" # ")).collect();
        assert_eq!(packets, ["5 + 1500", "6 + 52", "7 - 1500 2", "7 + 1500", "# 7 d 1 1500", "7 - 52 1"]);
        let capacity: Vec<&str> = text.lines().filter(|line| line.contains(" # ")).collect();
        assert_eq!(capacity, (1..=7).map(|at| format!("{at} # 1250")).collect::<Vec<_>>());
    }

    #[test]
    fn every_opportunity_of_a_trace_has_its_line_used_or_not() {
        let service = Service::Trace(Arc::new(Trace::parse("2\n2\n5").unwrap()));
        let entries = [
            Entry::Arrival { at: at(3000), size: FULL },
            Entry::Departure { arrived: at(3000), finish: at(5000), size: FULL },
            Entry::End { at: at(7000) },
        ];
        let expected = "2 # 1500\n2 # 1500\n3 + 1500\n5 # 1500\n5 - 1500 2\n7 # 1500\n7 # 1500\n";
        assert_eq!(written(&service, &entries), expected);
    }

    #[test]
    fn a_rate_has_the_bytes_of_each_millisecond_and_an_outage_none() {
        let slow = Service::Steps(vec![(at(2000), Rate::from_bits_per_second(12_000)), (at(4000), Rate::default())]);
        // 1.5 bytes a millisecond.
        assert_eq!(written(&slow, &[Entry::End { at: at(9000) }]), "3 # 1\n4 # 2\n");
        assert_eq!(written(&Service::Unlimited, &[Entry::End { at: at(9000) }]), "");
    }

    #[test]
    fn a_full_disk_is_an_error() {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let (log, writer) = Writer::new(full, &Service::Unlimited);
        drop(log);
        assert_eq!(writer.run(&[]).unwrap_err().kind(), io::ErrorKind::StorageFull);
    }
}
