//! A sender or a receiver under a script. Time is in milliseconds. Every action and expectation writes itself into a
//! transcript. Every departure must be expected before the next action.

mod stacks;
mod wire;

use std::collections::VecDeque;
use std::fmt::Display;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard};

use control::newreno::NewReno;
use control::{Ack, Controller, Moment, Parameters, Wants};
use transport::{Acknowledgement, Application, Data, Event, Opened, Phase, Receiver, Sender, Stack};
use units::{Random, SenderCounters, Span, Time};

pub(crate) use self::stacks::{drop_sack, linux_rack, plain, selective, with};
pub(crate) use self::wire::{Notice, Reply, ack};
use self::wire::{ProbeController, Shared};

/// A point in time.
pub(crate) fn at(ms: u64) -> Time {
    Time::from_nanos(ms * 1_000_000)
}

/// A span.
pub(crate) fn ms(n: u64) -> Span {
    Span::from_millis(n)
}

/// Events so far.
#[derive(Default)]
struct Transcript(Vec<String>);

impl Transcript {
    fn note(&mut self, now: Time, what: impl Display) {
        self.0.push(format!("{:>10}  {what}", now.to_string()));
    }

    #[track_caller]
    fn require(&self, fulfilled: bool, violated: impl FnOnce() -> String) {
        assert!(fulfilled, "\n{}\n\nviolated: {}\n", self.0.join("\n"), violated());
    }
}

/// A sender under a script.
pub(crate) struct SenderScript {
    sender: Sender,
    shared: Option<Arc<Mutex<Shared>>>,
    now: Time,
    left: VecDeque<Data>,
    pub(crate) events: Vec<Event>,
    transcript: Transcript,
}

impl SenderScript {
    /// A sender with a probe controller of `window` segments and all the data in the world, at 0 ms.
    pub(crate) fn new(options: Stack, window: f64) -> Self {
        Self::with(options, window, Application::Greedy)
    }

    /// The same, with `application` above it.
    pub(crate) fn with(options: Stack, window: f64, application: Application) -> Self {
        Self::wanting(Wants::default(), options, window, application)
    }

    /// The same, with a probe controller that wants more than the usual events.
    pub(crate) fn wanting(wants: Wants, options: Stack, window: f64, application: Application) -> Self {
        let shared = Shared {
            window,
            threshold: window,
            before: window,
            pacing: None,
            wants,
            wake_up: None,
            moment: Moment::EMPTY,
            notices: Vec::new(),
        };
        let shared = Arc::new(Mutex::new(shared));
        let controller = Box::new(ProbeController(shared.clone()));
        Self::start(options, controller, Some(shared), application)
    }

    /// A sender with a real NewReno.
    pub(crate) fn newreno(options: Stack) -> Self {
        Self::steered(options, Box::new(NewReno::default()))
    }

    /// A sender with `controller`.
    pub(crate) fn steered(options: Stack, controller: Box<dyn Controller>) -> Self {
        Self::start(options, controller, None, Application::Greedy)
    }

    fn start(
        options: Stack,
        controller: Box<dyn Controller>,
        shared: Option<Arc<Mutex<Shared>>>,
        application: Application,
    ) -> Self {
        // A handshake takes 40 ms.
        let opened = options.handshake.then(|| (at(40), Opened::at_once(at(0))));
        let mut sender = Sender::new(options, controller, application, Random::stream(1, "script", 0));
        match opened {
            Some((now, opened)) => sender.open(now, opened),
            None => sender.start(Time::ZERO),
        }
        let now = opened.map_or(Time::ZERO, |(now, _)| now);
        let (left, events, transcript) = (VecDeque::new(), Vec::new(), Transcript::default());
        let mut script = Self { sender, shared, now, left, events, transcript };
        script.poll();
        script
    }

    /// Takes what leaves.
    fn poll(&mut self) {
        while let Some(data) = self.sender.poll_transmit(self.now, &mut self.events) {
            let again = if data.retransmission { " again" } else { "" };
            let reduced = if data.reduced { " with CWR" } else { "" };
            self.transcript.note(self.now, format!("    segment {} leaves{again}{reduced}", data.sequence));
            self.left.push_back(data);
        }
    }

    #[track_caller]
    fn act(&mut self, what: impl Display) {
        if let Some(data) = self.left.front() {
            self.transcript.require(false, || format!("segment {} left, which no expectation named", data.sequence));
        }
        self.transcript.note(self.now, what);
    }

