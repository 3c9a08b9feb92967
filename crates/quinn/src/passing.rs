//! The controller that quinn sees: it passes everything on to one of quinn or of a user, and reports it.

use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

use quinn_proto::RttEstimator;
use quinn_proto::congestion::{Controller, ControllerFactory, ControllerMetrics};
use stack::{Decisions, NONE, Report};

use crate::flight::SharedFlight;

/// Gives a connection a controller.
pub(crate) struct Factory(pub(crate) Passing);

impl ControllerFactory for Factory {
    fn build(self: Arc<Self>, _now: Instant, _current_mtu: u16) -> Box<dyn Controller> {
        self.0.clone_box()
    }
}

/// A controller, and the flight of its connection.
pub(crate) struct Passing {
    own: Box<dyn Controller>,
    flight: SharedFlight,
}

impl Passing {
    pub(crate) fn new(own: Box<dyn Controller>, flight: SharedFlight) -> Self {
        let passing = Self { own, flight };
        passing.decided();
        passing
    }

    /// Notes the decisions of the controller after an event.
    fn note(&self) {
        let metrics = self.own.metrics();
        self.flight.lock().decisions = Decisions {
            window: self.own.window(),
            threshold: metrics.ssthresh.unwrap_or(NONE),
            // In bits, for its log alone: quinn paces by the window.
            pacing_rate: NONE,
            quantum: NONE,
            bandwidth: NONE,
        };
    }

    fn decided(&self) {
        self.note();
        self.flight.lock().report(&Report::Decided);
    }
}

impl Controller for Passing {
    fn on_sent(&mut self, now: Instant, bytes: u64, last_packet_number: u64) {
        self.own.on_sent(now, bytes, last_packet_number);
        self.note();
        self.flight.lock().last = Some((last_packet_number, bytes as u16));
    }

    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, app_limited: bool, rtt: &RttEstimator) {
        self.own.on_ack(now, sent, bytes, app_limited, rtt);
        self.note();
        self.flight.lock().acknowledge(now, sent);
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, largest: Option<u64>) {
        self.own.on_end_acks(now, in_flight, app_limited, largest);
        self.note();
        self.flight.lock().end_acknowledgement(now, app_limited);
    }

    fn on_congestion_event(&mut self, now: Instant, sent: Instant, is_persistent_congestion: bool, lost_bytes: u64) {
        {
            let flight = &mut *self.flight.lock();
            flight.lose(now, sent, lost_bytes);
            // Marks lose nothing.
            flight.congestion(now, sent, is_persistent_congestion, lost_bytes == 0);
        }
        self.own.on_congestion_event(now, sent, is_persistent_congestion, lost_bytes);
        self.decided();
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.own.on_mtu_update(new_mtu);
        self.decided();
    }

    fn window(&self) -> u64 {
        self.own.window()
    }

    fn metrics(&self) -> ControllerMetrics {
        self.own.metrics()
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Self { own: self.own.clone_box(), flight: self.flight.clone() })
    }

    fn initial_window(&self) -> u64 {
        self.own.initial_window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
