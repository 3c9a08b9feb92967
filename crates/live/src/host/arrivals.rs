//! Waiting for data that arrive, connections that open and room to write, as an application does that reads and writes
//! at once.
//!
//! When it reads decides when an odd segment is acknowledged: the kernel sends that ACK once a segment with PSH has
//! been read and nothing else waits (tcp_cleanup_rbuf).

use std::os::fd::OwnedFd;

use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::io::Errno;
use units::Span;

use crate::host::system;

/// So many sinks are reported with one wake-up.
const MOST: usize = 64;

/// The sinks of a run.
pub(crate) struct Arrivals {
    epoll: OwnedFd,
}

impl Arrivals {
    /// Fails where the process may open no more files.
    pub(crate) fn new() -> Result<Self, Errno> {
        Ok(Self { epoll: epoll::create(CreateFlags::CLOEXEC)? })
    }

    /// Waits for `sink` as well, the one of flow `index`, until it is closed.
    pub(crate) fn add(&self, sink: &OwnedFd, index: u32) -> Result<(), Errno> {
        // Edge-triggered: the end of a connection that nobody closes would be reported for ever.
        epoll::add(&self.epoll, sink, EventData::new_u64(index.into()), EventFlags::IN | EventFlags::ET)
    }

    /// Waits, once each, for the connection of flow `index` to open at its `sender` and at its `listener`.
    pub(crate) fn add_opening(&self, sender: &OwnedFd, listener: &OwnedFd, index: u32) -> Result<(), Errno> {
        let data = EventData::new_u64(index.into());
        epoll::add(&self.epoll, sender, data, EventFlags::OUT | EventFlags::ONESHOT)?;
        epoll::add(&self.epoll, listener, data, EventFlags::IN | EventFlags::ONESHOT)
    }

    /// Waits for room in the send buffer of `sender` from now on, whose connection has opened.
    pub(crate) fn add_room(&self, sender: &OwnedFd, index: u32) -> Result<(), Errno> {
        epoll::modify(&self.epoll, sender, EventData::new_u64(index.into()), EventFlags::OUT | EventFlags::ET)
    }

    /// Waits for any of these, for `longest` at most, and says for which flows there is something.
    pub(crate) fn wait(&self, longest: Span) -> impl Iterator<Item = usize> + use<> {
        let mut found = [epoll::Event { flags: EventFlags::empty(), data: EventData::new_u64(0) }; MOST];
        // Interrupted or not, the caller looks again.
        let count = epoll::wait(&self.epoll, &mut found[..], Some(&system::timespec(longest))).unwrap_or(0);
        found.into_iter().take(count).map(|event| event.data.u64() as usize)
    }
}

#[cfg(test)]
mod tests {
    use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socketpair};

    use super::*;

    const NOW: Span = Span::ZERO;
    /// It ends sooner where something arrives.
    const LONG: Span = Span::from_secs(60);

    fn pair() -> (OwnedFd, OwnedFd) {
        socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::NONBLOCK, None).expect("two sockets")
    }

    fn arrived(arrivals: &Arrivals, longest: Span) -> Vec<usize> {
        let mut flows: Vec<_> = arrivals.wait(longest).collect();
        flows.sort_unstable();
        flows
    }

    #[test]
    fn a_wait_ends_with_what_arrives_and_says_for_which_flows() {
        let arrivals = Arrivals::new().expect("a file");
        let pairs = [3, 5, 8].map(|flow| {
            let (source, sink) = pair();
            arrivals.add(&sink, flow).expect("a sink");
            (source, sink)
        });
        assert!(arrived(&arrivals, NOW).is_empty());
        for i in [0, 2] {
            send(&pairs[i].0, b"data", SendFlags::empty()).expect("room");
        }
        assert_eq!(arrived(&arrivals, LONG), [3, 8]);
    }

    #[test]
    fn room_is_reported_once_the_other_end_has_read() {
        let arrivals = Arrivals::new().expect("a file");
        let (sender, sink) = pair();
        let (_other, listener) = pair();
        arrivals.add_opening(&sender, &listener, 4).expect("two sockets");
        assert_eq!(arrived(&arrivals, LONG), [4], "it has opened");
        let fill = || while send(&sender, &[0; 4096], SendFlags::empty()).is_ok() {};
        fill();
        arrivals.add_room(&sender, 4).expect("a socket that is known");
        let mut buffer = [0; 4096];
        for _ in 0..2 {
            assert!(arrived(&arrivals, NOW).is_empty());
            while recv(&sink, &mut buffer[..], RecvFlags::DONTWAIT).is_ok() {}
            assert_eq!(arrived(&arrivals, LONG), [4]);
            fill();
        }
    }

    #[test]
    fn each_arrival_is_reported_once_and_so_is_the_end_of_a_connection() {
        let arrivals = Arrivals::new().expect("a file");
        let (source, sink) = pair();
        arrivals.add(&sink, 0).expect("a sink");
        for _ in 0..2 {
            send(&source, b"data", SendFlags::empty()).expect("room");
            assert_eq!(arrived(&arrivals, LONG), [0]);
            assert!(arrived(&arrivals, NOW).is_empty());
        }
        let mut buffer = [0; 16];
        recv(&sink, &mut buffer[..], RecvFlags::empty()).expect("data");
        drop(source);
        assert_eq!(arrived(&arrivals, LONG), [0]);
        assert!(arrived(&arrivals, NOW).is_empty());
    }
}
