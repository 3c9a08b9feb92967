//! The rules of draft-ietf-ccwg-bbr-06 on a path with random losses: its sections 4.1, 5.3.3, 5.3.4 and 5.5.10 once
//! more, without a TCP around them, for one flow with full segments and an ACK for each over one link with room for a
//! flight.
//!
//! Times are in services of a segment, rates in shares of the link, volumes in segments. Nothing here is measured: all
//! numbers are constants of the draft, and the names are its own.

use std::collections::VecDeque;

use units::Random;

const BETA: f64 = 0.7;
const HEADROOM: f64 = 0.15;
const MIN_PIPE: f64 = 4.0;

/// A path, and the varied parts of the draft.
#[derive(Clone, Copy)]
pub(super) struct Path {
    /// Segments that its RTT holds, and how many leave in a second.
    pub(super) flight: f64,
    pub(super) per_second: f64,
    /// The probability that a segment is lost.
    pub(super) loss: f64,
    /// BBR.PacingMarginPercent as a share, and BBR.LossThresh.
    pub(super) margin: f64,
    pub(super) threshold: f64,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

#[derive(Clone, Copy, PartialEq)]
enum Acks {
    Init,
    Refilling,
    Probing,
    Stopping,
}

#[derive(Clone, Copy)]
struct Segment {
    number: u64,
    sent: f64,
    first_sent: f64,
    delivered_at: f64,
    delivered: u64,
    lost_before: u64,
    in_flight: f64,
    held_back: bool,
    is_lost: bool,
    is_acked: bool,
}

/// RS.
#[derive(Clone, Copy, Default)]
struct Sample {
    rate: f64,
    delivered: f64,
    lost: f64,
    in_flight: f64,
    held_back: bool,
    round_start: bool,
}

struct Flow {
    path: Path,
    random: Random,
    now: f64,
    link_free: f64,
    /// When ACKs come, and of which segments.
    acks: VecDeque<(f64, u64)>,
    /// The segments sent, from the first on of which nothing is known.
    sent: VecDeque<Segment>,
    next: u64,
    next_send: f64,
    in_flight: f64,
    delivered: u64,
    delivered_at: f64,
    first_sent: f64,
    lost: u64,
    held_back_to: u64,
    cwnd: f64,
    prior_cwnd: f64,
    min_rtt: f64,
    state: State,
    max_bw: [f64; 2],
    bw_shortterm: f64,
    inflight_shortterm: f64,
    inflight_longterm: f64,
    bw_latest: f64,
    inflight_latest: f64,
    is_loss_in_round: bool,
    loss_round_delivered: u64,
    loss_round_start: bool,
    next_round_delivered: u64,
    rounds_since_probe: f64,
    cycle_stamp: f64,
    wait: f64,
    acks_of: Acks,
    is_probe_sample: bool,
    prev_too_high: bool,
    prev_precautionary: bool,
    full_bw: f64,
    full_count: u32,
    up_rounds: u32,
    up_acked: f64,
    up_per_inc: f64,
    probe_rtt_at: f64,
    probe_rtt_done: Option<f64>,
    probe_rtt_round_done: bool,
}

/// The share of the link that one flow uses between two times, in seconds. It begins with the whole bandwidth.
pub(super) fn utilization(path: Path, from: f64, to: f64, seed: u32) -> f64 {
    let mut flow = Flow::new(path, Random::stream(u64::from(seed), "losses", 0));
    let (from, to) = (from * path.per_second, to * path.per_second);
    let mut served = 0;
    while flow.now < to {
        let send = if flow.in_flight + 1.0 <= flow.cwnd { flow.next_send.max(flow.now) } else { f64::INFINITY };
        match flow.acks.front() {
            Some(&(at, number)) if at < send => {
                flow.acks.pop_front();
                flow.now = at;
                flow.on_ack(number);
            }
            _ => {
                flow.now = send;
                flow.send();
                served += u64::from((from..to).contains(&flow.link_free) && !flow.sent[flow.sent.len() - 1].is_lost);
            }
        }
    }
    served as f64 / (to - from)
}

impl Flow {
    fn new(path: Path, random: Random) -> Self {
        Self {
            path,
            random,
            now: 0.0,
            link_free: 0.0,
            acks: VecDeque::new(),
            sent: VecDeque::new(),
            next: 0,
            next_send: 0.0,
            in_flight: 0.0,
            delivered: 0,
            delivered_at: 0.0,
            first_sent: 0.0,
            lost: 0,
            held_back_to: 0,
            cwnd: 2.0 * path.flight,
            prior_cwnd: 0.0,
            min_rtt: path.flight + 1.0,
            state: State::Cruise,
            max_bw: [1.0; 2],
            bw_shortterm: f64::INFINITY,
            inflight_shortterm: f64::INFINITY,
            inflight_longterm: f64::INFINITY,
            bw_latest: 0.0,
            inflight_latest: 0.0,
            is_loss_in_round: false,
            loss_round_delivered: 0,
            loss_round_start: false,
            next_round_delivered: 0,
            rounds_since_probe: 0.0,
            cycle_stamp: 0.0,
            wait: 2.0 * path.per_second,
            acks_of: Acks::Init,
            is_probe_sample: false,
            prev_too_high: false,
            prev_precautionary: false,
            full_bw: 0.0,
            full_count: 0,
            up_rounds: 0,
            up_acked: 0.0,
            up_per_inc: f64::INFINITY,
            probe_rtt_at: 5.0 * path.per_second,
            probe_rtt_done: None,
            probe_rtt_round_done: false,
        }
    }

