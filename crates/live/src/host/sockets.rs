//! The sockets of the flows, made in the namespaces of the two ends and there for good.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, listen, socket_with, sockopt};
use units::{Rate, Span};

use crate::emulator::SENDER_PORT;
use crate::host::system;

/// The address of the senders.
pub(crate) const NEAR: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
/// The address of the receivers.
pub(crate) const FAR: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
/// The port to which flow 0 sends.
pub(crate) const RECEIVER_PORT: u16 = 20_000;
/// As much may wait unsent as leaves in this time, in case this thread comes late.
const AHEAD: Span = Span::from_millis(100);
const LEAST_AHEAD: u64 = 256 << 10;
const MOST_AHEAD: u64 = 8 << 20;

/// The sockets of a flow, before anything is connected.
pub(crate) struct Sockets {
    pub(crate) sender: OwnedFd,
    pub(crate) listener: Option<OwnedFd>,
    /// So many bytes may wait unsent, unless a send buffer limits the flow.
    pub(crate) ahead: Option<u32>,
}

impl Sockets {
    /// The socket of the sender of flow `index`, in the namespace of the calling thread, controlled by `algorithm`.
    pub(crate) fn sender(index: usize, algorithm: &str, ahead: Option<u32>) -> Result<Self, String> {
        let sender = socket(NEAR, SENDER_PORT, index, algorithm).map_err(|error| described(&error, algorithm))?;
        if let Some(ahead) = ahead {
            system::set_not_sent_limit(sender.as_fd(), ahead).map_err(|error| format!("TCP_NOTSENT_LOWAT: {error}"))?;
        }
        let read_back = sockopt::tcp_congestion(&sender).unwrap_or_default();
        if read_back != algorithm {
            return Err(format!("the kernel took `{read_back}` where `{algorithm}` was asked for"));
        }
        Ok(Self { sender, listener: None, ahead })
    }

    /// Adds the socket of its receiver, in the namespace of the calling thread.
    pub(crate) fn listen(&mut self, index: usize, algorithm: &str) -> Result<(), String> {
        let listener = socket(FAR, RECEIVER_PORT, index, algorithm).map_err(|error| described(&error, algorithm))?;
        listen(&listener, 1).map_err(|error| format!("a socket cannot listen: {error}"))?;
        self.listener = Some(listener);
        Ok(())
    }
}

fn described(error: &Errno, algorithm: &str) -> String {
    match *error {
        Errno::NOENT => format!("the kernel has no congestion controller `{algorithm}`"),
        Errno::PERM => format!("the kernel permits `{algorithm}` to root only"),
        _ => format!("a socket cannot be made: {error}"),
    }
}

/// A socket that leaves nothing behind when it is closed. Unsent data is then discarded (SO_LINGER of zero).
fn socket(address: Ipv4Addr, first_port: u16, index: usize, algorithm: &str) -> Result<OwnedFd, Errno> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
    sockopt::set_socket_linger(&socket, Some(Duration::ZERO))?;
    sockopt::set_tcp_congestion(&socket, algorithm)?;
    bind(&socket, &SocketAddrV4::new(address, first_port + index as u16))?;
    Ok(socket)
}

/// As many bytes may wait in a socket of UDP, in case its thread comes late.
const WAITING: usize = 8 << 20;

/// The address of UDP flow `row` at its sender (`end` 0) or its receiver (1).
pub(crate) fn datagram_address(end: usize, row: u32) -> SocketAddrV4 {
    let (address, first) = [(NEAR, SENDER_PORT), (FAR, RECEIVER_PORT)][end];
    SocketAddrV4::new(address, first + row as u16)
}

/// A socket of UDP at `address`, in the namespace of the calling thread.
pub(crate) fn datagram_socket(address: SocketAddrV4) -> Result<OwnedFd, Errno> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, flags, None)?;
    // Without privileges it is less. The counters of the namespace show if that was too little.
    let _ = sockopt::set_socket_recv_buffer_size_force(&socket, WAITING)
        .or_else(|_| sockopt::set_socket_recv_buffer_size(&socket, WAITING));
    bind(&socket, &address)?;
    Ok(socket)
}

/// The bytes of a flow on a link of `rate` that may wait unsent.
pub(crate) fn ahead(rate: Option<Rate>) -> u32 {
    let bytes = rate.map_or(MOST_AHEAD, |rate| rate.bytes_in(AHEAD).get());
    bytes.clamp(LEAST_AHEAD, MOST_AHEAD) as u32
}
