//! Times on the air of single frames, worked out by hand from the clauses of IEEE 802.11.

use super::*;

fn phy(standard: Standard) -> Phy {
    Phy::new(&PhySettings::of(standard), &[])
}

fn mode(phy: &Phy, kbit: u32) -> u8 {
    phy.modes.iter().position(|mode| mode.kbit == kbit).unwrap() as u8
}

fn micros(phy: &Phy, kbit: u32, bytes: u32) -> f64 {
    phy.modes[usize::from(mode(phy, kbit))].airtime(bytes).as_nanos() as f64 / 1000.0
}

#[test]
fn ofdm_frames_last_whole_symbols() {
    let a = phy(Standard::A);
    // `22 + 8 * 1536 = 12,310 bits`: 57 symbols of 216 bits, 513 of 24 (12,312).
    assert_eq!(micros(&a, 54_000, 1536), 20.0 + 57.0 * 4.0);
    assert_eq!(micros(&a, 6000, 1536), 20.0 + 513.0 * 4.0);
    // `22 + 112 = 134 bits`: 6 symbols of 24 bits, 2 of 96.
    assert_eq!(micros(&a, 6000, ACK), 44.0);
    assert_eq!(micros(&a, 24_000, ACK), 28.0);
    assert_eq!((a.slot, a.sifs, a.difs()), (Span::from_micros(9), Span::from_micros(16), Span::from_micros(34)));
    assert_eq!((a.cw_min, a.cw_max), (15, 1023));
    // `16 + 44`.
    assert_eq!(a.eifs_excess(None), Span::from_micros(60));
}

#[test]
fn at_2_4_ghz_a_signal_extension_follows() {
    let g = phy(Standard::G);
    assert_eq!(micros(&g, 54_000, 1536), 26.0 + 228.0);
    assert_eq!((g.slot, g.sifs, g.difs()), (Span::from_micros(9), Span::from_micros(10), Span::from_micros(28)));
    // It comes after a frame: an ACK is noticed by its preamble, `10 + 9 + 20 us` after the data.
    assert_eq!(g.response_timeout(mode(&g, 54_000)), Span::from_micros(39));
    // `10 + 304` with an ACK at 1 Mbit/s: `192 + 112`.
    assert_eq!(g.eifs_excess(Some(1000)), Span::from_micros(314));
}

#[test]
fn dsss_frames_have_a_preamble_of_192_or_96_us() {
    let b = phy(Standard::B);
    // `8 * 1536 / 11 = 1117.09`, `8 * 1536 / 5.5 = 2234.18`.
    assert_eq!(micros(&b, 11_000, 1536), 192.0 + 1118.0);
    assert_eq!(micros(&b, 5500, 1536), 192.0 + 2235.0);
    assert_eq!(micros(&b, 1000, ACK), 304.0);
    let short = Phy::new(&PhySettings { short_preamble: true, ..PhySettings::of(Standard::B) }, &[]);
    assert_eq!(micros(&short, 11_000, 1536), 96.0 + 1118.0);
    assert_eq!(micros(&short, 1000, ACK), 304.0);
    assert_eq!((b.slot, b.difs(), b.cw_min), (Span::from_micros(20), Span::from_micros(50), 31));
}

#[test]
fn high_throughput_frames_have_longer_preambles_and_more_bits() {
    let n = phy(Standard::N);
    // MCS 7: 65 Mbit/s, 260 bits. `22 + 12,304 = 12,326 bits` are 48 symbols. One stream: 36 us before.
    assert_eq!(micros(&n, 65_000, 1538), 36.0 + 48.0 * 4.0);
    // MCS 15: two streams, 520 bits: 24 symbols after 40 us.
    assert_eq!(micros(&n, 130_000, 1538), 40.0 + 24.0 * 4.0);
    // MCS 7, 40 MHz, short guard interval: 540 bits in 3.6 us are 150 Mbit/s. 23 symbols take 82.8 us, so 84.
    let settings = PhySettings { width: Width::Mhz40, short_guard: true, streams: 4, ..PhySettings::of(Standard::N) };
    let wide = Phy::new(&settings, &[]);
    assert_eq!(micros(&wide, 150_000, 1538), 36.0 + 84.0);
    assert_eq!(wide.modes.last().unwrap().kbit, 600_000);
    assert_eq!(wide.modes.last().unwrap().mcs, Some(31));
}

