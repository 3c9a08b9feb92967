//! Delivery rate estimation (draft-cheng-iccrg-delivery-rate-estimation): the state of the connection, its copy in each
//! segment, and the sample that the ACK of the segment gives.

use control::RateSample;
use units::{Span, Time};

/// Deliveries of a connection so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct DeliveryRate {
    /// Segments delivered (C.delivered), and when the last of them was acknowledged (C.delivered_time).
    delivered: u64,
    delivered_at: Time,
    /// When the first segment of the running flight was sent (C.first_sent_time).
    first_at: Time,
    /// The flow counts as application-limited until this many segments were delivered (C.app_limited).
    limited_to: u64,
}

/// The state of the connection when a segment is sent (P.delivered, P.delivered_time, P.first_sent_time,
/// P.is_app_limited).
#[derive(Clone, Copy, Debug)]
pub struct DeliveryState {
    /// The lower half of C.delivered: with fewer than 2^31 segments outstanding it says as much as the whole.
    pub delivered: u32,
    /// C.delivered_time.
    pub delivered_at: Time,
    /// C.first_sent_time.
    pub first_at: Time,
    /// C.app_limited.
    pub application_limited: bool,
}

impl DeliveryRate {
    /// Sending begins at `now`, with nothing outstanding.
    pub fn restart(&mut self, now: Time) {
        self.first_at = now;
        self.delivered_at = now;
    }

    /// State that a segment which leaves now takes along.
    pub fn state(&self) -> DeliveryState {
        DeliveryState {
            delivered: self.delivered as u32,
            delivered_at: self.delivered_at,
            first_at: self.first_at,
            application_limited: self.is_application_limited(),
        }
    }

    /// The application has nothing more to send. The next segments, with this flight or none before them, do not show
    /// the capacity of the path.
    pub fn application_limits(&mut self, in_flight: u32) {
        self.limited_to = self.delivered + u64::from(in_flight) + 1;
    }

    /// True if segments sent now do not show the capacity of the path.
    pub fn is_application_limited(&self) -> bool {
        self.delivered < self.limited_to
    }

    /// An ACK shows that `delivered` more segments arrived.
    pub fn on_delivered(&mut self, now: Time, delivered: u32) {
        if delivered > 0 {
            self.delivered += u64::from(delivered);
            self.delivered_at = now;
        }
    }

    /// Segments delivered since the start.
    pub fn delivered(&self) -> u64 {
        self.delivered
    }

    /// The sample over the flight of the newest segment delivered, which left at `sent_at` with `state`. None over less
    /// than `shortest`, the smallest RTT: such a segment was sent again, but its original arrived. Whether it was is
    /// for the caller to say.
    pub fn sample(&mut self, now: Time, state: &DeliveryState, sent_at: Time, shortest: Span) -> Option<RateSample> {
        self.first_at = sent_at;
        let interval = sent_at.since(state.first_at).max(now.since(state.delivered_at));
        let delivered = u64::from((self.delivered as u32).wrapping_sub(state.delivered));
        (interval >= shortest).then_some(RateSample {
            delivered,
            interval,
            application_limited: state.application_limited,
            prior_delivered: self.delivered - delivered,
            is_retransmission: false,
            sent: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_counts_across_the_wrap_of_the_state() {
        let mut rate = DeliveryRate { delivered: (1 << 32) - 2, ..DeliveryRate::default() };
        let state = rate.state();
        let now = Time::from_nanos(40);
        rate.on_delivered(now, 5);
        let sample = rate.sample(now, &state, Time::ZERO, Span::ZERO);
        assert_eq!(sample.map(|s| (s.delivered, s.interval)), Some((5, Span::from_nanos(40))));
    }
    #[test]
    fn a_flow_is_application_limited_until_more_than_its_flight_is_delivered() {
        // With 3 in flight after 10 delivered, the fourteenth is the first that was sent later.
        let mut rate = DeliveryRate { delivered: 10, ..DeliveryRate::default() };
        assert!(!rate.is_application_limited());
        rate.application_limits(3);
        rate.on_delivered(Time::from_nanos(1), 3);
        assert!(rate.is_application_limited());
        rate.on_delivered(Time::from_nanos(2), 1);
        assert!(!rate.is_application_limited());
    }

    #[test]
    fn a_flow_that_begins_again_counts_from_then_on() {
        let at = |ms| Time::ZERO + Span::from_millis(ms);
        let mut rate = DeliveryRate::default();
        rate.restart(at(100));
        let state = rate.state();
        assert_eq!((state.first_at, state.delivered_at, state.delivered), (at(100), at(100), 0));
        // Left at 130 ms, delivered at 150: the ACK interval of 50 ms is the longer one.
        rate.on_delivered(at(150), 2);
        let sample =
            |rate: &mut DeliveryRate, shortest| rate.sample(at(150), &state, at(130), Span::from_millis(shortest));
        let found = sample(&mut rate, 50).unwrap();
        assert_eq!((found.delivered, found.interval, found.prior_delivered), (2, Span::from_millis(50), 0));
        assert_eq!(sample(&mut rate, 51), None);
        // The next flight is counted from the newest segment that was delivered.
        assert_eq!((rate.state().first_at, rate.delivered()), (at(130), 2));
        // Nothing delivered moves nothing.
        rate.on_delivered(at(170), 0);
        assert_eq!((rate.state().delivered_at, rate.delivered()), (at(150), 2));
        // The send interval may be the longer one: the segment left 90 ms after the first of its flight.
        let late = rate.sample(at(230), &DeliveryState { delivered_at: at(200), ..rate.state() }, at(220), Span::ZERO);
        assert_eq!(late.map(|sample| sample.interval), Some(Span::from_millis(90)));
    }
}
