//! AVQ: adaptive virtual queue (Kunniyur and Srikant 2001).
//!
//! A virtual queue has the arrivals of the real one and a capacity of its own. A packet that would overflow it is
//! marked or dropped in the real queue. The virtual capacity follows the arrivals so that the link is used to the share
//! `gamma`: it grows by alpha gamma C a second and falls by alpha times what arrives, and is never above the capacity C
//! of the link.
//!
//! | section 2 of the paper | here |
//! | --- | --- |
//! | VQ = max(VQ - C~ (t - s), 0); overflow if VQ + b > B | [`Avq::overflows`] |
//! | C~ = max(min(C~ + alpha gamma C (t - s), C) - alpha b, 0) | the same, at its end |

use serde::{Deserialize, Serialize};
use units::{Bytes, Fraction, Rate, Time};

use super::metered::{Meter, Metered};
use super::{Discipline, Settings};
use crate::{Limit, Packet, Service};

/// What a scenario says about AVQ, named as in the paper.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(transform = Self::describe_bounds)]
pub struct AvqSettings {
    /// Share of the link that is to be used; by default 98%.
    pub gamma: Fraction,
    /// How fast the virtual capacity follows, in 1/s; by default 0.15.
    pub alpha: f64,
    /// The room of the virtual queue (B in the paper); by default the limit of the queue, or 100 packets of 1000 bytes
    /// where that is infinite.
    pub virtual_limit: Option<Bytes>,
    /// The capacity C; by default the nominal rate of the link.
    pub bandwidth: Option<Rate>,
    /// Whether ECN-capable packets are marked in place of dropped; by default they are.
    pub ecn: bool,
}

impl Default for AvqSettings {
    fn default() -> Self {
        Self {
            gamma: Fraction::new(0.98).unwrap_or_default(),
            alpha: 0.15,
            virtual_limit: None,
            bandwidth: None,
            ecn: true,
        }
    }
}

units::bounds! {
    AvqSettings {
        alpha: f64 = 1e-9, 1000.0;
        virtual_limit: Option<Bytes> = Bytes::new(1), Bytes::LARGEST;
        bandwidth: Option<Rate> = Rate::from_bits_per_second(1), Rate::LARGEST;
    }
}

impl Settings for AvqSettings {
    fn check(&self) -> Result<(), (&'static str, String)> {
        if self.gamma.is_zero() {
            return Err(("gamma", "`0%` of a link cannot be aimed at: it must be above 0, like `98%`".to_owned()));
        }
        self.out_of_bounds()
    }

    fn build<P: Packet>(&self, limit: Limit, service: &Service) -> Box<dyn Discipline<P>> {
        let rate = self.bandwidth.or_else(|| service.nominal());
        Box::new(Metered::new(rate.map(|rate| Avq::new(*self, limit, rate)), self.ecn))
    }
}

/// The virtual queue.
#[derive(Clone, Debug)]
struct Avq {
    settings: AvqSettings,
    /// B, in bytes.
    limit: f64,
    /// C and C~, in bytes a second.
    capacity: f64,
    virtual_capacity: f64,
    /// VQ, in bytes.
    length: f64,
    /// s: the last arrival.
    last: Time,
}

impl Avq {
    fn new(settings: AvqSettings, limit: Limit, rate: Rate) -> Self {
        let capacity = rate.bits_per_second() as f64 / 8.0;
        let own = match limit {
            Limit::Packets(packets) => f64::from(packets) * 1000.0,
            Limit::Bytes(bytes) => bytes.get() as f64,
            Limit::Delay(span) => capacity * span.as_nanos() as f64 / 1e9,
            Limit::Infinite => 100_000.0,
        };
        Self {
            settings,
            limit: settings.virtual_limit.map_or(own, |bytes| bytes.get() as f64),
            capacity,
            virtual_capacity: capacity,
            length: 0.0,
            last: Time::ZERO,
        }
    }

    /// True if a packet of `size` that arrives overflows the virtual queue.
    fn overflows(&mut self, now: Time, size: Bytes) -> bool {
        let size = size.get() as f64;
        let elapsed = now.since(self.last).as_nanos() as f64 / 1e9;
        self.length = (self.length - self.virtual_capacity * elapsed).max(0.0);
        let overflows = self.length + size > self.limit;
        if !overflows {
            self.length += size;
        }
        let AvqSettings { gamma, alpha, .. } = self.settings;
        let grown = self.virtual_capacity + alpha * gamma.get() * self.capacity * elapsed;
        self.virtual_capacity = (grown.min(self.capacity) - alpha * size).max(0.0);
        self.last = now;
        overflows
    }
}

