//! Tapes of events: recorded from one controller, played to others, to see whether two say the same.

use std::sync::{Arc, Mutex, PoisonError};

use control::{Ack, Context, Controller, Loss, Marks, Probe};
use units::{Bytes, Random, Rate, Time};

/// One call of a controller.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event {
    /// [`Controller::on_start`].
    Start,
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
}

/// The events of one connection, in order.
#[derive(Clone, Debug, PartialEq)]
pub struct Tape {
    /// Payload of a full segment.
    pub segment_size: Bytes,
    /// In segments.
    pub initial_window: f64,
    /// When, and what.
    pub events: Vec<(Time, Event)>,
}

impl Tape {
    /// A tape without events.
    pub const fn new(segment_size: Bytes, initial_window: f64) -> Self {
        Self { segment_size, initial_window, events: Vec::new() }
    }

    /// Plays the tape to `controller`, which draws from the stream of `seed`: window and threshold after each event.
    pub fn play(&self, controller: &mut dyn Controller, seed: u64) -> Vec<(f64, f64)> {
        let mut random = Random::stream(seed, "tape", 0);
        let mut play = |&(now, event): &(Time, Event)| {
            let Self { segment_size, initial_window, .. } = *self;
            let cx = &mut Context { now, segment_size, initial_window, random: &mut random };
            match event {
                Event::Start => controller.on_start(cx),
                Event::Ack(ack) => controller.on_ack(cx, &ack),
                Event::DuplicateAck(ack) => controller.on_duplicate_ack(cx, &ack),
                Event::Loss(loss) => controller.on_loss(cx, &loss),
                Event::Ecn(marks) => controller.on_ecn(cx, &marks),
                Event::Recovered => controller.on_recovered(cx),
                Event::Timeout(loss) => controller.on_timeout(cx, &loss),
                Event::Spurious => controller.on_spurious(cx),
                Event::IdleRestart => controller.on_idle_restart(cx),
            }
            (controller.window(), controller.slow_start_threshold())
        };
        self.events.iter().map(&mut play).collect()
    }
}

/// A controller that writes down what it is told.
pub struct Recorder {
    controller: Box<dyn Controller>,
    tape: Arc<Mutex<Tape>>,
}

impl Recorder {
    /// Writes what `controller` is told on a tape that is shared.
    pub fn new(controller: Box<dyn Controller>) -> (Self, Arc<Mutex<Tape>>) {
        let tape = Arc::new(Mutex::new(Tape::new(Bytes::new(1), 1.0)));
        (Self { controller, tape: tape.clone() }, tape)
    }

    fn note(&self, cx: &Context<'_>, event: Event) {
        let mut tape = self.tape.lock().unwrap_or_else(PoisonError::into_inner);
        tape.segment_size = cx.segment_size;
        tape.initial_window = cx.initial_window;
        tape.events.push((cx.now, event));
    }
}

impl Controller for Recorder {
    fn on_start(&mut self, cx: &mut Context<'_>) {
        self.note(cx, Event::Start);
        self.controller.on_start(cx);
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

    fn window(&self) -> f64 {
        self.controller.window()
    }

    fn slow_start_threshold(&self) -> f64 {
        self.controller.slow_start_threshold()
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.controller.pacing_rate()
    }

    fn probe(&self, out: &mut dyn Probe) {
        self.controller.probe(out);
    }
}
