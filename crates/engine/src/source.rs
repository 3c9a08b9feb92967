//! The source of a flow: when its application writes how much, and the sending ends that are sources themselves.

use std::sync::Arc;

use control::Controller;
use scenario::{Arrivals, DrawnFlow, PlannedFlow, Source};
use transport::{DatagramSource, Marks, MediaSource, Pace, Periods};
use units::{Bytes, Random};

/// The instants at which the application of `drawn`, a flow of `planned`, writes units of `size`, or `None` if it
/// always has data. Under one seed they are the same for every engine.
pub fn pace(planned: &PlannedFlow, drawn: &DrawnFlow, size: Bytes, seed: u64) -> Option<Pace> {
    let Source::Paced(paced) = &planned.source else { return None };
    let stream = |name| Random::stream(seed, name, drawn.stream());
    let mut pace = Pace::new(paced.rate.clone(), size, drawn.bytes);
    if paced.arrivals == Arrivals::Poisson {
        pace = pace.poisson(stream("source"));
    }
    if let Some(periods) = paced.periods {
        pace = pace.with_periods(Periods::new(periods.on, periods.off, stream("periods"), drawn.stop));
    }
    Some(pace)
}

/// The sending end of `drawn`, a flow of `planned` of kind `media`.
pub fn media_source(
    planned: &PlannedFlow,
    drawn: &DrawnFlow,
    controller: Box<dyn Controller>,
    seed: u64,
) -> MediaSource {
    let wires = (planned.packet_size(), planned.options.marks != Marks::Off);
    let streams = ["flow", "encoder"].map(|name| Random::stream(seed, name, drawn.stream()));
    MediaSource::new(&planned.call, wires, planned.media.as_ref(), controller, streams)
}

/// The sending end of `drawn`, a flow of `planned` of kind `datagram`.
pub fn datagram_source(
    planned: &PlannedFlow,
    drawn: &DrawnFlow,
    controller: Box<dyn Controller>,
    seed: u64,
) -> DatagramSource {
    let random = Random::stream(seed, "flow", drawn.stream());
    let size = planned.packet_size();
    if let Some(media) = &planned.media {
        return DatagramSource::recorded(size, Arc::clone(media), controller, random);
    }
    let pace = pace(planned, drawn, size, seed).unwrap_or_else(|| Pace::new(Vec::new(), size, drawn.bytes));
    DatagramSource::new(size, pace, controller, random)
}