/// Without a rate of the link there is no virtual queue, and nothing exceeds it.
impl Meter for Option<Avq> {
    /// The virtual queue has the capacity of the link.
    const FRAMED: bool = true;

    fn exceeds(&mut self, now: Time, size: Bytes) -> bool {
        self.as_mut().is_some_and(|avq| avq.overflows(now, size))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::at;

    /// 8 Mbit/s are 1000 bytes a millisecond, with room for two and a half packets of 1000 bytes.
    fn avq(alpha: f64) -> Avq {
        let settings = AvqSettings { alpha, virtual_limit: Some(Bytes::new(2500)), ..AvqSettings::default() };
        Avq::new(settings, Limit::Infinite, Rate::from_mbit(8))
    }

    #[test]
    fn what_overflows_the_virtual_queue_does_not_join_it() {
        let mut avq = avq(1e-9);
        let size = Bytes::new(1000);
        // Two fit; after 1 ms one has left, 0.4 ms later 1600 bytes are there.
        let overflows = [0, 0, 0, 1000, 1000, 1400].map(|micros| avq.overflows(at(micros), size));
        assert_eq!(overflows, [false, false, true, false, true, true]);
        assert!((avq.length - 1600.0).abs() < 0.01, "{}", avq.length);
    }

    #[test]
    fn the_virtual_capacity_follows_the_arrivals() {
        let mut avq = avq(0.15);
        // 1,000,000 bytes/s at first, its bound: 150 less for a packet of 1000 bytes.
        avq.overflows(at(0), Bytes::new(1000));
        assert_eq!(avq.virtual_capacity, 999_850.0);
        // 10 ms later `0.15 x 0.98 x 1,000,000 x 0.01 = 1470` more would pass the bound.
        avq.overflows(at(10_000), Bytes::new(1000));
        assert_eq!(avq.virtual_capacity, 999_850.0);
        // 0.5 ms later 73.5 more, 150 less.
        avq.overflows(at(10_500), Bytes::new(1000));
        assert!((avq.virtual_capacity - 999_773.5).abs() < 1e-6, "{}", avq.virtual_capacity);
    }

    #[test]
    fn what_just_fits_into_the_virtual_queue_does_not_overflow_it() {
        let mut avq = avq(1e-9);
        let overflows = [1000, 1000, 501, 500, 1].map(|size| avq.overflows(at(0), Bytes::new(size)));
        assert_eq!(overflows, [false, false, true, false, true]);
    }

    #[test]
    fn the_virtual_queue_has_the_limit_of_the_queue_and_the_rate_of_the_link() {
        let limit = |limit| Avq::new(AvqSettings::default(), limit, Rate::from_mbit(8)).limit;
        let span = units::Span::from_millis(50);
        let limits = [Limit::Packets(7), Limit::Bytes(Bytes::new(900)), Limit::Delay(span), Limit::Infinite].map(limit);
        assert_eq!(limits, [7000.0, 900.0, 50_000.0, 100_000.0]);
        let avq = avq(0.15);
        assert_eq!((avq.limit, avq.capacity, avq.virtual_capacity), (2500.0, 1e6, 1e6));
        // It empties at its own capacity, and never below nothing.
        let mut idle = self::avq(1e-9);
        idle.overflows(at(0), Bytes::new(2000));
        idle.overflows(at(50_000), Bytes::new(10));
        assert_eq!(idle.length, 10.0);
        // With alpha of 1000/s one packet takes all of the capacity.
        let mut steep = self::avq(1000.0);
        steep.overflows(at(0), Bytes::new(1001));
        assert_eq!(steep.virtual_capacity, 0.0);
    }

    #[test]
    fn without_a_rate_nothing_exceeds_the_virtual_queue() {
        let mut none: Option<Avq> = None;
        assert!(!none.exceeds(at(0), Bytes::new(1_000_000)));
        let mut some = Some(avq(0.15));
        assert!(some.exceeds(at(0), Bytes::new(2501)) && !some.exceeds(at(0), Bytes::new(2500)));
    }
}
