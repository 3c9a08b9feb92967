//! The physical layers of IEEE 802.11 as far as time is concerned: rates, lengths of frames on the air, slots and
//! interframe spaces.
//!
//! Clause numbers refer to IEEE 802.11-2012: DSSS (16), OFDM (18), high-rate DSSS with CCK (17), ERP (19), HT (20). VHT
//! and HE are in [`wide`].

mod wide;

use serde::{Deserialize, Serialize};
use units::{Rate, Span};

/// An amendment of IEEE 802.11, which names a physical layer with its usual parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub enum Standard {
    /// OFDM at 5 GHz, 6 to 54 Mbit/s.
    #[serde(rename = "802.11a")]
    A,
    /// DSSS and CCK at 2.4 GHz, 1 to 11 Mbit/s.
    #[serde(rename = "802.11b")]
    B,
    /// OFDM at 2.4 GHz, 6 to 54 Mbit/s (ERP-OFDM).
    #[default]
    #[serde(rename = "802.11g")]
    G,
    /// High throughput (HT), with A-MPDUs and block ACKs.
    #[serde(rename = "802.11n")]
    N,
    /// Very high throughput (VHT) at 5 GHz: channels up to 160 MHz, 256-QAM.
    #[serde(rename = "802.11ac")]
    Ac,
    /// High efficiency (HE) at 5 GHz: four times as many subcarriers, 1024-QAM. Frames to one station each (no OFDMA).
    #[serde(rename = "802.11ax")]
    Ax,
}

impl Standard {
    /// True if its data frames go in A-MPDUs: 802.11n and later.
    pub const fn aggregates(self) -> bool {
        matches!(self, Self::N | Self::Ac | Self::Ax)
    }
}

/// The width of a channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
pub enum Width {
    /// The one of every standard.
    #[default]
    #[serde(rename = "20MHz")]
    Mhz20,
    /// 802.11n and later.
    #[serde(rename = "40MHz")]
    Mhz40,
    /// 802.11ac and ax.
    #[serde(rename = "80MHz")]
    Mhz80,
    /// 802.11ac and ax.
    #[serde(rename = "160MHz")]
    Mhz160,
}

/// The guard interval of 802.11ax.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub enum Guard {
    /// 0.8 us, with training fields of 7.2 us (2x HE-LTF).
    #[default]
    #[serde(rename = "0.8us")]
    Short,
    /// 1.6 us, with training fields of 8 us (2x HE-LTF).
    #[serde(rename = "1.6us")]
    Medium,
    /// 3.2 us, with training fields of 16 us (4x HE-LTF).
    #[serde(rename = "3.2us")]
    Long,
}

/// How bits become a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Modulation {
    /// Direct sequence spread spectrum, and complementary code keying: 1, 2, 5.5 and 11 Mbit/s.
    Dsss,
    /// Orthogonal frequency division multiplexing: 6 to 54 Mbit/s.
    Ofdm,
    /// High throughput OFDM, with several spatial streams.
    Ht,
    /// Very high throughput OFDM.
    Vht,
    /// High efficiency OFDM.
    He,
}

impl Modulation {
    /// True if its frames go in A-MPDUs and are answered by OFDM: HT, VHT and HE.
    pub const fn aggregates(self) -> bool {
        matches!(self, Self::Ht | Self::Vht | Self::He)
    }
}

/// A rate at which frames are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mode {
    /// How bits become a signal.
    pub modulation: Modulation,
    /// Thousands of bits per second.
    pub kbit: u32,
    /// Bits on a subcarrier of OFDM: 1 (BPSK), 2 (QPSK), 4 (16-QAM), 6 (64-QAM), 8 or 10, and 0 for DSSS.
    pub bits_on_subcarrier: u8,
    /// The convolutional code: of so many coded bits ...
    pub coded: u8,
    /// ... so many are data.
    pub data: u8,
    /// Index of the modulation and coding scheme. In HT it also gives the number of streams.
    pub mcs: Option<u8>,
    /// Preamble and header.
    preamble: Span,
    /// Preamble, header and signal extension.
    fixed: Span,
    /// SERVICE and tail bits.
    service_bits: u32,
    /// Twice the data bits of a symbol, as 5.5 Mbit/s has halves.
    half_bits: u32,
    /// Length of a symbol.
    symbol: Span,
}

