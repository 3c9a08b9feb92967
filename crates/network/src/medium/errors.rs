//! Frame errors: a share of all frames, or by the ratio of signal to noise at a distance.
//!
//! The signal is sent with 16 dBm. At a distance of d metres it is weaker by 46.68 dB + 30 dB log10(d) (log-distance
//! path loss with exponent 3 from 1 m at 5.15 GHz). Noise is thermal (-174 dBm/Hz) with a noise figure of 7 dB. There
//! is no fading. OFDM bits fail as on a channel with white noise (Proakis, Digital Communications, for BPSK, QPSK and
//! QAM with Gray code). The convolutional code of constraint length 7 decodes them. The union of its error events
//! bounds the result (Pei and Henderson 2010, "Validation of OFDM error rate model in ns-3", with weights of Haccoun
//! and Begin 1989). DSSS bits at 1 and 2 Mbit/s are differential BPSK and QPSK. The codewords of CCK are bounded by
//! their distances.

use super::phy::{Mode, Modulation};

/// How frames between two stations are lost while nobody else sends.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum FrameErrors {
    /// Never.
    #[default]
    None,
    /// With this probability, at any rate and of any length.
    Share(f64),
    /// By signal and noise at a distance in metres.
    Distance(f64),
}

/// The errors of frames at one rate.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Loss {
    share: f64,
    /// The part of each bit in the negative logarithm of the probability of success.
    per_bit: f64,
}

const POWER_DBM: f64 = 16.0;
const LOSS_AT_ONE_METRE: f64 = 46.68;
const EXPONENT: f64 = 3.0;
const NOISE_FIGURE: f64 = 7.0;
const THERMAL: f64 = -174.0;

impl FrameErrors {
    /// The errors of frames at rate `mode` on a channel of so many megahertz.
    pub(crate) fn at(&self, mode: &Mode, megahertz: f64) -> Loss {
        match *self {
            Self::None => Loss::default(),
            Self::Share(share) => Loss { share, per_bit: 0.0 },
            Self::Distance(metres) => {
                let snr = libm::pow(10.0, signal_to_noise(metres, megahertz) / 10.0);
                Loss { share: 0.0, per_bit: -libm::log1p(-bit_errors(mode, snr, megahertz).min(0.5)) }
            }
        }
    }
}

impl Loss {
    /// The probability that a frame of `bytes` is lost.
    #[inline]
    pub(crate) fn of(&self, bytes: u32) -> f64 {
        if self.per_bit > 0.0 { -libm::expm1(-self.per_bit * f64::from(8 * bytes)) } else { self.share }
    }
}

/// The ratio of signal to noise in decibels.
fn signal_to_noise(metres: f64, megahertz: f64) -> f64 {
    let signal = POWER_DBM - LOSS_AT_ONE_METRE - 10.0 * EXPONENT * libm::log10(metres.max(1.0));
    signal - (THERMAL + 60.0 + 10.0 * libm::log10(megahertz) + NOISE_FIGURE)
}

/// The share of bits that are wrong after decoding.
fn bit_errors(mode: &Mode, snr: f64, megahertz: f64) -> f64 {
    if mode.modulation == Modulation::Dsss {
        // Energy per bit over noise density.
        let per_bit = snr * megahertz * 1e3 / f64::from(mode.kbit);
        return match mode.kbit {
            1000 => 0.5 * libm::exp(-per_bit),
            2000 => q(libm::sqrt(2.0 * per_bit * 0.586)),
            // There are 11 million chips in a second.
            5500 => codewords(&[(14.0, 8.0), (1.0, 16.0)], snr * megahertz / 11.0) / 4.0,
            _ => {
                let events = [(24.0, 4.0), (16.0, 6.0), (174.0, 8.0), (16.0, 10.0), (24.0, 12.0), (1.0, 16.0)];
                codewords(&events, snr * megahertz / 11.0) / 8.0
            }
        };
    }
    let coded = coded_bit_errors(mode.bits_on_subcarrier, snr);
    decoded(mode.coded, mode.data, coded)
}

