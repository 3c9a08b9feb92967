//! The opening of a connection (RFC 9293, section 3.5): SYN, SYN-ACK and ACK, sent again until they are answered, and
//! the RTT that either end measures.

use std::sync::Arc;

use units::{Bytes, Span, Time};

use super::ticks::Ticks;
use crate::{Resending, Stack};

/// The three packets that open a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpeningKind {
    /// SYN.
    Syn,
    /// SYN with ACK.
    SynAck,
    /// The ACK of a SYN-ACK, without data.
    Ack,
}

/// A packet that opens a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpeningPacket {
    /// Which of the three.
    pub kind: OpeningKind,
    /// When it left (TSval).
    pub timestamp: Time,
    /// The timestamp that it echoes (TSecr), or [`Time::NEVER`] with a SYN.
    pub echo: Time,
}

/// State that a sender takes over from the opening of its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opened {
    /// The first RTT sample counts from here. None after a retransmission, unless timestamps show which packet was
    /// answered (Karn's algorithm, RFC 6298, section 3).
    pub since: Option<Time>,
    /// So much was sent again that the initial window is a single segment (RFC 5681, section 3.1).
    pub cautious: bool,
    /// How often the packet that was answered had left again.
    pub retransmissions: u32,
}

impl Opened {
    /// An opening in which nothing was sent again, since the SYN left at `sent`.
    pub const fn at_once(sent: Time) -> Self {
        Self { since: Some(sent), cautious: false, retransmissions: 0 }
    }
}

/// A packet that is sent again until it is answered.
#[derive(Clone, Copy, Debug)]
struct Awaited {
    rule: Resending,
    /// Before the first repetition, and at most.
    timeout: Span,
    longest: Span,
    ticks: Ticks,
    /// When it left first, or [`Time::NEVER`] before.
    first: Time,
    /// When the timer expires, or [`Time::NEVER`] if none runs.
    deadline: Time,
    /// It leaves now.
    due: bool,
    expiries: u32,
    retransmissions: u32,
}

impl Awaited {
    fn new(rule: Resending, stack: &Stack) -> Self {
        Self {
            rule,
            timeout: stack.timers.rto_initial,
            longest: stack.timers.rto_max,
            ticks: Ticks::of(stack.timers.tick),
            first: Time::NEVER,
            deadline: Time::NEVER,
            due: false,
            expiries: 0,
            retransmissions: 0,
        }
    }

    /// It leaves, first or again, and its timer begins anew.
    fn leave(&mut self, now: Time) {
        if self.first == Time::NEVER {
            self.first = now;
        } else {
            self.retransmissions += 1;
        }
        self.due = true;
        let doublings = self.expiries.saturating_sub(self.rule.even).min(16);
        self.deadline = self.ticks.expiry(now, self.timeout.saturating_mul(1 << doublings).min(self.longest));
    }

    /// It leaves again if the timer has expired, unless that was too often.
    fn expire(&mut self, now: Time) {
        if self.deadline > now {
            return;
        }
        if self.expiries < self.rule.most {
            self.expiries += 1;
            self.leave(now);
        } else {
            self.deadline = Time::NEVER;
        }
    }

    fn poll_timeout(&self) -> Option<Time> {
        (self.deadline != Time::NEVER).then_some(self.deadline)
    }

    /// It is answered with a packet that echoes `echo`, if that is not [`Time::NEVER`].
    fn opened(&self, echo: Time, stack: &Stack) -> Opened {
        let echo = Some(echo).filter(|&echo| stack.timestamps && echo != Time::NEVER);
        // The first one was answered, so that the timeout was spurious (in Linux tcp_try_undo_spurious_syn).
        let spurious = stack.opening.undo
            && echo.is_some_and(|echo| stack.clock.timestamp(echo) == stack.clock.timestamp(self.first));
        Opened {
            since: if self.retransmissions == 0 { Some(self.first) } else { echo },
            cautious: self.expiries >= stack.opening.cautious_after && !spurious,
            retransmissions: self.retransmissions,
        }
    }
}

/// The end that opens a connection: it sends the SYN.
#[derive(Clone, Debug)]
pub struct ActiveOpen {
    stack: Arc<Stack>,
    syn: Awaited,
}

impl ActiveOpen {
    /// One that has sent nothing.
    pub fn new(stack: Arc<Stack>) -> Self {
        Self { syn: Awaited::new(stack.opening.syn, &stack), stack }
    }

    /// The clock whose ticks timers wait for has run for `uptime` at the start of the run.
    pub fn up_for(&mut self, uptime: Span) {
        self.syn.ticks = self.syn.ticks.up_for(uptime);
    }

    /// The application connects.
    pub fn start(&mut self, now: Time) {
        self.syn.leave(now);
    }

