//! Very high throughput (VHT, IEEE 802.11-2016, clause 21) and high efficiency (HE, IEEE 802.11ax-2021, clause 27)
//! as far as time is concerned: frames to one station, on channels of 20 to 160 MHz.
//!
//! Not modelled: OFDMA, several users at once, spatial reuse, the packet extension of HE (its receivers need none),
//! and the additional symbol that LDPC may need.

use units::Span;

use super::{Guard, Mode, Modulation, PhySettings, SHORT_SYMBOL, SYMBOL, Width};

/// Of each modulation and coding scheme: bits on a subcarrier, coded and data bits of the code. VHT has the first ten
/// (tables 21-30 and 27-54).
const SCHEMES: [(u8, u8, u8); 12] = [
    (1, 2, 1),
    (2, 2, 1),
    (2, 4, 3),
    (4, 2, 1),
    (4, 4, 3),
    (6, 3, 2),
    (6, 4, 3),
    (6, 6, 5),
    (8, 4, 3),
    (8, 6, 5),
    (10, 4, 3),
    (10, 6, 5),
];

/// Schemes of VHT.
const OF_VHT: u8 = 10;

/// The data subcarriers at 20, 40, 80 and 160 MHz (tables 21-5 and 27-15).
const VHT_SUBCARRIERS: [u32; 4] = [52, 108, 234, 468];
const HE_SUBCARRIERS: [u32; 4] = [234, 468, 980, 1960];

/// A second encoder of VHT begins above as many data bits of a symbol: 600 Mbit/s at the short guard interval.
const ONE_ENCODER: u32 = 2160;

/// The rates of VHT, beginning with one stream.
pub(super) fn vht(settings: &PhySettings) -> impl Iterator<Item = Mode> {
    let symbol = if settings.short_guard { SHORT_SYMBOL } else { SYMBOL };
    let width = settings.width;
    schemes(settings.streams, OF_VHT).filter(move |&(mcs, streams)| !is_excluded(width, mcs, streams)).map(
        move |(mcs, streams)| {
            let whole = WholeBits::of(VHT_SUBCARRIERS[width as usize], mcs, streams);
            // Its preamble has L-STF, L-LTF, L-SIG, VHT-SIG-A, VHT-STF and VHT-SIG-B beside the training fields.
            let preamble = Span::from_micros(36 + 4 * training(streams));
            whole.mode(Modulation::Vht, mcs, preamble, symbol, 16 + 6 * encoders(width, mcs, streams, whole.bits()))
        },
    )
}

/// The rates of HE, beginning with one stream.
pub(super) fn he(settings: &PhySettings) -> impl Iterator<Item = Mode> {
    let (guard, field) = match settings.guard {
        Guard::Short => (800, 7200),
        Guard::Medium => (1600, 8000),
        Guard::Long => (3200, 16_000),
    };
    let width = settings.width;
    schemes(settings.streams, SCHEMES.len() as u8).map(move |(mcs, streams)| {
        let whole = WholeBits::of(HE_SUBCARRIERS[width as usize], mcs, streams);
        // L-STF, L-LTF, L-SIG, RL-SIG, HE-SIG-A and HE-STF. LDPC has no tail bits.
        let preamble = Span::from_nanos(36_000 + field * training(streams));
        whole.mode(Modulation::He, mcs, preamble, 12_800 + guard, 16)
    })
}

/// Schemes with so many streams.
fn schemes(streams: u8, count: u8) -> impl Iterator<Item = (u8, u8)> {
    (1..=streams).flat_map(move |streams| (0..count).map(move |mcs| (mcs, streams)))
}

/// Training fields: one for each stream, of which three take four.
fn training(streams: u8) -> u64 {
    if streams == 3 { 4 } else { u64::from(streams) }
}

/// True for the combinations that have no whole number of bits for each encoder (clause 21.5).
fn is_excluded(width: Width, mcs: u8, streams: u8) -> bool {
    match (width, mcs) {
        (Width::Mhz20, 9) => streams != 3,
        (Width::Mhz80, 6) | (Width::Mhz160, 9) => streams == 3,
        _ => false,
    }
}