/// The share of wrong bits before decoding.
fn coded_bit_errors(bits_on_subcarrier: u8, snr: f64) -> f64 {
    match bits_on_subcarrier {
        1 => q(libm::sqrt(2.0 * snr)),
        2 => q(libm::sqrt(snr)),
        4 => 0.75 * q(libm::sqrt(snr / 5.0)),
        6 => 7.0 / 12.0 * q(libm::sqrt(snr / 21.0)),
        8 => 15.0 / 32.0 * q(libm::sqrt(snr / 85.0)),
        _ => 31.0 / 80.0 * q(libm::sqrt(snr / 341.0)),
    }
}

/// The bound of the share of wrong bits after decoding, where a share `p` of the coded ones is wrong: free distance,
/// the bits of information in error of all paths at that distance and at the next ones, and the step between them.
fn decoded(coded: u8, data: u8, p: f64) -> f64 {
    let (first, step, weights): (i32, i32, &[f64]) = match (coded, data) {
        (2, 1) => (10, 2, &[36.0, 211.0, 1404.0, 11_633.0, 77_433.0]),
        (3, 2) => (6, 1, &[3.0, 70.0, 285.0, 1276.0, 6160.0, 27_128.0]),
        (4, 3) => (5, 1, &[42.0, 201.0, 1492.0, 10_469.0, 62_935.0, 379_644.0]),
        _ => (4, 1, &[92.0, 528.0, 8694.0, 79_453.0, 792_114.0]),
    };
    let d = libm::sqrt(4.0 * p * (1.0 - p));
    let term = |(n, weight): (usize, &f64)| weight * libm::pow(d, f64::from(first + step * n as i32));
    weights.iter().enumerate().map(term).sum::<f64>() / (2.0 * f64::from(data))
}

/// The bound of the share of wrong codewords: how many there are at which squared distance.
fn codewords(events: &[(f64, f64)], snr: f64) -> f64 {
    events.iter().map(|(count, distance)| count * q(libm::sqrt(distance * snr))).sum()
}

