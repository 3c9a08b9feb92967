//! How far a live run can be trusted.

use std::collections::BTreeMap;

use network::{Limit, Service};
use record::Histogram;
use scenario::{Plan, PlannedLink};
use serde::Serialize;
use units::packet::MTU;
use units::{Rate, Span};

/// No delivery of a valid run is later than this, and no look at the sockets.
const LATEST: Span = Span::from_millis(15);
/// Nor than the buffer takes to drain, divided by this.
const PART_OF_BUFFER: u64 = 4;

/// The fidelity of a live run to its scenario, and the machine that it ran on.
#[derive(Clone, Debug, Serialize)]
pub struct Fidelity {
    /// The release of the kernel.
    pub kernel: String,
    /// The run kept within its error budget.
    pub valid: bool,
    /// Why not, one sentence each.
    pub reasons: Vec<String>,
    /// By how much deliveries were late.
    pub lateness_us: Lateness,
    /// By how much the sockets were written, read and looked at late, or `None` if a command of the user's has them.
    pub endpoints_late_us: Option<Lateness>,
    /// Times at which the machine was busy elsewhere for more than 5 ms while something was due.
    pub stalls: u64,
    /// Packets that were dropped elsewhere than in the plan's queues.
    pub drops_outside: u64,
    /// CPU time of the emulator, in which the TCP that receives runs as well.
    pub emulator_cpu_s: f64,
    /// How many data packets of a flow came at once.
    pub trains: Trains,
    /// The emulator ran before everything else (`fifo`, SCHED_FIFO) or had to wait its turn (`other`).
    pub scheduling: &'static str,
    /// The source of the round-trip times of the table `flows`.
    pub rtt_source: &'static str,
    /// The source of the states of flows, and of their timeouts and recoveries. `tracepoint` reports each when it
    /// happens. `tcp_info` is read each millisecond and has no spurious reductions. Over QUIC it is `noq`, and without
    /// TCP `ends`.
    pub state_source: &'static str,
    /// Records of the tracepoint that found no room, or were skipped.
    pub missed_records: u64,
    /// The most segments that TCP hands down at once, or `None` if the kernel chooses.
    pub gso_max_segs: Option<u16>,
    /// The queues that are the kernel's, by the names of their links: disciplines as `tc` spells them.
    pub queues: BTreeMap<String, String>,
    /// Settings of the kernel's network at both ends.
    pub sysctls: BTreeMap<&'static str, String>,
}

/// Lateness against the instant at which the path would have delivered, or the sockets were to be looked at, in
/// microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Lateness {
    /// Median.
    pub p50: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Largest.
    pub max: f64,
}

/// Lengths of trains, in packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Trains {
    /// Mean.
    pub mean: f64,
    /// Longest.
    pub max: u64,
}

impl Lateness {
    pub(crate) fn of(nanos: &Histogram) -> Self {
        let micros = |q| nanos.quantile(q).unwrap_or(0.0) / 1e3;
        Self { p50: micros(0.5), p99: micros(0.99), max: nanos.max().unwrap_or(0) as f64 / 1e3 }
    }

    /// The larger of each.
    pub(crate) fn worse(self, other: Self) -> Self {
        Self { p50: self.p50.max(other.p50), p99: self.p99.max(other.p99), max: self.max.max(other.max) }
    }
}

impl Trains {
    pub(crate) fn of(lengths: &Histogram) -> Self {
        Self { mean: lengths.mean().unwrap_or(0.0), max: lengths.max().unwrap_or(0) }
    }
}

/// Why a run of `plan` with this lateness, of its endpoints too, and so many drops outside is not valid.
pub(crate) fn reasons(
    plan: &Plan,
    lateness: &Lateness,
    endpoints_late: Option<&Lateness>,
    drops_outside: u64,
) -> Vec<String> {
    let drain = plan.bottleneck.and_then(|link| drain_time(&plan.links[link]));
    let (budget, whose) = match drain.map(|drain| drain / PART_OF_BUFFER) {
        Some(part) if part < LATEST => (part, format!("a quarter of what the buffer takes to drain ({part})")),
        _ => (LATEST, LATEST.to_string()),
    };
    let mut reasons = Vec::new();
    if lateness.max > budget.as_nanos() as f64 / 1e3 {
        reasons.push(format!("a delivery was {:.1} ms late, more than {whose}", lateness.max / 1e3));
    }
    let latest = LATEST.as_nanos() as f64 / 1e3;
    if let Some(late) = endpoints_late.filter(|late| late.max > latest) {
        reasons.push(format!("the sockets were looked at {:.1} ms late, more than {LATEST}", late.max / 1e3));
    }
    if drops_outside > 0 {
        reasons.push(format!("{drops_outside} packets were dropped outside the queues of the scenario"));
    }
    reasons
}

/// How long a full queue takes to drain at the nominal rate, or `None` if that has no end.
fn drain_time(link: &PlannedLink) -> Option<Span> {
    let rate: Rate = link.rate.filter(|rate| !rate.is_zero() && link.settings.service != Service::Unlimited)?;
    match link.settings.queue.limit {
        Limit::Infinite => None,
        Limit::Packets(packets) => Some(rate.time_for(MTU * u64::from(packets))),
        Limit::Bytes(bytes) => Some(rate.time_for(bytes)),
        Limit::Delay(span) => Some(span),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(queue: &str) -> Plan {
        let toml = format!(
            "duration = \"1s\"\npath = {{ rate = \"10mbit\", rtt = \"20ms\", queue = \"{queue}\" }}\n\
             flows = [{{ cc = \"newreno\" }}]"
        );
        scenario::from_toml(&toml, "test.toml").unwrap().plan(&scenario::NoFiles).unwrap()
    }

    fn late(max: f64) -> Lateness {
        Lateness { max, ..Lateness::default() }
    }

    fn judged(queue: &str, max_us: f64, drops: u64) -> Vec<String> {
        reasons(&plan(queue), &late(max_us), Some(&late(0.0)), drops)
    }

    #[test]
    fn the_ends_of_a_valid_run_are_as_punctual_as_its_path() {
        // The length of the buffer does not matter, as the application is late.
        let judged = |max_us| reasons(&plan("20p"), &late(0.0), Some(&late(max_us)), 0);
        assert_eq!(judged(15_000.0), [""; 0]);
        assert_eq!(judged(15_100.0), ["the sockets were looked at 15.1 ms late, more than 15ms"]);
        assert_eq!(reasons(&plan("20p"), &late(0.0), None, 0), [""; 0]);
    }

    #[test]
    fn the_budget_is_a_quarter_of_the_buffer_but_at_most_15_ms() {
        // 20 packets of 1.2 ms drain in 24 ms.
        assert_eq!(judged("20p", 6000.0, 0), [""; 0]);
        let message = "a delivery was 6.1 ms late, more than a quarter of what the buffer takes to drain (6ms)";
        assert_eq!(judged("20p", 6100.0, 0), [message]);
        assert_eq!(judged("24ms", 6100.0, 0), [message]);
        assert_eq!(judged("30kB", 6100.0, 0), [message]);
        assert_eq!(judged("100p", 15_000.0, 0), [""; 0]);
        assert_eq!(judged("100p", 16_000.0, 0), ["a delivery was 16.0 ms late, more than 15ms"]);
    }

    #[test]
    fn a_drop_outside_the_queue_spoils_a_run() {
        assert_eq!(judged("100p", 0.0, 2), ["2 packets were dropped outside the queues of the scenario"]);
    }
}
