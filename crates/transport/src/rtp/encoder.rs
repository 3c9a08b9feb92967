//! A video encoder: frames whose sizes follow a target rate with lag, bursts and chance (RFC 8593, section 5), or a
//! recording that is scaled to the target (section 6).

use units::{Random, Rate, Span, Time};

use super::MediaSettings;
use crate::media::Recorded;

/// A change of the rate by a larger share than this is abrupt: the RFC leaves it open (section 5.2).
const ABRUPT: f64 = 0.2;
/// No frame is smaller than this share of the mean, so that the frames after a burst have some bits.
const SMALLEST: f64 = 0.1;
/// No deviation from the mean is larger (the RFC bounds normalised sizes by 0 and 2).
const LARGEST_DEVIATION: f64 = 0.9;

/// A frame that the encoder has made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frame {
    /// Its number, from 0.
    pub number: u32,
    /// When it was captured: it leaves the encoder at once.
    pub captured: Time,
    /// Its size.
    pub bytes: u32,
    /// It can be decoded without others.
    pub key: bool,
}

/// The encoder of one flow.
#[derive(Clone, Debug)]
pub struct Encoder {
    settings: MediaSettings,
    random: Random,
    recorded: Option<(Recorded, f64)>,
    /// R_v in bits a second, and since when.
    rate: f64,
    changed_at: Time,
    /// The last target that was asked for.
    wanted: f64,
    next_at: Time,
    number: u32,
    /// A key frame is asked for, and the number and time of the last.
    key_due: bool,
    last_key: (u32, Time),
    /// Frames left of a transient period, and the size of each, of the first apart.
    transient: u32,
    share: f64,
}

impl Encoder {
    /// An encoder that begins at `rate`.
    pub fn new(settings: &MediaSettings, rate: Rate, random: Random) -> Self {
        let rate = rate.clamp(settings.min_rate, settings.max_rate).bits_per_second() as f64;
        Self {
            settings: settings.clone(),
            random,
            recorded: None,
            rate,
            changed_at: Time::ZERO,
            wanted: rate,
            next_at: Time::NEVER,
            number: 0,
            key_due: true,
            last_key: (0, Time::ZERO),
            transient: 0,
            share: 0.0,
        }
    }

    /// Its frames have the times of `recorded`, and sizes in proportion, whose mean rate is `mean` bits a second.
    #[must_use]
    pub fn with(mut self, recorded: Recorded, mean: f64) -> Self {
        self.recorded = Some((recorded, mean));
        self
    }

    /// The first frame is captured now.
    pub fn start(&mut self, now: Time) {
        self.changed_at = now;
        self.next_at = now;
        if let Some((recorded, _)) = &mut self.recorded {
            recorded.start(now);
            self.next_at = recorded.next_write().unwrap_or(Time::NEVER);
        }
    }

    /// When the next frame comes.
    pub fn next_frame(&self) -> Time {
        self.next_at
    }

    /// R_v, the rate that it aims at.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// A rate of `target` bits a second is asked for (section 5.1 with the limits of section 5.4).
    pub fn set_target(&mut self, now: Time, target: f64) {
        let Self { settings: MediaSettings { min_rate, max_rate, .. }, .. } = self;
        self.wanted = target.clamp(min_rate.bits_per_second() as f64, max_rate.bits_per_second() as f64);
        self.accept(now);
    }

    /// The receiver asks for a key frame, having seen nothing after frame `newest`. One that left later is one.
    pub fn request_key(&mut self, newest: u32) {
        self.key_due |= self.last_key.0 <= newest;
    }

    /// The next frame, if it is captured by now.
    pub fn poll(&mut self, now: Time) -> Option<Frame> {
        let (captured, written) = self.advance(now)?;
        self.accept(captured);
        let is_due = |interval| captured.since(self.last_key.1) >= interval;
        let key = std::mem::take(&mut self.key_due) || self.settings.key_interval.is_some_and(is_due);
        let bytes = if let (Some(bytes), Some((_, mean))) = (written, &self.recorded) {
            f64::from(bytes) * self.rate / mean
        } else {
            if key {
                self.begin_transient();
            }
            self.size()
        };
        let number = self.number;
        self.number += 1;
        if key {
            self.last_key = (number, captured);
        }
        Some(Frame { number, captured, bytes: (bytes as u32).max(1), key })
    }

