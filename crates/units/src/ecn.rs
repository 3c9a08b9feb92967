//! The ECN field of the IP header: how a sender answers marks, and the mark.

/// A codepoint of the ECN field (RFC 3168, section 5, and RFC 9331 for ECT(1)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Ecn {
    /// Not ECT: a congested queue can only drop the packet.
    #[default]
    NotCapable = 0b00,
    /// ECT(1): the sender answers marks as L4S asks for (RFC 9331).
    Ect1 = 0b01,
    /// ECT(0): the sender answers a mark as it answers a loss.
    Ect0 = 0b10,
    /// CE: a queue has marked the packet.
    Congestion = 0b11,
}

impl Ecn {
    /// The codepoint in the lower two bits of `octet`, the second one of an IPv4 header.
    pub const fn of(octet: u8) -> Self {
        match octet & 0b11 {
            0b00 => Self::NotCapable,
            0b01 => Self::Ect1,
            0b10 => Self::Ect0,
            _ => Self::Congestion,
        }
    }

    /// Its two bits.
    pub const fn bits(self) -> u8 {
        self as u8
    }

    /// True if both ends understand marks: a queue may mark the packet instead of dropping it.
    #[inline]
    pub const fn is_capable(self) -> bool {
        !matches!(self, Self::NotCapable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codepoints_have_the_bits_of_rfc_3168() {
        // Section 5: Not-ECT 00, ECT(1) 01, ECT(0) 10, CE 11.
        let codepoints = [Ecn::NotCapable, Ecn::Ect1, Ecn::Ect0, Ecn::Congestion];
        assert_eq!(codepoints.map(Ecn::bits), [0, 1, 2, 3]);
        assert_eq!(codepoints.map(Ecn::is_capable), [false, true, true, true]);
        // The upper six bits are the DSCP: 0xb8 is expedited forwarding.
        assert_eq!([0xb8, 0xb9, 0xba, 0xbb].map(Ecn::of), codepoints);
    }
}