#[test]
fn as_many_bytes_fit_into_a_time_as_take_no_longer() {
    let n = phy(Standard::N);
    // MCS 7: `5484 - 36 us` are 1362 symbols of 260 bits, less 22: 354,098 bits.
    let mcs7 = &n.modes[usize::from(mode(&n, 65_000))];
    assert_eq!(mcs7.most_bytes(Span::from_micros(5484)), 44_262);
    assert!(mcs7.airtime(44_262) <= Span::from_micros(5484) && mcs7.airtime(44_263) > Span::from_micros(5484));
    // Symbols of 3.6 us: 100 us are whole symbols of 4 us, of 27 short ones 26 us would be over. `27 * 540 - 22 bits`.
    let settings = PhySettings { width: Width::Mhz40, short_guard: true, streams: 1, ..PhySettings::of(Standard::N) };
    let short = Phy::new(&settings, &[]).modes.pop().unwrap();
    assert_eq!(short.most_bytes(Span::from_micros(136)), (27 * 540 - 22) / 8);
    assert!(short.airtime((27 * 540 - 22) / 8) <= Span::from_micros(136));
    assert_eq!(short.most_bytes(Span::from_micros(20)), 0);
}

#[test]
fn responses_take_the_highest_basic_rate_not_above() {
    let rate = |phy: &Phy, kbit| phy.response(mode(phy, kbit)).kbit;
    let a = phy(Standard::A);
    assert_eq!(
        [6000, 9000, 12_000, 18_000, 24_000, 54_000].map(|r| rate(&a, r)),
        [6000, 6000, 12_000, 12_000, 24_000, 24_000]
    );
    let low = Phy::new(&PhySettings::of(Standard::A), &[6000]);
    assert_eq!(rate(&low, 54_000), 6000);
    let b = phy(Standard::B);
    assert_eq!([1000, 11_000].map(|r| rate(&b, r)), [1000, 11_000]);
    // MCS 0 is BPSK 1/2 like 6 Mbit/s, MCS 7 is as dense as 54 Mbit/s.
    let n = phy(Standard::N);
    assert_eq!([6500, 65_000].map(|r| rate(&n, r)), [6000, 24_000]);
    // MCS 1 is QPSK 1/2 like 12 Mbit/s, which needs less of a signal than the 3/4 of 18 Mbit/s. MCS 2 has 3/4.
    let few = Phy::new(&PhySettings::of(Standard::N), &[6000, 18_000]);
    assert_eq!([13_000, 19_500].map(|r| rate(&few, r)), [6000, 18_000]);
}

#[test]
fn protection_sends_a_dsss_frame_before_ofdm_frames() {
    let mixed = Phy::new(&PhySettings { protection: true, ..PhySettings::of(Standard::G) }, &[]);
    // 14 bytes at 11 Mbit/s: `192 + 10.2 us`, rounded up.
    assert_eq!(mixed.cts_to_self(mode(&mixed, 54_000)), Some(Span::from_micros(203)));
    assert_eq!(mixed.cts_to_self(mode(&mixed, 11_000)), None);
    assert_eq!((mixed.slot, mixed.cw_min), (Span::from_micros(20), 15));
    assert_eq!(mixed.modes[usize::from(mixed.fastest())].kbit, 54_000);
    assert_eq!(phy(Standard::G).cts_to_self(0), None);
}