    /// Skips the next frame, if it is captured by now: it has no number, and a key frame is still due.
    pub fn skip(&mut self, now: Time) {
        self.advance(now);
    }

    /// Goes on to the frame after the next: when the next is captured, and its size in the recording.
    fn advance(&mut self, now: Time) -> Option<(Time, Option<u32>)> {
        let captured = self.next_at;
        if captured > now {
            return None;
        }
        if let Some((recorded, _)) = &mut self.recorded {
            let bytes = recorded.take(now)?;
            self.next_at = recorded.next_write().unwrap_or(Time::NEVER);
            return Some((captured, Some(bytes)));
        }
        let interval = 1.0 / self.settings.frame_rate;
        let deviation = self.deviation(self.settings.interval_variation.get());
        self.next_at = captured + Span::from_secs_f64(interval * (1.0 + deviation)).max(Span::from_nanos(1));
        Some((captured, None))
    }

    /// B0 in bytes.
    fn mean_size(&self) -> f64 {
        self.rate / (8.0 * self.settings.frame_rate)
    }

    /// The rate that is wanted holds, unless another was accepted less than tau_v ago.
    fn accept(&mut self, now: Time) {
        if self.wanted == self.rate || (self.number > 0 && now.since(self.changed_at) < self.settings.lag) {
            return;
        }
        let change = (self.wanted / self.rate - 1.0).abs();
        (self.rate, self.changed_at) = (self.wanted, now);
        if change > ABRUPT && self.number > 0 && self.recorded.is_none() {
            self.begin_transient();
        }
    }

    /// Section 5.2: a burst of K_B, whose bits K_d frames share.
    fn begin_transient(&mut self) {
        self.transient = self.settings.burst_frames;
        self.share = 0.0;
    }

    /// The size of the next frame, in a transient period or by chance (section 5.3).
    fn size(&mut self) -> f64 {
        let mean = self.mean_size();
        if self.transient == 0 {
            return mean * (1.0 + self.deviation(self.settings.size_variation.get()));
        }
        let others = f64::from(self.settings.burst_frames - 1);
        let all = mean * (others + 1.0);
        let first = self.transient == self.settings.burst_frames;
        self.transient -= 1;
        if !first {
            return self.share;
        }
        let burst = (self.settings.burst.get() as f64).min(all - others * SMALLEST * mean).max(mean);
        self.share = (all - burst) / others.max(1.0);
        burst
    }

    /// A number of the Laplace distribution of this `scale` about 0, within its bounds.
    fn deviation(&mut self, scale: f64) -> f64 {
        if scale == 0.0 {
            return 0.0;
        }
        let sign = if self.random.happens(0.5) { 1.0 } else { -1.0 };
        (sign * scale * self.random.exponential()).clamp(-LARGEST_DEVIATION, LARGEST_DEVIATION)
    }
}

#[cfg(test)]
mod tests {
    use units::{Bytes, Fraction};

    use super::*;
    use crate::media::MediaTrace;

    const MS: fn(u64) -> Span = Span::from_millis;

    fn at(ms: u64) -> Time {
        Time::ZERO + MS(ms)
    }

    /// 1 Mbit/s and 25 frames a second: 5000 bytes each 40 ms.
    fn regular() -> MediaSettings {
        let none = Fraction::new(0.0).unwrap();
        MediaSettings { frame_rate: 25.0, size_variation: none, interval_variation: none, ..MediaSettings::default() }
    }

    fn encoder(settings: &MediaSettings) -> Encoder {
        let mut encoder = Encoder::new(settings, Rate::from_mbit(1), Random::stream(1, "encoder", 0));
        encoder.start(at(0));
        encoder
    }

    fn sizes(encoder: &mut Encoder, until: u64) -> Vec<u32> {
        std::iter::from_fn(|| encoder.poll(at(until))).map(|frame| frame.bytes).collect()
    }

    #[test]
    fn the_first_frame_is_a_burst_whose_bits_eight_frames_share() {
        let mut encoder = encoder(&regular());
        let first = encoder.poll(at(0)).unwrap();
        assert_eq!(first, Frame { number: 0, captured: at(0), bytes: 13_500, key: true });
        // 8 * 5000 - 13,500 = 26,500 for seven frames.
        assert_eq!(sizes(&mut encoder, 320), [3785, 3785, 3785, 3785, 3785, 3785, 3785, 5000]);
        assert_eq!(encoder.next_frame(), at(360));
    }

