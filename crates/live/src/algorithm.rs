//! Sources of congestion controllers: the kernel's own here, others from their loader.

use std::borrow::Cow;
use std::fs;
use std::os::fd::BorrowedFd;

use control::{ControllerRef, Parameters};
use scenario::Sampling;

use crate::host::system::{BbrInfo, segment_size};

/// The kernel's controllers for the names of a scenario.
pub trait Algorithms: Send + Sync {
    /// Refuses a controller that flows may not name, or its `parameters`. Nothing is loaded. An error completes
    /// "flow `x`: …".
    fn check(&self, cc: &ControllerRef, parameters: &Parameters) -> Result<(), String>;

    /// The controller, in the kernel as long as the answer lives.
    fn load(&self, cc: &ControllerRef, parameters: &Parameters) -> Result<Box<dyn Algorithm>, String>;

    /// Refuses where the kernel traces no connections, with the reason.
    fn check_trace(&self) -> Result<(), String> {
        kernel::check().map_err(|error| error.to_string())
    }
}

/// A controller in the kernel.
pub trait Algorithm: Send {
    /// Its name for TCP_CONGESTION.
    fn name(&self) -> &str;

    /// It sets the pacing rate. The kernel computes one for every flow.
    fn paces(&self) -> bool;

    /// Asks its flows to report internal values.
    fn show(&mut self, sampling: Sampling) {
        let _ = sampling;
    }

    /// Hands out what can be read at `at` from `socket`, of the flow that sends from `port`.
    fn look(&mut self, socket: BorrowedFd<'_>, port: u16, at: u64, out: &mut dyn FnMut(Internal<'_>)) {
        let _ = (socket, port, at, out);
    }

    /// Hands out the values reported since the last call.
    fn drain(&mut self, out: &mut dyn FnMut(Internal<'_>)) {
        let _ = out;
    }

    /// A failure in reporting, as one sentence.
    fn finish(&mut self) -> Option<String> {
        None
    }
}

/// The value of a named internal of a controller.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Internal<'a> {
    /// The port from which the flow sends.
    pub port: u16,
    /// Nanoseconds of the monotonic clock.
    pub at: u64,
    /// Its name.
    pub name: &'a str,
    /// Its value, in the unit that the controller documents.
    pub value: f64,
}

/// The controllers that the kernel has already: `newreno`, and every other by its name in the kernel.
#[derive(Clone, Copy, Debug, Default)]
pub struct InKernel;

/// The kernel's list of controllers.
const AVAILABLE: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";

impl Algorithms for InKernel {
    fn check(&self, cc: &ControllerRef, parameters: &Parameters) -> Result<(), String> {
        let available = fs::read_to_string(AVAILABLE).unwrap_or_default();
        let name = name_in_kernel(cc);
        if !available.split_whitespace().any(|known| known == name) {
            return Err(format!("the kernel has no congestion controller `{name}`; it has {}", list(&available)));
        }
        no_parameters(&name, parameters)
    }

    fn load(&self, cc: &ControllerRef, parameters: &Parameters) -> Result<Box<dyn Algorithm>, String> {
        self.check(cc, parameters)?;
        let name = name_in_kernel(cc).into_owned();
        Ok(if name == BBR { Box::new(Bbr::default()) } else { Box::new(Known(name)) })
    }
}

/// The controllers of a kernel without BPF, which may be another than the one that runs now.
#[derive(Clone, Debug)]
pub struct Listed(Vec<String>);

impl Listed {
    /// The controllers with these names.
    pub fn new(names: Vec<String>) -> Self {
        Self(names)
    }

    /// The algorithms of the running kernel.
    pub fn here() -> Self {
        let available = fs::read_to_string(AVAILABLE).unwrap_or_default();
        Self(available.split_whitespace().map(str::to_owned).collect())
    }
}

impl Algorithms for Listed {
    fn check(&self, cc: &ControllerRef, parameters: &Parameters) -> Result<(), String> {
        let name = name_in_kernel(cc);
        let has = self.0.iter().any(|known| *known == name);
        if matches!(cc, ControllerRef::Source(_)) {
            return Err(format!("`{cc}` is a controller in C, which needs BPF, and a kernel in virtual time has none"));
        }
        if !has && kernel::BUILT_IN.contains(&&*name) {
            return Err(format!(
                "`{cc}` is ackclock's own controller for the kernel, which needs BPF, and a kernel in virtual time \
                 has none"
            ));
        }
        if !has {
            let known = list(&self.0.join(" "));
            return Err(format!("the kernel has no congestion controller `{name}`; it has {known}"));
        }
        no_parameters(&name, parameters)
    }

