//! RED: random early detection (Floyd and Jacobson 1993), gentle and adaptive (Floyd, Gummadi and Shenker 2001).
//!
//! A packet that arrives updates the average length of the queue. Below `min` it is taken. From there to `max` it is
//! marked or dropped with a probability that grows up to `probability`, evenly spread over the arrivals. Above `max` it
//! always is, with `gentle` only with a probability that grows to 1 at twice `max`. With `adaptive`, `probability`
//! follows every half second: it rises while the average is above three fifths of the way from `min` to `max`, and
//! falls while it is below two fifths.
//!
//! | Floyd and Jacobson 1993 | here |
//! | --- | --- |
//! | section 4: avg = (1 - w) avg + w q; after idleness avg (1 - w)^m | [`Red::update`] |
//! | section 7, method 2: a mark each X arrivals, X uniform in 1 to 1/p | [`Red::strikes`] |
//! | Adaptive RED, section 3: additive increase, multiplicative decrease of max_p | [`Red::adapt`] |
//!
//! As in Linux: lengths are in bytes. The packet in service does not count (behind a shaper it does there, and here
//! with `count_in_service`). The weight is a power of 1/2 that follows from `burst`. A uniform number is drawn for each
//! mark, not for each packet. An arrival counts in the average also if the queue is full or the packet is
//! dropped. Different: `gentle` (Linux has only the cliff at `max`), `bandwidth` is the rate of the link where none is
//! given (in `tc` 10mbit), and `min` and `max` have defaults without a limit too. The average of an idle queue falls as
//! the paper says. Linux halves it in steps, by a table of 256 idle times, which `tc` makes in ticks of 64 ns and the
//! kernel reads in microseconds: after the first half it forgets some 20 times slower.

use units::{Bytes, Fraction, Random, Rate, Span, Time, packet};

use super::fifo::Fifo;
use super::tc::{Dialect, settings};
use super::{Admission, Context, Discipline, Served, Settings};
use crate::{Limit, Packet, Service};

/// How often `probability` adapts.
const ADAPTATION: Span = Span::from_millis(500);

settings! {
    /// What a scenario says about RED, named as in `tc`.
    pub struct RedSettings in "red", limit bytes {
        /// Average length from which on packets are marked or dropped; by default a third of `max`.
        min: Option<Bytes> = None, value, from Bytes::new(1), to Bytes::LARGEST;
        /// Average length at which the probability is `probability`; by default three times `min`, or without it a
        /// quarter of the limit.
        max: Option<Bytes> = None, value, from Bytes::new(1), to Bytes::LARGEST;
        /// The average size of packets; by default 1000B.
        avpkt: Bytes = Bytes::new(1000), value, from Bytes::new(1), to packet::LARGEST;
        /// How many packets of average size may arrive at once before the average reaches `min`; by default
        /// (2 min + max) / (3 avpkt).
        burst: Option<u32> = None, value, from 1, to 1_000_000;
        /// The rate at which the average falls while nothing waits; by default that of the link.
        bandwidth: Option<Rate> = None, value, omitted Some(Rate::from_mbit(10)),
            from Rate::from_bits_per_second(1), to Rate::LARGEST;
        /// The largest probability below `max`; by default 2%, with `adaptive` the one to begin with.
        probability: Fraction = Fraction::new(0.02).unwrap_or_default(), value;
        /// Whether ECN-capable packets are marked in place of dropped; by default they are not.
        ecn: bool = false, words("ecn" = true);
        /// Whether they are dropped all the same above `max` (with `gentle` above twice `max`); by default they are
        /// not.
        harddrop: bool = false, words("harddrop" = true);
        /// Whether packets that are not ECN-capable are taken where others are marked; by default they are dropped.
        nodrop: bool = false, words("nodrop" = true);
        /// Whether `probability` adapts; by default it does not.
        adaptive: bool = false, words("adaptive" = true);
        /// Whether the probability grows from `max` to twice `max` up to 1; by default it is 1 from `max` on.
        gentle: bool = false, words();
    }
    shorthands {
        "adaptative" = |red| red.adaptive = true;
    }
    refused {
        "ewma" = "the weight of the average follows from `burst`";
        "Plog" = "give `probability`";
        "Scell_log" = "the average of an idle queue falls by `bandwidth`";
        "qevent" = "there are no filters";
    }
    settled |red| red.harddrop &= red.ecn;
}

