//! The tins of CAKE: which code points of DiffServ go to which, and the share of the rate that each may take before
//! those below it.

use units::Rate;

use crate::queue::tc::choices;

choices! {
    /// The classes into which CAKE sorts packets by their code point (DSCP, RFC 2474), named as in `tc`.
    pub enum Diffserv {
        /// One class for all.
        #[default]
        Besteffort = "besteffort",
        /// Bulk (LE, CS1), best effort, and latency sensitive (EF, VA, CS6, CS7); the default of `tc`.
        Diffserv3 = "diffserv3",
        /// Bulk, best effort, video (AF2x to AF4x, CS2, CS3) and voice (CS4 to CS7, EF, VA).
        Diffserv4 = "diffserv4",
        /// Eight classes by code point.
        Diffserv8 = "diffserv8",
        /// Eight classes by the upper three bits (precedence, RFC 791).
        Precedence = "precedence",
    }
}

// Code points by name (RFC 2474, 3246, 5865, 8622). TOS4 is the bit for reliability of RFC 1349.
const LE: u8 = 1;
const TOS4: u8 = 4;
const CS1: u8 = 8;
const CS4: u8 = 32;
const CS5: u8 = 40;
const VA: u8 = 44;
const EF: u8 = 46;
const CS6: u8 = 48;
const CS7: u8 = 56;

impl Diffserv {
    /// The tin of packets with this code point. The higher of two tins goes first, as long as it keeps to its rate.
    pub(super) const fn tin(self, dscp: u8) -> usize {
        match self {
            Self::Besteffort => 0,
            Self::Diffserv3 => match dscp {
                LE | CS1 => 1,
                TOS4 | VA | EF | CS6 | CS7 => 2,
                _ => 0,
            },
            Self::Diffserv4 => match dscp {
                LE | CS1 => 1,
                CS4 | CS5 | VA | EF | CS6 | CS7 => 3,
                // CS2, CS3 and the assured forwarding classes beside and above them.
                TOS4 | 16 | 18 | 20 | 22 | 24 | 26 | 28 | 30 | 34 | 36 | 38 => 2,
                _ => 0,
            },
            Self::Diffserv8 => match dscp {
                LE => 0,
                // TOS2, and the assured forwarding class of CS1.
                2 | 8 | 10 | 12 | 14 => 1,
                24 | 26 | 28 | 30 | 34 | 36 | 38 => 3,
                TOS4 | 18 | 20 | 22 => 4,
                16 => 5,
                CS4 | CS5 | VA | EF => 6,
                CS6 | CS7 => 7,
                _ => 2,
            },
            Self::Precedence => (dscp >> 3) as usize,
        }
    }

    /// The rates of the tins, on a link of `rate`.
    pub(super) fn rates(self, rate: Rate) -> Vec<Rate> {
        let bits = rate.bits_per_second();
        let part = |shift: u32| Rate::from_bits_per_second((bits >> shift).max(1));
        match self {
            Self::Besteffort => vec![rate],
            Self::Diffserv3 => [0, 4, 2].map(part).to_vec(),
            Self::Diffserv4 => [0, 4, 1, 2].map(part).to_vec(),
            // Each seven eighths of the one below.
            Self::Diffserv8 | Self::Precedence => {
                let below = |bits: &u64| Some((bits / 8 * 7 + bits % 8 * 7 / 8).max(1));
                std::iter::successors(Some(bits), below).take(8).map(Rate::from_bits_per_second).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_points_go_to_the_tins_of_tc() {
        let tins = |diffserv: Diffserv| -> Vec<usize> {
            // BE, LE, CS1 to CS7, AF11, AF21, AF31, AF41, VA, EF, NQB.
            let points = [0, 1, 8, 16, 24, 32, 40, 48, 56, 10, 18, 26, 34, 44, 46, 45];
            points.into_iter().map(|dscp| diffserv.tin(dscp)).collect()
        };
        assert_eq!(tins(Diffserv::Besteffort), [0; 16]);
        assert_eq!(tins(Diffserv::Diffserv3), [0, 1, 1, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 2, 2, 0]);
        assert_eq!(tins(Diffserv::Diffserv4), [0, 1, 1, 2, 2, 3, 3, 3, 3, 0, 2, 2, 2, 3, 3, 0]);
        assert_eq!(tins(Diffserv::Diffserv8), [2, 0, 1, 5, 3, 6, 6, 7, 7, 1, 4, 3, 3, 6, 6, 2]);
        assert_eq!(tins(Diffserv::Precedence), [0, 0, 1, 2, 3, 4, 5, 6, 7, 1, 2, 3, 4, 5, 5, 5]);
    }

    #[test]
    fn tins_have_parts_of_the_rate() {
        let kbit = |diffserv: Diffserv| -> Vec<u64> {
            diffserv.rates(Rate::from_mbit(16)).iter().map(|rate| rate.bits_per_second() / 1000).collect()
        };
        assert_eq!(kbit(Diffserv::Besteffort), [16_000]);
        assert_eq!(kbit(Diffserv::Diffserv3), [16_000, 1000, 4000]);
        assert_eq!(kbit(Diffserv::Diffserv4), [16_000, 1000, 8000, 4000]);
        assert_eq!(kbit(Diffserv::Precedence)[..4], [16_000, 14_000, 12_250, 10_718]);
    }
}