    fn max_bw(&self) -> f64 {
        self.max_bw[0].max(self.max_bw[1])
    }

    fn bw(&self) -> f64 {
        self.max_bw().min(self.bw_shortterm)
    }

    fn pacing_rate(&self) -> f64 {
        let gain = match self.state {
            State::Down => 0.9,
            State::Up => 1.25,
            _ => 1.0,
        };
        gain * self.bw() * (1.0 - self.path.margin)
    }

    fn target_inflight(&self) -> f64 {
        (self.bw() * self.min_rtt).min(self.cwnd)
    }

    fn with_headroom(&self) -> f64 {
        if self.inflight_longterm.is_infinite() {
            return f64::INFINITY;
        }
        (self.inflight_longterm - (HEADROOM * self.inflight_longterm).max(1.0)).max(MIN_PIPE)
    }

    fn probe_rtt_cwnd(&self) -> f64 {
        (0.5 * self.bw() * self.min_rtt).max(MIN_PIPE)
    }

    /// A segment leaves, is lost before the link or waits for it, and its ACK comes a base RTT after its service.
    fn send(&mut self) {
        if self.in_flight == 0.0 {
            (self.first_sent, self.delivered_at) = (self.now, self.now);
        }
        self.in_flight += 1.0;
        let waits = (self.link_free - self.now).max(0.0);
        let is_lost = self.random.happens(self.path.loss) || waits > self.path.flight;
        self.sent.push_back(Segment {
            number: self.next,
            sent: self.now,
            first_sent: self.first_sent,
            delivered_at: self.delivered_at,
            delivered: self.delivered,
            lost_before: self.lost,
            in_flight: self.in_flight,
            held_back: self.held_back_to > self.delivered,
            is_lost,
            is_acked: false,
        });
        if !is_lost {
            self.link_free = self.now + waits + 1.0;
            self.acks.push_back((self.link_free + self.path.flight, self.next));
        }
        self.next += 1;
        self.next_send = self.now + 1.0 / self.pacing_rate();
    }

    /// UpdateOnACK().
    fn on_ack(&mut self, number: u64) {
        let index = (number - self.sent[0].number) as usize;
        self.sent[index].is_acked = true;
        let segment = self.sent[index];
        (self.delivered, self.delivered_at) = (self.delivered + 1, self.now);
        self.in_flight -= 1.0;
        self.detect_losses(number);
        let rs = self.sample(&segment);
        self.follow_losses(&rs);
        self.check_full_bw(&rs);
        self.update_phase(&rs);
        self.check_probe_rtt(rs.round_start);
        if self.loss_round_start {
            (self.bw_latest, self.inflight_latest) = (rs.rate, rs.delivered);
        }
        self.set_cwnd();
    }