    #[track_caller]
    fn expect(&mut self, what: impl Display, fulfilled: bool, found: impl FnOnce() -> String) {
        self.transcript.note(self.now, format!("  expected: {what}"));
        self.transcript.require(fulfilled, || format!("{what}; {}", found()));
    }

    // Actions.

    /// Time passes to `ms`. Timers that are due by then expire on the way.
    #[track_caller]
    pub(crate) fn at(&mut self, ms: u64) -> &mut Self {
        let end = at(ms);
        while let Some(due) = self.sender.poll_timeout().filter(|&due| due <= end) {
            self.transcript
                .require(due > self.now || self.left.is_empty(), || "timers follow each other without end".into());
            self.now = due.max(self.now);
            self.act("a timer expires");
            self.sender.on_timeout(self.now, &mut self.events);
            self.poll();
            if !self.left.is_empty() && due < end {
                break;
            }
        }
        if self.left.is_empty() {
            self.now = end;
        }
        self
    }

    /// Runs to the next timer, which expires.
    #[track_caller]
    pub(crate) fn timer(&mut self) -> &mut Self {
        let due = self.sender.poll_timeout();
        self.transcript.require(due.is_some(), || "a timer runs; none does".into());
        self.now = due.unwrap_or(self.now);
        self.act("the timer expires");
        self.sender.on_timeout(self.now, &mut self.events);
        self.poll();
        self
    }

    /// An ACK arrives.
    #[track_caller]
    pub(crate) fn arrives(&mut self, reply: Reply) -> &mut Self {
        self.act(format!("{reply} arrives"));
        self.sender.on_acknowledgement(self.now, &reply.0, &mut self.events);
        self.poll();
        self
    }

    /// An ACK arrives for each of `numbers` as it is SACKed, the first of them with a block of one.
    #[track_caller]
    pub(crate) fn sacks(&mut self, cumulative: u64, numbers: Range<u64>) -> &mut Self {
        self.sacks_from(cumulative, numbers.start, numbers.start + 1..numbers.end + 1)
    }

    /// ACKs with the block [start, end) for each of `ends` arrive.
    #[track_caller]
    pub(crate) fn sacks_from(&mut self, cumulative: u64, start: u64, ends: Range<u64>) -> &mut Self {
        for end in ends {
            self.arrives(ack(cumulative).sack(start, end));
        }
        self
    }

    /// The clock of the host has run for `uptime` at 0 ms.
    pub(crate) fn up_for(&mut self, uptime: Span) -> &mut Self {
        self.sender.up_for(uptime);
        self
    }

    /// The script sets the window of the probe controller.
    pub(crate) fn window(&mut self, window: f64) -> &mut Self {
        self.shared().window = window;
        self.transcript.note(self.now, format!("the window becomes {window}"));
        self
    }

    /// The script sets the slow-start threshold of the probe controller.
    pub(crate) fn threshold(&mut self, threshold: f64) -> &mut Self {
        self.shared().threshold = threshold;
        // A sender asks at the events of a controller: this one is refused, and is one.
        self.sender.set_parameters(self.now, &Parameters::default()).unwrap_err();
        self
    }

    /// The script sets when the probe controller wants to be woken.
    pub(crate) fn wake_up(&mut self, ms: u64) -> &mut Self {
        self.shared().wake_up = Some(at(ms));
        self
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.as_ref().expect("a script with a probe controller").lock().unwrap()
    }

    // Expectations.

    /// New segments leave.
    #[track_caller]
    pub(crate) fn leave(&mut self, numbers: Range<u64>) -> &mut Self {
        for number in numbers {
            self.one_leaves(number, false);
        }
        self
    }

    /// A new segment leaves.
    #[track_caller]
    pub(crate) fn leaves(&mut self, number: u64) -> &mut Self {
        self.one_leaves(number, false);
        self
    }

    /// A segment leaves again.
    #[track_caller]
    pub(crate) fn leaves_again(&mut self, number: u64) -> &mut Self {
        self.one_leaves(number, true);
        self
    }