#[test]
fn rates_of_high_throughput_are_those_of_the_tables() {
    let rates = |settings: PhySettings| -> Vec<u32> {
        let phy = Phy::new(&PhySettings { streams: 1, ..settings }, &[]);
        phy.data_modes_for(false).map(|mode| phy.modes[usize::from(mode)].kbit).collect()
    };
    let n = PhySettings::of(Standard::N);
    // 26 to 260 bits in 4 us, and 54 to 540 in 3.6 us. 26 bits in 3.6 us are 7222.2 kbit/s.
    assert_eq!(rates(n), [6500, 13_000, 19_500, 26_000, 39_000, 52_000, 58_500, 65_000]);
    let short = PhySettings { short_guard: true, ..n };
    assert_eq!(rates(short)[..2], [7223, 14_445]);
    let wide = [15_000, 30_000, 45_000, 60_000, 90_000, 120_000, 135_000, 150_000];
    assert_eq!(rates(PhySettings { width: Width::Mhz40, ..short }), wide);
}

#[test]
fn streams_train_the_receiver_and_two_encoders_have_a_tail_each() {
    let settings = PhySettings { width: Width::Mhz40, short_guard: true, streams: 4, ..PhySettings::of(Standard::N) };
    let phy = Phy::new(&settings, &[]);
    let ht: Vec<&Mode> = phy.data_modes_for(false).map(|mode| &phy.modes[usize::from(mode)]).collect();
    // Of MCS 7, 15, 23 and 31: 32 us and 4 us for each stream, of which three take four.
    assert_eq!([7, 15, 23, 31].map(|mcs| ht[mcs].preamble()), [36, 40, 48, 48].map(Span::from_micros));
    assert_eq!([7, 15, 23, 31].map(|mcs| ht[mcs].kbit), [150_000, 300_000, 450_000, 600_000]);
    // One symbol of 1080 bits has `8 * 132 + 22`, one of 2160 not `8 * 267 + 28`: two take 7.2 us, so 8.
    assert_eq!(ht[15].airtime(132), Span::from_micros(40 + 4));
    assert_eq!(ht[31].airtime(267), Span::from_micros(48 + 8));
    assert_eq!(ht[31].airtime(266), Span::from_micros(48 + 4));
    assert_eq!(ht[7].rate(), Rate::from_mbit(150));
}

#[test]
fn high_throughput_is_answered_at_the_ofdm_rate_of_its_density() {
    let rates = |basic: &[u32]| -> Vec<u32> {
        let phy = Phy::new(&PhySettings { streams: 1, ..PhySettings::of(Standard::N) }, basic);
        phy.data_modes_for(false).map(|mode| phy.response(mode).kbit).collect()
    };
    assert_eq!(rates(&[]), [6000, 12_000, 12_000, 24_000, 24_000, 24_000, 24_000, 24_000]);
    let all: Vec<u32> = OFDM.iter().map(|row| row.0).collect();
    assert_eq!(rates(&all), [6000, 12_000, 18_000, 24_000, 36_000, 48_000, 54_000, 54_000]);
    // Where no basic rate is low enough the highest mandatory one is taken.
    assert_eq!(rates(&[54_000])[..3], [6000, 12_000, 12_000]);
}

#[test]
fn control_frames_last_as_long_as_their_rates_say() {
    let a = phy(Standard::A);
    // RTS: `22 + 160 bits` are 2 symbols at 24 Mbit/s and 8 at 6. Block ACK: `22 + 256` are 3 and 12.
    let spans = |rts, cts| (Span::from_micros(rts), Span::from_micros(cts));
    assert_eq!([54_000, 6000].map(|kbit| a.rts_cts(mode(&a, kbit))), [spans(28, 28), spans(52, 44)]);
    assert_eq!([54_000, 6000].map(|kbit| a.block_ack(mode(&a, kbit))), [32, 68].map(Span::from_micros));
    assert_eq!([54_000, 6000].map(|kbit| a.ack(mode(&a, kbit))), [28, 44].map(Span::from_micros));
    // 100 bytes: `22 + 800 bits` are 35 symbols at 6 Mbit/s and 18 at 12.
    assert_eq!(a.beacon(100), Span::from_micros(160));
    assert_eq!(Phy::new(&PhySettings::of(Standard::A), &[24_000, 12_000]).beacon(100), Span::from_micros(92));
}

