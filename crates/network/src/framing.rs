//! Bytes that a packet takes on a link besides its own: headers below IP, padding, and cells of ATM.

use serde::{Deserialize, Serialize};
use units::Bytes;

/// The payload and the size of a cell of ATM (ITU-T I.361).
const CELL_PAYLOAD: u64 = 48;
const CELL: u64 = 53;
/// Bytes between two sync bytes of PTM (64b/65b, IEEE 802.3 clause 61).
const PTM_BLOCK: u64 = 64;

/// The layer below the frames of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LinkLayer {
    /// Nothing more.
    #[default]
    None,
    /// Frames fill whole cells of 48 bytes, which take 53.
    Atm,
    /// A byte for every 64, as in VDSL2.
    Ptm,
}

impl LinkLayer {
    /// The words of `tc`.
    pub(crate) const WORDS: &[(&str, Self)] = &[("noatm", Self::None), ("atm", Self::Atm), ("ptm", Self::Ptm)];
}

/// The size of packets on a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Framing {
    /// Bytes in addition to those of IP; negative for headers that are compressed.
    pub(crate) overhead: i32,
    /// The least size with them.
    pub(crate) mpu: u32,
    pub(crate) link_layer: LinkLayer,
}

impl Framing {
    /// Itself, or `None` if packets take their own bytes alone.
    pub(crate) fn if_any(self) -> Option<Self> {
        (self != Self::default()).then_some(self)
    }

    /// The bytes that a packet of `size` takes.
    pub(crate) fn on_link(&self, size: Bytes) -> Bytes {
        let bytes = size.get().saturating_add_signed(self.overhead.into()).max(self.mpu.into());
        Bytes::new(match self.link_layer {
            LinkLayer::None => bytes,
            LinkLayer::Atm => bytes.div_ceil(CELL_PAYLOAD) * CELL,
            LinkLayer::Ptm => bytes + bytes.div_ceil(PTM_BLOCK),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_without_a_layer_has_no_framing() {
        assert_eq!(Framing::default().if_any(), None);
        for framing in [
            Framing { overhead: -1, ..Framing::default() },
            Framing { mpu: 1, ..Framing::default() },
            Framing { link_layer: LinkLayer::Ptm, ..Framing::default() },
        ] {
            assert_eq!(framing.if_any(), Some(framing));
        }
    }

    #[test]
    fn frames_have_overhead_padding_and_cells() {
        let on_link =
            |overhead, mpu, link_layer, size| Framing { overhead, mpu, link_layer }.on_link(Bytes::new(size)).get();
        assert_eq!(on_link(0, 0, LinkLayer::None, 1500), 1500);
        assert_eq!(on_link(44, 84, LinkLayer::None, 1500), 1544);
        assert_eq!(on_link(18, 84, LinkLayer::None, 40), 84);
        assert_eq!(on_link(-10, 0, LinkLayer::None, 1500), 1490);
        // 1510 bytes in 32 cells. An ACK of 50 in two.
        assert_eq!([1500, 40].map(|size| on_link(10, 0, LinkLayer::Atm, size)), [32 * 53, 2 * 53]);
        // 1522 bytes have 24 sync bytes: `1522 / 64 = 23.8`.
        assert_eq!(on_link(22, 0, LinkLayer::Ptm, 1500), 1522 + 24);
    }
}
