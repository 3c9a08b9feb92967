//! SIAD on single events, with numbers worked out by hand.

mod decrease;
mod drain;
mod events;
mod increase;

use units::{Span, Time};

use super::*;
use crate::testing::{World, ack, loss, probed, rtt};

/// A SIAD with its clock.
struct Flow {
    siad: Siad,
    world: World,
}

impl Flow {
    fn new(settings: Settings) -> Self {
        let mut world = World::new();
        world.connection.timestamp_tick = Span::from_millis(1);
        world.pass(Span::from_secs(100));
        let mut siad = Siad::new(settings);
        siad.on_start(&mut world.context());
        Self { siad, world }
    }

    /// In mid epoch at `window` between `threshold` and `incthresh`, with a base RTT of 100 ms.
    fn cruising(settings: Settings, window: f64, threshold: f64, incthresh: f64) -> Self {
        let mut flow = Self::new(settings);
        flow.siad.epoch.incthresh = incthresh;
        flow.siad.epoch.cmax = incthresh;
        flow.siad.set_window(window, threshold);
        flow.siad.epoch.grew = true;
        flow.see(100);
        flow.siad.epoch.drained = false;
        flow
    }

    fn ack_of(&self, segments: u32, millis: u64) -> Ack {
        let echo = self.world.now.as_nanos() - Span::from_millis(millis).as_nanos();
        Ack { timestamp_echo: Time::from_nanos(echo), newly_acknowledged: segments, newly_delivered: segments, ..ack() }
    }

    /// An ACK of so many segments with an RTT in milliseconds.
    fn acknowledge(&mut self, segments: u32, millis: u64) {
        let ack = self.ack_of(segments, millis);
        self.siad.on_ack(&mut self.world.context(), &ack);
    }

    /// An RTT sample on an ACK that grows nothing.
    fn see(&mut self, millis: u64) {
        let ack = Ack { window_limited: false, ..self.ack_of(1, millis) };
        self.siad.on_ack(&mut self.world.context(), &ack);
    }

    /// A loss with two RTT samples of `millis` before it.
    fn lose_at(&mut self, millis: u64) {
        self.see(millis);
        self.see(millis);
        self.siad.on_loss(&mut self.world.context(), &loss());
    }

    fn time_out(&mut self, again: bool) {
        self.siad.on_timeout(&mut self.world.context(), &Loss { again, ..loss() });
    }

    fn recover(&mut self) {
        self.siad.on_recovered(&mut self.world.context());
    }

    fn probe(&self, name: &str) -> f64 {
        probed(&self.siad, name)
    }

    /// Window and threshold.
    fn windows(&self) -> (f64, f64) {
        (self.siad.epoch.reno.window, self.siad.epoch.reno.threshold)
    }
}

fn default() -> Settings {
    Settings::default()
}

#[test]
fn a_part_of_a_tick_is_at_most_a_32nd_of_the_rtt() {
    let nanos = Span::from_nanos;
    // A nanosecond is not divided.
    for (rtt, tick, expected) in [(65, 2, 64), (63, 2, 63), (64, 2, 64), (129, 4, 128), (127, 4, 126), (31, 1, 31)] {
        assert_eq!(in_parts(nanos(rtt), nanos(tick)), nanos(expected), "{rtt} {tick}");
    }
}