impl Mode {
    /// How long a frame of `bytes` (MAC header and FCS included) is on the air (TXTIME).
    #[inline]
    pub fn airtime(&self, bytes: u32) -> Span {
        let symbols = (2 * (self.service_bits + 8 * bytes)).div_ceil(self.half_bits);
        let nanos = u64::from(symbols) * self.symbol.as_nanos();
        let whole = if self.symbol.as_nanos() == SHORT_SYMBOL { nanos.div_ceil(SYMBOL) * SYMBOL } else { nanos };
        self.fixed + Span::from_nanos(whole)
    }

    /// How many bytes at most are on the air for no longer than `time`.
    pub(crate) fn most_bytes(&self, time: Span) -> u32 {
        let nanos = time.saturating_sub(self.fixed).as_nanos();
        let whole = if self.symbol.as_nanos() == SHORT_SYMBOL { nanos / SYMBOL * SYMBOL } else { nanos };
        let bits = whole / self.symbol.as_nanos() * u64::from(self.half_bits) / 2;
        u32::try_from(bits.saturating_sub(u64::from(self.service_bits)) / 8).unwrap_or(u32::MAX)
    }

    /// The time before the first bit of data.
    pub fn preamble(&self) -> Span {
        self.preamble
    }

    /// Its rate.
    pub fn rate(&self) -> Rate {
        Rate::from_bits_per_second(u64::from(self.kbit) * 1000)
    }
}

const SYMBOL: u64 = 4000;
const SHORT_SYMBOL: u64 = 3600;

/// Of OFDM: kbit/s, data bits of a symbol, bits on a subcarrier, coded and data bits of the code (table 18-4).
const OFDM: [(u32, u32, u8, u8, u8); 8] = [
    (6000, 24, 1, 2, 1),
    (9000, 36, 1, 4, 3),
    (12_000, 48, 2, 2, 1),
    (18_000, 72, 2, 4, 3),
    (24_000, 96, 4, 2, 1),
    (36_000, 144, 4, 4, 3),
    (48_000, 192, 6, 3, 2),
    (54_000, 216, 6, 4, 3),
];

/// HT with one stream: data bits of a symbol at 20 and 40 MHz, bits on a subcarrier, the code (tables 20-30, 20-34).
const HT: [(u32, u32, u8, u8, u8); 8] = [
    (26, 54, 1, 2, 1),
    (52, 108, 2, 2, 1),
    (78, 162, 2, 4, 3),
    (104, 216, 4, 2, 1),
    (156, 324, 4, 4, 3),
    (208, 432, 6, 3, 2),
    (234, 486, 6, 4, 3),
    (260, 540, 6, 6, 5),
];

/// The options of a physical layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhySettings {
    /// The amendment.
    pub standard: Standard,
    /// Stations of 802.11b are near: slots are long, and OFDM frames follow a CTS that their sender sends to itself at
    /// a DSSS rate. Only 802.11g and 802.11n at 2.4 GHz.
    pub protection: bool,
    /// DSSS frames have the short preamble.
    pub short_preamble: bool,
    /// HT at 2.4 GHz, and not at 5 GHz.
    pub low_band: bool,
    /// The channel.
    pub width: Width,
    /// HT and VHT with the short guard interval.
    pub short_guard: bool,
    /// The guard interval of HE.
    pub guard: Guard,
    /// Spatial streams of HT, VHT and HE, 1 to 4.
    pub streams: u8,
}

impl PhySettings {
    /// The settings of `standard` in a home of its own.
    pub const fn of(standard: Standard) -> Self {
        Self {
            standard,
            protection: false,
            short_preamble: false,
            low_band: false,
            width: Width::Mhz20,
            short_guard: false,
            guard: Guard::Short,
            streams: 2,
        }
    }
}