#[test]
fn eifs_is_that_of_an_ack_at_the_given_rate() {
    let micros = |phy: &Phy, kbit| phy.eifs_excess(kbit).as_nanos() / 1000;
    let g = phy(Standard::G);
    // `10 + 26 + 24` at 6 Mbit/s, `10 + 26 + 8` at 24, and `10 + 192 + 56` at 2. An unknown rate is the lowest.
    assert_eq!([None, Some(6000), Some(24_000), Some(2000), Some(7000)].map(|k| micros(&g, k)), [60, 60, 44, 258, 60]);
    // `10 + 304`, and `16 + 28`.
    assert_eq!(micros(&phy(Standard::B), None), 314);
    assert_eq!(micros(&Phy::new(&PhySettings::of(Standard::A), &[24_000]), None), 44);
}

#[test]
fn protection_is_sent_at_the_highest_basic_rate_of_dsss() {
    let protected = |basic: &[u32]| {
        let phy = Phy::new(&PhySettings { protection: true, ..PhySettings::of(Standard::G) }, basic);
        phy.cts_to_self(mode(&phy, 54_000)).map(|cts| cts.as_nanos() / 1000)
    };
    // `192 + 112`, `192 + 56`; no DSSS rate is basic.
    assert_eq!(protected(&[1000, 6000]), Some(304));
    assert_eq!(protected(&[1000, 2000, 6000]), Some(248));
    assert_eq!(protected(&[6000]), None);
}

#[test]
fn data_go_at_the_rates_of_the_standard_or_of_an_old_station() {
    let mixed = Phy::new(&PhySettings { protection: true, ..PhySettings::of(Standard::G) }, &[]);
    let rates = |phy: &Phy, dsss| phy.data_modes_for(dsss).collect::<Vec<_>>();
    assert_eq!((rates(&mixed, true), rates(&mixed, false)), ((0..4).collect(), (4..12).collect()));
    assert_eq!((mixed.fastest_for(true), mixed.fastest_for(false), mixed.fastest()), (3, 11, 11));
    assert_eq!(rates(&phy(Standard::A), true), (0..8).collect::<Vec<_>>());
    let n = phy(Standard::N);
    assert_eq!((rates(&n, false), n.fastest()), ((8..24).collect(), 23));
    assert_eq!([1000, 6000].map(|kbit| mixed.has_basic(kbit)), [true, true]);
    assert_eq!([6000, 65_000, 1000].map(|kbit| n.has_basic(kbit)), [true, false, false]);
}

#[test]
fn bands_and_channels_differ_in_sifs_extension_and_width() {
    let of = PhySettings::of;
    let low = Phy::new(&PhySettings { low_band: true, ..of(Standard::N) }, &[]);
    let high = phy(Standard::N);
    assert_eq!((low.sifs, high.sifs), (Span::from_micros(10), Span::from_micros(16)));
    assert_eq!(micros(&low, 65_000, 1538) - micros(&high, 65_000, 1538), 6.0);
    assert_eq!((low.slot, low.cw_min), (Span::from_micros(9), 15));
    let wide = |standard| PhySettings { width: Width::Mhz40, ..of(standard) }.megahertz();
    assert_eq!(
        [Standard::A, Standard::B, Standard::G, Standard::N].map(|s| of(s).megahertz()),
        [20.0, 22.0, 20.0, 20.0]
    );
    assert_eq!([Standard::A, Standard::B, Standard::N].map(wide), [20.0, 22.0, 40.0]);
    // A short preamble of DSSS is noticed sooner, except at the lowest rate.
    let b = Phy::new(&PhySettings { short_preamble: true, ..of(Standard::B) }, &[]);
    assert_eq!([0, 3].map(|mode| b.response_timeout(mode).as_nanos() / 1000), [10 + 20 + 192, 10 + 20 + 96]);
}
