//! A call of str0m: two peers, whose datagrams the caller carries, and our encoder, whose target is the estimate of
//! the sending one.

use std::time::{Duration, Instant};

use network::Packet;
use scenario::PlannedFlow;
use str0m::bwe::{Bitrate, BweKind};
use str0m::format::Codec;
use str0m::media::{Direction, Frequency, MediaKind, MediaTime, Mid, Pt};
use str0m::net::{Protocol, Receive};
use str0m::{Candidate, Event, Input, Output, Rtc, RtcError};
use transport::Encoder;
use units::packet::{IP_HEADER, UDP_HEADER};
use units::{Bytes, Ecn, Random, Rate, Span, Time};

/// The rate before the first estimate, as of our `gcc`.
const START: Rate = Rate::from_bits_per_second(300_000);
/// Without smoothing the encoder gets the estimate this often.
const ESTIMATES: Duration = Duration::from_millis(50);
/// A peer is looked at again after this time at the earliest.
const RESOLUTION: Span = Span::from_micros(1);
/// The addresses of the peers.
const ADDRESSES: [([u8; 4], u16); 2] = [([10, 0, 0, 1], 5000), ([10, 0, 0, 2], 5000)];
/// Ticks a second of the RTP clock of video.
const RTP_CLOCK: f64 = 90_000.0;

/// A datagram on its way.
#[derive(Debug)]
pub(crate) struct Datagram {
    pub(crate) flow: u32,
    pub(crate) step: u32,
    /// The peer that gets it.
    to: usize,
    contents: Vec<u8>,
}

impl Packet for Datagram {
    fn size(&self) -> Bytes {
        IP_HEADER + UDP_HEADER + Bytes::new(self.contents.len() as u64)
    }
    fn ecn(&self) -> Ecn {
        Ecn::NotCapable
    }
    fn flow(&self) -> u32 {
        self.flow
    }
    fn mark_congestion(&mut self) {}
    fn clear_ecn(&mut self) {}
}

impl engine::Routed for Datagram {
    fn step(&self) -> u32 {
        self.step
    }
    fn next_step(&mut self) {
        self.step += 1;
    }
    fn sequence(&self) -> Option<u64> {
        None
    }
}

/// Virtual time as str0m's.
struct Clock(Instant);

impl Clock {
    fn instant(&self, now: Time) -> Instant {
        self.0 + Duration::from_nanos(now.as_nanos())
    }

    fn time(&self, instant: Instant) -> Time {
        Time::ZERO + Span::from_nanos(instant.saturating_duration_since(self.0).as_nanos() as u64)
    }
}

struct Peer {
    rtc: Rtc,
    next: Time,
}

/// One call. Peer 0 sends video to peer 1.
pub(crate) struct Call {
    flow: u32,
    /// The first steps from either peer.
    steps: [u32; 2],
    clock: Clock,
    peers: [Peer; 2],
    video: (Mid, Pt),
    encoder: Encoder,
    /// The encoder gets the estimate each [`ESTIMATES`], and not str0m's events, which smooth it over 3 s.
    raw: bool,
    frames: u32,
    /// The times and sizes of the frames that the receiver handed out.
    pub(crate) arrivals: Vec<(f64, usize)>,
}

impl Call {
    /// The call of `planned`, number `flow`, which begins at `start`. Its encoder gets `raw` or smoothed estimates.
    pub(crate) fn new(
        planned: &PlannedFlow,
        (flow, steps): (u32, (u32, u32)),
        start: Time,
        seed: u64,
        raw: bool,
    ) -> Self {
        let clock = Clock(Instant::now());
        let now = clock.instant(start);
        let bitrate = |rate: Rate| Bitrate::bps(rate.bits_per_second());
        let peer = || Rtc::builder().clear_codecs().enable_vp8(true);
        let sender = peer().enable_bwe(Some(bitrate(START))).set_stats_interval(raw.then_some(ESTIMATES));
        let mut sender = sender.build(now);
        let mut receiver = peer().build(now);
        let mid = connect(&mut sender, &mut receiver).expect("both peers are ours");
        sender.bwe().set_desired_bitrate(bitrate(planned.call.max_rate));
        let video = sender.codec_config().find(|offered| offered.spec().codec == Codec::Vp8).expect("it is enabled");
        let video = (mid, video.pt());
        let encoder = Encoder::new(&planned.call, START, Random::stream(seed, "encoder", u64::from(flow)));
        let peers = [sender, receiver].map(|rtc| Peer { rtc, next: start });
        Self { flow, steps: [steps.0, steps.1], clock, peers, video, encoder, raw, frames: 0, arrivals: Vec::new() }
    }