impl PhySettings {
    /// The width of the channel.
    pub(crate) fn megahertz(&self) -> f64 {
        match (self.standard, self.width) {
            (Standard::B, _) => 22.0,
            (Standard::A | Standard::G, _) | (_, Width::Mhz20) => 20.0,
            (_, Width::Mhz40) => 40.0,
            (_, Width::Mhz80) => 80.0,
            (_, Width::Mhz160) => 160.0,
        }
    }
}

/// A physical layer with its timing.
#[derive(Clone, Debug, PartialEq)]
pub struct Phy {
    /// Length of a slot.
    pub slot: Span,
    /// Short interframe space.
    pub sifs: Span,
    /// Smallest contention window.
    pub cw_min: u32,
    /// Largest contention window.
    pub cw_max: u32,
    /// All rates. Data uses rates from `first` on.
    pub modes: Vec<Mode>,
    /// The first rate for data frames.
    pub first: u8,
    /// For each rate, the rate of the response to it.
    responses: Vec<u8>,
    /// The lowest basic rate.
    lowest: u8,
    /// At which rate protection is sent.
    protection: Option<u8>,
}

/// Bytes of an ACK or a CTS, of an RTS, and of a compressed block ACK (clauses 8.3.1 and 8.3.1.9.3).
const ACK: u32 = 14;
const RTS: u32 = 20;
const BLOCK_ACK: u32 = 32;
/// Bytes of a block ACK whose bitmap has 256 bits in place of 64 (802.11ax).
const BLOCK_ACK_256: u32 = BLOCK_ACK + 24;

/// The smallest contention window of DSSS.
pub(crate) const DSSS_CW_MIN: u32 = 31;

impl Phy {
    /// The physical layer of `settings`, whose responses are sent at the highest of the `basic` rates (kbit/s) that is
    /// not above the rate of the frame they answer. Without `basic`, these are 1, 2, 5.5 and 11 or 6, 12 and 24 Mbit/s.
    pub fn new(settings: &PhySettings, basic: &[u32]) -> Self {
        let micros = Span::from_micros;
        let low = match settings.standard {
            Standard::A | Standard::Ac | Standard::Ax => false,
            Standard::B | Standard::G => true,
            Standard::N => settings.low_band,
        };
        let extension = if low { micros(6) } else { Span::ZERO };
        let has_dsss = settings.standard == Standard::B || settings.protection;
        let mut modes = Vec::new();
        if has_dsss {
            modes.extend([1000, 2000, 5500, 11_000].map(|kbit| dsss(kbit, settings.short_preamble)));
        }
        let mut first = 0;
        if settings.standard != Standard::B {
            // In a mixed network data may go at DSSS rates too, but these stations use them only for protection.
            first = modes.len() as u8;
            modes.extend(OFDM.map(|row| ofdm(row, extension)));
        }
        if settings.standard.aggregates() {
            first = modes.len() as u8;
        }
        match settings.standard {
            Standard::N => modes.extend((0..8 * settings.streams).map(|mcs| ht(mcs, settings, extension))),
            Standard::Ac => modes.extend(wide::vht(settings)),
            Standard::Ax => modes.extend(wide::he(settings)),
            Standard::A | Standard::B | Standard::G => {}
        }
        let long_slot = settings.standard == Standard::B || settings.protection;
        let sifs = if low { micros(10) } else { micros(16) };
        let mut phy = Self {
            slot: if long_slot { micros(20) } else { micros(9) },
            sifs,
            cw_min: if settings.standard == Standard::B { DSSS_CW_MIN } else { 15 },
            cw_max: 1023,
            first,
            responses: Vec::new(),
            lowest: 0,
            protection: None,
            modes,
        };
        phy.responses = (0..phy.modes.len()).map(|mode| phy.response_to(&phy.modes[mode], basic)).collect();
        let is_basic = |mode: &&Mode| basic.is_empty() || basic.contains(&mode.kbit);
        let lowest = phy.modes.iter().filter(is_basic).min_by_key(|mode| mode.kbit).map(|mode| mode.kbit);
        phy.lowest = phy.modes.iter().position(|mode| Some(mode.kbit) == lowest).unwrap_or(0) as u8;
        if settings.protection {
            let at =
                |mode: &Mode| mode.modulation == Modulation::Dsss && (basic.is_empty() || basic.contains(&mode.kbit));
            phy.protection = phy.modes.iter().rposition(at).map(|mode| mode as u8);
        }
        phy
    }

