//! Flows of datagrams and media in real time: the ends of the simulator over UDP sockets, across the emulated path.
//!
//! One thread has all of them with both their ends, so one clock gives one-way delays. A datagram has its size and its
//! number. The rest of its content stays with the thread, as in the simulator.

mod ends;
mod flow;

use std::net::SocketAddrV4;
use std::os::fd::OwnedFd;

use control::ControllerRef;
use engine::{Factory, Failure, Watch};
use rustix::net::{connect, sockopt};
use scenario::{DrawnFlow, Kind, Plan, PlannedFlow};
use units::packet::{IP_HEADER, UDP_HEADER};

pub(crate) use self::ends::{Ends, Report};
use self::flow::Flow;
use crate::host::sockets::datagram_address;
use crate::testbed::Testbed;

/// The headers of IP and UDP.
const HEADERS: u64 = IP_HEADER.get() + UDP_HEADER.get();
/// A datagram has room for its number.
const SMALLEST: u64 = 8;

/// True if the ends of `flow` are here, and not in the kernel.
pub fn are_of(flow: &PlannedFlow) -> bool {
    matches!(flow.kind, Kind::Datagram { .. } | Kind::Media { .. })
}

/// Refuses what cannot run here of `flow`, one of datagrams or media.
pub(crate) fn check(flow: &PlannedFlow) -> Result<(), String> {
    if let ControllerRef::Python { .. } = flow.cc {
        return Err(format!("cc `{}` cannot run live: Python would be late", flow.cc));
    }
    if let Kind::Datagram { packet_size, .. } = flow.kind {
        let recorded = flow.media.iter().flat_map(|writes| writes.iter().map(|&(_, bytes)| u64::from(bytes)));
        let smallest = recorded.min().unwrap_or(packet_size.get().saturating_sub(HEADERS));
        if smallest < SMALLEST {
            return Err(format!(
                "a datagram with {smallest} bytes of payload cannot run live; {SMALLEST} have room for its number"
            ));
        }
    }
    flow.cc.check_registered().or_else(|error| match flow.cc {
        ControllerRef::Source(_) => Ok(()),
        _ => Err(error.to_string()),
    })
}

/// The flows of datagrams and media among `drawn`, with their sockets in `testbed`.
pub(crate) fn open(
    (plan, drawn, seed): (&Plan, &[DrawnFlow], u64),
    factory: Option<&Factory>,
    watch: &Watch,
    testbed: &Testbed,
) -> Result<Vec<Flow>, Failure> {
    let rows = (0..).zip(drawn).filter(|(_, drawn)| are_of(&plan.flows[drawn.of]));
    let rows: Vec<u32> = rows.map(|(row, _)| row).collect();
    let flow = |(row, sockets): (u32, [OwnedFd; 2])| {
        let drawn = &drawn[row as usize];
        let planned = &plan.flows[drawn.of];
        let controller = engine::controller(factory, planned, &planned.parameters, &watch.conduct)?;
        let flow = Flow::new(row, (planned, drawn), controller, sockets, seed);
        flow.join().map_err(|error| Failure::Machine(format!("a socket cannot be set up: {error}")))?;
        Ok(flow)
    };
    testbed.datagram_sockets(&rows).map_err(Failure::Machine)?.map(flow).collect()
}

impl Flow {
    /// Both sockets send to each other, and report marks.
    fn join(&self) -> rustix::io::Result<()> {
        for (end, socket) in self.sockets.iter().enumerate() {
            let other: SocketAddrV4 = datagram_address(1 - end, self.row);
            connect(socket, &other)?;
            sockopt::set_ip_recvtos(socket, true)?;
        }
        sockopt::set_ip_tos(&self.sockets[0], self.codepoint().bits())
    }
}