    /// A segment is lost once one is delivered that was sent three later (HandleLostPacket()).
    fn detect_losses(&mut self, delivered: u64) {
        while let Some(&first) = self.sent.front() {
            let deemed = first.is_lost && first.number + 3 <= delivered;
            if !first.is_acked && !deemed {
                return;
            }
            self.sent.pop_front();
            if !deemed {
                continue;
            }
            (self.lost, self.in_flight) = (self.lost + 1, self.in_flight - 1.0);
            if !self.is_loss_in_round {
                (self.is_loss_in_round, self.loss_round_delivered) = (true, self.delivered);
            }
            let lost = (self.lost - first.lost_before) as f64;
            if self.is_probe_sample && lost > first.in_flight * self.path.threshold {
                let (before, lost_before, share) = (first.in_flight - 1.0, lost - 1.0, self.path.threshold);
                let at_loss = before + (share * before - lost_before) / (1.0 - share);
                self.inflight_longterm = at_loss.max(BETA * self.target_inflight());
                (self.prev_too_high, self.is_probe_sample) = (true, false);
                if self.state == State::Up {
                    self.start_down();
                }
            }
        }
    }

    /// Section 4.1: the slower of how fast the flight was sent and how fast it was delivered.
    fn sample(&mut self, segment: &Segment) -> Sample {
        let took = (segment.sent - segment.first_sent).max(self.now - segment.delivered_at);
        self.first_sent = segment.sent;
        let delivered = (self.delivered - segment.delivered) as f64;
        self.loss_round_start = segment.delivered >= self.loss_round_delivered;
        if self.loss_round_start {
            self.loss_round_delivered = self.delivered;
        }
        let round_start = segment.delivered >= self.next_round_delivered;
        if round_start {
            self.next_round_delivered = self.delivered;
            self.rounds_since_probe += 1.0;
        }
        let (rate, lost) = (delivered / took, (self.lost - segment.lost_before) as f64);
        Sample { rate, delivered, lost, in_flight: segment.in_flight, held_back: segment.held_back, round_start }
    }

    /// UpdateMaxBw() and AdaptLowerBoundsFromCongestion().
    fn follow_losses(&mut self, rs: &Sample) {
        self.bw_latest = self.bw_latest.max(rs.rate);
        self.inflight_latest = self.inflight_latest.max(rs.delivered);
        if !rs.held_back || rs.rate >= self.max_bw() {
            self.max_bw[1] = self.max_bw[1].max(rs.rate);
        }
        if !self.loss_round_start {
            return;
        }
        if self.is_loss_in_round && !matches!(self.state, State::Refill | State::Up) {
            if self.bw_shortterm.is_infinite() {
                self.bw_shortterm = self.max_bw();
            }
            if self.inflight_shortterm.is_infinite() {
                self.inflight_shortterm = self.cwnd;
            }
            self.bw_shortterm = self.bw_latest.max(BETA * self.bw_shortterm);
            self.inflight_shortterm = self.inflight_latest.max(BETA * self.inflight_shortterm);
        }
        self.is_loss_in_round = false;
    }

    /// Section 5.3.1.2: three round trips without a quarter more.
    fn check_full_bw(&mut self, rs: &Sample) {
        if rs.rate >= 1.25 * self.full_bw {
            (self.full_bw, self.full_count) = (rs.rate, 0);
        } else if rs.round_start {
            self.full_count += 1;
        }
    }

    fn start_down(&mut self) {
        self.is_loss_in_round = false;
        (self.bw_latest, self.inflight_latest) = (0.0, 0.0);
        self.rounds_since_probe = f64::from(u8::from(self.random.happens(0.5)));
        self.wait = (2.0 + self.random.uniform()) * self.path.per_second;
        (self.cycle_stamp, self.next_round_delivered) = (self.now, self.delivered);
        (self.acks_of, self.state) = (Acks::Stopping, State::Down);
    }

    fn start_refill(&mut self) {
        (self.bw_shortterm, self.inflight_shortterm) = (f64::INFINITY, f64::INFINITY);
        (self.up_rounds, self.up_acked, self.prev_precautionary) = (0, 0.0, false);
        self.next_round_delivered = self.delivered;
        (self.acks_of, self.state) = (Acks::Refilling, State::Refill);
    }

    fn raise_slope(&mut self) {
        self.up_per_inc = (self.cwnd / f64::from(1_u32 << self.up_rounds)).max(1.0);
        self.up_rounds = (self.up_rounds + 1).min(30);
    }

