//! The endpoint: its handshake, and then its connection.

use std::sync::Arc;

use control::Controller;
use transport::{ActiveOpen, Marks, Opened, OpeningKind, OpeningPacket, PassiveOpen, Phase, Stack};
use units::{Bytes, Span, Time};

use crate::connection::{Agreement, Connection, WINDOW_FIELD, ticks};
use crate::information::Information;
use crate::packet::{Packet, PacketOptions, Refusal, Timestamps};

/// The bytes that the option takes in each segment.
const TIMESTAMPS_BYTES: u64 = 12;
/// The largest segment that a SYN announces: an MTU of 1500 bytes.
const SEGMENT_SIZE: u16 = 1460;
/// The largest segment of a SYN without the option (RFC 9293, section 3.7.1).
const DEFAULT_SEGMENT_SIZE: u16 = 536;

/// The state of the endpoint.
enum Stage {
    Closed,
    Listening,
    /// It sends SYNs.
    Opening(ActiveOpen),
    /// A SYN came, as this packet, and it sends SYN-ACKs.
    Answered(Packet, PassiveOpen),
    Open(Box<Connection>),
}

/// One TCP endpoint.
pub struct Endpoint {
    stack: Stack,
    /// Until the connection is open.
    controller: Option<Box<dyn Controller>>,
    /// The shift of the window field that it announces.
    scale: u8,
    stage: Stage,
    no_delay: bool,
}

impl Endpoint {
    /// An endpoint with this stack. It uses only options that the other side offers. It announces windows that are to
    /// be shifted by `scale`.
    pub fn new(stack: Stack, controller: Box<dyn Controller>, scale: u8) -> Self {
        Self { stack, controller: Some(controller), scale, stage: Stage::Closed, no_delay: false }
    }

    /// Waits for a SYN.
    pub fn listen(&mut self) {
        self.stage = Stage::Listening;
    }

    /// Sends a SYN at `now`.
    pub fn connect(&mut self, now: Time) {
        let mut open = ActiveOpen::new(Arc::new(self.stack.clone()));
        open.start(now);
        self.stage = Stage::Opening(open);
    }

    /// The SYN that leaves at `now`.
    fn syn(&self, now: Time) -> Packet {
        let ecn = self.stack.marks != Marks::Off;
        let options = PacketOptions {
            segment_size: Some(SEGMENT_SIZE),
            window_scale: Some(self.scale),
            sack_permitted: self.stack.sack(),
            timestamps: self.stack.timestamps.then(|| Timestamps { value: ticks(now), echo: 0 }),
            sack: Vec::new(),
        };
        Packet { syn: true, echo: ecn, reduced: ecn, options, window: WINDOW_FIELD, ..Packet::default() }
    }

    /// The answer to `syn` that leaves at `now`.
    fn syn_ack(&self, now: Time, syn: &Packet) -> Packet {
        let theirs = &syn.options;
        let stamps = theirs.timestamps.filter(|_| self.stack.timestamps);
        let options = PacketOptions {
            segment_size: Some(SEGMENT_SIZE),
            window_scale: theirs.window_scale.map(|_| self.scale),
            sack_permitted: theirs.sack_permitted && self.stack.sack(),
            timestamps: stamps.map(|stamps| Timestamps { value: ticks(now), echo: stamps.value }),
            sack: Vec::new(),
        };
        Packet {
            syn: true,
            ack: true,
            acknowledged: 1,
            echo: self.agrees_on_ecn(syn),
            window: WINDOW_FIELD,
            options,
            ..Packet::default()
        }
    }

    /// True if the handshake is over.
    pub fn is_open(&self) -> bool {
        matches!(self.stage, Stage::Open(_))
    }

    /// The application writes. True if the connection is open.
    pub fn write(&mut self, bytes: u64) -> bool {
        self.connection().map(|connection| connection.write(bytes)).is_some()
    }

    /// The application closes. True if the connection is open.
    pub fn close(&mut self) -> bool {
        self.connection().map(Connection::close).is_some()
    }

    /// True if small segments leave at once (TCP_NODELAY).
    pub fn set_no_delay(&mut self, on: bool) {
        self.no_delay = on;
        if let Some(connection) = self.connection() {
            connection.set_no_delay(on);
        }
    }

    /// ACKs wait from now on as in a conversation (TCP_QUICKACK off).
    pub fn end_quick_acks(&mut self) {
        if let Some(connection) = self.connection() {
            connection.end_quick_acks();
        }
    }

    /// Bytes that arrived in order.
    pub fn received(&self) -> u64 {
        if let Stage::Open(connection) = &self.stage { connection.received() } else { 0 }
    }

