//! Statistics of stations of a wireless medium: counters, the rows they make, and the table of frames.

use units::{Span, Time, counters};

use crate::table::{Column, columns};

counters! {
    /// A station's transmissions since the start of the run.
    pub struct StationCounters {
        /// Frames or A-MPDUs sent, each attempt counted.
        pub attempts: u64,
        /// Attempts at frames that were sent before, in part at least.
        pub retries: u64,
        /// Attempts while another station sent too.
        pub collisions: u64,
        /// Attempts that nobody else disturbed, and that were not understood.
        pub errors: u64,
        /// Frames sent, each attempt and each frame of an A-MPDU counted.
        pub sent_frames: u64,
        /// Frames acknowledged.
        pub acknowledged_frames: u64,
        /// Packets dropped at the retry limit.
        pub dropped_frames: u64,
        /// How long its exchanges took the medium.
        pub airtime: Span,
        /// The rates of the attempts, in kbit/s, added up.
        pub rates: u64,
    }
}

columns! {
    /// The transmissions of a station of a wireless medium over the measured interval.
    row StationRow;
    /// Rows of stations.
    columns StationColumns;
    /// Row of its queue in `links`; a station has one for each access category.
    link: u32 => U32;
    /// Name of the station, or of its queue.
    name: String => Str;
    /// Name of the wireless network.
    wlan: String => Str;
    /// True for the access point.
    is_access_point: bool => Bool;
    /// Frames or A-MPDUs sent, each attempt counted.
    attempts: u64 => U64;
    /// Attempts at frames that were sent before, in part at least.
    retries: u64 => U64;
    /// Attempts while another station sent too.
    collisions: u64 => U64;
    /// Attempts that no other station disturbed, and that were not understood; also an RTS that its receiver was not
    /// free to answer.
    errors: u64 => U64;
    /// Frames sent, each attempt and each frame of an A-MPDU counted.
    sent_frames: u64 => U64 in "frames";
    /// Frames acknowledged.
    acknowledged_frames: u64 => U64 in "frames";
    /// Packets dropped at the retry limit (`lost_packets` in `links`).
    dropped_frames: u64 => U64 in "frames";
    /// How long its exchanges took the medium: of acknowledged ones from the first bit to the end of the ACK. Those of
    /// hidden stations overlap.
    airtime_s: f64 => F64 in "s";
    /// The same as a share of the interval.
    airtime_share: f64 => F64;
    /// Mean rate of the attempts; null without any.
    rate_mean_bps: f64 => NullableF64 in "bit/s";
}

impl StationRow {
    pub(crate) fn columns(rows: Vec<Self>) -> Vec<Column> {
        let mut columns = StationColumns::default();
        rows.into_iter().for_each(|row| columns.push(row));
        columns.into_columns()
    }
}

/// The description of a station, for its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StationDescription<'a> {
    /// Index of its queue among the links.
    pub link: u32,
    /// Its name.
    pub name: &'a str,
    /// The name of its network.
    pub wlan: &'a str,
    /// True for the access point.
    pub is_access_point: bool,
}

/// Measures one station.
#[derive(Clone, Debug, Default)]
pub struct StationMeter {
    /// Counts of the engine since the start of the run.
    pub counters: StationCounters,
    base: StationCounters,
    from: Time,
}

impl StationMeter {
    /// The measured interval starts at `at`.
    pub fn restart(&mut self, at: Time) {
        self.base = self.counters;
        self.from = at;
    }

    /// The statistics of the interval that ends at `at`.
    pub fn finish(&self, at: Time, described: StationDescription<'_>) -> StationRow {
        let counted = self.counters - self.base;
        let (airtime, interval) = (counted.airtime.as_secs_f64(), at.since(self.from).as_secs_f64());
        StationRow {
            link: described.link,
            name: described.name.to_owned(),
            wlan: described.wlan.to_owned(),
            is_access_point: described.is_access_point,
            attempts: counted.attempts,
            retries: counted.retries,
            collisions: counted.collisions,
            errors: counted.errors,
            sent_frames: counted.sent_frames,
            acknowledged_frames: counted.acknowledged_frames,
            dropped_frames: counted.dropped_frames,
            airtime_s: airtime,
            airtime_share: if interval > 0.0 { airtime / interval } else { 0.0 },
            rate_mean_bps: counted.rates as f64 * 1e3 / counted.attempts as f64,
        }
    }
}

/// The outcome of a frame on the air.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum FrameFate {
    /// It was acknowledged. Of an A-MPDU at least one frame was.
    Acknowledged,
    /// Nobody else sent, and its receiver did not understand it.
    Error,
    /// Another station sent too.
    Collision,
}

impl FrameFate {
    /// The names in tables, in the order of the variants.
    pub const NAMES: [&str; 3] = ["acknowledged", "error", "collision"];
}

columns! {
    /// A frame, or an A-MPDU, that was sent over a wireless medium.
    row FrameRow;
    /// Frames, in the order of time.
    pub columns Frames;
    /// When its first bit was sent, or that of the RTS or CTS before it.
    time_s: f64 => F64 in "s";
    /// Row of the queue that it came from, in `links`.
    link: u32 => U32;
    /// The station it was for: 0 is the access point, then come the stations in their order.
    to: u32 => U32;
    /// Its rate.
    rate_bps: f64 => F64 in "bit/s";
    /// Bytes, MAC header and FCS included.
    bytes: u32 => U32 in "bytes";
    /// Frames in it.
    frames: u32 => U32 in "frames";
    /// Frames in it that were acknowledged.
    acknowledged: u32 => U32 in "frames";
    /// It was sent before, in part at least.
    is_retry: bool => Bool;
    /// An RTS went before it.
    has_rts: bool => Bool;
    /// The outcome of the frame: `acknowledged`, `error` or `collision`.
    fate: FrameFate => Dict;
    /// How long its exchange took the medium.
    airtime_us: f64 => F64 in "us";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_counts_only_the_measured_interval() {
        let mut meter = StationMeter::default();
        meter.counters.attempts = 5;
        meter.counters.airtime = Span::from_millis(7);
        meter.restart(Time::ZERO + Span::from_secs(1));
        // Two attempts at 54 Mbit/s and one at 24: 44 Mbit/s on average.
        meter.counters.attempts += 3;
        meter.counters.rates += 54_000 + 54_000 + 24_000;
        meter.counters.airtime += Span::from_millis(500);
        let described = StationDescription { link: 2, name: "phone", wlan: "home", is_access_point: false };
        let row = meter.finish(Time::ZERO + Span::from_secs(3), described);
        assert_eq!((row.attempts, row.rate_mean_bps), (3, 44e6));
        assert_eq!((row.airtime_s, row.airtime_share), (0.5, 0.25));
        assert_eq!((row.link, row.name.as_str(), row.wlan.as_str()), (2, "phone", "home"));
    }

    #[test]
    fn every_counter_is_that_of_the_interval() {
        let of = |n: u32| StationCounters {
            attempts: (10 * n).into(),
            retries: (9 * n).into(),
            collisions: (8 * n).into(),
            errors: (7 * n).into(),
            sent_frames: (6 * n).into(),
            acknowledged_frames: (5 * n).into(),
            dropped_frames: (4 * n).into(),
            airtime: Span::from_millis((3 * n).into()),
            rates: (2 * n).into(),
        };
        // Five less two.
        assert_eq!(format!("{:?}", of(5) - of(2)), format!("{:?}", of(3)));
    }
}
