//! Columns of numbers in few bytes: a block of values as whole numbers above the smallest of them.
//!
//! Recorded values fit 8, 16 or 32 bits in the unit in which they are whole numbers: a round-trip time in
//! milliseconds is a whole number of nanoseconds. A value is packed that way only if it comes back to the bit.

/// A value of a column.
pub(crate) trait Value: Copy {
    /// How many units there are to try.
    const UNITS: u8;

    /// The whole number of `unit` that it is, or `None` if it is none.
    fn count(self, unit: u8) -> Option<u64>;

    /// The value of `count` times `unit`.
    fn of_count(count: u64, unit: u8) -> Self;

    /// Its bits.
    fn bits(self) -> u64;

    /// The value with these bits.
    fn of_bits(bits: u64) -> Self;
}

impl Value for u64 {
    const UNITS: u8 = 1;

    #[inline]
    fn count(self, _: u8) -> Option<u64> {
        (self != Self::MAX).then_some(self)
    }

    #[inline]
    fn of_count(count: u64, _: u8) -> Self {
        count
    }

    #[inline]
    fn bits(self) -> u64 {
        self
    }

    #[inline]
    fn of_bits(bits: u64) -> Self {
        bits
    }
}

impl Value for u32 {
    const UNITS: u8 = 1;

    #[inline]
    fn count(self, _: u8) -> Option<u64> {
        (self != Self::MAX).then_some(u64::from(self))
    }

    #[inline]
    fn of_count(count: u64, _: u8) -> Self {
        count as Self
    }

    #[inline]
    fn bits(self) -> u64 {
        u64::from(self)
    }

    #[inline]
    fn of_bits(bits: u64) -> Self {
        bits as Self
    }
}

/// Units of real numbers: halves of segments, nanoseconds of milliseconds and of seconds.
const PER_ONE: [f64; 3] = [2.0, 1e6, 1e9];

/// In place of a count where there is none: none is as large.
const NONE: u64 = u64::MAX;

/// Up to here every whole number is a double.
const LARGEST_WHOLE: f64 = 9_007_199_254_740_992.0;

impl Value for f64 {
    const UNITS: u8 = PER_ONE.len() as u8;

    #[inline]
    fn count(self, unit: u8) -> Option<u64> {
        // Rounded to the next whole number, which need not be the right one: then the bits differ.
        let count = self * PER_ONE[usize::from(unit)] + 0.5;
        let whole = (0.0..LARGEST_WHOLE).contains(&count).then_some(count as u64)?;
        (Self::of_count(whole, unit).to_bits() == self.to_bits()).then_some(whole)
    }

    #[inline]
    fn of_count(count: u64, unit: u8) -> Self {
        count as Self / PER_ONE[usize::from(unit)]
    }

    #[inline]
    fn bits(self) -> u64 {
        self.to_bits()
    }

    #[inline]
    fn of_bits(bits: u64) -> Self {
        Self::from_bits(bits)
    }
}

/// Values of one column that follow each other.
#[derive(Clone, Debug)]
pub struct Block(Form);

#[derive(Clone, Debug)]
enum Form {
    /// As many of the same.
    Same { bits: u64, values: usize },
    /// Counts of a unit.
    Counts { unit: u8, codes: Codes },
    /// The bits of each.
    Plain(Box<[u64]>),
}

/// Whole numbers above `lowest`. The largest code means `other`, which is not a whole number.
#[derive(Clone, Debug)]
struct Codes {
    lowest: u64,
    other: u64,
    differences: Differences,
}

#[derive(Clone, Debug)]
enum Differences {
    Bytes(Box<[u8]>),
    Halves(Box<[u16]>),
    Words(Box<[u32]>),
}

impl Block {
    /// `values` in as few bytes as they need.
    pub(crate) fn of<V: Value>(values: &[V]) -> Self {
        let bits = values.first().map_or(0, |value| value.bits());
        if values.iter().all(|value| value.bits() == bits) {
            return Self(Form::Same { bits, values: values.len() });
        }
        let counts = (0..V::UNITS).find_map(|unit| Some(Form::Counts { unit, codes: Codes::of(values, unit)? }));
        Self(counts.unwrap_or_else(|| Form::Plain(values.iter().map(|value| value.bits()).collect())))
    }

    /// The size of the values.
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> usize {
        match &self.0 {
            Form::Same { .. } => 0,
            Form::Counts { codes, .. } => match &codes.differences {
                Differences::Bytes(codes) => codes.len(),
                Differences::Halves(codes) => 2 * codes.len(),
                Differences::Words(codes) => 4 * codes.len(),
            },
            Form::Plain(bits) => 8 * bits.len(),
        }
    }

    /// Appends the values to `to`.
    pub(crate) fn unpack<V: Value>(&self, to: &mut Vec<V>) {
        match &self.0 {
            Form::Same { bits, values } => to.extend(std::iter::repeat_n(V::of_bits(*bits), *values)),
            Form::Counts { unit, codes } => codes.unpack(*unit, to),
            Form::Plain(bits) => to.extend(bits.iter().map(|&bits| V::of_bits(bits))),
        }
    }
}

