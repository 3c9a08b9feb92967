//! Settings of an interface that only rtnetlink has (rtnetlink(7)).

use std::io;
use std::os::fd::OwnedFd;

use rustix::net::netdevice::name_to_index;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with};

/// Constants of linux/netlink.h and linux/rtnetlink.h.
const REQUEST_WITH_ANSWER: u16 = 1 | 4;
const NLMSG_ERROR: u16 = 2;
const RTM_NEWLINK: u16 = 16;
/// Of linux/if_link.h.
const IFLA_GSO_MAX_SEGS: u16 = 40;

/// Sets how many segments of TCP the interface `name` of the calling thread's namespace takes at once.
pub(crate) fn set_gso_max_segs(name: &str, segments: u16) -> io::Result<()> {
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    let index = name_to_index(&socket, name)?;
    send(&socket, &request(index, segments), SendFlags::empty())?;
    answer(&socket)
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
