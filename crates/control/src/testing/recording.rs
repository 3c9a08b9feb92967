//! The events of a connection, recorded from one controller and played to others, to see whether two answer alike.

use std::sync::{Arc, Mutex, PoisonError};

use units::{Bytes, Random, Rate, Span, Time};

use crate::{
    Ack, Context, Controller, Loss, Marks, Moment, ParameterError, Parameters, Probe, Reno, SegmentReport,
    Transmission, TransmitStart, Wants,
};

/// One call of a controller.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event {
    /// [`Controller::on_start`].
    Start,
    /// [`Controller::on_handshake`].
    Handshake(Span),
    /// [`Controller::on_ack`].
    Ack(Ack),
    /// [`Controller::on_duplicate_ack`].
    DuplicateAck(Ack),
    /// [`Controller::on_loss`].
    Loss(Loss),
    /// [`Controller::on_ecn`].
    Ecn(Marks),
    /// [`Controller::on_recovered`].
    Recovered,
    /// [`Controller::on_timeout`].
    Timeout(Loss),
    /// [`Controller::on_spurious`].
    Spurious,
    /// [`Controller::on_idle_restart`].
    IdleRestart,
    /// [`Controller::on_sent`].
    Sent(Transmission),
    /// [`Controller::on_transmit_start`].
    TransmitStart(TransmitStart),
    /// [`Controller::on_segment_delivered`].
    SegmentDelivered(SegmentReport),
    /// [`Controller::on_segment_lost`].
    SegmentLost(SegmentReport),
    /// [`Controller::on_timer`].
    Timer,
}

/// The events of one connection, in order.
#[derive(Clone, Debug, PartialEq)]
pub struct Recording {
    /// The connection, but for the time and the pacing of each event.
    pub connection: Moment,
    /// Time and event.
    pub events: Vec<(Time, Event)>,
}

impl Recording {
    /// A recording without events.
    pub const fn new(segment_size: Bytes, initial_window: f64) -> Self {
        Self { connection: Moment { segment_size, initial_window, ..Moment::EMPTY }, events: Vec::new() }
    }

    /// Plays it to `controller`, which draws from the stream of `seed`: window and threshold after each event.
    pub fn play(&self, controller: &mut dyn Controller, seed: u64) -> Vec<(f64, f64)> {
        let mut random = Random::stream(seed, "tape", 0);
        let mut play = |&(now, event): &(Time, Event)| {
            let moment = Moment { now, departure: now, restart: None, ..self.connection };
            let cx = &mut Context { moment, random: &mut random };
            match event {
                Event::Start => controller.on_start(cx),
                Event::Handshake(rtt) => controller.on_handshake(cx, rtt),
                Event::Ack(ack) => controller.on_ack(cx, &ack),
                Event::DuplicateAck(ack) => controller.on_duplicate_ack(cx, &ack),
                Event::Loss(loss) => controller.on_loss(cx, &loss),
                Event::Ecn(marks) => controller.on_ecn(cx, &marks),
                Event::Recovered => controller.on_recovered(cx),
                Event::Timeout(loss) => controller.on_timeout(cx, &loss),
                Event::Spurious => controller.on_spurious(cx),
                Event::IdleRestart => controller.on_idle_restart(cx),
                Event::Sent(sent) => controller.on_sent(cx, &sent),
                Event::TransmitStart(start) => controller.on_transmit_start(cx, &start),
                Event::SegmentDelivered(segment) => controller.on_segment_delivered(cx, &segment),
                Event::SegmentLost(segment) => controller.on_segment_lost(cx, &segment),
                Event::Timer => controller.on_timer(cx),
            }
            (controller.window(), controller.slow_start_threshold())
        };
        self.events.iter().map(&mut play).collect()
    }
}

/// A controller that records the calls that another one gets.
pub struct Recorder {
    controller: Box<dyn Controller>,
    recording: Arc<Mutex<Recording>>,
}

impl Recorder {
    /// Records the calls of `controller`. The recording is shared.
    pub fn new(controller: Box<dyn Controller>) -> (Self, Arc<Mutex<Recording>>) {
        let recording = Arc::new(Mutex::new(Recording::new(Bytes::new(1), 1.0)));
        (Self { controller, recording: recording.clone() }, recording)
    }

    fn note(&self, cx: &Context<'_>, event: Event) {
        let mut recording = self.recording.lock().unwrap_or_else(PoisonError::into_inner);
        recording.connection = cx.moment;
        recording.events.push((cx.now, event));
    }
}

