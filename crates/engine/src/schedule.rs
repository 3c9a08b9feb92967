//! When a run is measured and its rows are due: the same for every engine.

use scenario::{Plan, Record, Sampling};
use units::{Span, Time};

/// A table with a row each time that a sample is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Series {
    /// State of the flows.
    Flows = 0,
    /// Internal values of their controllers.
    Probes = 1,
    /// State of the links.
    Links = 2,
}

/// The instants of a run at which rows are due, multiples of a span, and the end of the warm-up.
#[derive(Clone, Debug)]
pub struct Schedule {
    spans: [Option<Span>; 3],
    due: [Time; 3],
    next: Time,
    warmup: Time,
}

impl Schedule {
    /// The schedule of `plan`, for the tables that the caller records.
    pub fn new(plan: &Plan, recorded: &[Series]) -> Self {
        let record = &plan.record;
        let samplings = [record.flow_series, record.probes, record.link_series];
        let mut spans = [None; 3];
        for &series in recorded {
            if let Sampling::Every(span) = samplings[series as usize] {
                spans[series as usize] = Some(span);
            }
        }
        let due = spans.map(|span| if span.is_some() { Time::ZERO } else { Time::NEVER });
        let next = due[0].min(due[1]).min(due[2]);
        Self { spans, due, next, warmup: Time::ZERO + plan.warmup }
    }

    /// When the next rows are due, or [`Time::NEVER`] if none are.
    #[inline]
    pub fn next(&self) -> Time {
        self.next
    }

    /// True if rows of `series` are due at `now`. The next ones are then due a span later.
    pub fn take(&mut self, series: Series, now: Time) -> bool {
        let due = self.due[series as usize] <= now;
        if due && let Some(span) = self.spans[series as usize] {
            self.due[series as usize] += span;
            self.next = self.due[0].min(self.due[1]).min(self.due[2]);
        }
        due
    }

    /// The end of the warm-up, or [`Time::NEVER`] once it was taken.
    pub fn warmup(&self) -> Time {
        self.warmup
    }

    /// True once, when the warm-up has ended by `now`.
    pub fn take_warmup(&mut self, now: Time) -> bool {
        let ends = self.warmup <= now;
        if ends {
            self.warmup = Time::NEVER;
        }
        ends
    }
}

/// Rows that are due at every n-th ACK of a flow.
#[derive(Clone, Debug)]
pub struct AckRows {
    every: u64,
    counts: Vec<u64>,
}

impl AckRows {
    /// The rows of so many `flows`, or `None` if rows are not counted in ACKs.
    pub fn new(sampling: Sampling, flows: usize) -> Option<Self> {
        match sampling {
            Sampling::Acks(every) => Some(Self { every: u64::from(every), counts: vec![0; flows] }),
            Sampling::Off | Sampling::Every(_) => None,
        }
    }

    /// An ACK of `flow` arrives: whether a row is due.
    pub fn take(&mut self, flow: usize) -> bool {
        let count = &mut self.counts[flow];
        *count += 1;
        (*count - 1).is_multiple_of(self.every)
    }
}

/// The tables with a row at every n-th ACK of a flow.
#[derive(Clone, Debug)]
pub struct DueAtAcks {
    series: Option<AckRows>,
    probes: Option<AckRows>,
}

impl DueAtAcks {
    /// Those that `record` asks for, of so many `flows`.
    pub fn new(record: &Record, flows: usize) -> Self {
        let rows = |sampling| AckRows::new(sampling, flows);
        Self { series: rows(record.flow_series), probes: rows(record.probes) }
    }

    /// True if ACKs are counted.
    #[inline]
    pub fn any(&self) -> bool {
        self.series.is_some() || self.probes.is_some()
    }

    /// An ACK of `flow` arrives: whether rows of the series and of the probes are due.
    pub fn take(&mut self, flow: usize) -> (bool, bool) {
        let due = |rows: &mut Option<AckRows>| rows.as_mut().is_some_and(|rows| rows.take(flow));
        (due(&mut self.series), due(&mut self.probes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(record: &str) -> Plan {
        let path = "path = { rate = \"10mbit\", rtt = \"20ms\", queue = \"2p\" }";
        let text = format!(
            "duration = \"1s\"\nwarmup = \"5ms\"\n{path}\nrecord = {{ {record} }}\nflows = [{{ cc = \"newreno\" }}]"
        );
        scenario::from_toml(&text, "test.toml").unwrap().plan(&scenario::NoFiles).unwrap()
    }

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    #[test]
    fn each_series_is_due_at_multiples_of_its_span() {
        let plan = plan("flow_series = \"10ms\", link_series = \"4ms\", probes = \"off\"");
        let mut schedule = Schedule::new(&plan, &[Series::Flows, Series::Probes, Series::Links]);
        let mut found = Vec::new();
        while schedule.next() <= at(10) {
            let now = schedule.next();
            let due = [Series::Flows, Series::Probes, Series::Links].map(|series| schedule.take(series, now));
            found.push((now, due));
        }
        let (both, links, flows) = ([true, false, true], [false, false, true], [true, false, false]);
        assert_eq!(found, [(at(0), both), (at(4), links), (at(8), links), (at(10), flows)]);
        // Those that the caller does not record are never due.
        assert_eq!(Schedule::new(&plan, &[Series::Probes]).next(), Time::NEVER);
    }

    #[test]
    fn the_warm_up_ends_once() {
        let mut schedule = Schedule::new(&plan(""), &[]);
        assert_eq!(schedule.warmup(), at(5));
        assert_eq!([4, 5, 6].map(|millis| schedule.take_warmup(at(millis))), [false, true, false]);
        assert_eq!(schedule.warmup(), Time::NEVER);
    }

    #[test]
    fn rows_are_due_at_the_first_ack_of_a_flow_and_every_nth_after_it() {
        let mut rows = AckRows::new(Sampling::Acks(3), 2).unwrap();
        assert_eq!([0, 0, 1, 0, 0].map(|flow| rows.take(flow)), [true, false, true, false, true]);
        assert!(AckRows::new(Sampling::Off, 2).is_none());
    }

    #[test]
    fn each_table_that_counts_acks_counts_them_by_itself() {
        let due = |record: &str| {
            let mut due = DueAtAcks::new(&plan(record).record, 1);
            (due.any(), [0; 3].map(|flow| due.take(flow)))
        };
        let (both, probes, none) = ((true, true), (false, true), (false, false));
        assert_eq!(due("flow_series = \"3acks\", probes = \"2acks\""), (true, [both, none, probes]));
        assert_eq!(due("probes = \"2acks\""), (true, [probes, none, probes]));
        assert_eq!(due("flow_series = \"10ms\", probes = \"off\""), (false, [none; 3]));
    }
}
