//! JK: the slow start of 4.3BSD-Tahoe (Jacobson, "Congestion avoidance and control", SIGCOMM 1988, appendix B), under
//! the name that the REAL simulator and Dabbous 1992 give it: Jacobson and Karels.
//!
//! | rule (Dabbous 1992, section 2) | here |
//! | --- | --- |
//! | W + 1 for each ACK up to the threshold, then W + 1/W | [`Reno::grow`] |
//! | a loss, found by timer or duplicate ACKs: W = 1 | [`Reno::tahoe`] |
//!
//! Notable points:
//! - Every loss and every expiry of the timer halves the threshold anew, as BSD does. The window then is one segment
//!   even under a transport with fast recovery. Tahoe itself is the transport option `fast_recovery = false`.
//! - The window stops at `max_window`, as BSD's does at the largest window of the connection. Growth ends there, not
//!   only the flight.
//! - The paper gives no threshold for the start. By default the first slow start lasts until a loss or `max_window`.

use serde_json::Value;

use crate::entry::{Aim, Entry};
use crate::parameters::{Kind, parameters};
use crate::parts::reno::delegate;
use crate::range::from;
use crate::{Ack, Context, Controller, Literal, Loss, ParameterError, Range, Reno, Undo, Wants};

/// The entry of JK in the registry.
pub const ENTRY: Entry = Entry {
    name: "jk",
    title: "JK",
    summary: "4.3BSD-Tahoe, after Jacobson and Karels: slow start anew after every loss, up to half the window",
    source: "Jacobson 1988; Dabbous 1992, section 2",
    aim: Aim::General,
    parameters: Settings::PARAMETERS,
    probes: &[],
    make: |given| Ok(Box::new(Jk::new(Settings::read(given)?))),
};

/// The threshold at which the first slow start ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InitialThreshold {
    /// At the largest window.
    MaxWindow,
    /// At so many segments.
    Segments(u32),
}

impl InitialThreshold {
    const MAX_WINDOW: &str = "max_window";
    const RANGE: Range = Range::IntegerOr(from(2).up_to(1_000_000), Self::MAX_WINDOW);

    const fn literal(self) -> Literal {
        match self {
            Self::MaxWindow => Literal::Word(Self::MAX_WINDOW),
            Self::Segments(segments) => Literal::Integer(segments),
        }
    }
}

impl Kind for InitialThreshold {
    fn from_json(json: &Value) -> Result<Self, ParameterError> {
        if json == Self::MAX_WINDOW { Ok(Self::MaxWindow) } else { Kind::from_json(json).map(Self::Segments) }
    }
}

parameters! {
    /// The parameters.
    pub struct Settings {
        /// Largest window of the connection
        max_window: u32 = 1_000_000,
            unit "segments", range from(1).up_to(1_000_000),
            source "none; Dabbous 1992: 64 in section 4.1, 32 with two sources (section 4.2)";
        /// Window at which the first slow start ends
        initial_threshold: InitialThreshold = InitialThreshold::MaxWindow,
            unit "segments", source "Dabbous 1992, section 4.1, without a value";
    }
}

/// The controller.
#[derive(Clone, Copy, Debug)]
pub struct Jk {
    max_window: f64,
    reno: Reno,
    undo: Undo,
}

impl Jk {
    /// A controller with `settings`.
    pub fn new(settings: Settings) -> Self {
        let mut reno = Reno::new();
        // At the largest window growth ends in any case.
        if let InitialThreshold::Segments(segments) = settings.initial_threshold {
            reno.threshold = f64::from(segments);
        }
        Self { max_window: f64::from(settings.max_window), reno, undo: Undo::default() }
    }
}

impl Controller for Jk {
    delegate!(reno: on_spurious(undo), on_idle_restart, window, slow_start_threshold);

    /// As 4.3BSD-Tahoe, which has no recovery.
    fn wants(&self) -> Wants {
        Wants { slow_starts_on_loss: true, ..Wants::default() }
    }

    fn on_start(&mut self, cx: &mut Context<'_>) {
        self.reno.start(cx);
        self.reno.window = self.reno.window.min(self.max_window);
    }

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.reno.grow(cx, ack);
        self.reno.window = self.reno.window.min(self.max_window);
    }

    fn on_loss(&mut self, _cx: &mut Context<'_>, _loss: &Loss) {
        self.undo.remember(self.reno);
        self.reno.tahoe();
    }

    fn on_timeout(&mut self, _cx: &mut Context<'_>, loss: &Loss) {
        self.undo.remember_first(loss, self.reno);
        self.reno.tahoe();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{World, ack, loss};

    /// A connection that starts with a window of one.
    fn started(settings: Settings) -> (World, Jk) {
        let mut world = World::new();
        let mut jk = Jk::new(settings);
        world.connection.initial_window = 1.0;
        jk.on_start(&mut world.context());
        (world, jk)
    }

    fn acknowledge(world: &mut World, jk: &mut Jk, acks: u32) {
        for _ in 0..acks {
            jk.on_ack(&mut world.context(), &ack());
        }
    }

    #[test]
    fn the_first_slow_start_ends_at_the_initial_threshold() {
        let (mut world, mut jk) =
            started(Settings { initial_threshold: InitialThreshold::Segments(16), max_window: 32 });
        acknowledge(&mut world, &mut jk, 15);
        assert_eq!(jk.window(), 16.0);
        acknowledge(&mut world, &mut jk, 1);
        assert_eq!(jk.window(), 16.0625);
    }

    #[test]
    fn without_an_initial_threshold_the_window_grows_exponentially_to_the_largest() {
        let (mut world, mut jk) = started(Settings { max_window: 32, ..Settings::default() });
        acknowledge(&mut world, &mut jk, 30);
        assert_eq!(jk.window(), 31.0);
        acknowledge(&mut world, &mut jk, 30);
        assert_eq!(jk.window(), 32.0);
    }

    #[test]
    fn a_loss_leaves_one_segment_and_a_threshold_of_half_the_window_rounded_down() {
        let (mut world, mut jk) = started(Settings::default());
        jk.reno.window = 37.4;
        jk.on_loss(&mut world.context(), &loss());
        assert_eq!((jk.window(), jk.slow_start_threshold()), (1.0, 18.0));
        // 17 ACKs to 18, the next adds 1/18.
        acknowledge(&mut world, &mut jk, 18);
        assert!((jk.window() - 18.0556).abs() < 1e-4, "{}", jk.window());
        jk.on_timeout(&mut world.context(), &loss());
        assert_eq!((jk.window(), jk.slow_start_threshold()), (1.0, 9.0));
    }

    #[test]
    fn a_timer_that_expires_again_leaves_a_threshold_of_two() {
        let (mut world, mut jk) = started(Settings::default());
        jk.reno.window = 30.0;
        jk.on_timeout(&mut world.context(), &loss());
        jk.on_timeout(&mut world.context(), &Loss { again: true, ..loss() });
        assert_eq!((jk.window(), jk.slow_start_threshold()), (1.0, 2.0));
    }

    #[test]
    fn thresholds_that_are_none_are_refused_with_what_is_allowed() {
        for wrong in ["1", "\"max\"", "2.5", "-3", "null", "1e300", "18446744073709551615"] {
            let given = serde_json::from_str(&format!("{{\"initial_threshold\": {wrong}}}")).unwrap();
            let error = ENTRY.build(&given).err().unwrap().to_string();
            assert!(error.ends_with("(allowed: 2 to 1000000, or \"max_window\")"), "{error}");
        }
    }
}
