//! Internal values of controllers, as the table `probes`.

use record::{FlowSample, Probes};
use units::{Span, Time};

/// The value of an internal of a flow's controller.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProbeValue {
    pub(crate) at: Time,
    pub(crate) flow: u32,
    pub(crate) name: &'static str,
    pub(crate) value: f64,
}

/// TCP reads its clock in whole microseconds, a moment after the trace reported the ACK: no longer than this.
const MOMENT: Span = Span::from_micros(100);
const RESOLUTION: Span = Span::from_micros(1);

/// The table, of each flow until it `ends`, in the order of time. If a flow has a row in `every_ack` for each ACK,
/// values reported at an ACK have the time of its row.
pub(crate) fn table(
    mut values: Vec<ProbeValue>,
    every_ack: Option<&[FlowSample]>,
    ends: impl Fn(u32) -> Time,
) -> Probes {
    if let Some(series) = every_ack {
        let acks = AckTimes::of(series);
        values.iter_mut().for_each(|one| one.at = acks.before(one.flow, one.at).unwrap_or(one.at));
    }
    // A flow goes on until the next look at it.
    values.retain(|one| one.at <= ends(one.flow));
    values.sort_by_key(|one| one.at);
    let mut probes = Probes::default();
    values.into_iter().for_each(|one| probes.push(one.at, one.flow, one.name, one.value));
    probes
}

/// When the ACKs of each flow came.
struct AckTimes(Vec<Vec<Time>>);

impl AckTimes {
    fn of(series: &[FlowSample]) -> Self {
        let mut flows = Vec::new();
        for row in series {
            let flow = row.flow as usize;
            flows.resize(flows.len().max(flow + 1), Vec::new());
            flows[flow].push(Time::from_nanos((row.time_s * 1e9).round() as u64));
        }
        Self(flows)
    }

    /// When the ACK came that was being processed at `at`, by TCP's clock.
    fn before(&self, flow: u32, at: Time) -> Option<Time> {
        let times = self.0.get(flow as usize)?;
        let latest = *times[..times.partition_point(|&ack| ack <= at + RESOLUTION)].last()?;
        (at <= latest + MOMENT).then_some(latest)
    }
}

#[cfg(test)]
mod tests {
    use record::seconds;

    use super::*;
    use crate::tcp::ack_rows::tests::row_at;

    const END: Time = Time::from_nanos(10_000_000_000);

    fn series(time_s: &[f64], flow: &[u32]) -> Vec<FlowSample> {
        time_s.iter().zip(flow).map(|(&time_s, &flow)| row_at(time_s, flow)).collect()
    }

    fn reported(nanos: u64, flow: u32) -> ProbeValue {
        ProbeValue { at: Time::from_nanos(nanos), flow, name: "interval", value: 1.0 }
    }

    #[test]
    fn what_was_told_at_an_ack_has_the_time_of_its_row() {
        let rows = series(&[1.000_000_7, 1.5, 2.000_000_9], &[0, 1, 0]);
        // By a clock of whole microseconds: after the ACK, at its end rounded down, of another flow, and nowhere near
        // one.
        let values = vec![
            reported(1_000_004_000, 0),
            reported(2_000_000_000, 0),
            reported(1_500_002_000, 1),
            reported(1_700_000_000, 0),
        ];
        assert_eq!(table(values, Some(&rows), |_| END).time_s, [1.000_000_7, 1.5, 1.7, 2.000_000_9]);
    }

    #[test]
    fn without_rows_at_acks_only_the_order_changes() {
        let values = vec![reported(2_000, 0), reported(1_000, 7)];
        let probes = table(values.clone(), None, |_| END);
        assert_eq!(
            (probes.time_s, probes.flow),
            (vec![seconds(Time::from_nanos(1_000)), seconds(Time::from_nanos(2_000))], vec![7, 0])
        );
        assert_eq!(table(values, Some(&series(&[], &[])), |_| END).flow, [7, 0]);
    }

    #[test]
    fn what_is_reported_after_the_end_of_a_flow_is_left_out() {
        // The ACK came a microsecond before the end, and its report 2 us after. The other flow ends at 4 s.
        let rows = series(&[9.999_999], &[0]);
        let values = vec![reported(10_000_002_000, 0), reported(10_000_900_000, 0), reported(4_000_001_000, 1)];
        let ends = |flow| if flow == 0 { END } else { Time::from_nanos(4_000_000_000) };
        assert_eq!(table(values, Some(&rows), ends).time_s, [9.999_999]);
    }
}
