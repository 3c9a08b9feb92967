//! Random delay behind a link: jitter, packets that take no delay, and slots in which packets leave in batches.
//!
//! The laws are `netem`'s. A deviation may be negative, and a wire only adds delay. So the wires behind such a link are
//! shorter by a [lead](JitterModel::lead), which every packet gets back here.

use units::{Bytes, Fraction, Random, Span, Time};

use crate::{Chance, Chances, wifi};

/// No deviation is larger than so many times its size, as in the tables of `netem`.
const MOST: f64 = 4.0;

/// The law of deviations from the propagation delay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shape {
    /// Uniform from zero to below the size.
    #[default]
    Uniform,
    /// Uniform from minus the size to the size.
    Around,
    /// Normal, of the mean 0. The size is its standard deviation.
    Normal,
    /// Pareto of the shape 3, moved to the mean 0: at least -2/3 of the size.
    Pareto,
    /// A quarter of the normal quantile and three quarters of Pareto's.
    ParetoNormal,
    /// A crowded Wi-Fi channel, with about this mean.
    Wifi,
}

impl Shape {
    /// The largest size of a law that has one: no packet is later with more.
    pub fn largest(self) -> Option<Span> {
        matches!(self, Self::Wifi).then(wifi::most)
    }

    /// The quantile `at` of the deviation, in sizes. `None` for a law that does not scale with its size.
    fn quantile(self, at: f64) -> Option<f64> {
        match self {
            Self::Uniform => Some(at),
            Self::Around => Some(2.0 * at - 1.0),
            Self::Normal => Some(normal_quantile(at)),
            Self::Pareto => Some(pareto_quantile(at)),
            Self::ParetoNormal => Some(0.25 * normal_quantile(at) + 0.75 * pareto_quantile(at)),
            Self::Wifi => None,
        }
    }
}

/// The law of jitter.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spread {
    /// Its distribution.
    pub shape: Shape,
    /// The scale of the deviations.
    pub size: Span,
    /// The correlation of each deviation with the one before, as normal scores. The distribution stays as it is.
    pub correlation: Fraction,
}

/// Packets that take no delay at all, and so overtake others (`reorder` of `netem`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Early {
    /// The packets that are early, of those that are asked.
    pub chance: Chance,
    /// After an early packet so many less one are not asked.
    pub gap: u32,
}

/// Instants at which packets leave in batches (`slot` of `netem`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slots {
    /// The least time from one slot to the next, above 0.
    pub min: Span,
    /// The most; times are uniform between the two.
    pub max: Span,
    /// The most packets of a slot.
    pub packets: Option<u32>,
    /// A slot ends with the packet that reaches so many bytes.
    pub bytes: Option<Bytes>,
}

/// How much later than the propagation delay packets arrive.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JitterModel {
    /// Laws, each from its time on.
    pub spreads: Vec<(Time, Spread)>,
    /// Packets without delay.
    pub early: Option<Early>,
    /// Batches.
    pub slots: Option<Slots>,
}

impl From<Span> for JitterModel {
    /// Uniform from zero to below `size`.
    fn from(size: Span) -> Self {
        let spread = Spread { size, ..Spread::default() };
        Self { spreads: if size.is_zero() { Vec::new() } else { vec![(Time::ZERO, spread)] }, early: None, slots: None }
    }
}

impl JitterModel {
    /// True if every packet arrives in time.
    pub fn is_none(&self) -> bool {
        self.early.is_none() && self.slots.is_none() && self.spreads.iter().all(|(_, spread)| spread.size.is_zero())
    }

    /// By how much a packet may be earlier than its propagation delay.
    pub fn lead(&self) -> Span {
        let least = |spread: &Spread| spread.size.scale(-spread.shape.quantile(0.0).unwrap_or_default().min(0.0));
        match self.early {
            Some(_) => Span::MAX,
            None => self.spreads.iter().map(|(_, spread)| least(spread)).max().unwrap_or_default(),
        }
    }

    /// By how much it may be later.
    pub fn longest(&self) -> Span {
        let most =
            |spread: &Spread| spread.shape.quantile(1.0).map_or_else(wifi::longest, |most| spread.size.scale(most));
        let spread = self.spreads.iter().map(|(_, spread)| most(spread)).max().unwrap_or_default();
        spread + self.slots.map_or(Span::ZERO, |slots| slots.max)
    }
}

/// Jitter at work. Packets come in the order in which they leave.
#[derive(Clone, Debug)]
pub struct Jitter {
    model: Option<Box<Model>>,
    random: Random,
}

