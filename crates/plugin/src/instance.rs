//! The side of the object: its functions, and the instance that they are called with.

use std::ffi::c_void;

use control::{Controller, Entry, Parameters, Probe};

use crate::caught::caught;
use crate::signals::{Context, Crosses, Decisions, Event};
use crate::table::{Made, Show, Text};

/// A controller, and why its last call failed.
struct Instance {
    controller: Option<Box<dyn Controller>>,
    message: String,
}

impl Instance {
    /// Calls `code` with the controller. A panic ends here: it leaves no controller, and its message.
    fn guarded(&mut self, code: impl FnOnce(&mut dyn Controller)) -> bool {
        let Some(controller) = &mut self.controller else { return false };
        if let Err(message) = caught(|| code(controller.as_mut())) {
            self.message = message;
            // Its destructor may panic as well, and has nothing more to say.
            let _ = caught(|| drop(self.controller.take()));
            return false;
        }
        true
    }
}

/// [`Table::make`](crate::Table::make) of the controller of `entry`.
pub fn make(entry: &Entry, parameters: Text<'_>, made: &mut Made) {
    let build = || {
        let given: Parameters = serde_json::from_str(parameters.get()).map_err(|error| error.to_string())?;
        let controller = entry.build(&given).map_err(|error| error.to_string())?;
        let wants = controller.wants().mirror();
        Ok((Decisions::of(controller.as_ref()), wants, controller))
    };
    let built: Result<_, String> = caught(build).unwrap_or_else(|message| {
        made.has_panicked = true;
        Err(message)
    });
    let instance = match built {
        Ok((decisions, wants, controller)) => {
            (made.decisions, made.wants, made.is_made) = (decisions, wants, true);
            Instance { controller: Some(controller), message: String::new() }
        }
        Err(message) => Instance { controller: None, message },
    };
    made.instance = Box::into_raw(Box::new(instance)).cast();
}

/// [`Table::event`](crate::Table::event).
pub(crate) unsafe extern "C" fn event(
    instance: *mut c_void,
    context: &mut Context,
    event: &Event<'_>,
    decisions: &mut Decisions,
) -> bool {
    // SAFETY: of `make`, and in one call at a time.
    let instance = unsafe { &mut *instance.cast::<Instance>() };
    instance.guarded(|controller| {
        // SAFETY: the simulator is in this call, and has compared the streams.
        let mut cx = unsafe { context.get() };
        handle(controller, &mut cx, event);
        *decisions = Decisions::of(controller);
    })
}

/// [`Table::keep`](crate::Table::keep).
pub(crate) unsafe extern "C" fn keep(instance: *mut c_void, window: f64, decisions: &mut Decisions) -> bool {
    // SAFETY: as in `event`.
    let instance = unsafe { &mut *instance.cast::<Instance>() };
    instance.guarded(|controller| {
        let keeps = controller.keep(window);
        *decisions = Decisions { keeps, ..Decisions::of(controller) };
    })
}

/// Calls the method of `event`.
fn handle(controller: &mut dyn Controller, cx: &mut control::Context<'_>, event: &Event<'_>) {
    match *event {
        Event::Start => controller.on_start(cx),
        Event::Handshake(rtt) => controller.on_handshake(cx, Crosses::of(&rtt)),
        Event::Ack(ack) => controller.on_ack(cx, &Crosses::of(ack)),
        Event::DuplicateAck(ack) => controller.on_duplicate_ack(cx, &Crosses::of(ack)),
        Event::Loss(loss) => controller.on_loss(cx, &Crosses::of(loss)),
        Event::Ecn(marks) => controller.on_ecn(cx, &Crosses::of(marks)),
        Event::Recovered => controller.on_recovered(cx),
        Event::Timeout(loss) => controller.on_timeout(cx, &Crosses::of(loss)),
        Event::Spurious => controller.on_spurious(cx),
        Event::IdleRestart => controller.on_idle_restart(cx),
        Event::Sent(sent) => controller.on_sent(cx, &Crosses::of(sent)),
        Event::TransmitStart(start) => controller.on_transmit_start(cx, &Crosses::of(start)),
        Event::SegmentDelivered(segment) => controller.on_segment_delivered(cx, &Crosses::of(segment)),
        Event::SegmentLost(segment) => controller.on_segment_lost(cx, &Crosses::of(segment)),
        Event::Timer => controller.on_timer(cx),
    }
}

/// Takes probes for the simulator.
struct Shown {
    taker: *mut c_void,
    show: Show,
}

impl Probe for Shown {
    fn value(&mut self, name: &'static str, value: f64) {
        (self.show)(self.taker, Text::new(name), value);
    }
}

/// [`Table::probe`](crate::Table::probe).
pub(crate) unsafe extern "C" fn probe(instance: *mut c_void, taker: *mut c_void, show: Show) -> bool {
    // SAFETY: as in `event`.
    let instance = unsafe { &mut *instance.cast::<Instance>() };
    instance.guarded(|controller| controller.probe(&mut Shown { taker, show }))
}

/// [`Table::finish`](crate::Table::finish).
pub(crate) unsafe extern "C" fn finish(instance: *mut c_void) -> bool {
    // SAFETY: as in `event`.
    let instance = unsafe { &mut *instance.cast::<Instance>() };
    let controller = instance.controller.take();
    // A destructor that panics leaks the rest.
    caught(|| drop(controller)).map_err(|message| instance.message = message).is_ok()
}

/// [`Table::message`](crate::Table::message).
pub(crate) unsafe extern "C" fn message(instance: *const c_void) -> Text<'static> {
    // SAFETY: as in `event`; the simulator copies the text before it calls again.
    Text::new(unsafe { &(*instance.cast::<Instance>()).message })
}

/// [`Table::end`](crate::Table::end).
pub(crate) unsafe extern "C" fn end(instance: *mut c_void) {
    // SAFETY: of `make`, and nothing calls it afterwards.
    let instance = unsafe { Box::from_raw(instance.cast::<Instance>()) };
    // The message of a destructor is for callers of `finish`.
    let _ = caught(|| drop(instance));
}