    #[track_caller]
    fn one_leaves(&mut self, number: u64, again: bool) -> Data {
        let data = self.left.pop_front();
        let fulfilled = data.is_some_and(|d| (d.sequence, d.retransmission) == (number, again));
        let kind = if again { "retransmission of segment" } else { "new segment" };
        self.expect(format!("{kind} {number} leaves"), fulfilled, || match data {
            Some(d) if d.retransmission => format!("but segment {} left again", d.sequence),
            Some(d) => format!("but new segment {} left", d.sequence),
            None => "but nothing left".into(),
        });
        data.unwrap()
    }

    /// The segment that leaves, for a closer look.
    #[track_caller]
    pub(crate) fn leaving(&mut self, number: u64) -> Data {
        self.one_leaves(number, false)
    }

    /// Nothing (more) leaves.
    #[track_caller]
    pub(crate) fn nothing_leaves(&mut self) -> &mut Self {
        let found = self.left.front().map(|d| d.sequence);
        self.expect("nothing leaves", found.is_none(), || format!("but segment {found:?} left"));
        self
    }

    /// Whatever left.
    pub(crate) fn all(&mut self) -> Vec<u64> {
        self.left.drain(..).map(|d| d.sequence).collect()
    }

    /// The next timer is due at `ms`.
    #[track_caller]
    pub(crate) fn timer_at(&mut self, ms: u64) -> &mut Self {
        let found = self.sender.poll_timeout();
        self.expect(format!("the timer is due at {}", at(ms)), found == Some(at(ms)), || {
            found.map_or("but none runs".into(), |t| format!("but it is at {t}"))
        });
        self
    }

    /// No timer runs.
    #[track_caller]
    pub(crate) fn no_timer(&mut self) -> &mut Self {
        let found = self.sender.poll_timeout();
        self.expect("no timer runs", found.is_none(), || format!("but one is due at {}", found.unwrap()));
        self
    }

    /// The sender is in `phase`.
    #[track_caller]
    pub(crate) fn phase(&mut self, phase: Phase) -> &mut Self {
        let found = self.sender.phase();
        self.expect(format!("the phase is {phase:?}"), found == phase, || format!("but it is {found:?}"));
        self
    }

    /// The controller's window is `window`.
    #[track_caller]
    pub(crate) fn window_is(&mut self, window: f64) -> &mut Self {
        let found = self.sender.controller().window();
        self.expect(format!("the window is {window}"), (found - window).abs() < 1e-9, || format!("but it is {found}"));
        self
    }

    /// The controller's slow-start threshold is `threshold`.
    #[track_caller]
    pub(crate) fn threshold_is(&mut self, threshold: f64) -> &mut Self {
        let found = self.sender.controller().slow_start_threshold();
        self.expect(format!("the threshold is {threshold}"), found == threshold, || format!("but it is {found}"));
        self
    }

    /// `count` segments are in flight.
    #[track_caller]
    pub(crate) fn in_flight(&mut self, count: u32) -> &mut Self {
        let found = self.sender.in_flight();
        self.expect(format!("{count} segments are in flight"), found == count, || format!("but {found} are"));
        self
    }

    /// The last notice that the controller was given.
    pub(crate) fn last_notice(&self) -> Notice {
        *self.shared().notices.last().expect("a notice")
    }

    /// The last ACK of which the controller was notified, of either kind.
    pub(crate) fn last_ack(&self) -> Ack {
        let ack = self.shared().notices.iter().rev().find_map(|t| match t {
            Notice::Ack(ack) | Notice::Duplicate(ack) => Some(*ack),
            _ => None,
        });
        ack.expect("an ACK")
    }

    /// The moment of that ACK.
    pub(crate) fn last_moment(&self) -> Moment {
        self.shared().moment
    }

    /// Every notice that is not of an ACK.
    pub(crate) fn news(&self) -> Vec<Notice> {
        self.shared().notices.iter().filter(|t| !matches!(t, Notice::Ack(_) | Notice::Duplicate(_))).copied().collect()
    }

    pub(crate) fn counters(&self) -> SenderCounters {
        self.sender.counters()
    }
}

/// A receiver under a script.
pub(crate) struct ReceiverScript {
    receiver: Receiver,
    now: Time,
    answer: Option<Acknowledgement>,
    transcript: Transcript,
}

impl ReceiverScript {
    pub(crate) fn new(options: &Stack) -> Self {
        Self::on_a_path(options, ms(100))
    }