#[derive(Clone, Debug)]
struct Model {
    spreads: Vec<(Time, Spread)>,
    /// How many of them have begun.
    begun: usize,
    spread: Spread,
    /// The last normal score.
    score: Option<f64>,
    /// Every packet gets this back of its propagation delay.
    lead: Span,
    early: Option<(Chances, Early)>,
    /// The packets since the last early one.
    since_early: u32,
    slots: Option<Slots>,
    slot: Slot,
}

/// The slot that is filled.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    at: Time,
    packets: u32,
    bytes: Bytes,
}

impl Jitter {
    /// Draws from `random`, or draws nothing if `model` is none. The wires behind are shorter by `lead`.
    pub fn new(model: &JitterModel, lead: Span, random: Random) -> Self {
        let at_work = || {
            let JitterModel { spreads, early, slots } = model.clone();
            let (begun, spread, score) = (0, Spread::default(), None);
            let early = early.map(|early| (Chances::new(early.chance), early));
            let (since_early, slot) = (0, Slot::default());
            Box::new(Model { spreads, begun, spread, score, lead, early, since_early, slots, slot })
        };
        Self { model: (!model.is_none()).then(at_work), random }
    }

    /// The delay of a packet of `size` that leaves at `leaves_at`, behind the wire.
    #[inline]
    pub fn draw(&mut self, leaves_at: Time, size: Bytes) -> Span {
        match &mut self.model {
            None => Span::ZERO,
            Some(model) => model.draw(leaves_at, size, &mut self.random),
        }
    }
}

impl Model {
    #[inline(never)]
    fn draw(&mut self, leaves_at: Time, size: Bytes, random: &mut Random) -> Span {
        if leaves_at == Time::NEVER {
            return Span::ZERO;
        }
        while let Some(&(from, spread)) = self.spreads.get(self.begun).filter(|step| step.0 <= leaves_at) {
            (self.spread, self.begun) = (spread, self.begun + 1);
            debug_assert!(from <= leaves_at);
        }
        let extra = if self.is_early(random) { Span::ZERO } else { self.deviate(random) };
        self.wait_for_slot(leaves_at + extra, size, random).since(leaves_at)
    }

    /// The lead with the deviation of the next packet.
    fn deviate(&mut self, random: &mut Random) -> Span {
        let Spread { shape, size, correlation } = self.spread;
        if size.is_zero() {
            return self.lead;
        }
        let at = if correlation.is_zero() { random.uniform() } else { self.correlated(correlation.get(), random) };
        match shape.quantile(at) {
            None => self.lead + wifi::delay(size, random),
            Some(later) if later >= 0.0 => self.lead + size.scale(later),
            Some(earlier) => self.lead.saturating_sub(size.scale(-earlier)),
        }
    }

    /// A uniform number whose normal score correlates with the last one.
    fn correlated(&mut self, correlation: f64, random: &mut Random) -> f64 {
        let own = normal_quantile(random.uniform());
        let score =
            self.score.map_or(own, |last| correlation * last + libm::sqrt(1.0 - correlation * correlation) * own);
        self.score = Some(score);
        0.5 * libm::erfc(-score / std::f64::consts::SQRT_2)
    }

    fn is_early(&mut self, random: &mut Random) -> bool {
        let Some((chances, early)) = &mut self.early else { return false };
        self.since_early = self.since_early.saturating_add(1);
        let strikes = self.since_early >= early.gap && chances.strike(random);
        if strikes {
            self.since_early = 0;
        }
        strikes
    }

    /// When a packet that is ready at `ready` leaves with its slot.
    fn wait_for_slot(&mut self, ready: Time, size: Bytes, random: &mut Random) -> Time {
        let Some(Slots { min, max, packets, bytes }) = self.slots else { return ready };
        let full =
            packets.is_some_and(|most| self.slot.packets >= most) || bytes.is_some_and(|most| self.slot.bytes >= most);
        if full {
            self.slot = Slot { at: self.slot.at + min + (max - min).scale(random.uniform()), ..Slot::default() };
        }
        while self.slot.at < ready {
            self.slot = Slot { at: self.slot.at + min + (max - min).scale(random.uniform()), ..Slot::default() };
        }
        self.slot.packets += 1;
        self.slot.bytes += size;
        self.slot.at
    }
}

/// The Pareto quantile of the shape 3, scaled as in `netem`: `4/3 ((1 - at)^(-1/3) - 3/2)`.
fn pareto_quantile(at: f64) -> f64 {
    (4.0 / 3.0 * (1.0 / libm::cbrt(1.0 - at) - 1.5)).min(MOST)
}