    /// UpdateProbeBWCyclePhase().
    fn update_phase(&mut self, rs: &Sample) {
        if self.adapt_long_term(rs) {
            return;
        }
        let rounds = self.target_inflight().min(63.0);
        match self.state {
            State::Down | State::Cruise
                if self.now > self.cycle_stamp + self.wait || self.rounds_since_probe >= rounds =>
            {
                self.start_refill();
            }
            State::Down if self.in_flight <= self.with_headroom().min(self.max_bw() * self.min_rtt) => {
                self.state = State::Cruise;
            }
            State::Refill if rs.round_start => {
                (self.is_probe_sample, self.acks_of, self.state) = (true, Acks::Probing, State::Up);
                self.next_round_delivered = self.delivered;
                (self.full_bw, self.full_count) = (rs.rate, 0);
                self.raise_slope();
            }
            State::Up if self.prev_too_high && self.in_flight >= self.inflight_longterm => {
                (self.prev_precautionary, self.prev_too_high) = (true, false);
                self.start_down();
            }
            State::Up if self.is_limited() => (self.full_bw, self.full_count) = (rs.rate, 0),
            State::Up if self.full_count >= 3 => {
                self.prev_too_high = false;
                self.start_down();
            }
            _ => {}
        }
    }

    /// True if the window is used, and is all that BBR.inflight_longterm allows.
    fn is_limited(&self) -> bool {
        self.in_flight + 1.0 >= self.cwnd && self.cwnd >= self.inflight_longterm
    }

    /// AdaptLongTermModel().
    fn adapt_long_term(&mut self, rs: &Sample) -> bool {
        if self.acks_of == Acks::Stopping && rs.round_start {
            (self.is_probe_sample, self.acks_of) = (false, Acks::Init);
            if self.state != State::ProbeRtt {
                if !rs.held_back {
                    self.max_bw = [self.max_bw[1], 0.0];
                }
                if self.prev_precautionary && !self.prev_too_high {
                    self.start_refill();
                    return true;
                }
            }
        }
        if rs.lost <= rs.in_flight * self.path.threshold && self.inflight_longterm.is_finite() {
            self.inflight_longterm = self.inflight_longterm.max(rs.in_flight);
            if self.state == State::Up && self.is_limited() {
                self.up_acked += 1.0;
                if self.up_acked >= self.up_per_inc {
                    self.inflight_longterm += 1.0;
                    self.up_acked -= self.up_per_inc;
                }
                if rs.round_start {
                    self.raise_slope();
                }
            }
        }
        false
    }

    /// Section 5.3.4: every five seconds, as no RTT is ever below the first.
    fn check_probe_rtt(&mut self, round_start: bool) {
        if self.state != State::ProbeRtt {
            if self.now < self.probe_rtt_at {
                return;
            }
            self.prior_cwnd = self.cwnd;
            (self.state, self.acks_of, self.probe_rtt_done) = (State::ProbeRtt, Acks::Stopping, None);
            self.next_round_delivered = self.delivered;
        }
        self.held_back_to = self.delivered + self.in_flight as u64;
        let Some(done) = self.probe_rtt_done else {
            if self.in_flight <= self.probe_rtt_cwnd() {
                (self.probe_rtt_done, self.probe_rtt_round_done) = (Some(self.now + 0.2 * self.path.per_second), false);
                self.next_round_delivered = self.delivered;
            }
            return;
        };
        self.probe_rtt_round_done |= round_start;
        if self.probe_rtt_round_done && self.now > done {
            self.probe_rtt_at = self.now + 5.0 * self.path.per_second;
            self.cwnd = self.cwnd.max(self.prior_cwnd);
            (self.bw_shortterm, self.inflight_shortterm) = (f64::INFINITY, f64::INFINITY);
            self.start_down();
            self.state = State::Cruise;
        }
    }

    /// Section 5.6.4.
    fn set_cwnd(&mut self) {
        let (gain, more) = if self.state == State::Up { (2.25, 2.0) } else { (2.0, 0.0) };
        self.cwnd = (self.cwnd + 1.0).min(gain * self.bw() * self.min_rtt + more);
        let cap = match self.state {
            State::Cruise => self.with_headroom(),
            State::ProbeRtt => self.with_headroom().min(self.probe_rtt_cwnd()),
            _ => self.inflight_longterm,
        };
        self.cwnd = self.cwnd.min(cap.min(self.inflight_shortterm)).max(MIN_PIPE);
    }
}