    fn connection(&mut self) -> Option<&mut Connection> {
        if let Stage::Open(connection) = &mut self.stage { Some(connection) } else { None }
    }

    /// A packet arrives. Afterwards poll what to transmit.
    pub fn inject(&mut self, now: Time, packet: &Packet) -> Result<(), Refusal> {
        let echo = packet
            .options
            .timestamps
            .filter(|_| packet.ack)
            .map_or(Time::NEVER, |stamps| Time::ZERO + Span::from_millis(stamps.echo.into()));
        let (syn, opened) = match &mut self.stage {
            Stage::Closed => return Err(Refusal("a packet without a socket that waits for it is not modelled")),
            Stage::Listening => return self.on_syn(now, packet),
            Stage::Opening(open) => {
                if !(packet.syn && packet.ack) {
                    return Err(Refusal("only a SYN-ACK is modelled as the answer to a SYN"));
                }
                (packet.clone(), open.on_answer(&OpeningPacket { kind: OpeningKind::SynAck, timestamp: now, echo }))
            }
            Stage::Answered(_, open) if packet.syn && !packet.ack => {
                open.on_syn(now, &arrived_syn(now));
                return Ok(());
            }
            Stage::Answered(syn, open) => {
                if packet.syn || packet.reset || !packet.ack {
                    return Err(Refusal("only an ACK is modelled as the answer to a SYN-ACK"));
                }
                (syn.clone(), open.on_answer(echo))
            }
            Stage::Open(connection) => return connection.inject(now, packet),
        };
        self.open(now, &syn, packet, opened);
        let Some(connection) = self.connection() else { return Ok(()) };
        if packet.syn {
            connection.acknowledge();
        } else if packet.payload > 0 || packet.fin {
            return connection.inject(now, packet);
        }
        Ok(())
    }

    fn on_syn(&mut self, now: Time, packet: &Packet) -> Result<(), Refusal> {
        if !packet.syn || packet.ack || packet.payload > 0 || packet.sequence != 0 {
            return Err(Refusal(
                "only a SYN without data is modelled as the first packet to a listener, with sequence number 0",
            ));
        }
        let mut open = PassiveOpen::new(Arc::new(self.stack.clone()));
        open.on_syn(now, &arrived_syn(now));
        self.stage = Stage::Answered(packet.clone(), open);
        Ok(())
    }

    /// True if ECN is in use after this SYN, or the SYN-ACK without CWR (RFC 3168, section 6.1.1).
    fn agrees_on_ecn(&self, syn: &Packet) -> bool {
        self.stack.marks != Marks::Off && syn.echo && syn.reduced != syn.ack
    }

    /// The handshake is over: `syn` is the other side's, `last` the packet that ended it.
    fn open(&mut self, now: Time, syn: &Packet, last: &Packet, opened: Opened) {
        let Some(controller) = self.controller.take() else { return };
        let theirs = &syn.options;
        let timestamps = self.stack.timestamps && theirs.timestamps.is_some();
        let largest = theirs.segment_size.unwrap_or(DEFAULT_SEGMENT_SIZE).min(SEGMENT_SIZE);
        let stamps = if timestamps { TIMESTAMPS_BYTES } else { 0 };
        let size = u64::from(largest).saturating_sub(stamps);
        let stack = Stack {
            segment_size: Bytes::new(size.max(1)),
            timestamps,
            marks: if self.agrees_on_ecn(syn) { self.stack.marks } else { Marks::Off },
            ..self.stack.clone()
        };
        let stack = if theirs.sack_permitted { stack } else { stack.without_sack() };
        let their_scale = theirs.window_scale.unwrap_or(0).min(14);
        // The window field of a SYN is not scaled (RFC 7323, section 2.2).
        let window = u64::from(last.window) << if last.syn { 0 } else { their_scale };
        let agreement = Agreement {
            opened,
            their_scale,
            our_scale: theirs.window_scale.map_or(0, |_| self.scale),
            window,
            echo: last.options.timestamps.or(theirs.timestamps).filter(|_| timestamps).map(|stamps| stamps.value),
            largest: Bytes::new(u64::from(SEGMENT_SIZE) - stamps),
        };
        let mut connection = Connection::new(now, stack, controller, &agreement);
        connection.set_no_delay(self.no_delay);
        self.stage = Stage::Open(Box::new(connection));
    }

