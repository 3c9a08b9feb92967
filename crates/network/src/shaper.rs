//! A token bucket as a shaper: bursts go at the rate of the line, and the long run at the rate of the bucket (as `tbf`
//! of Linux).
//!
//! Its law is the one in `sch_tbf.c`. Packets leave at t1, t2 and so on. The packets from the i-th to the k-th have no
//! more bytes than the bucket plus its gain from ti to tk. Different from Linux: a packet above the burst is not
//! dropped (there it is, unless it is a train that can be taken apart). The peak rate is the rate of a line. `tc` has a
//! second bucket of an `mtu`, through which small packets go at once.

use units::{Bytes, Rate, Span, Time};

use crate::schedule::{Schedule, bit_nanos};

/// The law of a token bucket. A packet goes when there are tokens for all its bytes, one above the burst when
/// the bucket is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenBucket {
    /// At which the bucket fills, above 0.
    pub rate: Rate,
    /// The tokens that it holds when full.
    pub burst: Bytes,
    /// At which the bits of a packet leave.
    pub peak: Rate,
}

impl TokenBucket {
    /// The peak rate of a bucket without one: bursts leave at once.
    pub const AT_ONCE: Rate = Rate::from_bits_per_second(1_000_000_000_000_000);
}

/// A shaper at work. The bucket is full at first.
#[derive(Clone, Debug)]
pub(crate) struct Shaper {
    bucket: TokenBucket,
    /// In bits times 10^9, as of `filled`. Below zero after a packet above the burst.
    tokens: i128,
    filled: Time,
    line: Schedule,
    free_at: Time,
}

impl Shaper {
    /// # Panics
    /// If the rate is zero.
    pub(crate) fn new(bucket: TokenBucket) -> Self {
        assert!(!bucket.rate.is_zero(), "a token bucket must fill");
        let tokens = bit_nanos(bucket.burst) as i128;
        Self { bucket, tokens, filled: Time::ZERO, line: Schedule::fixed(bucket.peak), free_at: Time::ZERO }
    }

    pub(crate) const fn rate(&self) -> Rate {
        self.bucket.rate
    }

    /// The bytes that may leave at `now` at once.
    pub(crate) fn stock(&self, now: Time) -> Bytes {
        let rate = i128::from(self.bucket.rate.bits_per_second());
        // Tokens that come until a packet begins, which waits for them, are not there yet.
        let ahead = i128::from(now.as_nanos()) - i128::from(self.filled.as_nanos());
        let tokens = (self.tokens + rate * ahead).min(bit_nanos(self.bucket.burst) as i128);
        Bytes::new((tokens.max(0) / 8_000_000_000) as u64)
    }

    /// Serves `size` from `start`: when its last bit leaves.
    #[inline(never)]
    pub(crate) fn serve(&mut self, start: Time, size: Bytes) -> Time {
        let rate = i128::from(self.bucket.rate.bits_per_second());
        let filled = |tokens: i128, span: Span| {
            (tokens + rate * i128::from(span.as_nanos())).min(bit_nanos(self.bucket.burst) as i128)
        };
        let present = filled(self.tokens, start.since(self.filled));
        let missing = (bit_nanos(size.min(self.bucket.burst)) as i128 - present).max(0);
        let wait = Span::from_nanos(u64::try_from((missing + rate - 1) / rate).unwrap_or(u64::MAX));
        let begin = start + wait;
        self.tokens = filled(present, wait) - bit_nanos(size) as i128;
        self.filled = begin;
        self.line.resume(self.free_at, begin);
        self.free_at = self.line.serve(begin, size);
        self.free_at
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::at;

    /// A byte a microsecond in the long run, ten on the line.
    fn shaper(burst: u64) -> Shaper {
        Shaper::new(TokenBucket { rate: Rate::from_mbit(8), burst: Bytes::new(burst), peak: Rate::from_mbit(80) })
    }

    #[test]
    fn a_burst_goes_at_the_rate_of_the_line_and_then_tokens_are_awaited() {
        let mut shaper = shaper(3000);
        let mut free = Time::ZERO;
        let finishes = [(); 5].map(|()| {
            free = shaper.serve(free, Bytes::new(1000));
            free
        });
        // Three at 100 us each. Meanwhile 300 tokens came, 200 of them by the start of the third. The fourth needs 1000
        // at 1000 us, since 3000 and 1000 of time make 4000. The fifth leaves at 2000 us.
        assert_eq!(finishes, [at(100), at(200), at(300), at(1100), at(2100)]);
    }

    #[test]
    fn the_bucket_fills_while_nothing_is_sent_and_no_further() {
        let mut shaper = shaper(2000);
        assert_eq!(shaper.serve(at(0), Bytes::new(2000)), at(200));
        // 1500 tokens are there at 1500 us, 2000 at 9000 us and not more.
        assert_eq!(shaper.serve(at(1500), Bytes::new(1500)), at(1650));
        assert_eq!(shaper.serve(at(9000), Bytes::new(1000)), at(9100));
        assert_eq!(shaper.serve(at(9100), Bytes::new(1000)), at(9200));
        assert_eq!(shaper.serve(at(9200), Bytes::new(1000)), at(10_100));
    }

    #[test]
    fn a_packet_above_the_burst_waits_for_a_full_bucket_and_leaves_a_debt() {
        let mut shaper = shaper(1000);
        assert_eq!(shaper.serve(at(0), Bytes::new(1500)), at(150));
        // The debt of 500 and 1000 more: at 1500 us.
        assert_eq!(shaper.serve(at(150), Bytes::new(1000)), at(1600));
    }

    #[test]
    fn the_stock_is_what_is_left_of_the_burst_and_what_came_since() {
        let mut shaper = shaper(3000);
        assert_eq!(shaper.stock(at(0)), Bytes::new(3000));
        shaper.serve(at(0), Bytes::new(1000));
        assert_eq!([100, 500, 5000].map(|us| shaper.stock(at(us)).get()), [2100, 2500, 3000]);
    }

    proptest! {
        #[test]
        fn packets_leave_as_soon_as_the_law_of_the_bucket_lets_them(
            burst in 1500u64..5000,
            packets in proptest::collection::vec((0u64..4000, 40u64..=1500), 1..40),
        ) {
            let (mut shaper, mut arrival, mut free) = (shaper(burst), 0, 0);
            let mut sent: Vec<(u64, u64)> = Vec::new();
            for (gap, size) in packets {
                arrival += gap;
                let mut bytes = size;
                let by_law = sent.iter().rev().map(|&(begin, before)| {
                    bytes += before;
                    // A byte is 1000 ns of the bucket and 100 of the line.
                    begin + 1000 * bytes.saturating_sub(burst)
                });
                let begin = by_law.max().unwrap_or(0).max(1000 * arrival).max(free);
                let start = Time::from_nanos(free.max(1000 * arrival));
                free = begin + 100 * size;
                sent.push((begin, size));
                prop_assert_eq!(shaper.serve(start, Bytes::new(size)), Time::from_nanos(free));
            }
        }
    }
}
