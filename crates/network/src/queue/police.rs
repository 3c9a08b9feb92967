//! A policer: what exceeds a token bucket is dropped, or marked, when it arrives (RFC 2475, section 2.3.3.4).
//!
//! The bucket holds `burst` bytes and fills at `rate`. A packet that finds as many tokens as it has bytes takes them
//! and goes through. Any other exceeds the contract and takes none (as `act_police.c` of Linux has it, without its
//! `peakrate` and `mtu`). Behind it packets wait first in, first out.

use serde::{Deserialize, Serialize};
use units::{Bytes, Rate, Time};

use super::metered::{Meter, Metered};
use super::{Discipline, Settings};
use crate::{Limit, Packet, Service};

/// What a scenario says about a policer, named as in `tc`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(transform = Self::describe_bounds)]
pub struct PoliceSettings {
    /// At which the bucket fills; it must be given.
    pub rate: Option<Rate>,
    /// What the bucket holds; it must be given.
    pub burst: Option<Bytes>,
    /// Whether ECN-capable packets that exceed are marked in place of dropped; by default they are not.
    pub ecn: bool,
}

units::bounds! {
    PoliceSettings {
        rate: Option<Rate> = Rate::from_bits_per_second(1), Rate::LARGEST;
        burst: Option<Bytes> = Bytes::new(1), Bytes::LARGEST;
    }
}

impl Settings for PoliceSettings {
    fn check(&self) -> Result<(), (&'static str, String)> {
        let needed = [("rate", self.rate.is_none(), "10mbit"), ("burst", self.burst.is_none(), "32kB")];
        if let Some((key, _, example)) = needed.into_iter().find(|(_, is_missing, _)| *is_missing) {
            return Err((key, format!("a policer needs it, like `{example}`")));
        }
        self.out_of_bounds()
    }

    fn build<P: Packet>(&self, _limit: Limit, _service: &Service) -> Box<dyn Discipline<P>> {
        let bucket = TokenBucket::new(self.rate.unwrap_or_default(), self.burst.unwrap_or_default());
        Box::new(Metered::new(bucket, self.ecn))
    }
}

/// Tokens in bits times 10^9, so that a rate in bits per second adds `rate` of them in a nanosecond: exact.
#[derive(Clone, Debug)]
struct TokenBucket {
    rate: u64,
    depth: u128,
    tokens: u128,
    filled: Time,
}

impl TokenBucket {
    /// A full bucket.
    fn new(rate: Rate, burst: Bytes) -> Self {
        let depth = u128::from(burst.get()) * 8_000_000_000;
        Self { rate: rate.bits_per_second(), depth, tokens: depth, filled: Time::ZERO }
    }

    fn fill(&mut self, now: Time) {
        let gained = u128::from(self.rate) * u128::from(now.since(self.filled).as_nanos());
        self.tokens = (self.tokens + gained).min(self.depth);
        self.filled = self.filled.max(now);
    }

    /// Takes the tokens for `size` at `now`, or none if there are too few.
    fn take(&mut self, now: Time, size: Bytes) -> bool {
        self.fill(now);
        let needed = u128::from(size.get()) * 8_000_000_000;
        let conforms = needed <= self.tokens;
        if conforms {
            self.tokens -= needed;
        }
        conforms
    }
}

impl Meter for TokenBucket {
    fn exceeds(&mut self, now: Time, size: Bytes) -> bool {
        !self.take(now, size)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::at;

    #[test]
    fn what_exceeds_the_bucket_takes_no_tokens() {
        // 8 Mbit/s: a byte a microsecond. Three packets of 1000 bytes fit at once, then one each millisecond.
        let mut bucket = TokenBucket::new(Rate::from_mbit(8), Bytes::new(3000));
        let size = Bytes::new(1000);
        let taken = [0, 0, 0, 0, 999, 1000, 1500, 2000].map(|micros| bucket.take(at(micros), size));
        assert_eq!(taken, [true, true, true, false, false, true, false, true]);
        // It is full again after 3 ms and holds no more.
        let later = [0, 0, 0, 0].map(|micros| bucket.take(at(100_000 + micros), size));
        assert_eq!(later, [true, true, true, false]);
    }

    #[test]
    fn a_packet_above_the_burst_never_conforms() {
        let mut bucket = TokenBucket::new(Rate::from_mbit(8), Bytes::new(1000));
        assert!(!bucket.take(at(1_000_000), Bytes::new(1001)));
    }

    proptest! {
        #[test]
        fn what_conforms_is_what_the_law_of_the_bucket_allows(
            burst in 500u64..5000,
            packets in proptest::collection::vec((0u64..3000, 40u64..=1500), 1..60),
        ) {
            // A byte a microsecond: no more than the burst and the time between pass in any time.
            let mut bucket = TokenBucket::new(Rate::from_mbit(8), Bytes::new(burst));
            let (mut now, mut passed): (u64, Vec<(u64, u64)>) = (0, Vec::new());
            for (gap, size) in packets {
                now += gap;
                let mut bytes = size;
                let conforms = size <= burst
                    && passed.iter().rev().all(|&(then, before)| {
                        bytes += before;
                        bytes <= burst + now - then
                    });
                prop_assert_eq!(bucket.take(at(now), Bytes::new(size)), conforms);
                passed.extend(conforms.then_some((now, size)));
            }
        }
    }

    #[test]
    fn a_policer_strikes_what_exceeds_the_bucket() {
        let mut bucket = TokenBucket::new(Rate::from_mbit(8), Bytes::new(1500));
        let exceeds = [0, 0, 1499, 1500].map(|micros| bucket.exceeds(at(micros), Bytes::new(1500)));
        assert_eq!(exceeds, [false, true, true, false]);
    }
}
