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

/// The size of packets on a link: their own, with headers, padding and cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(transform = Self::describe_bounds)]
pub struct Framing {
    /// Bytes in addition to those of IP; negative for headers that are compressed. By default none.
    #[serde(skip_serializing_if = "is_default")]
    pub overhead: i32,
    /// The least size with them. By default there is none.
    #[serde(skip_serializing_if = "is_default")]
    pub mpu: u32,
    /// Cells of ATM, or the sync bytes of PTM. By default neither.
    #[serde(skip_serializing_if = "is_default")]
    pub link_layer: LinkLayer,
    /// A packet is padded to a multiple of so many bytes before the headers, as by WireGuard (Donenfeld
    /// 2017, section 5.4.6). By default it is not.
    #[serde(skip_serializing_if = "is_default")]
    pub pad: u32,
    /// It is not padded beyond this size: the MTU of the tunnel, as in Linux. By default there is no such limit.
    #[serde(skip_serializing_if = "is_default")]
    pub pad_limit: u32,
}

units::bounds! {
    Framing {
        overhead: i32 = -64, 256;
        mpu: u32 = 0, 256;
        pad: u32 = 0, 256;
        pad_limit: u32 = 0, 65_535;
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// What a keyword adds to a framing.
pub(crate) type Frame = fn(&mut Framing);

impl Framing {
    /// The keywords of CAKE (tc-cake(8)). Their headers add up.
    pub(crate) const KEYWORDS: &[(&str, Frame)] = &[
        ("raw", |framing| {
            *framing = Self { mpu: framing.mpu, ..Self::default() };
        }),
        ("conservative", |framing| (framing.overhead, framing.link_layer) = (48, LinkLayer::Atm)),
        ("ipoa-vcmux", |framing| framing.add(8, LinkLayer::Atm)),
        ("ipoa-llcsnap", |framing| framing.add(16, LinkLayer::Atm)),
        ("bridged-vcmux", |framing| framing.add(24, LinkLayer::Atm)),
        ("bridged-llcsnap", |framing| framing.add(32, LinkLayer::Atm)),
        ("pppoa-vcmux", |framing| framing.add(10, LinkLayer::Atm)),
        ("pppoa-llc", |framing| framing.add(14, LinkLayer::Atm)),
        ("pppoe-vcmux", |framing| framing.add(32, LinkLayer::Atm)),
        ("pppoe-llcsnap", |framing| framing.add(40, LinkLayer::Atm)),
        ("pppoe-ptm", |framing| framing.add(30, LinkLayer::Ptm)),
        ("bridged-ptm", |framing| framing.add(22, LinkLayer::Ptm)),
        ("ethernet", |framing| (framing.overhead, framing.mpu) = (framing.overhead.saturating_add(38), 84)),
        ("ether-vlan", |framing| framing.add(4, framing.link_layer)),
        ("docsis", |framing| {
            framing.add(18, LinkLayer::None);
            framing.mpu = 64;
        }),
    ];
    /// The headers of WireGuard, which `tc` has no word for: 16 bytes before and 16 behind the packet (Donenfeld 2017,
    /// section 5.4.6), 8 of UDP, and 20 or 40 of IP. Packets are padded to 16 bytes, but not beyond the MTU that
    /// wg-quick(8) gives the tunnel: 1500 bytes less 80.
    const TUNNELS: &[(&str, Frame)] =
        &[("wireguard", |framing| framing.tunnel(60)), ("wireguard-ipv6", |framing| framing.tunnel(80))];

    /// All keywords.
    pub fn names() -> Vec<&'static str> {
        Self::KEYWORDS.iter().chain(Self::TUNNELS).map(|(name, _)| *name).collect()
    }

    /// The framing of `keywords`, whose headers add up, or the first that is none.
    ///
    /// # Errors
    /// The word that is no keyword.
    pub fn of(keywords: &str) -> Result<Self, &str> {
        let mut framing = Self::default();
        for word in keywords.split_whitespace() {
            let all = Self::KEYWORDS.iter().chain(Self::TUNNELS);
            let (_, frame) = all.clone().find(|(name, _)| *name == word).ok_or(word)?;
            frame(&mut framing);
        }
        Ok(framing)
    }

    /// Headers of `bytes` more, below `link_layer`.
    fn add(&mut self, bytes: i32, link_layer: LinkLayer) {
        self.overhead = self.overhead.saturating_add(bytes);
        self.link_layer = link_layer;
    }

    /// The headers of WireGuard, `bytes` in all, around packets that it pads.
    fn tunnel(&mut self, bytes: i32) {
        self.add(bytes, self.link_layer);
        (self.pad, self.pad_limit) = (16, 1420);
    }

    /// The first key whose value is not allowed, and why.
    ///
    /// # Errors
    /// That key.
    pub fn check(&self) -> Result<(), (&'static str, String)> {
        self.out_of_bounds()?;
        if self.pad == 0 && self.pad_limit > 0 {
            return Err(("pad_limit", "has no effect without `pad`".to_owned()));
        }
        Ok(())
    }

    /// Itself, or `None` if packets take their own bytes alone.
    pub fn if_any(self) -> Option<Self> {
        (self != Self::default()).then_some(self)
    }

    /// The bytes that a packet of `size` takes.
    pub fn on_link(&self, size: Bytes) -> Bytes {
        let padded = self.padded(size.get());
        let bytes = padded.saturating_add_signed(self.overhead.into()).max(self.mpu.into());
        Bytes::new(match self.link_layer {
            LinkLayer::None => bytes,
            LinkLayer::Atm => bytes.div_ceil(CELL_PAYLOAD) * CELL,
            LinkLayer::Ptm => bytes + bytes.div_ceil(PTM_BLOCK),
        })
    }

    /// The size to which a packet of `size` is padded.
    fn padded(&self, size: u64) -> u64 {
        let padded = size.next_multiple_of(u64::from(self.pad.max(1)));
        if self.pad_limit == 0 { padded } else { padded.min(size.max(self.pad_limit.into())) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_keyword_frames_alone_and_with_another() {
        let names = Framing::names();
        assert!(names.len() > 10 && names.contains(&"wireguard"));
        for name in names {
            assert!(Framing::of(name).is_ok(), "{name}");
        }
        assert_eq!(Framing::of("ethernet token-ring"), Err("token-ring"));
    }

    #[test]
    fn a_link_without_a_layer_has_no_framing() {
        assert_eq!(Framing::default().if_any(), None);
        for framing in [
            Framing { overhead: -1, ..Framing::default() },
            Framing { mpu: 1, ..Framing::default() },
            Framing { link_layer: LinkLayer::Ptm, ..Framing::default() },
            Framing { pad: 16, ..Framing::default() },
        ] {
            assert_eq!(framing.if_any(), Some(framing));
        }
    }

    #[test]
    fn frames_have_overhead_padding_and_cells() {
        let on_link = |overhead, mpu, link_layer, size| {
            Framing { overhead, mpu, link_layer, ..Framing::default() }.on_link(Bytes::new(size)).get()
        };
        assert_eq!(on_link(0, 0, LinkLayer::None, 1500), 1500);
        assert_eq!(on_link(44, 84, LinkLayer::None, 1500), 1544);
        assert_eq!(on_link(18, 84, LinkLayer::None, 40), 84);
        assert_eq!(on_link(-10, 0, LinkLayer::None, 1500), 1490);
        // 1510 bytes in 32 cells. An ACK of 50 in two.
        assert_eq!([1500, 40].map(|size| on_link(10, 0, LinkLayer::Atm, size)), [32 * 53, 2 * 53]);
        // 1522 bytes have 24 sync bytes: `1522 / 64 = 23.8`.
        assert_eq!(on_link(22, 0, LinkLayer::Ptm, 1500), 1522 + 24);
    }

    #[test]
    fn keywords_add_up() {
        let on_link = |keywords, size| Framing::of(keywords).unwrap().on_link(Bytes::new(size)).get();
        // 1532 bytes are 31.9 cells, an ACK of 40 with 32 is one and a half.
        assert_eq!([1500, 40].map(|size| on_link("pppoe-vcmux", size)), [32 * 53, 2 * 53]);
        // 1538, and the least frame of Ethernet with preamble and gap.
        assert_eq!([1500, 40].map(|size| on_link("ethernet", size)), [1538, 84]);
        assert_eq!([1500, 40].map(|size| on_link("docsis", size)), [1518, 64]);
        // 1500 + 60 + 30 + 4 = 1594, of which each 64 have a sync byte more: 24.9.
        assert_eq!(on_link("wireguard pppoe-ptm ether-vlan", 1500), 1594 + 25);
        // A full packet of the tunnel is not padded, one of a call and an ACK are: 144 + 60, 48 + 60 and 64 + 60.
        assert_eq!(on_link("wireguard-ipv6", 1420), 1500);
        assert_eq!([133, 144, 40, 52].map(|size| on_link("wireguard", size)), [204, 204, 108, 124]);
        assert_eq!([1400, 1419, 1500].map(|size| on_link("wireguard", size)), [1468, 1480, 1560]);
        // `raw` forgets the ones before.
        assert_eq!(on_link("pppoe-vcmux raw", 1500), 1500);
        assert_eq!(Framing::of("ethernet dsl"), Err("dsl"));
    }

    #[test]
    fn every_keyword_is_allowed_and_frames_something() {
        for name in Framing::names() {
            let framing = Framing::of(name).unwrap();
            assert_eq!(framing.check(), Ok(()), "{name}");
            assert_eq!(framing.if_any().is_some(), name != "raw", "{name}");
        }
    }

    #[test]
    fn overhead_and_padding_have_bounds() {
        let refused = |framing: Framing| framing.check().err().map(|(key, _)| key);
        let (overhead, mpu) =
            (|overhead| Framing { overhead, ..Framing::default() }, |mpu| Framing { mpu, ..Framing::default() });
        assert_eq!(
            [-65, -64, 256, 257].map(|n| refused(overhead(n))),
            [Some("overhead"), None, None, Some("overhead")]
        );
        assert_eq!([256, 257].map(|n| refused(mpu(n))), [None, Some("mpu")]);
    }
}
