//! Sizes of packets and their headers, which many crates count with.

use crate::Bytes;

/// IP size of a full packet: what Ethernet carries.
pub const MTU: Bytes = Bytes::new(1500);
/// The largest packet of IPv4.
pub const LARGEST: Bytes = Bytes::new(65_535);
/// The header of IPv4 without options.
pub const IP_HEADER: Bytes = Bytes::new(20);
/// The header of TCP without options.
pub const TCP_HEADER: Bytes = Bytes::new(20);
/// The option of timestamps in the header of TCP, padded (RFC 7323).
pub const TIMESTAMPS_OPTION: Bytes = Bytes::new(12);
/// The header of UDP.
pub const UDP_HEADER: Bytes = Bytes::new(8);
