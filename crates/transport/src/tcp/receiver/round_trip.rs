//! The RTT as a receiver of Linux measures it, for the growth of its buffer (rcv_rtt_est).

use units::{Span, Time};

/// The clock of timestamps.
const TICK: Span = Span::from_millis(1);

/// An estimate of the RTT.
pub(super) struct RoundTrip {
    source: Source,
    /// `None` before the first sample.
    smoothed: Option<Span>,
}

/// The samples of the RTT.
enum Source {
    /// The handshake took `base`. The one-way delay of a segment gives the rest, as only the path to the receiver has a
    /// queue.
    Path { base: Span, shortest: Span },
    /// The packets alone.
    Packets {
        /// The timestamp that was echoed last.
        echo: Option<u32>,
        /// A window of data began then, and ends with this byte.
        since: Time,
        end: u64,
    },
}

impl RoundTrip {
    /// On a path whose handshake took `base`, on which the delay of each segment is known.
    pub(super) fn of_path(base: Span) -> Self {
        Self { source: Source::Path { base, shortest: Span::MAX }, smoothed: Some(base) }
    }

    /// By the echoes of timestamps, if there are any, and by the time that a window of data takes.
    pub(super) fn of_packets() -> Self {
        Self { source: Source::Packets { echo: None, since: Time::NEVER, end: 0 }, smoothed: None }
    }

    /// The estimate, once there is a sample.
    pub(super) fn smoothed(&self) -> Option<Span> {
        self.smoothed
    }

    /// Samples approach the mean, and a smaller one counts at once (tcp_rcv_rtt_update).
    fn take(&mut self, rtt: Span) {
        self.smoothed = Some(match self.smoothed {
            Some(before) if !before.is_zero() && before <= rtt => before - before / 8 + rtt / 8,
            _ => rtt,
        });
    }

    /// A segment arrives after `one_way_delay`.
    pub(super) fn on_segment(&mut self, one_way_delay: Span) {
        if let Source::Path { base, shortest } = &mut self.source {
            *shortest = one_way_delay.min(*shortest);
            let rtt = *base + one_way_delay.saturating_sub(*shortest);
            self.take(rtt);
        }
    }

    /// A packet, with a full segment or not, echoes a timestamp, in milliseconds (tcp_rcv_rtt_measure_ts).
    pub(super) fn on_echo(&mut self, now: Time, echo: u32, is_full: bool) {
        let Source::Packets { echo: last, .. } = &mut self.source else { return };
        if last.replace(echo) == Some(echo) || !is_full {
            return;
        }
        let ticks = (now.as_nanos() / TICK.as_nanos()).saturating_sub(echo.into());
        if ticks > 0 {
            self.take(TICK * ticks);
        }
    }

    /// The data before byte `next` have arrived, and the last ACK announced a `window`. The smallest sample counts
    /// (tcp_rcv_rtt_measure).
    pub(super) fn on_data(&mut self, now: Time, next: u64, window: u64) {
        let Source::Packets { since, end, .. } = &mut self.source else { return };
        if next < *end || next == 0 {
            return;
        }
        let began = std::mem::replace(since, now);
        *end = next + window;
        if began != Time::NEVER {
            self.smoothed = Some(self.smoothed.unwrap_or(Span::MAX).min(now.since(began)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Span = Span::from_millis;
    const AT: fn(u64) -> Time = |ms| Time::ZERO + MS(ms);

    #[test]
    fn a_queue_before_the_receiver_adds_to_the_handshake() {
        let mut rtt = RoundTrip::of_path(MS(80));
        rtt.on_segment(MS(40));
        rtt.on_segment(MS(56));
        // 70 and 96/8 ms.
        assert_eq!(rtt.smoothed(), Some(MS(82)));
        rtt.on_segment(MS(32));
        assert_eq!(rtt.smoothed(), Some(MS(80)), "the shortest delay there is");
    }

    #[test]
    fn an_echo_counts_once_and_on_a_full_segment() {
        let mut rtt = RoundTrip::of_packets();
        rtt.on_echo(AT(198), 0, true);
        rtt.on_echo(AT(250), 0, true);
        assert_eq!(rtt.smoothed(), Some(MS(198)));
        rtt.on_echo(AT(300), 100, false);
        rtt.on_echo(AT(310), 100, true);
        assert_eq!(rtt.smoothed(), Some(MS(198)), "a packet without data has used it up");
        rtt.on_echo(AT(400), 300, true);
        assert_eq!(rtt.smoothed(), Some(MS(100)));
        rtt.on_echo(AT(480), 300 + 16, true);
        // 87.5 and 164/8 ms, which are 20.5.
        assert_eq!(rtt.smoothed(), Some(MS(108)));
    }

    #[test]
    fn a_window_of_data_takes_an_rtt_or_more_and_the_least_counts() {
        let mut rtt = RoundTrip::of_packets();
        rtt.on_data(AT(100), 1000, 4000);
        rtt.on_data(AT(150), 4000, 4000);
        assert_eq!(rtt.smoothed(), None, "byte 5000 has not arrived");
        rtt.on_data(AT(160), 5000, 2000);
        assert_eq!(rtt.smoothed(), Some(MS(60)));
        rtt.on_data(AT(250), 7000, 2000);
        assert_eq!(rtt.smoothed(), Some(MS(60)), "90 ms are more");
        rtt.on_data(AT(270), 9000, 2000);
        assert_eq!(rtt.smoothed(), Some(MS(20)));
    }
}