impl RedSettings {
    /// `min` and `max` of a queue with `limit`, in bytes.
    fn thresholds(&self, limit: Limit, rate: Option<Rate>) -> (f64, f64) {
        let avpkt = self.avpkt.get() as f64;
        let quarter = match (limit, rate) {
            (Limit::Packets(packets), _) => f64::from(packets) * avpkt / 4.0,
            (Limit::Bytes(bytes), _) => bytes.get() as f64 / 4.0,
            (Limit::Delay(span), Some(rate)) => {
                rate.bits_per_second() as f64 / 8.0 * span.as_nanos() as f64 / 1e9 / 4.0
            }
            // The thresholds of Floyd and Jacobson: 5 and 15 packets.
            _ => 15.0 * avpkt,
        };
        let bytes = |size: Bytes| size.get() as f64;
        let max = self.max.map_or_else(|| self.min.map_or(quarter, |min| 3.0 * bytes(min)), bytes);
        (self.min.map_or(max / 3.0, bytes), max)
    }
}

impl Settings for RedSettings {
    const TC: Option<Dialect<Self>> = Some(Self::DIALECT);

    fn check(&self) -> Result<(), (&'static str, String)> {
        self.out_of_bounds()?;
        if let (Some(min), Some(max)) = (self.min, self.max)
            && max <= min
        {
            return Err(("max", format!("`{max}` must be above `min`, which is `{min}`")));
        }
        if (self.harddrop || self.nodrop) && !self.ecn {
            let key = if self.harddrop { "harddrop" } else { "nodrop" };
            return Err((key, "it says what becomes of packets beside marks, so it needs `ecn = true`".to_owned()));
        }
        Ok(())
    }

    fn build<P: Packet>(&self, limit: Limit, service: &Service) -> Box<dyn Discipline<P>> {
        Box::new(RedQueue { red: Red::new(*self, limit, service.nominal()), waiting: Fifo::new() })
    }
}

/// The exponent n of the weight 2^-n with which `burst` packets at an empty queue bring the average to about `min`, as
/// `tc` derives it: the smallest with burst + 1 - min/avpkt <= (1 - (1 - w)^burst) / w.
fn exponent(burst: f64, min: f64, avpkt: f64) -> i32 {
    let wanted = burst + 1.0 - min / avpkt;
    let reached = |n: i32| {
        let weight = libm::ldexp(1.0, -n);
        (1.0 - libm::pow(1.0 - weight, burst)) / weight
    };
    (1..31).find(|&n| wanted <= reached(n)).unwrap_or(31)
}

/// The decision on a packet by the average length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Pass,
    /// It is its turn among those that are marked at random.
    Early,
    /// The average is too long for any.
    Hard,
}

/// The average and the state that depends on it.
#[derive(Clone, Debug)]
struct Red {
    settings: RedSettings,
    /// In bytes.
    min: f64,
    max: f64,
    weight: f64,
    /// At this rate packets of average size would have left an idle link.
    rate: Option<Rate>,
    /// Average length in bytes.
    average: f64,
    probability: f64,
    /// Arrivals since the last mark, and the share of an even spread at which the next is due, or `None` while the
    /// average is below `min` or above all.
    spread: Option<(u32, f64)>,
    /// Since when nothing waits and nothing is in service, as far as known.
    idle_since: Option<Time>,
    /// When `probability` adapts next.
    adapts: Time,
}

impl Red {
    fn new(settings: RedSettings, limit: Limit, nominal: Option<Rate>) -> Self {
        let rate = settings.bandwidth.or(nominal);
        let (min, max) = settings.thresholds(limit, rate);
        let avpkt = settings.avpkt.get() as f64;
        let burst = settings.burst.map_or((2.0 * min + max) / (3.0 * avpkt), f64::from).max(1.0);
        Self {
            settings,
            min,
            max,
            weight: libm::ldexp(1.0, -exponent(burst, min, avpkt)),
            rate,
            average: 0.0,
            probability: settings.probability.get(),
            spread: None,
            idle_since: None,
            adapts: Time::ZERO + ADAPTATION,
        }
    }

    /// How long `size` takes at the rate of the link.
    fn transmission(&self, size: Bytes) -> Span {
        self.rate.map_or(Span::ZERO, |rate| rate.time_for(size))
    }