impl Controller for Recorder {
    fn wants(&self) -> Wants {
        self.controller.wants()
    }

    fn on_start(&mut self, cx: &mut Context<'_>) {
        self.note(cx, Event::Start);
        self.controller.on_start(cx);
    }

    fn on_handshake(&mut self, cx: &mut Context<'_>, rtt: Span) {
        self.note(cx, Event::Handshake(rtt));
        self.controller.on_handshake(cx, rtt);
    }

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.note(cx, Event::Ack(*ack));
        self.controller.on_ack(cx, ack);
    }

    fn on_duplicate_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.note(cx, Event::DuplicateAck(*ack));
        self.controller.on_duplicate_ack(cx, ack);
    }

    fn on_loss(&mut self, cx: &mut Context<'_>, loss: &Loss) {
        self.note(cx, Event::Loss(*loss));
        self.controller.on_loss(cx, loss);
    }

    fn on_ecn(&mut self, cx: &mut Context<'_>, marks: &Marks) {
        self.note(cx, Event::Ecn(*marks));
        self.controller.on_ecn(cx, marks);
    }

    fn keep(&mut self, window: f64) -> bool {
        self.controller.keep(window)
    }

    fn on_recovered(&mut self, cx: &mut Context<'_>) {
        self.note(cx, Event::Recovered);
        self.controller.on_recovered(cx);
    }

    fn on_timeout(&mut self, cx: &mut Context<'_>, loss: &Loss) {
        self.note(cx, Event::Timeout(*loss));
        self.controller.on_timeout(cx, loss);
    }

    fn on_spurious(&mut self, cx: &mut Context<'_>) {
        self.note(cx, Event::Spurious);
        self.controller.on_spurious(cx);
    }

    fn on_idle_restart(&mut self, cx: &mut Context<'_>) {
        self.note(cx, Event::IdleRestart);
        self.controller.on_idle_restart(cx);
    }

    fn on_sent(&mut self, cx: &mut Context<'_>, sent: &Transmission) {
        self.note(cx, Event::Sent(*sent));
        self.controller.on_sent(cx, sent);
    }

    fn on_transmit_start(&mut self, cx: &mut Context<'_>, start: &TransmitStart) {
        self.note(cx, Event::TransmitStart(*start));
        self.controller.on_transmit_start(cx, start);
    }

    fn on_segment_delivered(&mut self, cx: &mut Context<'_>, segment: &SegmentReport) {
        self.note(cx, Event::SegmentDelivered(*segment));
        self.controller.on_segment_delivered(cx, segment);
    }

    fn on_segment_lost(&mut self, cx: &mut Context<'_>, segment: &SegmentReport) {
        self.note(cx, Event::SegmentLost(*segment));
        self.controller.on_segment_lost(cx, segment);
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.controller.poll_timeout()
    }

    fn on_timer(&mut self, cx: &mut Context<'_>) {
        self.note(cx, Event::Timer);
        self.controller.on_timer(cx);
    }

    fn set_parameters(&mut self, given: &Parameters) -> Result<(), ParameterError> {
        self.controller.set_parameters(given)
    }

    fn window(&self) -> f64 {
        self.controller.window()
    }

    fn slow_start_threshold(&self) -> f64 {
        self.controller.slow_start_threshold()
    }

    fn reno(&mut self) -> Option<&mut Reno> {
        self.controller.reno()
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.controller.pacing_rate()
    }

    fn send_quantum(&self) -> u32 {
        self.controller.send_quantum()
    }

    fn probe(&self, out: &mut dyn Probe) {
        self.controller.probe(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controllers::newreno::NewReno;
    use crate::testing::{World, ack, loss};

    #[test]
    fn a_recording_played_gives_the_windows_again() {
        let mut world = World::new();
        let (mut recorder, recording) = Recorder::new(Box::new(NewReno::default()));
        recorder.on_start(&mut world.context());
        recorder.on_ack(&mut world.context(), &ack());
        world.pass(Span::from_millis(5));
        recorder.on_loss(&mut world.context(), &loss());
        let recording = recording.lock().unwrap();
        assert_eq!(recording.events[2], (Time::from_nanos(5_000_000), Event::Loss(loss())));
        // Ten, one more in slow start, half of eleven.
        let played = recording.play(&mut NewReno::default(), 1);
        assert_eq!(played, [(10.0, f64::INFINITY), (11.0, f64::INFINITY), (5.5, 5.5)]);
    }
}