    /// The rate of the response to a frame at `mode`: the highest basic rate of its kind that is not above it, or else
    /// the highest mandatory one (clause 9.7.6.5.2). HT and later frames are answered by OFDM.
    fn response_to(&self, mode: &Mode, basic: &[u32]) -> u8 {
        let aggregates = mode.modulation.aggregates();
        let kind = if aggregates { Modulation::Ofdm } else { mode.modulation };
        // A frame of HT and later counts as the OFDM rate of the same modulation and code (table 9-5).
        let limit = if aggregates {
            OFDM.iter().filter(|row| is_no_denser(row, mode)).map(|row| row.0).max().unwrap_or(6000)
        } else {
            mode.kbit
        };
        let mandatory = [1000, 2000, 5500, 11_000, 6000, 12_000, 24_000];
        let best = |rates: &[u32]| {
            let modes = self.modes.iter().enumerate();
            let fits = modes.filter(|(_, m)| m.modulation == kind && m.kbit <= limit && rates.contains(&m.kbit));
            fits.max_by_key(|(_, m)| m.kbit).map(|(index, _)| index as u8)
        };
        best(basic).or_else(|| best(&mandatory)).unwrap_or(0)
    }

    /// The rate of the response to a frame at rate `mode`.
    pub fn response(&self, mode: u8) -> &Mode {
        &self.modes[usize::from(self.responses[usize::from(mode)])]
    }

    /// How long the ACK of a frame at rate `mode` takes.
    pub fn ack(&self, mode: u8) -> Span {
        self.response(mode).airtime(ACK)
    }

    /// How long the block ACK of an A-MPDU at rate `mode` takes. HE has a bitmap for 256 frames.
    pub fn block_ack(&self, mode: u8) -> Span {
        let he = self.modes[usize::from(mode)].modulation == Modulation::He;
        self.response(mode).airtime(if he { BLOCK_ACK_256 } else { BLOCK_ACK })
    }

    /// How long the RTS before a frame at rate `mode` takes, and the CTS that answers it.
    pub fn rts_cts(&self, mode: u8) -> (Span, Span) {
        let control = self.response(mode);
        (control.airtime(RTS), control.airtime(ACK))
    }

    /// How long the CTS takes that a station sends to itself before OFDM frames, where stations of 802.11b are near.
    pub fn cts_to_self(&self, mode: u8) -> Option<Span> {
        let dsss = self.modes[usize::from(mode)].modulation == Modulation::Dsss;
        self.protection.filter(|_| !dsss).map(|rate| self.modes[usize::from(rate)].airtime(ACK))
    }

    /// How long a sender waits for the response to a frame at rate `mode` to begin: SIFS, a slot, and the preamble by
    /// which it would notice it (ACKTimeout, clause 9.3.2.8). The aPHY-RX-START-Delay is 20 us of OFDM at 2.4 GHz too.
    pub fn response_timeout(&self, mode: u8) -> Span {
        self.sifs + self.slot + self.response(mode).preamble()
    }

    /// DCF interframe space.
    pub fn difs(&self) -> Span {
        self.sifs + self.slot * 2
    }

    /// How long a beacon of `bytes` takes: at the lowest basic rate.
    pub fn beacon(&self, bytes: u32) -> Span {
        self.modes[usize::from(self.lowest)].airtime(bytes)
    }

    /// The excess of EIFS over DIFS: SIFS and an ACK at the lowest basic rate, or at `kbit` (clause 9.3.7).
    pub fn eifs_excess(&self, kbit: Option<u32>) -> Span {
        let lowest = &self.modes[usize::from(self.lowest)];
        let mode = match kbit {
            Some(kbit) if kbit < 6000 => &dsss(kbit, false),
            Some(kbit) => self.modes.iter().find(|mode| mode.kbit == kbit).unwrap_or(lowest),
            None => lowest,
        };
        self.sifs + mode.airtime(ACK)
    }

