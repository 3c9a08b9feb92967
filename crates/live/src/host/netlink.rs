//! What only rtnetlink has (rtnetlink(7)): a setting of interfaces, and counters of queue disciplines.

use std::io;
use std::os::fd::OwnedFd;

use rustix::net::netdevice::name_to_index;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with};

/// Constants of linux/netlink.h and linux/rtnetlink.h.
const REQUEST_WITH_ANSWER: u16 = 1 | 4;
/// The kernel reports a queue discipline only as an echo.
const REQUEST_WITH_ECHO: u16 = 1 | 8;
const NLMSG_ERROR: u16 = 2;
const RTM_NEWLINK: u16 = 16;
const RTM_NEWQDISC: u16 = 36;
const RTM_GETQDISC: u16 = 38;
const TCA_STATS2: u16 = 7;
/// Of linux/if_link.h.
const IFLA_GSO_MAX_SEGS: u16 = 40;
/// Of linux/gen_stats.h.
const TCA_STATS_QUEUE: u16 = 3;
/// Headers of a message, of a `struct tcmsg` and of an attribute.
const HEADER: usize = 16;
const TCMSG: usize = 20;
const ATTRIBUTE: usize = 4;

/// Sets how many segments of TCP the interface `name` of the calling thread's namespace takes at once.
pub(crate) fn set_gso_max_segs(name: &str, segments: u16) -> io::Result<()> {
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    let index = name_to_index(&socket, name)?;
    send(&socket, &request(index, segments), SendFlags::empty())?;
    answer(&socket)
}

/// Asks for the counters of one queue discipline.
pub(crate) struct Discipline {
    socket: OwnedFd,
    request: Vec<u8>,
}

impl Discipline {
    /// The discipline `handle` of the interface `name` in the calling thread's namespace.
    pub(crate) fn new(name: &str, handle: u32) -> io::Result<Self> {
        let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
        let index = name_to_index(&socket, name)?;
        let mut request = Vec::with_capacity(HEADER + TCMSG);
        request.extend(((HEADER + TCMSG) as u32).to_ne_bytes());
        request.extend(RTM_GETQDISC.to_ne_bytes());
        request.extend(REQUEST_WITH_ECHO.to_ne_bytes());
        request.extend([0; 8]);
        // Family, interface, handle, parent and information.
        request.extend([0; 4]);
        request.extend(index.to_ne_bytes());
        request.extend(handle.to_ne_bytes());
        request.extend([0; 8]);
        Ok(Self { socket, request })
    }

    /// Packets that it has dropped.
    pub(crate) fn drops(&self) -> io::Result<u32> {
        send(&self.socket, &self.request, SendFlags::empty())?;
        let mut bytes = [0u8; 4096];
        // The answer is there when the request is sent.
        let (_, length) = recv(&self.socket, &mut bytes, RecvFlags::DONTWAIT)?;
        drops(&bytes[..length]).ok_or_else(|| io::Error::other("rtnetlink shows no counters of the queue"))
    }
}

/// The drops in the answer about a queue discipline: the third word of a `struct gnet_stats_queue`.
fn drops(message: &[u8]) -> Option<u32> {
    let kind = u16::from_ne_bytes(message.get(4..6)?.try_into().ok()?);
    if kind != RTM_NEWQDISC {
        return None;
    }
    let statistics = attribute(message.get(HEADER + TCMSG..)?, TCA_STATS2)?;
    let queue = attribute(statistics, TCA_STATS_QUEUE)?;
    Some(u32::from_ne_bytes(queue.get(8..12)?.try_into().ok()?))
}

/// The attribute `wanted` of several, each padded to four bytes.
fn attribute(mut bytes: &[u8], wanted: u16) -> Option<&[u8]> {
    loop {
        let length = usize::from(u16::from_ne_bytes(bytes.get(..2)?.try_into().ok()?));
        // The highest bits are flags.
        let kind = u16::from_ne_bytes(bytes.get(2..4)?.try_into().ok()?) & 0x3fff;
        if kind == wanted {
            return bytes.get(ATTRIBUTE..length);
        }
        bytes = bytes.get(length.next_multiple_of(4).max(ATTRIBUTE)..)?;
    }
}

/// A header, a `struct ifinfomsg` and an attribute.
fn request(index: u32, segments: u16) -> Vec<u8> {
    const LENGTH: u32 = 16 + 16 + 8;
    let mut bytes = Vec::with_capacity(LENGTH as usize);
    bytes.extend(LENGTH.to_ne_bytes());
    bytes.extend(RTM_NEWLINK.to_ne_bytes());
    bytes.extend(REQUEST_WITH_ANSWER.to_ne_bytes());
    // Number of the message, and port of the sender.
    bytes.extend([0; 8]);
    // Family and type.
    bytes.extend([0; 4]);
    bytes.extend(index.to_ne_bytes());
    // Flags, and which of them change.
    bytes.extend([0; 8]);
    bytes.extend(8u16.to_ne_bytes());
    bytes.extend(IFLA_GSO_MAX_SEGS.to_ne_bytes());
    bytes.extend(u32::from(segments).to_ne_bytes());
    bytes
}

/// The answer is an error with number 0 if all is well.
fn answer(socket: &OwnedFd) -> io::Result<()> {
    let mut bytes = [0u8; 256];
    let (_, length) = recv(socket, &mut bytes, RecvFlags::empty())?;
    let read = bytes[..length].split_first_chunk::<20>().map(|(head, _)| head);
    let kind = read.map(|head| u16::from_ne_bytes([head[4], head[5]]));
    match (kind, read) {
        (Some(NLMSG_ERROR), Some(&[.., a, b, c, d])) => match i32::from_ne_bytes([a, b, c, d]) {
            0 => Ok(()),
            error => Err(io::Error::from_raw_os_error(-error)),
        },
        _ => Err(io::Error::other("rtnetlink gave no answer")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attribute_of(kind: u16, payload: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend(((ATTRIBUTE + payload.len()) as u16).to_ne_bytes());
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(payload);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    #[test]
    fn drops_are_found_among_the_attributes_of_a_discipline() {
        let counters: Vec<u8> = [7u32, 900, 3, 0, 0].iter().flat_map(|word| word.to_ne_bytes()).collect();
        let statistics = [attribute_of(1, &[0; 16]), attribute_of(TCA_STATS_QUEUE, &counters)].concat();
        let mut message = vec![0; HEADER + TCMSG];
        message[4..6].copy_from_slice(&RTM_NEWQDISC.to_ne_bytes());
        message.extend(attribute_of(1, b"red\0\0"));
        message.extend(attribute_of(TCA_STATS2 | 0x8000, &statistics));
        assert_eq!(drops(&message), Some(3));
        for length in [0, 5, HEADER + TCMSG, message.len() - 30] {
            assert_eq!(drops(&message[..length]), None, "{length}");
        }
        message[4..6].copy_from_slice(&NLMSG_ERROR.to_ne_bytes());
        assert_eq!(drops(&message), None);
    }
}