    #[test]
    fn a_burst_leaves_a_tenth_to_the_frames_after_it() {
        let mut encoder = encoder(&MediaSettings { burst: Bytes::new(1_000_000), ..regular() });
        // 40,000 - 7 * 500.
        assert_eq!(sizes(&mut encoder, 40), [36_500, 500]);
    }

    #[test]
    fn the_encoder_ignores_targets_until_its_lag_is_over() {
        let mut encoder = encoder(&regular());
        sizes(&mut encoder, 320);
        encoder.set_target(at(330), 900_000.0);
        assert_eq!(encoder.rate(), 900_000.0);
        encoder.set_target(at(400), 850_000.0);
        assert_eq!((encoder.rate(), sizes(&mut encoder, 520)), (900_000.0, vec![4500; 5]));
        // 200 ms after 330 ms. The frame of 560 ms is the next.
        assert_eq!((sizes(&mut encoder, 560), encoder.rate()), (vec![4250], 850_000.0));
        encoder.set_target(at(2000), 9e9);
        assert_eq!(encoder.rate(), 1_500_000.0, "the limit");
    }

    #[test]
    fn an_abrupt_change_begins_with_a_burst() {
        let mut encoder = encoder(&regular());
        sizes(&mut encoder, 320);
        encoder.set_target(at(330), 500_000.0);
        // 2500 a frame: 20,000 - 13,500 for seven.
        assert_eq!(sizes(&mut encoder, 400), [13_500, 928]);
    }

    #[test]
    fn key_frames_come_at_their_interval_and_on_request() {
        let settings = MediaSettings { key_interval: Some(MS(400)), ..regular() };
        let mut encoder = encoder(&settings);
        let keys = |encoder: &mut Encoder, until| {
            std::iter::from_fn(|| encoder.poll(at(until)))
                .filter(|frame| frame.key)
                .map(|f| f.number)
                .collect::<Vec<_>>()
        };
        assert_eq!(keys(&mut encoder, 840), [0, 10, 20]);
        // The receiver has seen frames up to 19: key frame 20 is on its way.
        encoder.request_key(19);
        assert_eq!(keys(&mut encoder, 880), [0; 0]);
        encoder.request_key(22);
        assert_eq!(keys(&mut encoder, 1000), [23]);
    }

    #[test]
    fn a_skipped_frame_leaves_its_number_and_a_key_frame_to_the_next() {
        let mut encoder = encoder(&regular());
        encoder.skip(at(0));
        assert_eq!(encoder.next_frame(), at(40));
        let first = encoder.poll(at(40)).unwrap();
        assert_eq!((first.number, first.captured, first.key), (0, at(40), true));
        encoder.skip(at(79));
        assert_eq!(encoder.next_frame(), at(80), "not captured yet");
    }

    #[test]
    fn sizes_and_intervals_vary_about_their_means() {
        let mut encoder = encoder(&MediaSettings { frame_rate: 25.0, ..MediaSettings::default() });
        let frames: Vec<Frame> = std::iter::from_fn(|| encoder.poll(at(4_000_000))).collect();
        let count = frames.len() as f64;
        assert!((count / 100_000.0 - 1.0).abs() < 0.002, "{count}");
        let mean = frames.iter().map(|frame| f64::from(frame.bytes)).sum::<f64>() / count;
        assert!((mean / 5000.0 - 1.0).abs() < 0.002, "{mean}");
        // A Laplace distribution of scale b deviates by b on average.
        let deviation = frames.iter().map(|frame| (f64::from(frame.bytes) / 5000.0 - 1.0).abs()).sum::<f64>() / count;
        assert!((deviation - 0.15).abs() < 0.003, "{deviation}");
    }

    #[test]
    fn a_recording_is_scaled_to_the_rate() {
        let recording = MediaTrace::parse("0 1000\n100 3000\n200 1000").unwrap();
        let recorded = Recorded::new(recording.datagrams(u32::MAX));
        let mut encoder = encoder(&regular()).with(recorded, 500_000.0);
        encoder.start(at(50));
        assert_eq!(encoder.next_frame(), at(50));
        assert_eq!(sizes(&mut encoder, 150), [2000, 6000]);
        encoder.skip(at(250));
        assert_eq!(encoder.next_frame(), Time::NEVER);
    }
}
