//! The application of a flow, which writes at one end and reads at the other.

use std::io::IoSlice;
use std::os::fd::OwnedFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendAncillaryBuffer, SendFlags, Shutdown, recv, send, sendmsg, shutdown};
use scenario::{DrawnFlow, PlannedFlow};
use transport::Pace;
use units::Time;

/// The writes of an application.
enum Writing {
    Greedy,
    Finite(u64),
    Paced { pace: Pace, unit: u64, total: u64 },
}

/// Writes into the socket of the sender.
pub(crate) struct Application {
    writing: Writing,
    /// The bytes that it had to write at the last write.
    offered: u64,
    written: u64,
}

impl Application {
    pub(crate) fn new(planned: &PlannedFlow, drawn: &DrawnFlow, seed: u64) -> Self {
        Self { writing: writing(planned, drawn, seed), offered: 0, written: 0 }
    }

    /// The flow starts at `at`.
    pub(crate) fn start(&mut self, at: Time) {
        if let Writing::Paced { pace, .. } = &mut self.writing {
            pace.start(at);
        }
    }

    /// True if it always has more to write.
    pub(crate) fn is_greedy(&self) -> bool {
        matches!(self.writing, Writing::Greedy)
    }

    /// True if the socket did not take all that it had to write.
    pub(crate) fn has_more(&self) -> bool {
        self.written < self.offered
    }

    /// Writes what there is at `at` as far as `socket` takes it, so many times `zeros` at once.
    pub(crate) fn write(&mut self, at: Time, socket: &OwnedFd, zeros: &[u8], times: usize) -> Result<(), Errno> {
        self.offered = match &mut self.writing {
            Writing::Greedy => u64::MAX,
            Writing::Finite(total) => *total,
            Writing::Paced { pace, unit, total } => (pace.written(at, u64::MAX - 1) * *unit).min(*total),
        };
        while self.has_more() {
            let length = (self.offered - self.written).min((zeros.len() * times) as u64) as usize;
            match send_zeros(socket, zeros, length) {
                Ok(written) => {
                    self.written += written as u64;
                    if written < length {
                        return Ok(());
                    }
                }
                Err(error) => return unless_later(error),
            }
        }
        Ok(())
    }
}

/// Sends `length` bytes in one call: those of `zeros` as often as need be. Returns how many `socket` took.
fn send_zeros(socket: &OwnedFd, zeros: &[u8], length: usize) -> Result<usize, Errno> {
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    if length <= zeros.len() {
        return send(socket, &zeros[..length], flags);
    }
    let mut slices = vec![IoSlice::new(zeros); length / zeros.len()];
    slices.push(IoSlice::new(&zeros[..length % zeros.len()]));
    sendmsg(socket, &slices, &mut SendAncillaryBuffer::default(), flags)
}

/// True if a program that waits for room in the send buffer of `socket` goes on (sk_stream_is_writeable). A write that
/// does not wait would fill the last buffer of the queue whatever the limit.
pub(crate) fn is_writable(socket: &OwnedFd) -> Result<bool, Errno> {
    let mut polled = [PollFd::new(socket, PollFlags::OUT)];
    poll(&mut polled, Some(&Timespec::default()))?;
    Ok(polled[0].revents().contains(PollFlags::OUT))
}

/// Takes the bytes delivered to `sink`, discards them, and adds their number to `delivered`. After the last byte it
/// closes, as the other end has, and returns true: each further end would wake the caller anew, for ever.
pub(crate) fn take(sink: &OwnedFd, buffer: &mut [u8], delivered: &mut u64) -> Result<bool, Errno> {
    loop {
        match recv(sink, &mut *buffer, RecvFlags::DONTWAIT | RecvFlags::TRUNC) {
            Ok((_, 0)) => return shutdown(sink, Shutdown::Write).map(|()| true),
            Ok((_, length)) => {
                *delivered += length as u64;
                if length < buffer.len() {
                    return Ok(false);
                }
            }
            Err(error) => return unless_later(error).map(|()| false),
        }
    }
}

/// An error that only says that there is nothing to do yet is none.
pub(crate) fn unless_later(error: Errno) -> Result<(), Errno> {
    match error {
        Errno::AGAIN | Errno::INPROGRESS | Errno::INTR | Errno::NOTCONN => Ok(()),
        error => Err(error),
    }
}

fn writing(planned: &PlannedFlow, drawn: &DrawnFlow, seed: u64) -> Writing {
    let total = drawn.bytes.map(|bytes| bytes.get());
    let Some(pace) = engine::pace(planned, drawn, planned.options.segment_size, seed) else {
        return total.map_or(Writing::Greedy, Writing::Finite);
    };
    let unit = planned.options.segment_size;
    Writing::Paced { pace, unit: unit.get(), total: total.unwrap_or(u64::MAX) }
}

#[cfg(test)]
mod tests {
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

    use super::*;

    #[test]
    fn a_write_is_one_call_however_long_it_is() {
        let (near, far) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::NONBLOCK, None).unwrap();
        let mut application = Application { writing: Writing::Finite(7500), offered: 0, written: 0 };
        application.write(Time::ZERO, &near, &[0; 1000], 5).unwrap();
        let mut buffer = [0; 8000];
        let mut call = || recv(&far, &mut buffer[..], RecvFlags::empty()).map(|(_, length)| length).ok();
        assert_eq!([call(), call(), call()], [Some(5000), Some(2500), None]);
        assert!(!application.has_more());
    }
}