    /// When it has to be looked at.
    pub(crate) fn next(&self) -> Time {
        self.peers.iter().map(|peer| peer.next).fold(self.encoder.next_frame(), Time::min)
    }

    /// Frames and timers that are due at `now`. Answers the datagrams that leave.
    pub(crate) fn due(&mut self, now: Time) -> Result<Vec<Datagram>, RtcError> {
        let mut leaving = Vec::new();
        while let Some(frame) = self.encoder.poll(now) {
            self.frames += 1;
            let ticks = (frame.captured.since(Time::ZERO).as_secs_f64() * RTP_CLOCK) as u64;
            let (mid, pt) = self.video;
            if let Some(writer) = self.peers[0].rtc.writer(mid) {
                let time = MediaTime::new(ticks, Frequency::NINETY_KHZ);
                writer.write(pt, self.clock.instant(now), time, vec![0; frame.bytes as usize])?;
            }
            self.poll(now, 0, &mut leaving)?;
        }
        for index in 0..self.peers.len() {
            if self.peers[index].next <= now {
                self.peers[index].rtc.handle_input(Input::Timeout(self.clock.instant(now)))?;
                self.poll(now, index, &mut leaving)?;
            }
        }
        Ok(leaving)
    }

    /// `datagram` arrives. Answers the datagrams that leave.
    pub(crate) fn arrive(&mut self, now: Time, datagram: &Datagram) -> Result<Vec<Datagram>, RtcError> {
        let [source, destination] = [1 - datagram.to, datagram.to].map(|peer| ADDRESSES[peer].into());
        let contents = datagram.contents.as_slice().try_into()?;
        let received = Receive { proto: Protocol::Udp, source, destination, contents };
        self.peers[datagram.to].rtc.handle_input(Input::Receive(self.clock.instant(now), received))?;
        let mut leaving = Vec::new();
        self.poll(now, datagram.to, &mut leaving)?;
        Ok(leaving)
    }

    /// Takes all that peer `index` has to say at `now`.
    fn poll(&mut self, now: Time, index: usize, leaving: &mut Vec<Datagram>) -> Result<(), RtcError> {
        loop {
            match self.peers[index].rtc.poll_output()? {
                Output::Timeout(at) => {
                    self.peers[index].next = self.clock.time(at).max(now + RESOLUTION);
                    return Ok(());
                }
                Output::Transmit(sent) => {
                    let (flow, step, contents) = (self.flow, self.steps[index], sent.contents.to_vec());
                    leaving.push(Datagram { flow, step, to: 1 - index, contents });
                }
                Output::Event(event) => self.note(now, index, event),
            }
        }
    }

    fn note(&mut self, now: Time, index: usize, event: Event) {
        let estimate = match event {
            Event::Connected if index == 0 => return self.encoder.start(now),
            Event::KeyframeRequest(_) => return self.encoder.request_key(self.frames),
            Event::MediaData(frame) => {
                return self.arrivals.push((now.since(Time::ZERO).as_secs_f64(), frame.data.len()));
            }
            Event::EgressBitrateEstimate(BweKind::Twcc { estimate, .. }) if !self.raw => Some(estimate),
            Event::PeerStats(stats) if index == 0 => stats.bwe_tx,
            _ => None,
        };
        if let Some(estimate) = estimate {
            self.encoder.set_target(now, estimate.as_f64());
        }
    }
}

/// Offer and answer, for one video from `sender` to `receiver`.
fn connect(sender: &mut Rtc, receiver: &mut Rtc) -> Result<Mid, RtcError> {
    for (peer, address) in [&mut *sender, &mut *receiver].into_iter().zip(ADDRESSES) {
        let candidate = Candidate::host(address.into(), "udp").expect("an address of UDP");
        peer.add_local_candidate(candidate);
    }
    let mut change = sender.sdp_api();
    let mid = change.add_media(MediaKind::Video, Direction::SendOnly, None, None, None);
    let (offer, pending) = change.apply().expect("a change was asked for");
    let answer = receiver.sdp_api().accept_offer(offer)?;
    sender.sdp_api().accept_answer(pending, answer)?;
    Ok(mid)
}
