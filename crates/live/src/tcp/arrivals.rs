//! Waiting for data that arrive, as an application does that reads at once.
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
pub(super) struct Arrivals {
    epoll: OwnedFd,
}

impl Arrivals {
    /// Fails where the process may open no more files.
    pub(super) fn new() -> Result<Self, Errno> {
        Ok(Self { epoll: epoll::create(CreateFlags::CLOEXEC)? })
    }

    /// Waits for `sink` as well, the one of flow `index`, until it is closed.
    pub(super) fn add(&self, sink: &OwnedFd, index: u32) -> Result<(), Errno> {
        // Edge-triggered: the end of a connection that nobody closes would be reported for ever.
        epoll::add(&self.epoll, sink, EventData::new_u64(index.into()), EventFlags::IN | EventFlags::ET)
    }

    /// Waits for data, for `longest` at most, and says for which flows there are some.
    pub(super) fn wait(&self, longest: Span) -> impl Iterator<Item = usize> + use<> {
        let mut found = [epoll::Event { flags: EventFlags::empty(), data: EventData::new_u64(0) }; MOST];
        // Interrupted or not, the caller looks again.
        let count = epoll::wait(&self.epoll, &mut found[..], Some(&system::timespec(longest))).unwrap_or(0);
        found.into_iter().take(count).map(|event| event.data.u64() as usize)
    }
}