/// The tail of the normal distribution.
fn q(x: f64) -> f64 {
    0.5 * libm::erfc(x / std::f64::consts::SQRT_2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::medium::{Phy, PhySettings, Standard};

    #[test]
    fn ten_metres_leave_a_ratio_of_33_decibels() {
        // `16 - 46.68 - 30` dBm against `-174 + 73.01 + 7` dBm.
        assert!((signal_to_noise(10.0, 20.0) - 33.31).abs() < 0.01);
        // 30 dB for every tenfold distance.
        assert!((signal_to_noise(1.0, 20.0) - 63.31).abs() < 0.01);
    }

    #[test]
    fn bits_fail_as_the_tail_of_the_normal_distribution_says() {
        // Q(1) = 0.158655, Q(3) = 0.0013499.
        assert!((q(1.0) - 0.158_655).abs() < 1e-6 && (q(3.0) - 0.001_349_9).abs() < 1e-7);
        assert!((coded_bit_errors(2, 9.0) - 0.001_349_9).abs() < 1e-7);
        // With 0.135 % wrong D is 0.07343, and the first term of the code 1/2 18 * D^10 = 8.2e-11.
        let bits = decoded(2, 1, 0.001_349_9);
        assert!((8.0e-11..9.0e-11).contains(&bits), "{bits}");
    }

    #[test]
    fn bits_of_dsss_fail_by_their_code() {
        let modes = Phy::new(&PhySettings::of(Standard::B), &[]).modes;
        let errors = |mode: usize, snr: f64| bit_errors(&modes[mode], snr, 22.0);
        // 22 MHz are 22 times 1 Mbit/s and 11 times 2 Mbit/s: exp(-1) / 2, and Q(sqrt(1.172)) = 0.139495.
        assert!((errors(0, 1.0 / 22.0) - 0.183_940).abs() < 1e-6);
        assert!((errors(1, 1.0 / 11.0) - 0.139_495).abs() < 1e-6);
        // With twice the bandwidth of the chips and half the signal, distances are the codewords'. Q of the roots of 4,
        // 6, 8, 10, 12 and 16: 0.0227501, 0.0071529, 0.0023389, 0.0007827, 0.000266, 0.0000317. `14 x 0.0023389 +
        // 0.0000317`, a quarter of it. Then the sum with 24, 16, 174, 16, 24 and 1 of them, an eighth.
        assert!((errors(2, 0.5) - 0.008_194).abs() < 1e-6);
        assert!((errors(3, 0.5) - 0.135_794).abs() < 1e-6);
    }

    #[test]
    fn fast_rates_reach_less_far() {
        let modes = Phy::new(&PhySettings::of(Standard::A), &[]).modes;
        // The distance up to which half of the frames of 1536 bytes arrive, in metres.
        let reach = |mode: &Mode| {
            (1..300)
                .rev()
                .find(|&metres| FrameErrors::Distance(f64::from(metres)).at(mode, 20.0).of(1536) < 0.5)
                .unwrap()
        };
        let reaches: Vec<i32> = modes.iter().map(reach).collect();
        assert!(reaches.is_sorted_by(|near, far| near >= far), "{reaches:?}");
        // 54 Mbit/s needs some 21 dB: `33.3 - 30 log10(d / 10) = 21` at 26 m. 6 Mbit/s some 2 dB: 110 m.
        assert!((22..30).contains(&reaches[7]) && (90..130).contains(&reaches[0]), "{reaches:?}");
    }

    #[test]
    fn a_share_holds_at_any_rate_and_length() {
        let mode = Phy::new(&PhySettings::of(Standard::B), &[]).modes[0];
        let loss = FrameErrors::Share(0.1).at(&mode, 22.0);
        assert_eq!((loss.of(14), loss.of(1536)), (0.1, 0.1));
        assert_eq!(FrameErrors::None.at(&mode, 22.0).of(1536), 0.0);
    }

    #[test]
    fn the_ratio_of_signal_to_noise_falls_with_the_bandwidth_and_not_below_a_metre() {
        // Twice the bandwidth is 3.01 dB more of noise.
        assert!((signal_to_noise(1.0, 40.0) - 60.30).abs() < 0.01);
        assert_eq!(signal_to_noise(0.2, 20.0), signal_to_noise(1.0, 20.0));
    }

    #[test]
    fn each_modulation_needs_its_share_of_the_signal() {
        // Q(1) = 0.1586553: of BPSK at 0.5, of QPSK at 1, of 16-QAM at 5 (three quarters), of 64-QAM at 21 (7/12).
        for (bits, snr, expected) in
            [(1, 0.5, 0.158_655_3), (2, 1.0, 0.158_655_3), (4, 5.0, 0.118_991_4), (6, 21.0, 0.092_548_9)]
        {
            let wrong = coded_bit_errors(bits, snr);
            assert!((wrong - expected).abs() < 1e-7, "{bits}: {wrong}");
        }
    }

    #[test]
    fn each_code_has_its_own_error_events() {
        // D = 0.1 where a share of 0.0025062814 is wrong. 1/2: `(36 + 2.11 + 0.1404 + 0.011633 + ...) 1e-10 / 2`; 2/3:
        // `(3 + 7 + 2.85 + 1.276 + 0.616 + 0.27128) 1e-6 / 4`; 3/4: `(420 + 201 + 149.2 + 104.69 + 62.935 + 37.9644)
        // 1e-6 / 6`; 5/6: `(9200 + 5280 + 8694 + 7945.3 + 7921.14) 1e-6 / 10`.
        for (coded, data, expected) in
            [(2, 1, 1.913_140e-9), (3, 2, 3.753_320e-6), (4, 3, 1.626_316e-4), (6, 5, 3.904_044e-3)]
        {
            let bits = decoded(coded, data, 0.002_506_281_446_69);
            assert!((bits / expected - 1.0).abs() < 1e-6, "{data}/{coded}: {bits}");
        }
    }

    #[test]
    fn a_longer_frame_is_lost_more_often() {
        // A half of 1000 bytes arrives, so a quarter of 2000.
        let loss = Loss { share: 0.0, per_bit: std::f64::consts::LN_2 / 8000.0 };
        assert!((loss.of(1000) - 0.5).abs() < 1e-12 && (loss.of(2000) - 0.75).abs() < 1e-12);
        // Out of reach every second bit is wrong, and no more: one byte in 2^8 arrives.
        let mode = Phy::new(&PhySettings::of(Standard::A), &[]).modes[7];
        let lost = FrameErrors::Distance(1e6).at(&mode, 20.0).of(1);
        assert!((lost - 255.0 / 256.0).abs() < 1e-9, "{lost}");
    }
}
