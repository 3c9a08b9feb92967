//! The source of a flow: when its application writes how much.

use scenario::{Arrivals, DrawnFlow, PlannedFlow, Source};
use transport::{Pace, Periods};
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
