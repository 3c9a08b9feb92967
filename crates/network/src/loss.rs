//! Random loss: packets that vanish whatever the queue holds.

use serde::{Deserialize, Serialize};
use units::{Fraction, Random};

/// Which packets are lost on arrival, before the queue sees them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum LossModel {
    /// None.
    #[default]
    None,
    /// Each with this probability, independently of the others.
    Bernoulli(Fraction),
    /// Losses in bursts (Gilbert 1960, Elliott 1963): a chain of two states that starts in the good one. A packet is
    /// lost with the probability of the state it finds; then the state may change. In the long run the share
    /// `good_to_bad / (good_to_bad + bad_to_good)` of the packets finds the bad state, for `1 / bad_to_good` packets at
    /// a time.
    GilbertElliott {
        /// Probability, per packet, that the good state ends (Gilbert's P).
        good_to_bad: Fraction,
        /// Probability, per packet, that the bad state ends (Gilbert's p).
        bad_to_good: Fraction,
        /// Probability of loss in the good state (Elliott's 1 - k).
        loss_good: Fraction,
        /// Probability of loss in the bad state (1 - h).
        loss_bad: Fraction,
    },
    /// Exactly the packets with these numbers, counted from 0 in the order of arrival; the lists ascend. Packets that
    /// open a connection ([`Packet::opens`](crate::Packet::opens)) are counted apart.
    Packets {
        /// Of packets that open none.
        data: Vec<u64>,
        /// Of those that do.
        openings: Vec<u64>,
    },
}

/// A loss model at work.
#[derive(Clone, Debug)]
pub(crate) struct Losses {
    model: LossModel,
    random: Random,
    /// The Gilbert-Elliott chain is in the bad state.
    bad: bool,
    /// For the lists, of data and of openings.
    counts: [Count; 2],
}

/// How far a list of lost packets is done.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    /// Packets that arrived so far.
    arrived: u64,
    /// The first number in the list that is still to come.
    next: usize,
}

impl Count {
    /// True if the packet that arrives now is in the list `numbers`.
    fn strikes(&mut self, numbers: &[u64]) -> bool {
        let lost = numbers.get(self.next) == Some(&self.arrived);
        self.arrived += 1;
        self.next += usize::from(lost);
        lost
    }
}

impl Losses {
    pub(crate) fn new(model: LossModel, random: Random) -> Self {
        if let LossModel::Packets { data, openings } = &model {
            let ascends = |numbers: &[u64]| numbers.is_sorted_by(|a, b| a < b);
            assert!(ascends(data) && ascends(openings), "the numbers of lost packets must ascend");
        }
        Self { model, random, bad: false, counts: [Count::default(); 2] }
    }

    /// True if the packet that arrives now is lost; `opens` says whether it opens a connection.
    #[inline]
    pub(crate) fn loses(&mut self, opens: impl FnOnce() -> bool) -> bool {
        !matches!(self.model, LossModel::None) && self.strikes(opens())
    }

