//! The log of a queue, one line a packet and event, as Mahimahi's `mm-link` writes it.
//!
//! After comment lines, of which one tells the `base timestamp`, lines are in order of time:
//!
//! ```text
//! 12 + 1500      a packet of 1500 bytes arrives at the queue
//! 13 # 1500      the link could send 1500 bytes (links that follow a trace)
//! 13 - 1500 1    a packet has left the link, 1 ms after it arrived
//! 14 d 1 1500    a packet is dropped
//! ```
//!
//! Times are whole milliseconds since the start, rounded down, and delays their differences. The emulator only sends
//! [`Entry`]s; a thread of its own writes.

use std::collections::VecDeque;
use std::io::{self, BufWriter, Write};
use std::iter::Peekable;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};

use network::{OPPORTUNITY, Service, Trace};
use units::{Bytes, Span, Time};

use crate::host::system;

/// The span between writes.
const TICK: Span = Span::from_millis(50);

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
    opportunities: Peekable<Box<dyn Iterator<Item = Time> + Send>>,
    /// Packets whose last bit had not left by the latest event: when it does, when they arrived, and their size.
    leaving: VecDeque<(Time, Time, Bytes)>,
}

impl<W: Write> Writer<W> {
    /// A writer to `file` for a link of this `service`, and where to send entries.
    pub(crate) fn new(file: W, service: &Service) -> (Log, Self) {
        let (log, entries) = channel();
        let opportunities: Box<dyn Iterator<Item = Time> + Send> = match service {
            Service::Trace(trace) => Box::new(Trace::times(trace.clone())),
            Service::Unlimited | Service::Fixed(_) | Service::Steps(_) | Service::Shaped(_) => {
                Box::new(std::iter::empty())
            }
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
                writeln!(self.file, "{} d 1 {}", millis(at), size.get())
            }
            Entry::End { at } => self.catch_up(at + Span::from_nanos(1)),
        }
    }

    /// Writes the events before `now`. At one instant opportunities come first.
    fn catch_up(&mut self, now: Time) -> io::Result<()> {
        loop {
            let leaves = self.leaving.front().map_or(Time::NEVER, |first| first.0);
            if let Some(at) = self.opportunities.next_if(|&at| at < now && at <= leaves) {
                writeln!(self.file, "{} # {}", millis(at), OPPORTUNITY.get())?;
            } else if let Some((finish, arrived, size)) = self.leaving.pop_front_if(|first| first.0 < now) {
                let (left, came) = (millis(finish), millis(arrived));
                writeln!(self.file, "{left} - {} {}", size.get(), left - came)?;
            } else {
                return Ok(());
            }
        }
    }
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
        let expected = "5 + 1500\n6 + 52\n7 - 1500 2\n7 + 1500\n7 d 1 1500\n7 - 52 1\n";
        assert_eq!(written(&service, &entries), expected);
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
    fn a_full_disk_is_an_error() {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let (log, writer) = Writer::new(full, &Service::Unlimited);
        drop(log);
        assert_eq!(writer.run(&[]).unwrap_err().kind(), io::ErrorKind::StorageFull);
    }
}