    /// The average when nothing has waited from `since` to `now`.
    fn decayed(&self, since: Time, now: Time) -> f64 {
        let packet = self.transmission(self.settings.avpkt).as_nanos();
        if packet == 0 {
            return 0.0;
        }
        let missed = now.since(since).as_nanos() as f64 / packet as f64;
        self.average * libm::pow(1.0 - self.weight, missed)
    }

    /// A packet arrives and finds `waiting`.
    fn update(&mut self, now: Time, waiting: Bytes) {
        while self.settings.adaptive && self.adapts <= now {
            let at = self.adapts;
            let average = self.idle_since.filter(|&since| since < at).map_or(self.average, |s| self.decayed(s, at));
            self.adapt(average);
            self.adapts = at + ADAPTATION;
        }
        match self.idle_since.take().filter(|&since| since < now) {
            Some(since) => self.average = self.decayed(since, now),
            None => self.average += self.weight * (waiting.get() as f64 - self.average),
        }
    }

    /// One step of `probability`.
    fn adapt(&mut self, average: f64) {
        let fifth = (self.max - self.min) / 5.0;
        if average > self.min + 3.0 * fifth && self.probability <= 0.5 {
            self.probability += (self.probability / 4.0).min(0.01);
        } else if average < self.min + 2.0 * fifth && self.probability >= 0.01 {
            self.probability *= 0.9;
        }
    }

    /// Decides on the next packet.
    fn fate(&mut self, random: &mut Random) -> Fate {
        let Self { min, max, average, .. } = *self;
        if average < min {
            self.spread = None;
            return Fate::Pass;
        }
        let probability = if average < max {
            self.probability * (average - min) / (max - min)
        } else if self.settings.gentle && average < 2.0 * max {
            self.probability + (1.0 - self.probability) * (average - max) / max
        } else {
            self.spread = None;
            return Fate::Hard;
        };
        if self.strikes(probability, random) { Fate::Early } else { Fate::Pass }
    }

    /// True if the next mark is due: after X arrivals, X uniform between 1 and 1/`probability`.
    fn strikes(&mut self, probability: f64, random: &mut Random) -> bool {
        let Some((count, due)) = &mut self.spread else {
            self.spread = Some((0, random.uniform()));
            return false;
        };
        *count += 1;
        let strikes = f64::from(*count) * probability >= *due;
        if strikes {
            self.spread = Some((0, random.uniform()));
        }
        strikes
    }
}

/// One queue, first in, first out, under RED.
#[derive(Debug)]
struct RedQueue<P> {
    red: Red,
    waiting: Fifo<P>,
}

impl<P: Packet> RedQueue<P> {
    /// The service of `packet` starts and nothing waits behind it.
    fn rest_after(&mut self, now: Time, packet: &P) {
        self.red.idle_since = Some(now + self.red.transmission(packet.size()));
    }
}

impl<P: Packet> Discipline<P> for RedQueue<P> {
    fn admit(&mut self, packet: &P, cx: &mut Context<'_, P>) -> Admission {
        let idle_since = self.red.idle_since;
        self.red.update(cx.now, cx.found());
        let fate = self.red.fate(cx.random);
        let RedSettings { ecn, harddrop, nodrop, .. } = self.red.settings;
        if fate == Fate::Pass {
            return Admission::Take;
        }
        let spared = ecn && !(fate == Fate::Hard && harddrop);
        match (spared, packet.ecn().is_capable()) {
            (true, true) => Admission::Mark,
            (true, false) if nodrop => Admission::Take,
            _ => {
                // A dropped packet leaves an idle queue idle.
                self.red.idle_since = idle_since.map(|since| since.max(cx.now));
                Admission::Drop
            }
        }
    }

    fn make_room(&mut self, _packet: &P, cx: &mut Context<'_, P>) {
        let idle_since = self.red.idle_since;
        self.red.update(cx.now, cx.found());
        self.red.fate(cx.random);
        self.red.idle_since = idle_since;
    }

    fn pass(&mut self, packet: &P, cx: &mut Context<'_, P>) {
        self.rest_after(cx.now, packet);
    }

    fn push(&mut self, packet: P, cx: &mut Context<'_, P>) {
        self.waiting.push(cx.now, packet);
    }

    fn pop(&mut self, cx: &mut Context<'_, P>) -> Option<Served<P>> {
        let (packet, arrived) = self.waiting.pop()?;
        if cx.waiting().packets == 1 {
            self.rest_after(cx.now, &packet);
        }
        Some(Served { packet, arrived, marked: false })
    }
}

#[cfg(test)]
mod tests;
