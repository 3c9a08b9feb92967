//! Slow start as a part of its own: one way to start can take the place of another under every controller that starts
//! slowly as Reno does ([`Controller::reno`](crate::Controller::reno)). All of them have the parameters here, beside
//! their own.
//!
//! A method says how an ACK in slow start raises the window, and when slow start ends ([`Step`]). [`Start`] is the
//! controller that has another one inside, of which it takes the growth in slow start. CUBIC uses HyStart, too.

mod careful_resume;
pub(crate) mod hystart;
mod hystart_plus_plus;
mod limited;
mod rapid_start;
mod search;
mod start;

use units::Span;

pub(crate) use self::start::Start;
use crate::nearest::nearest;
use crate::parameters::{check, choices, parameters};
use crate::range::{above, from};
use crate::{ParameterError, Parameters};

choices! {
    /// How a connection finds its path.
    pub(crate) enum Method {
        /// As the controller does.
        Own = Word("own"),
        /// Doubling until a loss (RFC 5681).
        Classic = Word("classic"),
        /// Doubling up to a window (RFC 3742).
        Limited = Word("limited"),
        /// HyStart of Linux.
        HyStart = Word("hystart"),
        /// HyStart++ (RFC 9406).
        HyStartPlusPlus = Word("hystart++"),
        /// SEARCH.
        Search = Word("search"),
        /// Rapid Start.
        RapidStart = Word("rapid-start"),
        /// Careful Resume (RFC 9959), doubling before and after its jump.
        CarefulResume = Word("careful-resume"),
    }
}

parameters! {
    /// The parameters that every controller has which starts slowly.
    pub(crate) struct Settings {
        /// How a connection finds its path; own is the way of the controller
        slow_start: Method = Method::Own, source "RFC 5681, 3742, 9406, 9959; Linux; drafts";
        /// The initial window leaves over the RTT of the handshake
        initial_pacing: bool = false, source "draft-kazuho-ccwg-rapid-start, which has it on";
        /// limited: above this window a round trip adds half of it
        limited_above: f64 = 100.0,
            unit "segments", range from(2.0).up_to(1_000_000.0), source "RFC 3742, section 2, max_ssthresh";
        /// hystart++: an ACK counts so many segments at most; 0 for no limit, where the flow is paced
        ack_limit: u32 = 8, unit "segments", range from(0).up_to(1_000_000), source "RFC 9406, section 4.3, L";
        /// hystart++: rounds of conservative slow start
        css_rounds: u32 = 5, unit "round trips", range from(1).up_to(1000), source "RFC 9406, CSS_ROUNDS";
        /// hystart++: how much slower they grow
        css_growth_divisor: f64 = 4.0, range from(1.0).up_to(1000.0), source "RFC 9406, CSS_GROWTH_DIVISOR";
        /// search: the share of what was sent a round trip before that may be missing
        search_threshold: f64 = 0.26, range above(0.0).below(1.0), source "draft-chung-ccwg-search-09, THRESH";
        /// search: the window over which it counts
        search_window: f64 = 3.5,
            unit "initial RTTs", range from(1.0).up_to(100.0), source "draft-chung-ccwg-search-09, WINDOW_SIZE";
        /// careful-resume: the window that an earlier connection had
        saved_window: f64 = 0.0,
            unit "segments", range from(0.0).up_to(100_000_000.0), source "RFC 9959, saved_cwnd";
        /// careful-resume: its RTT
        saved_rtt: Span = Span::from_millis(100),
            unit "time", range from(Span::from_micros(1)).up_to(Span::from_secs(60)), source "RFC 9959, saved_RTT";
    }
}

/// The parameters that every controller has which starts slowly, beside its own.
pub const PARAMETERS: &[crate::Parameter] = Settings::PARAMETERS;

/// The effect of an ACK in slow start: for each segment counted the window grows by `growth`, and then slow start may
/// end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Step {
    growth: f64,
    ends: bool,
}

impl Step {
    const fn grow(growth: f64) -> Self {
        Self { growth, ends: false }
    }
}

/// The parameters `given` to `controller`, in two parts: slow start's, and the rest. Names that are neither stay with
/// the rest, but for misspelt ones of slow start, which are refused.
pub(crate) fn split(
    controller: &str,
    own: &[crate::Parameter],
    given: &Parameters,
) -> Result<(Parameters, Parameters), ParameterError> {
    let names = || Settings::PARAMETERS.iter().map(|parameter| parameter.name);
    let is_own = |name: &str| own.iter().any(|p| p.name == name);
    for name in given.keys().filter(|name| !is_own(name)) {
        let meant_own = nearest(name, own.iter().map(|p| p.name)).is_some();
        match nearest(name, names()) {
            Some(near) if near != name && !meant_own => {
                return Err(ParameterError(format!(
                    "`{controller}` has no parameter `{name}`; did you mean `{near}`?"
                )));
            }
            _ => {}
        }
    }
    let (start, rest): (Parameters, Parameters) =
        given.clone().into_iter().partition(|(name, _)| names().any(|known| known == name) && !is_own(name));
    check(controller, Settings::PARAMETERS, &start)?;
    Ok((start, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::{CONTROLLERS, build, find};

    fn given(text: &str) -> Parameters {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn a_controller_with_a_parameter_of_the_same_name_keeps_its_own() {
        for entry in CONTROLLERS.iter().filter(|entry| entry.starts_slowly()) {
            for parameter in Settings::PARAMETERS {
                assert!(entry.parameters.iter().all(|own| own.name != parameter.name), "{}", entry.name);
            }
        }
        assert!(build("gentle-1", &given(r#"{"slow_start": true}"#)).is_ok());
    }

    #[test]
    fn controllers_that_start_slowly_take_it_and_others_say_that_they_do_not() {
        for name in ["newreno", "cubic", "dctcp", "vegas", "prague", "cdg"] {
            assert!(find(name).unwrap().starts_slowly(), "{name}");
            assert!(build(name, &given(r#"{"slow_start": "hystart++", "initial_pacing": true}"#)).is_ok());
        }
        for name in ["bbr1", "copa", "coupled", "siad"] {
            assert!(!find(name).unwrap().starts_slowly(), "{name}");
            let error = build(name, &given(r#"{"slow_start": "search"}"#)).err().unwrap().to_string();
            assert_eq!(error, format!("`{name}` has a start of its own: `slow_start` cannot be set"));
        }
    }

    #[test]
    fn what_is_wrong_is_said_in_a_sentence() {
        let error = |text: &str| build("newreno", &given(text)).err().unwrap().to_string();
        assert_eq!(
            error(r#"{"slow_strat": "search"}"#),
            "`newreno` has no parameter `slow_strat`; did you mean `slow_start`?"
        );
        let said = error(r#"{"slow_start": "serch"}"#);
        assert!(said.starts_with("`newreno`, parameter `slow_start`: "), "{said}");
        let said = error(r#"{"limited_above": 1}"#);
        assert_eq!(said, "`newreno`, parameter `limited_above`: 1 is out of range (allowed: 2 to 1000000)");
    }
}