    /// The SYN that leaves now, if one does.
    pub fn poll_transmit(&mut self, now: Time) -> Option<OpeningPacket> {
        let due = std::mem::take(&mut self.syn.due);
        due.then_some(OpeningPacket { kind: OpeningKind::Syn, timestamp: now, echo: Time::NEVER })
    }

    /// When to call [`on_timeout`](Self::on_timeout), at the latest, or none once it has given up.
    pub fn poll_timeout(&self) -> Option<Time> {
        self.syn.poll_timeout()
    }

    /// The SYN leaves again if its timer has expired, unless it did so too often.
    pub fn on_timeout(&mut self, now: Time) {
        self.syn.expire(now);
    }

    /// Size on the wire (IP) of a packet of the opening.
    pub fn size(&self, kind: OpeningKind) -> Bytes {
        self.stack.opening_size(kind)
    }

    /// The window with which the connection usually opens.
    pub fn initial_window(&self) -> u32 {
        self.stack.initial_window
    }

    /// How often the SYN was sent again.
    pub fn retransmissions(&self) -> u32 {
        self.syn.retransmissions
    }

    /// The SYN-ACK `answer` arrives: the connection is open.
    pub fn on_answer(&self, answer: &OpeningPacket) -> Opened {
        self.syn.opened(answer.echo, &self.stack)
    }
}

/// The other end: it answers with the SYN-ACK.
#[derive(Clone, Debug)]
pub struct PassiveOpen {
    stack: Arc<Stack>,
    syn_ack: Awaited,
    /// The timestamp of the first SYN, which every SYN-ACK echoes (in Linux ts_recent of the request).
    echo: Time,
}

impl PassiveOpen {
    /// One that listens.
    pub fn new(stack: Arc<Stack>) -> Self {
        Self { syn_ack: Awaited::new(stack.opening.syn_ack, &stack), stack, echo: Time::NEVER }
    }

    /// The clock whose ticks timers wait for has run for `uptime` at the start of the run.
    pub fn up_for(&mut self, uptime: Span) {
        self.syn_ack.ticks = self.syn_ack.ticks.up_for(uptime);
    }

    /// A SYN arrives. One that comes again is answered again, and lets the timer begin anew (in Linux tcp_check_req).
    pub fn on_syn(&mut self, now: Time, syn: &OpeningPacket) {
        if self.echo == Time::NEVER {
            self.echo = syn.timestamp;
        }
        self.syn_ack.leave(now);
    }

    /// The SYN-ACK that leaves now, if one does.
    pub fn poll_transmit(&mut self, now: Time) -> Option<OpeningPacket> {
        let due = std::mem::take(&mut self.syn_ack.due);
        due.then_some(OpeningPacket { kind: OpeningKind::SynAck, timestamp: now, echo: self.echo })
    }

    /// When to call [`on_timeout`](Self::on_timeout), at the latest, or none once it has given up.
    pub fn poll_timeout(&self) -> Option<Time> {
        self.syn_ack.poll_timeout()
    }

    /// The SYN-ACK leaves again if its timer has expired, unless it did so too often.
    pub fn on_timeout(&mut self, now: Time) {
        self.syn_ack.expire(now);
    }

    /// The rules that it goes by.
    pub fn stack(&self) -> &Stack {
        &self.stack
    }

