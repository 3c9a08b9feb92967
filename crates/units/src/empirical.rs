//! Measured distributions by name, as tables of quantiles.
//!
//! The web traffic of Mah ("An Empirical Model of HTTP Network Traffic", INFOCOM 1997, traces of 1995), as its
//! quantiles are given to the generators of ns-2 and in Edwan 2010, chapter 7.

/// A distribution between whose quantiles values are linear.
#[derive(Debug, PartialEq)]
pub struct Empirical {
    /// Its name in a scenario.
    pub name: &'static str,
    /// Its quantity: `time`, `size` or `count`.
    pub of: &'static str,
    /// Shares and the values they do not exceed, ascending, the last with share 1: bytes, seconds or a number. Below
    /// the first share all values are the first.
    quantiles: &'static [(f64, f64)],
    /// Values between two quantiles are the upper one, for counts.
    steps: bool,
}

/// All of them.
pub const EMPIRICAL: [Empirical; 4] = [
    Empirical { name: "mah-request", of: "size", quantiles: &REQUEST, steps: false },
    Empirical { name: "mah-reply", of: "size", quantiles: &REPLY, steps: false },
    Empirical { name: "mah-connections", of: "count", quantiles: &CONNECTIONS, steps: true },
    Empirical { name: "mah-think", of: "time", quantiles: &THINK, steps: false },
];

const REQUEST: [(f64, f64); 12] = [
    (0.02, 120.0),
    (0.10, 148.0),
    (0.25, 203.0),
    (0.50, 231.0),
    (0.75, 282.0),
    (0.85, 315.0),
    (0.865, 514.0),
    (0.87, 1028.0),
    (0.90, 1057.0),
    (0.95, 1079.0),
    (0.99, 1134.0),
    (1.0, 1373.0),
];

const REPLY: [(f64, f64); 28] = [
    (0.02, 88.0),
    (0.05, 103.0),
    (0.10, 110.0),
    (0.15, 302.0),
    (0.20, 412.0),
    (0.25, 560.0),
    (0.30, 830.0),
    (0.35, 1078.0),
    (0.40, 1434.0),
    (0.45, 1800.0),
    (0.50, 2112.0),
    (0.55, 2522.0),
    (0.60, 2811.0),
    (0.65, 3275.0),
    (0.70, 3886.0),
    (0.75, 4797.0),
    (0.80, 6036.0),
    (0.85, 8188.0),
    (0.90, 12_581.0),
    (0.925, 16_664.0),
    (0.95, 23_332.0),
    (0.97, 33_537.0),
    (0.98, 47_758.0),
    (0.99, 67_379.0),
    (0.995, 103_200.0),
    (0.9975, 237_233.0),
    (0.9995, 649_354.0),
    (1.0, 1_636_039.0),
];

const CONNECTIONS: [(f64, f64); 13] = [
    (0.512, 1.0),
    (0.721, 2.0),
    (0.796, 3.0),
    (0.832, 4.0),
    (0.882, 5.0),
    (0.907, 6.0),
    (0.924, 7.0),
    (0.939, 8.0),
    (0.962, 10.0),
    (0.972, 12.0),
    (0.988, 16.0),
    (0.996, 20.0),
    (1.0, 65.0),
];

const THINK: [(f64, f64); 15] = [
    (0.05, 1.58),
    (0.10, 2.21),
    (0.20, 4.2),
    (0.25, 5.2),
    (0.30, 6.7),
    (0.40, 10.9),
    (0.50, 16.2),
    (0.60, 25.1),
    (0.70, 41.6),
    (0.75, 61.6),
    (0.80, 98.0),
    (0.85, 197.0),
    (0.90, 794.0),
    (0.95, 6014.0),
    (1.0, 86_395.0),
];

impl Empirical {
    /// The one of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        const ALL: &[Empirical] = &EMPIRICAL;
        ALL.iter().find(|one| one.name == name)
    }

    /// The value that the share `share` (0 to 1) does not exceed.
    pub fn quantile(&self, share: f64) -> f64 {
        let above = self.quantiles.partition_point(|&(until, _)| until < share).min(self.quantiles.len() - 1);
        let (until, value) = self.quantiles[above];
        if above == 0 || self.steps {
            return value;
        }
        let (from, lowest) = self.quantiles[above - 1];
        lowest + (value - lowest) * (share - from) / (until - from)
    }

    /// The mean of the values, of which those above `most` count as `most`.
    pub fn mean(&self, most: f64) -> f64 {
        let (mut mean, mut before, mut low) = (0.0, 0.0, None);
        for &(until, high) in self.quantiles {
            let from = if self.steps { high } else { low.unwrap_or(high) };
            let share = until - before;
            mean += share
                * if high <= most {
                    f64::midpoint(from, high)
                } else if from >= most {
                    most
                } else {
                    // A part grows up to `most`, the rest is cut.
                    let grows = (most - from) / (high - from);
                    grows * f64::midpoint(from, most) + (1.0 - grows) * most
                };
            (before, low) = (until, Some(high));
        }
        mean
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> &'static Empirical {
        Empirical::named(name).unwrap()
    }

    #[test]
    fn values_are_linear_between_quantiles() {
        let request = named("mah-request");
        // Half-way from 231 at 50 % to 282 at 75 %.
        assert_eq!(request.quantile(0.625), 256.5);
        assert_eq!((request.quantile(0.0), request.quantile(0.02), request.quantile(1.0)), (120.0, 120.0, 1373.0));
        let connections = named("mah-connections");
        assert_eq!(
            [0.0, 0.512, 0.6, 0.95, 0.9961].map(|share| connections.quantile(share)),
            [1.0, 1.0, 2.0, 10.0, 65.0]
        );
    }

    #[test]
    fn means_are_those_of_the_tables() {
        // `1 x .512 + 2 x .209 + 3 x .075 + 4 x .036 + 5 x .05 + 6 x .025 + 7 x .017 + 8 x .015 + 10 x .023 + 12 x .01
        // + 16 x .016 + 20 x .008 + 65 x .004 = 2.964`.
        assert!((named("mah-connections").mean(f64::INFINITY) - 2.964).abs() < 1e-9);
        // `.05 x 1.58 + .05 x 1.895 + .1 x 3.205 + .05 x 4.7 + .05 x 5.95 + .1 x 8.8 + .1 x 13.55 = 3.26175` up to the
        // median. Then from 16.2 to 20 within 3.8/8.9 of a tenth: .042697 x 18.1, and the rest of 20: .457303 x 20.
        let think = named("mah-think");
        let expected = 3.261_75 + 0.1 * 3.8 / 8.9 * 18.1 + (0.5 - 0.1 * 3.8 / 8.9) * 20.0;
        assert!((think.mean(20.0) - expected).abs() < 1e-9, "{}", think.mean(20.0));
        // With the tail of a day: 3.26175 + 2.065 + 3.335 + 2.58 + 3.99 + 7.375 + 24.775 + 170.2 + 2310.225.
        assert!((think.mean(f64::INFINITY) - 2527.80675).abs() < 1e-6, "{}", think.mean(f64::INFINITY));
    }

    #[test]
    fn every_table_ascends_to_all() {
        for one in &EMPIRICAL {
            assert!(one.quantiles.is_sorted_by(|a, b| a.0 < b.0 && a.1 < b.1), "{}", one.name);
            assert_eq!(one.quantiles.last().map(|last| last.0), Some(1.0), "{}", one.name);
        }
    }
}