    pub(crate) fn on_a_path(options: &Stack, base_rtt: Span) -> Self {
        let transcript = Transcript::default();
        Self { receiver: Receiver::new(options, base_rtt), now: Time::ZERO, answer: None, transcript }
    }

    #[track_caller]
    fn act(&mut self, what: impl Display) {
        let silent = self.answer.is_none();
        self.transcript.require(silent, || "an ACK left, which no expectation named".into());
        self.transcript.note(self.now, what);
    }

    fn poll(&mut self) {
        self.answer = self.receiver.poll_transmit(self.now);
        if let Some(ack) = self.answer {
            self.transcript.note(self.now, format!("    {} leaves", Reply(ack)));
        }
    }

    /// Time passes to `ms`.
    #[track_caller]
    pub(crate) fn at(&mut self, ms: u64) -> &mut Self {
        while let Some(due) = self.receiver.poll_timeout().filter(|&due| due <= at(ms)) {
            self.now = due;
            self.act("the timer expires");
            self.receiver.on_timeout(due);
            self.poll();
            if self.answer.is_some() {
                return self;
            }
        }
        self.now = at(ms);
        self
    }

    /// Full segment `number` arrives, sent just now.
    #[track_caller]
    pub(crate) fn arrives(&mut self, number: u64) -> &mut Self {
        self.data(number, |data| data, false)
    }

    /// Full segment `number` arrives, sent at `ms`.
    #[track_caller]
    pub(crate) fn arrives_sent_at(&mut self, number: u64, ms: u64) -> &mut Self {
        self.data(number, |data| Data { timestamp: at(ms), ..data }, false)
    }

    /// Segment `number` arrives with a congestion mark.
    #[track_caller]
    pub(crate) fn arrives_marked(&mut self, number: u64) -> &mut Self {
        self.data(number, |data| data, true)
    }

    /// Segment `number` as `change` makes it arrives.
    #[track_caller]
    pub(crate) fn data(&mut self, number: u64, change: impl FnOnce(Data) -> Data, marked: bool) -> &mut Self {
        let mark = if marked { " with a mark" } else { "" };
        self.act(format!("segment {number} arrives{mark}"));
        let data = Data {
            sequence: number,
            timestamp: self.now,
            payload: 1000,
            retransmission: false,
            reduced: false,
            push: false,
        };
        self.receiver.on_data(self.now, &change(data), marked);
        self.poll();
        self
    }

    /// No ACK leaves yet.
    #[track_caller]
    pub(crate) fn no_ack(&mut self) -> &mut Self {
        let silent = self.answer.is_none();
        self.transcript.note(self.now, "  expected: no ACK");
        self.transcript.require(silent, || "no ACK leaves; but one did".into());
        self
    }

    /// An ACK leaves for everything below `cumulative`, without blocks.
    #[track_caller]
    pub(crate) fn acks(&mut self, cumulative: u64) -> Acknowledgement {
        self.acks_blocks(cumulative, &[])
    }

    /// An ACK leaves for everything below `cumulative`, with these SACK blocks in this order.
    #[track_caller]
    pub(crate) fn acks_blocks(&mut self, cumulative: u64, blocks: &[(u64, u64)]) -> Acknowledgement {
        let answer = self.answer.take();
        self.transcript.note(self.now, format!("  expected: ACK {cumulative} with blocks {blocks:?}"));
        let fulfilled =
            answer.is_some_and(|a| a.cumulative == cumulative && a.sack.iter(cumulative).eq(blocks.iter().copied()));
        self.transcript.require(fulfilled, || {
            let found = answer.map_or("nothing".into(), |a| Reply(a).to_string());
            format!("ACK {cumulative} with blocks {blocks:?} leaves; but {found} did")
        });
        answer.unwrap()
    }

    /// The delayed ACK is due at `ms`.
    #[track_caller]
    pub(crate) fn timer_at(&mut self, ms: u64) -> &mut Self {
        let found = self.receiver.poll_timeout();
        self.transcript.require(found == Some(at(ms)), || format!("the ACK is due at {}; but at {found:?}", at(ms)));
        self
    }

    /// The application takes segments below `edge`.
    #[track_caller]
    pub(crate) fn open_to(&mut self, edge: u64) -> &mut Self {
        self.act(format!("the application takes segments below {edge}"));
        self.receiver.open_to(edge);
        self.poll();
        self
    }

    pub(crate) fn receiver(&self) -> &Receiver {
        &self.receiver
    }
}