    /// The ACK of the SYN-ACK arrives, or data that carry it, with the timestamp `echo` ([`Time::NEVER`]: it is not
    /// known): the connection is open.
    pub fn on_answer(&self, echo: Time) -> Opened {
        self.syn_ack.opened(echo, &self.stack)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{freebsd_9, linux, linux_2_6_33, plain};

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    /// The result of an opening whose packet left again `retransmissions` times.
    fn again(since: Option<u64>, cautious: bool, retransmissions: u32) -> Opened {
        Opened { since: since.map(at), cautious, retransmissions }
    }

    fn active(stack: Stack) -> ActiveOpen {
        let mut open = ActiveOpen::new(Arc::new(stack));
        open.start(at(0));
        open
    }

    fn syn_ack(timestamp: u64, echo: u64) -> OpeningPacket {
        OpeningPacket { kind: OpeningKind::SynAck, timestamp: at(timestamp), echo: at(echo) }
    }

    /// When the SYN leaves, in milliseconds, if nothing answers.
    fn unanswered(mut open: ActiveOpen) -> Vec<u64> {
        let mut times = vec![0];
        assert!(open.poll_transmit(at(0)).is_some() && open.poll_transmit(at(0)).is_none());
        while let Some(due) = open.poll_timeout() {
            open.on_timeout(due);
            times.extend(open.poll_transmit(due).map(|syn| syn.timestamp.as_nanos() / 1_000_000));
        }
        assert_eq!(open.retransmissions() as usize, times.len() - 1);
        times
    }

    fn exact(stack: Stack) -> Stack {
        Stack { timers: crate::Timers { tick: Span::ZERO, ..stack.timers }, ..stack }
    }

    #[test]
    fn an_unanswered_syn_leaves_again_as_each_stack_has_it() {
        let seconds = |stack| unanswered(active(stack)).iter().map(|ms| ms / 1000).collect::<Vec<_>>();
        // Four more timeouts of the same length (tcp_syn_linear_timeouts), then doubled, 120 s at most. Ten in all.
        assert_eq!(seconds(exact(linux())), [0, 1, 2, 3, 4, 5, 7, 11, 19, 35, 67]);
        assert_eq!(seconds(linux_2_6_33()), [0, 3, 9, 21, 45, 93]);
        // tcp_syn_backoff: 1, 1, 1, 1, 1, 2, 4, 8, ... times the timeout, 64 s at most.
        assert_eq!(seconds(freebsd_9())[..9], [0, 3, 6, 9, 12, 15, 21, 33, 57]);
        // RFC 6298, section 5.5, and RFC 9293, section 3.8.3: for three minutes at least.
        assert_eq!(seconds(plain()), [0, 1, 3, 7, 15, 31, 63, 123]);
    }

    #[test]
    fn the_timer_of_a_syn_waits_for_ticks() {
        // A second is 250 ticks of 4 ms, on the second level of the wheel: 252 ticks, a multiple of 8 above that.
        assert_eq!(unanswered(active(linux()))[..3], [0, 1024, 2048]);
    }

    #[test]
    fn the_rtt_counts_from_the_only_syn_or_from_the_one_that_is_echoed() {
        let mut open = active(linux());
        assert_eq!(open.on_answer(&syn_ack(20, 0)), Opened::at_once(at(0)));
        open.on_timeout(at(1024));
        // The second SYN was answered.
        assert_eq!(open.on_answer(&syn_ack(1044, 1024)), again(Some(1024), false, 1));
        open.on_timeout(at(2048));
        assert_eq!(open.on_answer(&syn_ack(2068, 2048)), again(Some(2048), true, 2));
        assert_eq!(open.on_answer(&syn_ack(2068, 0)), again(Some(0), false, 2), "a late answer");
    }

    // RFC 6298, section 3, and RFC 5681, section 3.1.
    #[test]
    fn without_timestamps_a_repeated_syn_gives_no_sample() {
        let mut open = active(plain());
        assert_eq!(open.on_answer(&syn_ack(20, 0)), Opened::at_once(at(0)));
        open.on_timeout(at(1000));
        assert_eq!(open.on_answer(&syn_ack(1020, 1000)), again(None, true, 1));
    }

    #[test]
    fn a_syn_ack_leaves_again_with_its_timer_and_with_each_syn() {
        let mut open = PassiveOpen::new(Arc::new(exact(linux())));
        let syn = |ms| OpeningPacket { kind: OpeningKind::Syn, timestamp: at(ms), echo: Time::NEVER };
        open.on_syn(at(20), &syn(0));
        assert_eq!(open.poll_transmit(at(20)), Some(syn_ack(20, 0)));
        assert_eq!((open.poll_transmit(at(20)), open.poll_timeout()), (None, Some(at(1020))));
        assert_eq!(open.on_answer(at(20)), Opened::at_once(at(20)));
        // The timer begins anew, and the first SYN is echoed.
        open.on_syn(at(1000), &syn(980));
        assert_eq!((open.poll_transmit(at(1000)), open.poll_timeout()), (Some(syn_ack(1000, 0)), Some(at(2000))));
        open.on_timeout(at(2000));
        assert_eq!((open.poll_transmit(at(2000)), open.poll_timeout()), (Some(syn_ack(2000, 0)), Some(at(4000))));
        assert_eq!(open.on_answer(at(2000)), again(Some(2000), false, 2));
        let left = std::iter::from_fn(|| {
            let due = open.poll_timeout()?;
            open.on_timeout(due);
            Some(open.poll_transmit(due).map(|packet| packet.timestamp))
        });
        // tcp_synack_retries: five expiries in all.
        assert_eq!(
            left.collect::<Vec<_>>(),
            [Some(at(4000)), Some(at(8000)), Some(at(16_000)), Some(at(32_000)), None]
        );
    }

    #[test]
    fn without_timestamps_a_repeated_syn_ack_gives_no_sample() {
        let mut open = PassiveOpen::new(Arc::new(plain()));
        open.on_syn(at(20), &OpeningPacket { kind: OpeningKind::Syn, timestamp: at(0), echo: Time::NEVER });
        assert_eq!(open.on_answer(Time::NEVER), Opened::at_once(at(20)));
        open.on_timeout(at(1020));
        assert_eq!(open.on_answer(Time::NEVER), again(None, true, 1));
    }
}