    /// The packet that leaves now, if one does. Call until it answers `None`.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Packet> {
        match &mut self.stage {
            Stage::Closed | Stage::Listening => None,
            Stage::Opening(open) => open.poll_transmit(now).map(|_| self.syn(now)),
            Stage::Answered(syn, open) => {
                open.poll_transmit(now)?;
                let syn = syn.clone();
                Some(self.syn_ack(now, &syn))
            }
            Stage::Open(connection) => connection.poll_transmit(now),
        }
    }

    /// When to call [`on_timeout`](Self::on_timeout), at the latest. Valid once nothing more leaves.
    pub fn poll_timeout(&self) -> Option<Time> {
        match &self.stage {
            Stage::Closed | Stage::Listening => None,
            Stage::Opening(open) => open.poll_timeout(),
            Stage::Answered(_, open) => open.poll_timeout(),
            Stage::Open(connection) => Some(connection.poll_timeout()).filter(|&at| at != Time::NEVER),
        }
    }

    /// Deadlines have passed. Afterwards poll what to transmit.
    pub fn on_timeout(&mut self, now: Time) {
        match &mut self.stage {
            Stage::Closed | Stage::Listening => {}
            Stage::Opening(open) => open.on_timeout(now),
            Stage::Answered(_, open) => open.on_timeout(now),
            Stage::Open(connection) => connection.on_timeout(now),
        }
    }

    /// The fields of `TCP_INFO` at `now`, or `None` before the connection is open.
    pub fn information(&self, now: Time) -> Option<Information> {
        let Stage::Open(connection) = &self.stage else { return None };
        let state = connection.state();
        let micros = |span: Span| span.as_nanos() / 1000;
        let (acknowledged, unsent) = connection.progress();
        let (busy, held_back) = connection.limits(now);
        Some(Information {
            tcpi_ca_state: match state.phase {
                Phase::Open => 0,
                Phase::Disorder => 1,
                Phase::Reduced => 2,
                Phase::Recovery => 3,
                Phase::Loss => 4,
            },
            tcpi_backoff: state.backoff,
            tcpi_rto: micros(state.timeout),
            tcpi_snd_mss: connection.segment_size(),
            tcpi_unacked: state.outstanding,
            tcpi_sacked: state.sacked,
            tcpi_lost: state.lost,
            tcpi_retrans: state.retransmissions,
            tcpi_total_retrans: connection.total_retransmissions(),
            tcpi_rtt: micros(state.smoothed_rtt),
            tcpi_min_rtt: state.minimum_rtt.map_or(u64::from(u32::MAX), micros),
            tcpi_snd_cwnd: state.window,
            tcpi_snd_ssthresh: state.threshold.min(f64::from(i32::MAX)) as u32,
            tcpi_reordering: state.reordering,
            tcpi_delivered: state.delivered,
            tcpi_bytes_acked: acknowledged,
            tcpi_notsent_bytes: unsent,
            tcpi_bytes_received: connection.received(),
            tcpi_reord_seen: state.reorderings,
            tcpi_last_data_recv: connection.silence(now).as_nanos() / 1_000_000,
            tcpi_busy_time: micros(busy),
            tcpi_rwnd_limited: micros(held_back),
        })
    }
}

