//! Feedback on packets (RFC 8888): the arrival time and the ECN mark of each.

use units::packet::{IP_HEADER, UDP_HEADER};
use units::{Bytes, Span, Time};

/// A packet that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Its number among all packets of the flow.
    pub sequence: u64,
    /// When it arrived.
    pub at: Time,
    /// It arrived with a congestion mark.
    pub marked: bool,
}

/// One report: the packets that arrived since the report before the last one, so that a single report may get lost.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MediaReport {
    /// In the order of their arrival.
    pub arrivals: Vec<Arrival>,
    /// How long before the report left the last of them arrived.
    pub kept: Span,
    /// A key frame is asked for: the number of the newest frame that was seen (RFC 4585, section 6.3.1).
    pub key_request: Option<u32>,
}

impl MediaReport {
    /// IP size: with the RTCP header, both SSRCs, the range of numbers and the timestamp 20 bytes, and two for each
    /// number in the range, in words of four (RFC 8888, section 3.1). The request for a key frame takes 12.
    pub(crate) fn wire_size(&self) -> Bytes {
        let numbers = || self.arrivals.iter().map(|arrival| arrival.sequence);
        let range = numbers().max().zip(numbers().min()).map_or(0, |(last, first)| last - first + 1);
        let request = if self.key_request.is_some() { 12 } else { 0 };
        IP_HEADER + UDP_HEADER + Bytes::new(20 + 4 * range.div_ceil(2) + request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_counts_the_numbers_between_the_first_and_the_last() {
        let arrival = |sequence| Arrival { sequence, at: Time::ZERO, marked: false };
        let mut report = MediaReport { arrivals: [7, 4, 9].map(arrival).to_vec(), ..MediaReport::default() };
        // Six numbers of two bytes, 20 bytes of RTCP, 28 of IP and UDP.
        assert_eq!(report.wire_size(), Bytes::new(60));
        report.arrivals.push(arrival(10));
        report.key_request = Some(3);
        assert_eq!(report.wire_size(), Bytes::new(76));
    }
}
