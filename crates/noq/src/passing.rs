//! The controller that noq sees: it passes everything on to one of noq or of a user, and reports it.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use noq_proto::RttEstimator;
use noq_proto::congestion::{Controller, ControllerFactory, ControllerMetrics};
use stack::{Decisions, NONE, Report, Reports, known};

use crate::clock::Clock;

/// Makes a controller that begins at an instant, or none where those decide who take the reports.
pub(crate) type Maker = Box<dyn Fn(Instant) -> Option<Box<dyn Controller>> + Send + Sync>;

/// Gives each path of a connection a controller, in the order in which they begin.
pub(crate) struct Factory {
    maker: Maker,
    /// Those who take the reports of each path.
    reports: Vec<Arc<dyn Reports>>,
    /// Paths that have begun.
    begun: AtomicUsize,
    clock: Clock,
}

impl Factory {
    /// `reports` has one for each path, and one at least.
    pub(crate) fn new(maker: Maker, reports: Vec<Box<dyn Reports>>, clock: Clock) -> Self {
        let reports = reports.into_iter().map(Arc::from).collect();
        Self { maker, reports, begun: AtomicUsize::new(0), clock }
    }
}

impl fmt::Debug for Factory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Factory")
    }
}

impl ControllerFactory for Factory {
    fn build(self: Arc<Self>, now: Instant, _current_mtu: u16) -> Box<dyn Controller> {
        let path = self.begun.fetch_add(1, Ordering::Relaxed);
        let reports = Arc::clone(&self.reports[path.min(self.reports.len() - 1)]);
        Box::new(Passing::new((self.maker)(now), reports, self.clock))
    }
}

/// A controller, or none where those decide who take the reports.
pub(crate) struct Passing {
    own: Option<Box<dyn Controller>>,
    reports: Arc<dyn Reports>,
    clock: Clock,
}

impl Passing {
    fn new(own: Option<Box<dyn Controller>>, reports: Arc<dyn Reports>, clock: Clock) -> Self {
        let passing = Self { own, reports, clock };
        passing.decided();
        passing
    }

    fn report(&self, report: &Report) {
        let decisions = self.own.as_ref().map_or(Decisions::EMPTY, |own| {
            let metrics = own.metrics();
            Decisions {
                window: own.window(),
                threshold: metrics.ssthresh.unwrap_or(NONE),
                pacing_rate: metrics.pacing_rate.unwrap_or(NONE),
                quantum: metrics.send_quantum.unwrap_or(NONE),
                bandwidth: metrics.bandwidth_estimate.unwrap_or(NONE),
            }
        });
        self.reports.report(report, &decisions);
    }

    /// An event without a report is over.
    fn decided(&self) {
        if self.own.is_some() {
            self.report(&Report::Decided);
        }
    }
}

impl fmt::Debug for Passing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Passing")
    }
}

impl Controller for Passing {
    fn on_sent(&mut self, now: Instant, bytes: u64, largest_pn: u64) {
        if let Some(own) = &mut self.own {
            own.on_sent(now, bytes, largest_pn);
        }
        self.decided();
    }

    fn on_packet_sent(&mut self, now: Instant, bytes: u16, pn: u64) {
        if let Some(own) = &mut self.own {
            own.on_packet_sent(now, bytes, pn);
        }
        self.report(&Report::Sent { now: self.clock.time(now), number: pn, size: bytes });
    }

    fn on_cwnd_limited(&mut self) {
        if let Some(own) = &mut self.own {
            own.on_cwnd_limited();
        }
        self.decided();
    }

    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, pn: u64, app_limited: bool, rtt: &RttEstimator) {
        if let Some(own) = &mut self.own {
            own.on_ack(now, sent, bytes, pn, app_limited, rtt);
        }
        let (now, sent) = (self.clock.time(now), self.clock.time(sent));
        self.report(&Report::Acknowledged { now, sent, number: pn });
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, largest: Option<u64>) {
        if let Some(own) = &mut self.own {
            own.on_end_acks(now, in_flight, app_limited, largest);
        }
        let now = self.clock.time(now);
        self.report(&Report::AcknowledgementEnds { now, application_limited: app_limited });
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        is_persistent_congestion: bool,
        is_ecn: bool,
        lost_bytes: u64,
        largest_lost_pn: u64,
    ) {
        self.report(&Report::Congestion {
            now: self.clock.time(now),
            sent: self.clock.time(sent),
            persistent: is_persistent_congestion,
            marked: is_ecn,
        });
        if let Some(own) = &mut self.own {
            own.on_congestion_event(now, sent, is_persistent_congestion, is_ecn, lost_bytes, largest_lost_pn);
        }
        self.decided();
    }

    fn on_packet_lost(&mut self, lost_bytes: u16, pn: u64, now: Instant) {
        if let Some(own) = &mut self.own {
            own.on_packet_lost(lost_bytes, pn, now);
        }
        self.report(&Report::Lost { now: self.clock.time(now), number: pn, size: lost_bytes });
    }

    fn on_spurious_congestion_event(&mut self) {
        if let Some(own) = &mut self.own {
            own.on_spurious_congestion_event();
        }
        self.report(&Report::Spurious);
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        if let Some(own) = &mut self.own {
            own.on_mtu_update(new_mtu);
        }
        self.decided();
    }

    fn on_ack_frequency_update(&mut self, ack_eliciting_threshold: u64, requested_max_ack_delay: Duration) {
        if let Some(own) = &mut self.own {
            own.on_ack_frequency_update(ack_eliciting_threshold, requested_max_ack_delay);
        }
        self.decided();
    }

    fn window(&self) -> u64 {
        self.own.as_ref().map_or_else(|| self.reports.window(), |own| own.window())
    }

    fn metrics(&self) -> ControllerMetrics {
        if let Some(own) = &self.own {
            return own.metrics();
        }
        let decisions = self.reports.decisions();
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = decisions.window;
        metrics.ssthresh = known(decisions.threshold);
        metrics.pacing_rate = known(decisions.pacing_rate);
        metrics.send_quantum = known(decisions.quantum);
        metrics
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        let own = self.own.as_ref().map(|own| own.clone_box());
        Box::new(Self { own, reports: Arc::clone(&self.reports), clock: self.clock })
    }

    fn initial_window(&self) -> u64 {
        self.own.as_ref().map_or_else(|| self.reports.window(), |own| own.initial_window())
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