/// A SYN that arrives: when it left is not known, and not needed.
fn arrived_syn(now: Time) -> OpeningPacket {
    OpeningPacket { kind: OpeningKind::Syn, timestamp: now, echo: Time::NEVER }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Time = |ms| Time::ZERO + Span::from_millis(ms);

    fn syn() -> Packet {
        let options = PacketOptions {
            segment_size: Some(1000),
            window_scale: Some(7),
            sack_permitted: true,
            ..PacketOptions::default()
        };
        Packet { syn: true, window: 32792, options, ..Packet::default() }
    }

    fn ack(acknowledged: u64, window: u32) -> Packet {
        Packet { ack: true, sequence: 1, acknowledged, window, ..Packet::default() }
    }

    fn sent(endpoint: &mut Endpoint, now: Time) -> Vec<Packet> {
        std::iter::from_fn(|| endpoint.poll_transmit(now)).collect()
    }

    /// A listener whose handshake took 100 ms.
    fn accepted() -> Endpoint {
        let controller = control::registry::build("newreno", &control::Parameters::new()).unwrap();
        let mut endpoint = Endpoint::new(transport::linux(), controller, 8);
        endpoint.listen();
        endpoint.inject(MS(0), &syn()).unwrap();
        let answer = sent(&mut endpoint, MS(0));
        assert_eq!(answer.len(), 1);
        assert!(answer[0].syn && answer[0].ack && answer[0].options.sack_permitted);
        assert_eq!(answer[0].options.timestamps, None, "not offered");
        assert!(!endpoint.is_open());
        endpoint.inject(MS(100), &ack(1, 257)).unwrap();
        assert!(endpoint.is_open());
        endpoint
    }

    #[test]
    fn a_listener_answers_and_sends_the_initial_window() {
        let mut endpoint = accepted();
        endpoint.write(12_000);
        let packets = sent(&mut endpoint, MS(100));
        let numbers: Vec<_> = packets.iter().map(|packet| (packet.sequence, packet.payload)).collect();
        assert_eq!(numbers.first(), Some(&(1, 1000)));
        assert_eq!(numbers.last(), Some(&(9001, 1000)), "ten segments");
        let information = endpoint.information(MS(100)).unwrap();
        assert_eq!((information.tcpi_snd_cwnd, information.tcpi_unacked), (10, 10));
        assert_eq!(information.tcpi_rtt, 100_000);
        assert_eq!(information.tcpi_notsent_bytes, 2000);
    }

    #[test]
    fn an_active_open_takes_what_the_other_side_offers() {
        let controller = control::registry::build("newreno", &control::Parameters::new()).unwrap();
        let mut endpoint = Endpoint::new(transport::linux(), controller, 8);
        endpoint.connect(MS(5));
        let first = sent(&mut endpoint, MS(5));
        assert_eq!(first[0].options.timestamps, Some(Timestamps { value: 5, echo: 0 }));
        let answer = Packet { ack: true, acknowledged: 1, ..syn() };
        endpoint.inject(MS(15), &answer).unwrap();
        let ack = sent(&mut endpoint, MS(15));
        assert_eq!((ack.len(), ack[0].sequence, ack[0].acknowledged, ack[0].syn), (1, 1, 1, false));
        assert_eq!(endpoint.information(MS(15)).unwrap().tcpi_snd_mss, 1000, "no timestamps");
    }

    #[test]
    fn a_syn_that_nothing_answers_leaves_again_with_a_new_timestamp() {
        let controller = control::registry::build("newreno", &control::Parameters::new()).unwrap();
        let mut endpoint = Endpoint::new(transport::linux(), controller, 8);
        endpoint.connect(MS(5));
        assert_eq!(sent(&mut endpoint, MS(5)).len(), 1);
        // A second on the timer wheel.
        let due = endpoint.poll_timeout().unwrap();
        assert!((MS(1005)..MS(1045)).contains(&due), "{due}");
        endpoint.on_timeout(due);
        let again = sent(&mut endpoint, due);
        let stamps = Timestamps { value: (due.as_nanos() / 1_000_000) as u32, echo: 0 };
        assert_eq!((again.len(), again[0].options.timestamps), (1, Some(stamps)));
        // The answer echoes the second one, so that 15 ms are the RTT.
        let at = due + Span::from_millis(15);
        let options = PacketOptions { timestamps: Some(Timestamps { value: 1, echo: stamps.value }), ..syn().options };
        endpoint.inject(at, &Packet { ack: true, acknowledged: 1, options, ..syn() }).unwrap();
        let information = endpoint.information(at).unwrap();
        assert_eq!((information.tcpi_rtt / 1000, information.tcpi_snd_cwnd), (15, 10));
    }

    #[test]
    fn a_syn_that_comes_again_is_answered_again() {
        let controller = control::registry::build("newreno", &control::Parameters::new()).unwrap();
        let mut endpoint = Endpoint::new(transport::linux(), controller, 8);
        endpoint.listen();
        for at in [0, 500] {
            endpoint.inject(MS(at), &syn()).unwrap();
            let answer = sent(&mut endpoint, MS(at));
            assert!(answer.len() == 1 && answer[0].syn && answer[0].ack);
        }
        endpoint.inject(MS(600), &ack(1, 257)).unwrap();
        // Without timestamps there is no sample, so that data wait for 3 s (RFC 6298, section 5.7).
        let information = endpoint.information(MS(600)).unwrap();
        assert_eq!((information.tcpi_rto, information.tcpi_total_retrans), (3_000_000, 1));
    }

    #[test]
    fn a_window_of_zero_is_probed_until_it_opens() {
        let mut endpoint = accepted();
        endpoint.write(1000);
        sent(&mut endpoint, MS(100));
        endpoint.inject(MS(200), &ack(1001, 0)).unwrap();
        endpoint.write(1000);
        assert_eq!(sent(&mut endpoint, MS(200)), []);
        // Both samples are 100 ms: the timeout is 100 ms + 200 ms. 75 ticks after the 50th end with every eighth.
        assert_eq!(endpoint.poll_timeout(), Some(MS(512)));
        endpoint.on_timeout(MS(512));
        let probe = sent(&mut endpoint, MS(512));
        assert_eq!((probe.len(), probe[0].sequence, probe[0].payload), (1, 1000, 0));
        endpoint.inject(MS(510), &ack(1001, 257)).unwrap();
        assert_eq!(sent(&mut endpoint, MS(510))[0].sequence, 1001);
        // 640 bytes are less than a segment: the probe fills them.
        endpoint.inject(MS(610), &ack(2001, 5)).unwrap();
        endpoint.write(3000);
        assert_eq!(sent(&mut endpoint, MS(610)), []);
        endpoint.on_timeout(MS(928));
        let probe = sent(&mut endpoint, MS(928));
        assert_eq!((probe[0].sequence, probe[0].payload, probe[0].push), (2001, 640, true));
        endpoint.inject(MS(940), &ack(2641, 257)).unwrap();
        let sizes: Vec<_> = sent(&mut endpoint, MS(940)).iter().map(|packet| packet.payload).collect();
        assert_eq!(sizes, [1000, 1000, 360]);
    }

    #[test]
    fn a_connection_is_busy_until_all_is_acknowledged_and_held_back_while_the_window_is_short() {
        let mut endpoint = accepted();
        let limits = |endpoint: &Endpoint, at| {
            let information = endpoint.information(MS(at)).unwrap();
            (information.tcpi_busy_time / 1000, information.tcpi_rwnd_limited / 1000)
        };
        assert_eq!(limits(&endpoint, 150), (0, 0));
        endpoint.write(1000);
        sent(&mut endpoint, MS(200));
        endpoint.inject(MS(230), &ack(1001, 0)).unwrap();
        sent(&mut endpoint, MS(230));
        assert_eq!(limits(&endpoint, 300), (30, 0), "nothing to send");
        endpoint.write(1000);
        sent(&mut endpoint, MS(300));
        assert_eq!(limits(&endpoint, 340), (70, 40));
        endpoint.inject(MS(350), &ack(1001, 257)).unwrap();
        sent(&mut endpoint, MS(350));
        assert_eq!(limits(&endpoint, 360), (90, 50), "the segment is under way");
    }

    #[test]
    fn the_silence_of_the_other_side_counts_from_the_opening_or_its_last_data() {
        let mut endpoint = accepted();
        let silence = |endpoint: &Endpoint, at| endpoint.information(MS(at)).unwrap().tcpi_last_data_recv;
        assert_eq!(silence(&endpoint, 400), 300);
        endpoint.inject(MS(450), &Packet { payload: 1000, ..ack(1, 257) }).unwrap();
        assert_eq!(silence(&endpoint, 460), 10);
    }

    #[test]
    fn both_sides_close() {
        let mut endpoint = accepted();
        endpoint.write(1000);
        sent(&mut endpoint, MS(100));
        endpoint.inject(MS(200), &ack(1001, 257)).unwrap();
        endpoint.close();
        let fin = sent(&mut endpoint, MS(200));
        assert_eq!((fin[0].fin, fin[0].sequence, fin[0].payload), (true, 1001, 0));
        endpoint.inject(MS(300), &Packet { fin: true, ..ack(1002, 257) }).unwrap();
        let last = sent(&mut endpoint, MS(300));
        assert_eq!((last.len(), last[0].sequence, last[0].acknowledged), (1, 1002, 2));
    }

    #[test]
    fn data_is_acknowledged_by_the_rules_of_the_receiver() {
        let mut endpoint = accepted();
        let data = |sequence| Packet { sequence, payload: 1000, ..ack(1, 257) };
        endpoint.inject(MS(200), &data(1)).unwrap();
        assert_eq!(sent(&mut endpoint, MS(200))[0].acknowledged, 1001, "a quick ACK");
        endpoint.inject(MS(210), &data(2001)).unwrap();
        let answer = sent(&mut endpoint, MS(210));
        assert_eq!((answer[0].acknowledged, &answer[0].options.sack[..]), (1001, &[(2001, 3001)][..]));
        endpoint.inject(MS(220), &data(1001)).unwrap();
        assert_eq!(sent(&mut endpoint, MS(220))[0].acknowledged, 3001);
        assert_eq!(endpoint.received(), 3000);
    }

    #[test]
    fn what_is_not_modelled_is_refused() {
        let mut endpoint = accepted();
        endpoint.write(1000);
        sent(&mut endpoint, MS(100));
        assert!(endpoint.inject(MS(200), &ack(501, 257)).is_err(), "half a segment");
        assert!(endpoint.inject(MS(200), &Packet { reset: true, ..ack(1, 257) }).is_err());
    }
}
