//! Decisions that correlate, as in `netem`.

use units::{Fraction, Random};

/// An event that befalls a share of the packets.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Chance {
    /// The share.
    pub share: Fraction,
    /// The correlation of each decision with the one before.
    pub correlation: Fraction,
}

/// Decisions by a [`Chance`].
#[derive(Clone, Debug)]
pub struct Chances {
    chance: Chance,
    last: bool,
}

impl Chances {
    /// Decisions after one that was against.
    pub fn new(chance: Chance) -> Self {
        Self { chance, last: false }
    }

    /// The next decision.
    #[inline]
    pub fn strike(&mut self, random: &mut Random) -> bool {
        let (share, kept) = (self.chance.share.get(), self.chance.correlation.get());
        let now = if self.last { share + kept * (1.0 - share) } else { share * (1.0 - kept) };
        self.last = random.happens(now);
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_struck_and_neighbours_correlate() {
        let fraction = |value| Fraction::new(value).expect("a share");
        let mut chances = Chances::new(Chance { share: fraction(0.25), correlation: fraction(0.5) });
        let mut random = Random::stream(1, "test", 0);
        let struck: Vec<bool> = (0..100_000).map(|_| chances.strike(&mut random)).collect();
        let share = struck.iter().filter(|struck| **struck).count() as f64 / 1e5;
        let both = struck.windows(2).filter(|pair| pair[0] && pair[1]).count() as f64 / 1e5;
        // Behind one that is struck, `0.25 + 0.5 * 0.75 = 0.625` are.
        assert!((share - 0.25).abs() < 0.01 && (both / share - 0.625).abs() < 0.01, "{share} {both}");
    }
}
