//! The buffers of a host: their sizes, the data that their memory holds, and how they grow.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use units::Bytes;

use super::Stack;
use crate::application::SendBuffer;

/// Bytes of the largest window of a SYN or SYN-ACK, to which no scale applies (RFC 7323, section 2.2).
pub(crate) const FIRST_WINDOW: u64 = 65_535;

/// The buffers of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffers {
    /// Their sizes.
    pub sizes: BufferSizes,
    /// The sizes that the stack has by default.
    pub usual: BufferSizes,
    /// The rules of the stack for them.
    pub rules: BufferRules,
}

/// The sizes of the two buffers of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferSizes {
    /// The receive buffer: data that wait for the application, or for a hole to be filled.
    pub receive: Buffer,
    /// The send buffer: data that wait to be sent, or to be acknowledged.
    pub send: Buffer,
}

impl BufferSizes {
    /// Buffers that never limit a flow.
    pub const UNLIMITED: Self = Self { receive: Buffer::Unlimited, send: Buffer::Unlimited };
}

/// How memory holds data, and how a buffer grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BufferRules {
    /// Linux since 6.6: the ratio of the payload of a segment to its memory. The receive buffer grows to twice the data
    /// of the latest round trip, and more while that grows, the send buffer to two windows.
    Ratio,
    /// Linux before 6.6: all but 1 / 2^`reserved` of the memory (tcp_adv_win_scale). The receive buffer grows to twice
    /// the data of the largest round trip, the send buffer to two windows.
    Share {
        /// The power of two.
        reserved: u32,
    },
    /// FreeBSD: payload alone counts, and a buffer grows by a constant number of bytes when it was nearly filled.
    Payload,
}

/// The size of a buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Buffer {
    /// It never limits the flow.
    #[default]
    Unlimited,
    /// As the application sets it (SO_RCVBUF, SO_SNDBUF). It does not grow.
    Fixed(Bytes),
    /// It grows with the flow. Linux has the three sizes in `tcp_rmem` and `tcp_wmem`, in bytes of memory.
    Tuned {
        /// The size under memory pressure, which no simulated host has.
        least: Bytes,
        /// The size at first.
        initial: Bytes,
        /// The size at most.
        most: Bytes,
    },
}

const UNLIMITED: &str = "unlimited";
const SPELLINGS: &str = "\"unlimited\", a size as the application sets it, like \"256kB\", or the three numbers of \
     tcp_rmem or tcp_wmem, like \"4096 131072 6291456\"";

/// As of a size, or of the other spellings.
const PATTERN: &str =
    r"^(unlimited|\d+ \d+ \d+|\s*[0-9.]+([eE][-+]?[0-9]+)?\s*([kKMGmg]?[bB]|[KMGkmg]i[bB]|bytes)\s*)$";

impl Stack {
    /// Bytes that a flow has in flight at most, on average, where buffers without a limit are replaced by those that
    /// the stack has by default. `None` if that bounds nothing.
    pub fn usual_flight(&self) -> Option<Bytes> {
        let Buffers { sizes, usual, .. } = self.buffers;
        let replaced = |own: Buffer, usual| if own.limits() { Buffer::Unlimited } else { usual };
        let mut host = self.clone();
        host.buffers.sizes =
            BufferSizes { receive: replaced(sizes.receive, usual.receive), send: replaced(sizes.send, usual.send) };
        let carried = SendBuffer::of(&host).map(|buffer| buffer.carried());
        host.largest_window().into_iter().chain(carried).min().map(Bytes::new)
    }
}

impl Buffer {
    /// A buffer that grows: so many bytes of memory at least, at first and at most.
    pub const fn tuned(least: u64, initial: u64, most: u64) -> Self {
        Self::Tuned { least: Bytes::new(least), initial: Bytes::new(initial), most: Bytes::new(most) }
    }

    /// True if it may limit a flow.
    pub fn limits(self) -> bool {
        self != Self::Unlimited
    }
}

impl fmt::Display for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unlimited => f.write_str(UNLIMITED),
            Self::Fixed(bytes) => bytes.fmt(f),
            Self::Tuned { least, initial, most } => write!(f, "{} {} {}", least.get(), initial.get(), most.get()),
        }
    }
}

impl FromStr for Buffer {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == UNLIMITED {
            return Ok(Self::Unlimited);
        }
        let sizes: Result<Vec<u64>, _> = text.split_whitespace().map(str::parse).collect();
        match sizes.as_deref() {
            Ok(&[least, initial, most]) if least <= initial && initial <= most => Ok(Self::tuned(least, initial, most)),
            Ok(&[_, _, _]) => Err(format!("`{text}` does not ascend")),
            _ => text.parse().map(Self::Fixed).map_err(|_| format!("`{text}` is not {SPELLINGS}")),
        }
    }
}

impl Serialize for Buffer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Buffer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Spelling;
        impl Visitor<'_> for Spelling {
            type Value = Buffer;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(SPELLINGS)
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Buffer, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Spelling)
    }
}

impl JsonSchema for Buffer {
    fn schema_name() -> Cow<'static, str> {
        "Buffer".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": PATTERN })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{freebsd_9, linux, real_1992};

    #[test]
    fn sizes_are_read_as_they_are_spelled() {
        for text in ["unlimited", "256kB", "4096 131072 6291456"] {
            assert_eq!(text.parse::<Buffer>().unwrap().to_string(), text);
        }
        assert!(!Buffer::Unlimited.limits() && Buffer::Fixed(Bytes::new(1)).limits());
    }

    #[test]
    fn usual_buffers_bound_a_flight_where_a_flow_has_none() {
        let flight = |sizes: BufferSizes| {
            let mut stack = linux();
            stack.buffers.sizes = sizes;
            stack.usual_flight().map(Bytes::get)
        };
        let size = Buffer::Fixed(Bytes::new(1));
        assert_eq!(flight(BufferSizes::UNLIMITED), Some(2_760_948), "the send buffer");
        // 160 / 256 of 6291456.
        assert_eq!(flight(BufferSizes { receive: Buffer::Unlimited, send: size }), Some(3_932_160));
        assert_eq!(flight(BufferSizes { receive: size, send: size }), None);
        assert_eq!([freebsd_9(), real_1992()].map(|stack| stack.usual_flight()), [Some(Bytes::new(2_097_152)), None]);
    }

    #[test]
    fn other_sizes_are_refused() {
        let error = |text: &str| text.parse::<Buffer>().unwrap_err();
        assert_eq!(error("4096 2 3"), "`4096 2 3` does not ascend");
        assert!(error("4096 131072").starts_with("`4096 131072` is not \"unlimited\""));
        assert!(serde_json::from_str::<Buffer>("7").unwrap_err().to_string().contains("tcp_rmem"));
    }
}
