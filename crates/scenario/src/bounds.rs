//! The bounds of the keys of flows and wireless networks. Queues, options of TCP and media declare theirs beside the
//! key, and each quantity has bounds of its own.

use units::{Bytes, Span, packet};

use crate::draw::MOST_FLOWS;
use crate::language::{Flow, SnoopAgent, Subflow};
use crate::wlan::{MOST_STATIONS, Station, Wlan};

/// No frame is sent more often (dot11ShortRetryLimit and dot11LongRetryLimit).
const MOST_ATTEMPTS: u32 = 255;

units::bounds! {
    SnoopAgent {
        timeout_min: Span = Span::ZERO, Span::LONGEST_WAIT;
    }
}

units::bounds! {
    Flow {
        count: u32 = 1, MOST_FLOWS as u32;
        extra_delay: Option<Span> = Span::ZERO, Span::LONGEST_WAIT;
        packet_size: Option<Bytes> = packet::IP_HEADER + packet::UDP_HEADER, packet::LARGEST;
    }
}

units::bounds! {
    Subflow {
        extra_delay: Option<Span> = Span::ZERO, Span::LONGEST_WAIT;
    }
}

units::bounds! {
    Wlan {
        retry_limit: u32 = 1, MOST_ATTEMPTS;
        long_retry_limit: u32 = 1, MOST_ATTEMPTS;
        lifetime: Option<Span> = Span::from_nanos(1), Span::LONGEST_WAIT;
        rts_above: Option<Bytes> = Bytes::ZERO, packet::LARGEST;
    }
}

units::bounds! {
    Station {
        count: Option<u32> = 1, MOST_STATIONS;
    }
}