impl Codes {
    /// `values` as counts of `unit`, or `None` if they are too far apart, or more than one of them is none.
    fn of<V: Value>(values: &[V], unit: u8) -> Option<Self> {
        let (mut lowest, mut highest, mut other) = (NONE, 0, None);
        let mut counts = Vec::with_capacity(values.len());
        for value in values {
            let count = value.count(unit);
            match count {
                Some(count) => (lowest, highest) = (lowest.min(count), highest.max(count)),
                None if other.is_some_and(|other| other != value.bits()) => return None,
                None => other = Some(value.bits()),
            }
            counts.push(count.unwrap_or(NONE));
        }
        let range = highest.checked_sub(lowest)?;
        let other = other.unwrap_or(0);
        let differences = if range < u64::from(u8::MAX) {
            Differences::Bytes(differences(&counts, lowest, u8::MAX))
        } else if range < u64::from(u16::MAX) {
            Differences::Halves(differences(&counts, lowest, u16::MAX))
        } else if range < u64::from(u32::MAX) {
            Differences::Words(differences(&counts, lowest, u32::MAX))
        } else {
            return None;
        };
        Some(Self { lowest, other, differences })
    }

    fn unpack<V: Value>(&self, unit: u8, to: &mut Vec<V>) {
        let value = |code, none| -> V {
            if code == none { V::of_bits(self.other) } else { V::of_count(self.lowest + u64::from(code), unit) }
        };
        match &self.differences {
            Differences::Bytes(codes) => to.extend(codes.iter().map(|&code| value(code.into(), u8::MAX.into()))),
            Differences::Halves(codes) => to.extend(codes.iter().map(|&code| value(code.into(), u16::MAX.into()))),
            Differences::Words(codes) => to.extend(codes.iter().map(|&code| value(code, u32::MAX))),
        }
    }
}

/// How far each of `counts` is above `lowest`, and `none` for [`NONE`].
fn differences<C: Copy + TryFrom<u64>>(counts: &[u64], lowest: u64, none: C) -> Box<[C]> {
    let code = |&count: &u64| if count == NONE { none } else { C::try_from(count - lowest).unwrap_or(none) };
    counts.iter().map(code).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bits of `values` after packing and unpacking.
    fn there_and_back<V: Value>(values: &[V]) -> Vec<u64> {
        let mut back = Vec::new();
        Block::of(values).unpack::<V>(&mut back);
        back.into_iter().map(V::bits).collect()
    }

    #[test]
    fn a_value_takes_as_many_bytes_as_its_range_needs() {
        // 254 is the largest difference of a byte, as 255 means null.
        let of = |values: &[u64]| Block::of(values).bytes();
        assert_eq!([of(&[7, 7]), of(&[7, 261]), of(&[7, 262]), of(&[7, 65_541]), of(&[7, 65_542])], [0, 2, 4, 4, 8]);
        assert_eq!((of(&[0, 1 << 40]), of(&[3, u64::MAX])), (16, 2));
        // 40 and 40.0001 ms are 100 ns apart. Thirds of a millisecond are no numbers of nanoseconds.
        let of = |values: &[f64]| Block::of(values).bytes();
        assert_eq!((of(&[40.0, 40.0001, f64::NAN]), of(&[1.0 / 3.0, 2.0 / 3.0])), (3, 16));
        assert_eq!(of(&[6.5, 2.0, f64::INFINITY]), 3);
    }

    proptest::proptest! {
        #[test]
        fn what_is_packed_comes_back_to_the_bit(
            kinds in proptest::collection::vec((0u8..8, proptest::num::u64::ANY), 0..60),
            shift in 0u32..64
        ) {
            let count = |&(kind, n): &(u8, u64)| if kind == 0 { u64::MAX } else { n >> shift };
            let whole: Vec<u64> = kinds.iter().map(count).collect();
            proptest::prop_assert_eq!(there_and_back(&whole), whole.clone());
            let short: Vec<u32> = whole.iter().map(|&n| n as u32).collect();
            proptest::prop_assert_eq!(there_and_back(&short), short.iter().map(|n| n.bits()).collect::<Vec<_>>());
            // All kinds, one unit, and arbitrary bits.
            let real = |kinds: &[(u8, u64)], mask: u8| -> Vec<f64> {
                kinds.iter().map(|&(kind, n)| match kind & mask {
                    0 => (n >> shift) as f64 / 1e6,
                    1 => (n >> shift) as f64 / 1e9,
                    2 => f64::NAN,
                    3 => f64::INFINITY,
                    4 => -0.0,
                    _ => f64::from_bits(n),
                }).collect()
            };
            for mask in [7, 2, 1, 0] {
                let values = real(&kinds, mask);
                proptest::prop_assert_eq!(there_and_back(&values), values.iter().map(|v| v.bits()).collect::<Vec<_>>());
            }
        }
    }
}