/// The quantile of the standard normal distribution: formula 26.2.23 of Abramowitz and Stegun 1964, and two steps of
/// Newton's method.
fn normal_quantile(at: f64) -> f64 {
    let tail = at.min(1.0 - at);
    // 3.2e-5 are beyond 4 deviations.
    if tail < 3.2e-5 {
        return if at < 0.5 { -MOST } else { MOST };
    }
    let t = libm::sqrt(-2.0 * libm::log(tail));
    let above = 2.515_517 + t * (0.802_853 + t * 0.010_328);
    let below = 1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308));
    let mut score = t - above / below;
    for _ in 0..2 {
        let beyond = 0.5 * libm::erfc(score / std::f64::consts::SQRT_2);
        let density = libm::exp(-score * score / 2.0) * 0.398_942_280_401_432_7;
        score += (beyond - tail) / density;
    }
    let score = score.min(MOST);
    if at < 0.5 { -score } else { score }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::at;

    const MS: fn(u64) -> Span = Span::from_millis;

    fn random() -> Random {
        Random::stream(1, "test", 0)
    }

    fn jitter(model: &JitterModel, lead: Span) -> Jitter {
        Jitter::new(model, lead, random())
    }

    fn spread(shape: Shape, correlation: f64) -> JitterModel {
        let spread = Spread { shape, size: MS(10), correlation: Fraction::new(correlation).unwrap() };
        JitterModel { spreads: vec![(Time::ZERO, spread)], ..JitterModel::default() }
    }

    /// `count` delays in ms beside the lead of 40.
    fn deviations(model: &JitterModel, count: u64) -> Vec<f64> {
        let mut jitter = jitter(model, MS(40));
        (0..count).map(|packet| jitter.draw(at(packet), Bytes::new(1500)).as_millis_f64() - 40.0).collect()
    }

    fn mean(values: &[f64]) -> f64 {
        values.iter().sum::<f64>() / values.len() as f64
    }

    #[test]
    fn the_quantile_of_the_normal_distribution_has_six_decimals() {
        // Abramowitz and Stegun 1964, table 26.5.
        for (at, value) in [(0.5, 0.0), (0.6, 0.253_347), (0.9, 1.281_552), (0.975, 1.959_964), (0.999, 3.090_232)] {
            assert!((normal_quantile(at) - value).abs() < 1e-6, "{at}: {}", normal_quantile(at));
            assert!((normal_quantile(1.0 - at) + value).abs() < 1e-6, "{at}");
        }
    }

    #[test]
    fn jitter_is_uniform_below_its_limit_and_none_draws_nothing() {
        let mut some = jitter(&MS(3).into(), Span::ZERO);
        let drawn: Vec<f64> = (0..50_000).map(|_| some.draw(at(0), Bytes::ZERO).as_millis_f64()).collect();
        assert!(drawn.iter().all(|d| (0.0..=3.0).contains(d)));
        assert!((mean(&drawn) - 1.5).abs() < 0.015);
        assert_eq!(jitter(&Span::ZERO.into(), Span::ZERO).draw(at(0), Bytes::ZERO), Span::ZERO);
    }

    #[test]
    fn quantiles_are_those_of_the_tables_of_netem() {
        // From normal.dist, pareto.dist and paretonormal.dist of iproute2 6.1, at 1, 5, 25, 50, 75, 95 and 99 %.
        let tables = [
            (Shape::Normal, [-2.334, -1.646, -0.674, 0.0, 0.675, 1.645, 2.327]),
            (Shape::Pareto, [-0.662, -0.644, -0.532, -0.32, 0.117, 1.618, 4.0]),
            (Shape::ParetoNormal, [-1.08, -0.894, -0.568, -0.24, 0.256, 1.625, 3.582]),
        ];
        for (shape, expected) in tables {
            for (share, value) in [0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99].into_iter().zip(expected) {
                assert!((shape.quantile(share).unwrap() - value).abs() < 0.01, "{shape:?} {share}");
            }
            assert!(shape.quantile(0.0) >= Some(-MOST) && shape.quantile(1.0) <= Some(MOST));
        }
    }

    #[test]
    fn deviations_have_the_mean_and_the_spread_of_their_law() {
        // A uniform number from -10 to 10 deviates by `10/sqrt(3) = 5.77`.
        for (shape, deviation) in [(Shape::Around, 5.77), (Shape::Normal, 10.0), (Shape::Uniform, 2.89)] {
            let drawn = deviations(&spread(shape, 0.0), 100_000);
            let centre = if shape == Shape::Uniform { 5.0 } else { 0.0 };
            let found = libm::sqrt(mean(&drawn.iter().map(|d| (d - centre) * (d - centre)).collect::<Vec<_>>()));
            assert!((mean(&drawn) - centre).abs() < 0.15 && (found - deviation).abs() < 0.1, "{shape:?} {found}");
        }
    }

    #[test]
    fn neighbours_correlate_and_the_distribution_stays() {
        let drawn = deviations(&spread(Shape::Normal, 0.5), 100_000);
        let square: f64 = mean(&drawn.iter().map(|d| d * d).collect::<Vec<_>>());
        let product: f64 = mean(&drawn.windows(2).map(|pair| pair[0] * pair[1]).collect::<Vec<_>>());
        assert!((square - 100.0).abs() < 2.5, "{square}");
        assert!((product / square - 0.5).abs() < 0.02, "{}", product / square);
    }

    #[test]
    fn a_packet_is_no_earlier_than_its_lead_allows() {
        let mut jitter = jitter(&spread(Shape::Around, 0.0), MS(4));
        let drawn: Vec<Span> = (0..1000).map(|packet| jitter.draw(at(packet), Bytes::ZERO)).collect();
        // 6 of the 20 ms are below -4.
        let none = drawn.iter().filter(|extra| extra.is_zero()).count();
        assert!((250..350).contains(&none), "{none}");
        assert!(drawn.iter().all(|&extra| extra <= MS(14)));
        assert_eq!((spread(Shape::Around, 0.0).lead(), spread(Shape::Around, 0.0).longest()), (MS(10), MS(10)));
    }

    #[test]
    fn a_crowded_channel_only_delays() {
        let model = spread(Shape::Wifi, 0.0);
        assert_eq!((model.lead(), model.longest()), (Span::ZERO, MS(510)));
        let drawn = deviations(&model, 100_000);
        // Of 10 ms a tenth of the packets have 90 ms, and all 0.68 (`wifi.rs`).
        assert!((mean(&drawn) - 9.68).abs() < 0.3 && drawn.iter().all(|delay| *delay >= 0.0), "{}", mean(&drawn));
    }

    #[test]
    fn a_law_holds_from_its_time_on() {
        let spread = |size| Spread { size, ..Spread::default() };
        let spreads = vec![(at(1000), spread(MS(5))), (at(2000), spread(Span::ZERO))];
        let mut jitter = jitter(&JitterModel { spreads, ..JitterModel::default() }, Span::ZERO);
        let drawn = [999, 1000, 1999, 2000].map(|micros| jitter.draw(at(micros), Bytes::ZERO));
        assert_eq!([drawn[0], drawn[3]], [Span::ZERO; 2]);
        assert!(!drawn[1].is_zero() && !drawn[2].is_zero());
    }

    #[test]
    fn every_gap_th_packet_may_take_no_delay() {
        let fraction = |value| Fraction::new(value).unwrap();
        let model = |share, correlation, gap| {
            let chance = Chance { share: fraction(share), correlation: fraction(correlation) };
            let early = Early { chance, gap };
            JitterModel { early: Some(early), ..JitterModel::default() }
        };
        let drawn = |model: &JitterModel, count: u64| {
            let mut jitter = jitter(model, MS(10));
            (0..count).map(|packet| jitter.draw(at(packet), Bytes::ZERO).is_zero()).collect::<Vec<_>>()
        };
        assert_eq!(drawn(&model(1.0, 0.0, 3), 7), [false, false, true, false, false, true, false]);
        let some = drawn(&model(0.25, 0.5, 1), 100_000);
        let share = some.iter().filter(|early| **early).count() as f64 / 1e5;
        let both = some.windows(2).filter(|pair| pair[0] && pair[1]).count() as f64 / 1e5;
        // Of early ones `0.25 + 0.5 * 0.75 = 0.625` are followed by another.
        assert!((share - 0.25).abs() < 0.01 && (both / share - 0.625).abs() < 0.01, "{share} {both}");
    }

    #[test]
    fn a_slot_takes_so_many_packets_or_bytes() {
        let of = |packets, bytes| {
            let slots = Slots { min: MS(10), max: MS(10), packets, bytes };
            let mut jitter = jitter(&JitterModel { slots: Some(slots), ..JitterModel::default() }, Span::ZERO);
            let leave = [1, 2, 3, 12_000, 45_000].map(|micros| at(micros) + jitter.draw(at(micros), Bytes::new(1000)));
            leave.map(|time| time.as_nanos() / 1_000_000)
        };
        assert_eq!(of(None, None), [10, 10, 10, 20, 50]);
        assert_eq!(of(Some(2), None), [10, 10, 20, 20, 50]);
        // The second packet reaches 1500 bytes.
        assert_eq!(of(None, Some(Bytes::new(1500))), [10, 10, 20, 20, 50]);
    }
}
