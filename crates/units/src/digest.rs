//! A number that stands for bytes.

use std::fmt;

/// FNV-1a over 64 bits. Equal bytes have equal digests on every machine; it is no protection from whoever wants two
/// texts with one digest.
///
/// It takes text as a [`fmt::Write`], without an error:
///
/// ```
/// use std::fmt::Write;
/// use units::Digest;
///
/// let mut digest = Digest::default();
/// write!(digest, "{}", 97)?;
/// assert_eq!(digest, Digest::of(b"97"));
/// # Ok::<(), std::fmt::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest(u64);

impl Digest {
    /// The digest of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        let mut digest = Self::default();
        digest.add(bytes);
        digest
    }

    /// Takes `bytes`, behind those that it has.
    pub fn add(&mut self, bytes: &[u8]) {
        self.0 = bytes.iter().fold(self.0, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    }

    /// The number.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl Default for Digest {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl fmt::Write for Digest {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.add(text.as_bytes());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of the authors of FNV, draft-eastlake-fnv-30.
    #[test]
    fn digests_are_those_of_fnv_1a() {
        assert_eq!(Digest::default().get(), 0xcbf2_9ce4_8422_2325);
        assert_eq!(Digest::of(b"a").get(), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(Digest::of(b"foobar").get(), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn bytes_in_parts_have_the_digest_of_the_whole() {
        let mut parts = Digest::of(b"foo");
        parts.add(b"bar");
        assert_eq!(parts, Digest::of(b"foobar"));
    }
}