    fn load(&self, cc: &ControllerRef, parameters: &Parameters) -> Result<Box<dyn Algorithm>, String> {
        self.check(cc, parameters)?;
        InKernel.load(cc, parameters)
    }

    fn check_trace(&self) -> Result<(), String> {
        Err("a kernel in virtual time has no BPF".to_owned())
    }
}

/// Refuses `parameters` of the kernel's controller `name`.
fn no_parameters(name: &str, parameters: &Parameters) -> Result<(), String> {
    match parameters.keys().next() {
        Some(key) => Err(format!("the kernel's `{name}` takes no parameters, and `{key}` is given")),
        None => Ok(()),
    }
}

/// One that stays when nobody uses it.
struct Known(String);

impl Algorithm for Known {
    fn name(&self) -> &str {
        &self.0
    }

    fn paces(&self) -> bool {
        false
    }
}

/// The kernel's name of BBR version 1.
const BBR: &str = "bbr";
/// Its gains are whole numbers of this part (`BBR_UNIT`).
const GAIN_UNIT: f64 = 256.0;

/// The kernel's `bbr`, which any process may ask for its model of the path.
#[derive(Default)]
struct Bbr {
    shown: bool,
}

impl Algorithm for Bbr {
    fn name(&self) -> &str {
        BBR
    }

    fn paces(&self) -> bool {
        true
    }

    fn show(&mut self, sampling: Sampling) {
        self.shown = sampling != Sampling::Off;
    }

    fn look(&mut self, socket: BorrowedFd<'_>, port: u16, at: u64, out: &mut dyn FnMut(Internal<'_>)) {
        if !self.shown {
            return;
        }
        let (Ok(info), Ok(segment)) = (BbrInfo::of(socket), segment_size(socket)) else { return };
        let mut report = |name, value| out(Internal { port, at, name, value });
        report("bandwidth", info.bandwidth as f64 / f64::from(segment.max(1)));
        report("min_rtt_ms", if info.min_rtt_us == u32::MAX { 0.0 } else { f64::from(info.min_rtt_us) / 1e3 });
        report("pacing_gain", f64::from(info.pacing_gain) / GAIN_UNIT);
        report("window_gain", f64::from(info.window_gain) / GAIN_UNIT);
    }
}

/// The kernel's name of `cc`.
fn name_in_kernel(cc: &ControllerRef) -> Cow<'_, str> {
    match cc {
        ControllerRef::Registered("newreno") => Cow::Borrowed("reno"),
        ControllerRef::Registered("bbr1") => Cow::Borrowed(BBR),
        _ => cc.spelling(),
    }
}

/// Names in words: `reno`, `cubic` and `bbr`.
fn list(names: &str) -> String {
    let mut names: Vec<String> = names.split_whitespace().map(|name| format!("`{name}`")).collect();
    match names.pop() {
        None => "none that can be named".to_owned(),
        Some(last) if names.is_empty() => last,
        Some(last) => format!("{} and {last}", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_as_words() {
        assert_eq!(list("reno cubic bbr\n"), "`reno`, `cubic` and `bbr`");
        assert_eq!(list("reno"), "`reno`");
        assert_eq!(list(""), "none that can be named");
    }

    #[test]
    fn a_kernel_without_bpf_has_its_own_controllers_alone() {
        let (none, listed) = (Parameters::new(), Listed::new(vec!["reno".to_owned(), "cdg".to_owned()]));
        for known in ["newreno", "cdg"] {
            assert_eq!(listed.check(&known.into(), &none), Ok(()));
        }
        let refused = |name: &str| listed.check(&name.into(), &none).unwrap_err();
        assert_eq!(
            refused("siad"),
            "`siad` is ackclock's own controller for the kernel, which needs BPF, and a kernel in virtual time has none"
        );
        assert_eq!(refused("vegas"), "the kernel has no congestion controller `vegas`; it has `reno` and `cdg`");
        let in_c = listed.check(&ControllerRef::Source("mine.bpf.c".into()), &none).unwrap_err();
        assert!(in_c.contains("is a controller in C"), "{in_c}");
        assert!(listed.check_trace().is_err());
    }

    #[test]
    fn what_the_kernel_has_not_and_parameters_are_refused() {
        let none = Parameters::new();
        assert_eq!(InKernel.load(&"newreno".into(), &none).unwrap().name(), "reno");
        let message = InKernel.check(&"fictitious".into(), &none).unwrap_err();
        assert!(message.starts_with("the kernel has no congestion controller `fictitious`; it has `"), "{message}");
    }
}