    #[inline(never)]
    fn strikes(&mut self, opens: bool) -> bool {
        match &self.model {
            LossModel::None => false,
            LossModel::Bernoulli(probability) => self.random.happens(probability.get()),
            LossModel::GilbertElliott { good_to_bad, bad_to_good, loss_good, loss_bad } => {
                let (loss, change) = if self.bad { (loss_bad, bad_to_good) } else { (loss_good, good_to_bad) };
                let lost = self.random.happens(loss.get());
                self.bad ^= self.random.happens(change.get());
                lost
            }
            LossModel::Packets { data, openings } => {
                let numbers = if opens { openings } else { data };
                self.counts[usize::from(opens)].strikes(numbers)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const N: u32 = 1_000_000;

    fn strikes(model: LossModel) -> Vec<bool> {
        let mut losses = Losses::new(model, Random::stream(1, "loss", 0));
        (0..N).map(|_| losses.loses(|| false)).collect()
    }

    fn share(strikes: &[bool]) -> f64 {
        strikes.iter().filter(|&&lost| lost).count() as f64 / f64::from(N)
    }

    fn fraction(value: f64) -> Fraction {
        Fraction::new(value).unwrap()
    }

    #[test]
    fn bernoulli_loses_its_share_within_three_standard_deviations() {
        // `sqrt(0.02 * 0.98 / 10^6) = 0.00014`
        let share = share(&strikes(LossModel::Bernoulli(fraction(0.02))));
        assert!((share - 0.02).abs() < 3.0 * 0.000_14, "{share}");
    }

    #[test]
    fn gilbert_loses_in_bursts_of_the_expected_number_and_length() {
        // One packet in ten finds the bad state, and `1/0.09 = 11.11` packets in a row do. Neighbours correlate by
        // `1 - 0.01 - 0.09 = 0.9`, so the variance of the share is `0.1 * 0.9 / 10^6 * 1.9/0.1 = 1.71e-6`.
        let strikes = strikes(LossModel::GilbertElliott {
            good_to_bad: fraction(0.01),
            bad_to_good: fraction(0.09),
            loss_good: Fraction::ZERO,
            loss_bad: fraction(1.0),
        });
        let share = share(&strikes);
        assert!((share - 0.1).abs() < 3.0 * 0.001_308, "{share}");
        // About 9000 bursts; a geometric length with p = 0.09 deviates by `sqrt(0.91)/0.09 = 10.6`.
        let bursts = strikes.windows(2).filter(|pair| !pair[0] && pair[1]).count();
        let length = share * f64::from(N) / bursts as f64;
        assert!((length - 11.11).abs() < 3.0 * 0.112, "{length}");
    }

    #[test]
    fn elliott_loses_in_both_states() {
        // 0.9 * 0.001 + 0.1 * 0.5 = 0.0509. Variance of the share: 0.0509 * 0.9491 = 0.0483 of each packet, and twice
        // `0.499^2 * 0.09 * (0.9 + 0.9^2 + ... = 9) = 0.4034` of its neighbours: `0.4517 / 10^6`.
        let share = share(&strikes(LossModel::GilbertElliott {
            good_to_bad: fraction(0.01),
            bad_to_good: fraction(0.09),
            loss_good: fraction(0.001),
            loss_bad: fraction(0.5),
        }));
        assert!((share - 0.0509).abs() < 3.0 * 0.000_672, "{share}");
    }

    #[test]
    fn the_chain_starts_in_the_good_state_and_moves_after_the_packet() {
        let certain = fraction(1.0);
        let strikes = strikes(LossModel::GilbertElliott {
            good_to_bad: certain,
            bad_to_good: certain,
            loss_good: Fraction::ZERO,
            loss_bad: certain,
        });
        assert_eq!(strikes[..4], [false, true, false, true]);
    }

    #[test]
    fn a_list_loses_exactly_its_packets() {
        let lost: Vec<usize> = strikes(LossModel::Packets { data: vec![0, 3, 4], openings: vec![1] })
            .iter()
            .enumerate()
            .filter_map(|(number, &lost)| lost.then_some(number))
            .collect();
        assert_eq!(lost, [0, 3, 4]);
    }

    #[test]
    fn packets_that_open_connections_are_counted_apart() {
        let model = LossModel::Packets { data: vec![0, 2], openings: vec![1] };
        let mut losses = Losses::new(model, Random::stream(1, "loss", 0));
        let lost = [true, false, true, false, false, true].map(|opens| losses.loses(|| opens));
        assert_eq!(lost, [false, true, true, false, true, false]);
    }

    #[test]
    #[should_panic(expected = "must ascend")]
    fn a_list_out_of_order_is_refused() {
        Losses::new(LossModel::Packets { data: vec![4, 3], openings: Vec::new() }, Random::stream(1, "loss", 0));
    }

    #[test]
    fn models_read_as_a_file_spells_them() {
        let read = |text| serde_json::from_str::<LossModel>(text).unwrap();
        assert_eq!(read(r#""none""#), LossModel::None);
        assert_eq!(read(r#"{"bernoulli": "1%"}"#), LossModel::Bernoulli(fraction(0.01)));
        let listed = LossModel::Packets { data: vec![1, 2], openings: vec![0] };
        assert_eq!(read(r#"{"packets": {"data": [1, 2], "openings": [0]}}"#), listed);
    }
}