/// The encoders of VHT, each of which adds tail bits.
fn encoders(width: Width, mcs: u8, streams: u8, bits: u32) -> u32 {
    // The bits of this one do not divide by five.
    if (width, mcs, streams) == (Width::Mhz160, 7, 4) { 6 } else { bits.div_ceil(ONE_ENCODER) }
}

/// The data bits of a symbol, as a fraction: 1024-QAM with 5/6 has thirds.
#[derive(Clone, Copy, Debug)]
struct WholeBits {
    coded_bits: u32,
    bits_on_subcarrier: u8,
    coded: u8,
    data: u8,
}

impl WholeBits {
    fn of(subcarriers: u32, mcs: u8, streams: u8) -> Self {
        let (bits_on_subcarrier, coded, data) = SCHEMES[usize::from(mcs)];
        let coded_bits = subcarriers * u32::from(bits_on_subcarrier) * u32::from(streams);
        Self { coded_bits, bits_on_subcarrier, coded, data }
    }

    fn bits(self) -> u32 {
        self.coded_bits * u32::from(self.data) / u32::from(self.coded)
    }

    fn mode(self, modulation: Modulation, mcs: u8, preamble: Span, symbol: u64, service_bits: u32) -> Mode {
        let per_second = u64::from(self.coded_bits) * u64::from(self.data) * 1_000_000;
        Mode {
            modulation,
            kbit: per_second.div_ceil(u64::from(self.coded) * symbol) as u32,
            bits_on_subcarrier: self.bits_on_subcarrier,
            coded: self.coded,
            data: self.data,
            mcs: Some(mcs),
            preamble,
            fixed: preamble,
            service_bits,
            half_bits: 2 * self.bits(),
            symbol: Span::from_nanos(symbol),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Phy, Standard};
    use super::*;

    fn phy(standard: Standard, width: Width, streams: u8, short_guard: bool) -> Phy {
        Phy::new(&PhySettings { width, streams, short_guard, ..PhySettings::of(standard) }, &[])
    }

    fn kbit(phy: &Phy, mcs: u8) -> Vec<u32> {
        phy.modes.iter().filter(|mode| mode.mcs == Some(mcs)).map(|mode| mode.kbit).collect()
    }

    #[test]
    fn rates_of_very_high_throughput_are_those_of_the_tables() {
        let ac = |width, short| phy(Standard::Ac, width, 4, short);
        // 52 bits of 1/2 in 4 us. 256-QAM with 5/6 has `52 * 8 * 3 * 5/6 = 1040` bits with three streams alone.
        assert_eq!(kbit(&ac(Width::Mhz20, false), 0), [6500, 13_000, 19_500, 26_000]);
        assert_eq!(kbit(&ac(Width::Mhz20, false), 9), [260_000]);
        assert_eq!(kbit(&ac(Width::Mhz20, false), 8), [78_000, 156_000, 234_000, 312_000]);
        assert_eq!(kbit(&ac(Width::Mhz40, false), 9), [180_000, 360_000, 540_000, 720_000]);
        // `234 * 8 * 5/6 = 1560` bits in 3.6 us.
        assert_eq!(kbit(&ac(Width::Mhz80, true), 9), [433_334, 866_667, 1_300_000, 1_733_334]);
        assert_eq!(kbit(&ac(Width::Mhz80, false), 6), [263_250, 526_500, 1_053_000]);
        assert_eq!(kbit(&ac(Width::Mhz160, false), 9), [780_000, 1_560_000, 3_120_000]);
    }

    #[test]
    fn rates_of_high_efficiency_are_those_of_the_tables() {
        let ax = |width| phy(Standard::Ax, width, 2, false);
        // `234 / 2 = 117` bits in 13.6 us, and `234 * 10 * 5/6 = 1950`.
        assert_eq!(kbit(&ax(Width::Mhz20), 0), [8603, 17_206]);
        assert_eq!(kbit(&ax(Width::Mhz20), 11), [143_383, 286_765]);
        // `980 * 10 * 5/6 = 8166.67` bits: 600.5 Mbit/s, and 1201.
        assert_eq!(kbit(&ax(Width::Mhz80), 11), [600_491, 1_200_981]);
        assert_eq!(kbit(&ax(Width::Mhz160), 11), [1_200_981, 2_401_961]);
        // The long guard interval: 1950 bits in 16 us.
        let long = Phy::new(&PhySettings { guard: Guard::Long, ..PhySettings::of(Standard::Ax) }, &[]);
        assert_eq!(kbit(&long, 11), [121_875, 243_750]);
    }

    fn micros(phy: &Phy, mcs: u8, streams: usize, bytes: u32) -> f64 {
        let mode = phy.modes.iter().filter(|mode| mode.mcs == Some(mcs)).nth(streams - 1).unwrap();
        mode.airtime(bytes).as_nanos() as f64 / 1000.0
    }

    #[test]
    fn very_high_throughput_frames_last_whole_symbols_behind_40_us() {
        let ac = phy(Standard::Ac, Width::Mhz80, 2, false);
        // One stream of MCS 9: `22 + 12,304 = 12,326` bits are 8 symbols of 1560. Two of 3120 have two encoders: `28 +
        // 12,304` are 4.
        assert_eq!(micros(&ac, 9, 1, 1538), 40.0 + 8.0 * 4.0);
        assert_eq!(micros(&ac, 9, 2, 1538), 44.0 + 4.0 * 4.0);
        // `28 + 8 * 386 = 3116`; 4 bytes more are 3148 bits and a symbol more.
        assert_eq!([386, 390].map(|bytes| micros(&ac, 9, 2, bytes)), [48.0, 52.0]);
        // Short symbols: 8 take 28.8 us, in units of 4 us 32.
        assert_eq!(micros(&phy(Standard::Ac, Width::Mhz80, 2, true), 9, 1, 1538), 40.0 + 32.0);
        // Three streams take four training fields.
        assert_eq!(micros(&phy(Standard::Ac, Width::Mhz40, 3, false), 0, 3, 1), 52.0 + 4.0);
    }

    #[test]
    fn four_streams_at_160_mhz_have_six_encoders_where_five_would_not_divide_their_bits() {
        let ac = phy(Standard::Ac, Width::Mhz160, 4, false);
        // MCS 7: `16 + 6 * 6 + 8 * 1163 = 9356` of 9360 bits. MCS 5 of 7488 has 4: `16 + 24 + 8 * 931 = 7488`.
        assert_eq!([1163, 1164].map(|bytes| micros(&ac, 7, 4, bytes)), [56.0, 60.0]);
        assert_eq!([931, 932].map(|bytes| micros(&ac, 5, 4, bytes)), [56.0, 60.0]);
    }

    #[test]
    fn high_efficiency_frames_have_long_symbols_and_no_tail() {
        let ax = phy(Standard::Ax, Width::Mhz80, 2, false);
        // MCS 11 with two streams: 16,333 bits in 13.6 us, behind `36 + 2 * 7.2 us`. `16 + 8 * 2039 = 16,328`.
        assert_eq!(micros(&ax, 11, 2, 2039), 50.4 + 13.6);
        assert_eq!(micros(&ax, 11, 2, 2040), 50.4 + 27.2);
        assert_eq!(micros(&ax, 0, 1, 1538), 396.8);
        let long = Phy::new(&PhySettings { guard: Guard::Long, streams: 1, ..PhySettings::of(Standard::Ax) }, &[]);
        assert_eq!(micros(&long, 11, 1, 1), 52.0 + 16.0);
    }

    #[test]
    fn dense_frames_are_answered_as_54_mbit_and_a_bitmap_of_256_takes_a_symbol_more() {
        let ac = phy(Standard::Ac, Width::Mhz80, 1, false);
        let ax = phy(Standard::Ax, Width::Mhz80, 1, false);
        assert_eq!(ac.response(ac.fastest()).kbit, 24_000);
        // `22 + 256` bits are 3 symbols of 96, `22 + 448` are 5.
        assert_eq!([ac.block_ack(ac.fastest()), ax.block_ack(ax.fastest())], [32, 40].map(Span::from_micros));
        assert_eq!((ax.slot, ax.sifs, ax.cw_min), (Span::from_micros(9), Span::from_micros(16), 15));
        assert!(ac.has_basic(6000) && !ac.has_basic(433_334));
    }
}
