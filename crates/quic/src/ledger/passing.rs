//! The controller that noq sees: it passes everything on.

use std::any::Any;
use std::sync::Arc;
use std::time::{Duration, Instant};

use noq_proto::RttEstimator;
use noq_proto::congestion::{Controller, ControllerFactory, ControllerMetrics};

use super::{Control, SharedLedger};

/// Gives the one connection of a ledger its controller.
pub(crate) struct SingleUse(pub(crate) SharedLedger);

impl ControllerFactory for SingleUse {
    fn build(self: Arc<Self>, _now: Instant, _current_mtu: u16) -> Box<dyn Controller> {
        Box::new(self.0.clone())
    }
}

impl Controller for SharedLedger {
    fn on_sent(&mut self, now: Instant, bytes: u64, largest_pn: u64) {
        if let Control::Noq(controller) = &mut self.lock().control {
            controller.on_sent(now, bytes, largest_pn);
        }
    }

    fn on_packet_sent(&mut self, now: Instant, bytes: u16, pn: u64) {
        let ledger = &mut *self.lock();
        if let Control::Noq(controller) = &mut ledger.control {
            controller.on_packet_sent(now, bytes, pn);
        }
        ledger.packet_sent(ledger.clock.time(now), pn, bytes);
    }

    fn on_cwnd_limited(&mut self) {
        if let Control::Noq(controller) = &mut self.lock().control {
            controller.on_cwnd_limited();
        }
    }

    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, pn: u64, app_limited: bool, rtt: &RttEstimator) {
        let ledger = &mut *self.lock();
        if let Control::Noq(controller) = &mut ledger.control {
            controller.on_ack(now, sent, bytes, pn, app_limited, rtt);
        }
        ledger.packet_acknowledged(ledger.clock.time(now), ledger.clock.time(sent), pn);
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, largest: Option<u64>) {
        let ledger = &mut *self.lock();
        if let Control::Noq(controller) = &mut ledger.control {
            controller.on_end_acks(now, in_flight, app_limited, largest);
        }
        ledger.acknowledgement_ends(ledger.clock.time(now), app_limited);
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
        let ledger = &mut *self.lock();
        let (at, sent_at) = (ledger.clock.time(now), ledger.clock.time(sent));
        ledger.congestion(at, sent_at, is_persistent_congestion, is_ecn);
        if let Control::Noq(controller) = &mut ledger.control {
            controller.on_congestion_event(now, sent, is_persistent_congestion, is_ecn, lost_bytes, largest_lost_pn);
        }
    }

    fn on_packet_lost(&mut self, lost_bytes: u16, pn: u64, now: Instant) {
        let ledger = &mut *self.lock();
        if let Control::Noq(controller) = &mut ledger.control {
            controller.on_packet_lost(lost_bytes, pn, now);
        }
        ledger.packet_lost(ledger.clock.time(now), pn, lost_bytes);
    }

    fn on_spurious_congestion_event(&mut self) {
        let ledger = &mut *self.lock();
        if let Control::Noq(controller) = &mut ledger.control {
            controller.on_spurious_congestion_event();
        }
        ledger.spurious();
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        if let Control::Noq(controller) = &mut self.lock().control {
            controller.on_mtu_update(new_mtu);
        }
    }

    fn on_ack_frequency_update(&mut self, ack_eliciting_threshold: u64, requested_max_ack_delay: Duration) {
        if let Control::Noq(controller) = &mut self.lock().control {
            controller.on_ack_frequency_update(ack_eliciting_threshold, requested_max_ack_delay);
        }
    }

    fn window(&self) -> u64 {
        self.lock().window()
    }

    fn metrics(&self) -> ControllerMetrics {
        self.lock().metrics()
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }

    fn initial_window(&self) -> u64 {
        let ledger = self.lock();
        match &ledger.control {
            Control::Noq(controller) => controller.initial_window(),
            Control::Ackclock(..) => ledger.window(),
        }
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
