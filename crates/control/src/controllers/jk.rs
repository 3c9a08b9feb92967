//! JK: the slow start of 4.3BSD-Tahoe (Jacobson, "Congestion avoidance and control", SIGCOMM 1988, appendix B), under
//! the name that the REAL simulator and Dabbous 1992 give it: Jacobson and Karels.
//!
//! | rule (Dabbous 1992, section 2) | here |
//! | --- | --- |
//! | W + 1 for each ACK up to the threshold, then W + 1/W | [`Reno::grow`] |
//! | a loss, found by timer or duplicate ACKs: W = 1 | [`Reno::tahoe`] |
//!
//! Notable points:
//! - Every loss and every expiry of the timer halves the threshold anew, as BSD does; the window then is one segment
//!   even under a transport with fast recovery. Tahoe itself is the transport option `fast_recovery = false`.
//! - The window stops at `max_window`, as BSD's does at the largest window of the connection; growth ends there, not
//!   only the flight.
//! - The paper gives no threshold for the start; by default the first slow start lasts until a loss or `max_window`.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::entry::Entry;
use crate::parameters::{read, require};
use crate::parts::reno::delegate;
use crate::{Ack, Context, Controller, Loss, Parameter, ParameterError, Parameters, Reno, Undo};

/// What the registry tells about JK.
pub const ENTRY: Entry = Entry {
    name: "jk",
    title: "JK",
    summary: "4.3BSD-Tahoe, after Jacobson and Karels: slow start anew after every loss, up to half the window",
    source: "Jacobson 1988; Dabbous 1992, section 2",
    parameters: PARAMETERS,
    build: |given| Settings::read(given).map(|settings| Box::new(Jk::new(settings)) as Box<dyn Controller>),
};

const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "max_window",
        default: "64",
        unit: "segments",
        range: "1 to 1000000",
        meaning: "Largest window of the connection",
        source: "Dabbous 1992, section 4.1; 32 with two sources (section 4.2)",
    },
    Parameter {
        name: "initial_threshold",
        default: "max_window",
        unit: "segments",
        range: "2 to 1000000, or max_window",
        meaning: "Window at which the first slow start ends",
        source: "not given by the paper",
    },
];

/// Where the first slow start ends.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Value", into = "Value")]
pub enum InitialThreshold {
    /// At the largest window.
    MaxWindow,
    /// At so many segments.
    Segments(u32),
}

impl TryFrom<Value> for InitialThreshold {
    type Error = String;

    fn try_from(given: Value) -> Result<Self, String> {
        match given.as_u64().map(u32::try_from) {
            Some(Ok(segments)) => Ok(Self::Segments(segments)),
            None if given == "max_window" => Ok(Self::MaxWindow),
            _ => Err(format!("{given} is no threshold")),
        }
    }
}

impl From<InitialThreshold> for Value {
    fn from(threshold: InitialThreshold) -> Self {
        match threshold {
            InitialThreshold::MaxWindow => "max_window".into(),
            InitialThreshold::Segments(segments) => segments.into(),
        }
    }
}

/// The parameters; [`ENTRY`] describes each.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(missing_docs, reason = "described in the table of parameters")]
pub struct Settings {
    pub max_window: u32,
    pub initial_threshold: InitialThreshold,
}

impl Default for Settings {
    fn default() -> Self {
        Self { max_window: 64, initial_threshold: InitialThreshold::MaxWindow }
    }
}

impl Settings {
    fn read(given: &Parameters) -> Result<Self, ParameterError> {
        const MOST: u32 = 1_000_000;
        let s: Self = read(ENTRY.name, PARAMETERS, given)?;
        require(ENTRY.name, PARAMETERS, "max_window", s.max_window, (1..=MOST).contains(&s.max_window))?;
        if let InitialThreshold::Segments(segments) = s.initial_threshold {
            require(ENTRY.name, PARAMETERS, "initial_threshold", segments, (2..=MOST).contains(&segments))?;
        }
        Ok(s)
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
    delegate!(reno: on_spurious, on_idle_restart, window, slow_start_threshold);

    fn on_start(&mut self, cx: &mut Context<'_>) {
        self.reno.start(cx);
        self.reno.window = self.reno.window.min(self.max_window);
    }

    fn on_ack(&mut self, _cx: &mut Context<'_>, ack: &Ack) {
        self.reno.grow(ack);
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
        jk.on_start(&mut Context { initial_window: 1.0, ..world.context() });
        (world, jk)
    }

    fn acknowledge(world: &mut World, jk: &mut Jk, acks: u32) {
        for _ in 0..acks {
            jk.on_ack(&mut world.context(), &ack());
        }
    }

    #[test]
    fn the_table_of_parameters_agrees_with_the_defaults() {
        crate::parameters::tests::table_agrees_with_defaults::<Settings>("jk", PARAMETERS);
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
            let error = (ENTRY.build)(&given).err().unwrap().to_string();
            assert!(error.contains("2 to 1000000, or max_window"), "{error}");
        }
    }
}
