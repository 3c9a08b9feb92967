//! A router between the ends: a namespace whose device has a queue discipline of the kernel.
//!
//! A packet is sent through a packet socket, waits in the discipline, and is read from the device when its turn has
//! come. TCP is in other namespaces, so to it the queue is one of the network.

use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};

use rustix::io::Errno;
use rustix::net::{SendFlags, send};
use units::tc::spelled_rate;
use units::{Rate, Span};

use crate::host::namespace::{DEVICE, End};
use crate::host::netlink::Discipline;
use crate::host::sockets::NEAR;
use crate::host::system;
use crate::queues::KernelDiscipline;

/// The handle of the discipline, as the kernel counts and as `tc` spells it.
const HANDLE: u32 = 2 << 16;
/// A token bucket holds one packet and the part of it that is sent while a timer is late, so that it loses no rate.
const SPARE: u64 = 50;
/// Linux's PIE does nothing in its first half second. The disciplines of a network have begun before its flows.
const SETTLING: Span = Span::from_millis(600);
/// More than any discipline lets wait.
const BUCKET_LIMIT: &str = "1000000000";

/// A router at work.
pub(crate) struct Router {
    end: End,
    socket: OwnedFd,
    /// Where the discipline drops arrivals in silence: its counters, and what they showed.
    silent: Option<(Discipline, u32)>,
}

/// The fate of a packet that was sent to a router.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    /// It waits, or its turn has come.
    Taken,
    /// The discipline dropped it.
    Dropped,
    /// It did not get as far.
    Lost,
}

impl Router {
    /// A router before a link of `rate`, in a namespace of its own for the calling thread, which stays in it. No packet
    /// is larger than `mtu`.
    pub(crate) fn create(discipline: &KernelDiscipline, rate: Rate, mtu: u32) -> Result<Self, String> {
        let end = End::create(NEAR, mtu, None, &[])?;
        tc(&commands(discipline, rate, mtu))?;
        system::sleep(SETTLING);
        let failed = |error: io::Error| format!("a queue of the kernel cannot be used: {error}");
        let socket = system::open_packet_socket(DEVICE).map_err(failed)?;
        let silent = discipline.silent.then(|| Discipline::new(DEVICE, HANDLE).map(|counters| (counters, 0)));
        Ok(Self { end, socket, silent: silent.transpose().map_err(failed)? })
    }

    /// The device from which packets are read when their turn has come.
    pub(crate) fn tun(&self) -> &OwnedFd {
        &self.end.tun
    }

    /// Packets that the device dropped behind the discipline.
    pub(crate) fn dropped(&self) -> io::Result<u64> {
        self.end.dropped()
    }

    /// Sends `packet` to the discipline.
    pub(crate) fn send(&mut self, packet: &[u8]) -> Sent {
        match send(&self.socket, packet, SendFlags::empty()) {
            Ok(_) => {}
            Err(Errno::NOBUFS) => return Sent::Dropped,
            Err(_) => return Sent::Lost,
        }
        let Some((counters, before)) = &mut self.silent else { return Sent::Taken };
        match counters.drops() {
            Ok(drops) if drops == *before => Sent::Taken,
            Ok(drops) => {
                *before = drops;
                Sent::Dropped
            }
            Err(_) => Sent::Lost,
        }
    }
}

/// The commands of `tc` that make `discipline` the queue of the device, a line each.
fn commands(discipline: &KernelDiscipline, rate: Rate, mtu: u32) -> String {
    let words = discipline.words.join(" ");
    if discipline.shapes {
        return format!("qdisc replace dev {DEVICE} root handle 2: {words}\n");
    }
    let burst = u64::from(mtu) + u64::from(mtu).div_ceil(SPARE);
    format!(
        "qdisc replace dev {DEVICE} root handle 1: tbf rate {} burst {burst} limit {BUCKET_LIMIT}\n\
         qdisc add dev {DEVICE} parent 1: handle 2: {words}\n",
        spelled_rate(rate)
    )
}

/// Runs `tc` with `commands` in the namespace of the calling thread.
fn tc(commands: &str) -> Result<(), String> {
    let missing = |error: io::Error| match error.kind() {
        ErrorKind::NotFound => {
            "the kernel's queue disciplines need the program `tc` (Debian: apt install iproute2), or take the \
             simulator's (disciplines=simulated)"
                .to_owned()
        }
        _ => format!("`tc` cannot be started: {error}"),
    };
    for command in commands.lines() {
        let done = Command::new("tc").args(command.split(' ')).stdin(Stdio::null()).output().map_err(missing)?;
        if !done.status.success() {
            let said = String::from_utf8_lossy(&done.stderr);
            return Err(format!("`tc {command}` failed: {}", said.trim().replace('\n', "; ")));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_bucket_holds_a_packet_and_a_little_more_and_cake_needs_none() {
        let discipline = |words: &str, shapes| KernelDiscipline {
            words: words.split(' ').map(str::to_owned).collect(),
            shapes,
            fair: false,
            silent: false,
        };
        assert_eq!(
            commands(&discipline("codel ecn", false), Rate::from_mbit(10), 1500),
            "qdisc replace dev path root handle 1: tbf rate 10000000bit burst 1530 limit 1000000000\n\
             qdisc add dev path parent 1: handle 2: codel ecn\n"
        );
        assert_eq!(
            commands(&discipline("cake bandwidth 10000000bit", true), Rate::from_mbit(10), 1500),
            "qdisc replace dev path root handle 2: cake bandwidth 10000000bit\n"
        );
    }
}
