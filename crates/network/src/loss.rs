//! Random loss: packets that vanish whatever the queue holds.

use serde::{Deserialize, Serialize};
use units::{Fraction, Random, Span, Time};

use crate::Purpose;

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
    /// Losses while a state lasts: good and bad states follow each other in time, whatever arrives, beginning with a
    /// good one.
    Periods {
        /// The mean length of good states, which is exponentially distributed; above 0.
        good_for: Span,
        /// That of bad ones.
        bad_for: Span,
        /// Probability of loss in a good state.
        loss_good: Fraction,
        /// Probability of loss in a bad state.
        loss_bad: Fraction,
    },
    /// Another model from each time on, in order of time; none before the first.
    Steps(Vec<(Time, Self)>),
    /// Exactly the packets with these numbers, counted from 0 in the order of arrival; the lists ascend. Packets that
    /// open a connection are counted apart, and those that close one not at all
    /// ([`Packet::purpose`](crate::Packet::purpose)).
    Packets {
        /// Of data and their ACKs.
        data: Vec<u64>,
        /// Of packets that open a connection.
        openings: Vec<u64>,
    },
}

/// A loss model at work.
#[derive(Clone, Debug)]
pub(crate) struct Losses {
    model: LossModel,
    /// The models that follow, the next one last.
    later: Vec<(Time, LossModel)>,
    random: Random,
    /// The state is the bad one.
    bad: bool,
    /// Where states last: one has begun, and when it ends.
    begun: bool,
    until: Time,
    /// For the lists.
    data: Count,
    openings: Count,
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
        let (model, mut later) = match model {
            LossModel::Steps(steps) => (LossModel::None, steps),
            model => (model, Vec::new()),
        };
        assert!(later.is_sorted_by_key(|step| step.0), "the steps of losses must be in order of time");
        later.reverse();
        later.iter().map(|step| &step.1).chain([&model]).for_each(check);
        Self {
            model,
            later,
            random,
            bad: false,
            begun: false,
            until: Time::ZERO,
            data: Count::default(),
            openings: Count::default(),
        }
    }

    /// True if the packet that arrives at `now` is lost.
    #[inline]
    pub(crate) fn loses(&mut self, now: Time, purpose: impl FnOnce() -> Purpose) -> bool {
        let silent = matches!(self.model, LossModel::None) && self.later.is_empty();
        !silent && self.strikes(now, purpose())
    }

    #[inline(never)]
    fn strikes(&mut self, now: Time, purpose: Purpose) -> bool {
        while let Some((from, model)) = self.later.pop_if(|step| step.0 <= now) {
            // A state of before means nothing to another model.
            (self.model, self.bad, self.begun, self.until) = (model, false, false, from);
        }
        match &self.model {
            LossModel::None | LossModel::Steps(_) => false,
            LossModel::Bernoulli(probability) => self.random.happens(probability.get()),
            LossModel::GilbertElliott { good_to_bad, bad_to_good, loss_good, loss_bad } => {
                let (loss, change) = if self.bad { (loss_bad, bad_to_good) } else { (loss_good, good_to_bad) };
                let lost = self.random.happens(loss.get());
                self.bad ^= self.random.happens(change.get());
                lost
            }
            LossModel::Periods { good_for, bad_for, loss_good, loss_bad } => {
                if !self.begun {
                    self.begun = true;
                    self.until += good_for.scale(self.random.exponential());
                }
                while self.until <= now {
                    self.bad = !self.bad;
                    let mean = if self.bad { bad_for } else { good_for };
                    self.until += mean.scale(self.random.exponential()).max(Span::from_nanos(1));
                }
                self.random.happens(if self.bad { loss_bad } else { loss_good }.get())
            }
            LossModel::Packets { data, openings } => match purpose {
                Purpose::Data => self.data.strikes(data),
                Purpose::Opening => self.openings.strikes(openings),
                Purpose::Closing => false,
            },
        }
    }
}

/// # Panics
/// If the numbers of lost packets do not ascend, steps hold steps, or a state lasts no time.
fn check(model: &LossModel) {
    match model {
        LossModel::Packets { data, openings } => {
            let ascends = |numbers: &[u64]| numbers.is_sorted_by(|a, b| a < b);
            assert!(ascends(data) && ascends(openings), "the numbers of lost packets must ascend");
        }
        LossModel::Periods { good_for, bad_for, .. } => {
            assert!(!good_for.is_zero() && !bad_for.is_zero(), "a state must last");
        }
        LossModel::Steps(_) => panic!("steps of losses hold no steps"),
        LossModel::None | LossModel::Bernoulli(_) | LossModel::GilbertElliott { .. } => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Purpose::{Closing, Data, Opening};
    use crate::testing::at;

    const N: u32 = 1_000_000;

    fn strikes(model: LossModel) -> Vec<bool> {
        let mut losses = Losses::new(model, Random::stream(1, "loss", 0));
        (0..N).map(|_| losses.loses(Time::ZERO, || Purpose::Data)).collect()
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
        // About 9000 bursts. A geometric length with p = 0.09 deviates by `sqrt(0.91)/0.09 = 10.6`.
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
    fn packets_that_open_connections_are_counted_apart_and_those_that_close_them_not_at_all() {
        let model = LossModel::Packets { data: vec![0, 2], openings: vec![1] };
        let mut losses = Losses::new(model, Random::stream(1, "loss", 0));
        let purposes = [Opening, Data, Closing, Opening, Data, Closing, Data, Opening];
        let lost = purposes.map(|purpose| losses.loses(Time::ZERO, || purpose));
        assert_eq!(lost, [false, true, false, true, false, false, true, false]);
    }

    #[test]
    fn states_last_by_time_however_many_packets_arrive() {
        let periods = LossModel::Periods {
            good_for: Span::from_millis(900),
            bad_for: Span::from_millis(100),
            loss_good: Fraction::ZERO,
            loss_bad: fraction(1.0),
        };
        let mut losses = Losses::new(periods, Random::stream(1, "loss", 0));
        // 10,000 s of 5000 pairs of states: the share of the bad time deviates by
        // `0.1 * 0.9 * sqrt(2 / 10000) = 0.0013`.
        let strikes: Vec<bool> =
            (0..N).map(|packet| losses.loses(at(10_000 * u64::from(packet)), || Purpose::Data)).collect();
        assert!((share(&strikes) - 0.1).abs() < 3.0 * 0.0013, "{}", share(&strikes));
        let bursts = strikes.windows(2).filter(|pair| !pair[0] && pair[1]).count() as f64;
        // Of lengths of a mean of 100 ms nine in ten hold a packet every 10 ms: `100 / (1 - e^-0.1) = 105 ms`.
        let length = share(&strikes) * f64::from(N) / bursts;
        assert!((length - 10.5).abs() < 0.5, "{length}");
    }

    #[test]
    fn a_model_holds_from_its_time_on() {
        let all = LossModel::Bernoulli(fraction(1.0));
        let listed = LossModel::Packets { data: vec![1], openings: Vec::new() };
        let steps = LossModel::Steps(vec![(at(10), all), (at(20), LossModel::None), (at(30), listed)]);
        let mut losses = Losses::new(steps, Random::stream(1, "loss", 0));
        let lost = [9, 10, 19, 20, 30, 30, 30].map(|micros| losses.loses(at(micros), || Purpose::Data));
        assert_eq!(lost, [false, true, true, false, false, true, false]);
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