    /// True if `kbit` can be a basic rate: one of DSSS or OFDM that this physical layer has.
    pub fn has_basic(&self, kbit: u32) -> bool {
        self.modes.iter().any(|mode| mode.kbit == kbit && !mode.modulation.aggregates())
    }

    /// The fastest rate for data.
    pub fn fastest(&self) -> u8 {
        self.fastest_for(false)
    }

    /// The fastest rate for data, of a station of 802.11b in a mixed network where `dsss`.
    pub fn fastest_for(&self, dsss: bool) -> u8 {
        self.data_modes_for(dsss).max_by_key(|mode| self.modes[usize::from(*mode)].kbit).unwrap_or(0)
    }

    /// The rates for data by number, of a station of 802.11b in a mixed network where `dsss`.
    pub fn data_modes_for(&self, dsss: bool) -> impl Iterator<Item = u8> {
        if dsss && self.first > 0 { 0..self.first } else { self.first..self.modes.len() as u8 }
    }
}

/// True if an OFDM rate needs no better signal than the modulation and code of `mode`.
fn is_no_denser(row: &(u32, u32, u8, u8, u8), mode: &Mode) -> bool {
    let &(_, _, bits, coded, data) = row;
    let weaker = u32::from(data) * u32::from(mode.coded) <= u32::from(mode.data) * u32::from(coded);
    bits < mode.bits_on_subcarrier || bits == mode.bits_on_subcarrier && weaker
}

/// Preamble and header last 192 us, or 96 us if short. The frame lasts a whole number of microseconds (clause
/// 17.2.3.4).
fn dsss(kbit: u32, short: bool) -> Mode {
    // The lowest rate always has the long one.
    let preamble = if short && kbit > 1000 { 96 } else { 192 };
    Mode {
        modulation: Modulation::Dsss,
        kbit,
        bits_on_subcarrier: 0,
        coded: 1,
        data: 1,
        mcs: None,
        preamble: Span::from_micros(preamble),
        fixed: Span::from_micros(preamble),
        service_bits: 0,
        half_bits: kbit / 500,
        symbol: Span::from_micros(1),
    }
}

/// A preamble of 16 us, the SIGNAL field of 4 us, and at 2.4 GHz an extension of 6 us (clauses 18.4.3 and 19.8.3).
fn ofdm((kbit, bits, bits_on_subcarrier, coded, data): (u32, u32, u8, u8, u8), extension: Span) -> Mode {
    Mode {
        modulation: Modulation::Ofdm,
        kbit,
        bits_on_subcarrier,
        coded,
        data,
        mcs: None,
        preamble: Span::from_micros(20),
        fixed: Span::from_micros(20) + extension,
        service_bits: 22,
        half_bits: 2 * bits,
        symbol: Span::from_nanos(SYMBOL),
    }
}

/// The mixed format: the preamble of OFDM (20 us), HT-SIG (8 us), HT-STF (4 us), an HT-LTF of 4 us for each stream, of
/// which three take four (clauses 20.3.7 and 20.4.3).
fn ht(mcs: u8, settings: &PhySettings, extension: Span) -> Mode {
    let (narrow, wide, bits_on_subcarrier, coded, data) = HT[usize::from(mcs % 8)];
    let streams = u32::from(mcs / 8 + 1);
    let bits = streams * if settings.width == Width::Mhz20 { narrow } else { wide };
    let symbol = if settings.short_guard { SHORT_SYMBOL } else { SYMBOL };
    let kbit = (u64::from(bits) * 1_000_000).div_ceil(symbol) as u32;
    let training = if streams == 3 { 4 } else { streams };
    let preamble = Span::from_micros(u64::from(32 + 4 * training));
    // Above 300 Mbit/s there are two encoders, with a tail each.
    let encoders = if kbit > 300_000 { 2 } else { 1 };
    Mode {
        modulation: Modulation::Ht,
        kbit,
        bits_on_subcarrier,
        coded,
        data,
        mcs: Some(mcs),
        preamble,
        fixed: preamble + extension,
        service_bits: 16 + 6 * encoders,
        half_bits: 2 * bits,
        symbol: Span::from_nanos(symbol),
    }
}

#[cfg(test)]
mod tests;
