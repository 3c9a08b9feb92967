//! Metrics of a run over columns of its flows (RFC 5166): goodput, loss, fairness. NaN is a missing value.

use serde_json::Value;

/// Goodput of all flows together: the bits that they delivered, per second of the measured interval.
///
/// The goodput of a flow is over its own life: summed over short flows it would exceed the rate of the link.
pub fn goodput(delivered_bytes: &[f64], measured_s: f64) -> f64 {
    sum(delivered_bytes) * 8.0 / measured_s
}

/// Data packets of all flows that were dropped or lost on the way, in percent of those sent; NaN if none was sent.
pub fn loss_percent(data_packets: &[f64], loss_rate: &[f64]) -> f64 {
    let mut lost = Vec::new();
    for (sent, share) in data_packets.iter().zip(loss_rate) {
        lost.push(if share.is_nan() { 0.0 } else { sent * share });
    }
    let sent = sum(data_packets);
    if sent == 0.0 { f64::NAN } else { 100.0 * sum(&lost) / sent }
}

/// The times of flows: how long each was measured, in seconds, when it completed, or NaN, and the microseconds with
/// data and with each limit.
#[derive(Clone, Copy)]
pub struct FlowTimes<'a> {
    /// `measured_s`.
    pub measured_s: &'a [f64],
    /// `completion_s`.
    pub completion_s: &'a [f64],
    /// `busy_us`: zero for a flow without times.
    pub busy_us: &'a [f64],
    /// `app_limited_us`.
    pub app_limited_us: &'a [f64],
    /// `rwnd_limited_us`.
    pub rwnd_limited_us: &'a [f64],
    /// `sndbuf_limited_us`.
    pub sndbuf_limited_us: &'a [f64],
}

impl FlowTimes<'_> {
    /// What limited the flows for longest, unless it was the window, and for how much of their time in percent.
    ///
    /// A flow that has completed waits for no application, and has no time without data.
    pub fn limit(&self) -> Option<(&'static str, f64)> {
        let (mut lasting, mut application) = (Vec::new(), Vec::new());
        for (row, &busy) in self.busy_us.iter().enumerate() {
            let completed = self.completion_s.get(row).is_some_and(|time| time.is_finite());
            let is_lasting = busy > 0.0 && !completed;
            lasting.push(if is_lasting { self.measured_s[row] * 1e6 } else { busy });
            application.push(if is_lasting { self.app_limited_us[row] } else { 0.0 });
        }
        let [all, application] = [&lasting, &application].map(|times| sum(times));
        let [receiver, sender] = [self.rwnd_limited_us, self.sndbuf_limited_us].map(sum);
        let limits = [("application", application), ("receive buffer", receiver), ("send buffer", sender)];
        let longest = limits.into_iter().max_by(|one, other| one.1.total_cmp(&other.1))?;
        let window = all - application - receiver - sender;
        (longest.1 > window).then_some((longest.0, 100.0 * longest.1 / all))
    }
}

/// Jain's fairness index: 1 if all values are equal, 1/n if one of n has everything (RFC 5166, section 2.3).
///
/// NaN without values, and if all are 0.
pub fn jain(values: &[f64]) -> f64 {
    let mut squares = Vec::new();
    for value in values {
        squares.push(value * value);
    }
    let (total, squares) = (sum(values), sum(&squares));
    let flows = values.len() as f64;
    let index = if squares == 0.0 { f64::NAN } else { total * total / (flows * squares) };
    debug_assert!(index.is_nan() || (1.0 / flows - 1e-9..=1.0 + 1e-9).contains(&index), "{index} of {values:?}");
    index
}

/// True for each flow that sends all it can. `flows` is the list of the resolved scenario.
pub fn greedy(flows: &Value) -> Vec<bool> {
    let mut greedy = Vec::new();
    for flow in flows.as_array().into_iter().flatten() {
        let is_greedy = flow["source"].is_null() || flow["source"] == "greedy";
        greedy.resize(greedy.len() + flow["count"].as_u64().unwrap_or(1) as usize, is_greedy);
    }
    greedy
}

/// True for each flow whose route, a list of links, has `link`.
pub fn crossing(routes: &[Vec<usize>], link: usize) -> Vec<bool> {
    let mut crossing = Vec::new();
    for route in routes {
        crossing.push(route.contains(&link));
    }
    crossing
}

/// Jain's index of the goodputs of lasting flows that share a link; NaN if fewer than two of several flows are left.
///
/// `crossing` says of each flow if its data cross the link, `greedy` if it sends all it can ([`greedy`]). If some that
/// cross do, the others are left out: a call needs no more. A list of another length says nothing, as connections have
/// rows that no list of flows knows. `completions` has a finite value for each flow that completed.
pub fn fairness([greedy, crossing]: [&[bool]; 2], goodputs: &[f64], completions: &[f64]) -> f64 {
    let (mut sharing, mut lasting, mut lasting_greedy) = (0, Vec::new(), Vec::new());
    for (row, &rate) in goodputs.iter().enumerate() {
        if crossing.len() == goodputs.len() && !crossing[row] {
            continue;
        }
        sharing += 1;
        if completions.get(row).is_none_or(|time| !time.is_finite()) {
            lasting.push(rate);
            if greedy.len() == goodputs.len() && greedy[row] {
                lasting_greedy.push(rate);
            }
        }
    }
    let compared = if lasting_greedy.is_empty() { lasting } else { lasting_greedy };
    if sharing != 1 && compared.len() < 2 { f64::NAN } else { jain(&compared) }
}

/// Values that are added one after the other; more are added in halves.
const BLOCK: usize = 128;

/// The sum, whose rounding error grows with the logarithm of the number of values (pairwise summation).
///
/// The order of the additions is that of NumPy, so both have the same bits.
fn sum(values: &[f64]) -> f64 {
    if values.len() > BLOCK {
        let half = values.len() / 2 / 8 * 8;
        return sum(&values[..half]) + sum(&values[half..]);
    }
    let (eights, rest) = values.as_chunks::<8>();
    let mut total = 0.0;
    if let Some((&first, others)) = eights.split_first() {
        let mut lanes = first;
        for eight in others {
            for (lane, value) in lanes.iter_mut().zip(eight) {
                *lane += value;
            }
        }
        let [a, b, c, d, e, f, g, h] = lanes;
        total = ((a + b) + (c + d)) + ((e + f) + (g + h));
    }
    for value in rest {
        total += value;
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn rounding_errors_do_not_add_up() {
        // NumPy's sum has these bits. One after the other, a million tenths are 100000.00000133288.
        assert_eq!(sum(&vec![0.1; 1_000_000]), 100_000.000_000_000_03);
        assert_eq!([sum(&[]), sum(&[1.0, 2.0]), sum(&[1.0; 9]), sum(&[1.0; 131])], [0.0, 3.0, 9.0, 131.0]);
    }

    #[test]
    fn jain_s_index_is_one_among_equals_and_a_share_of_the_flows_otherwise() {
        assert_eq!([jain(&[5.0; 3]), jain(&[1.0, 0.0, 0.0, 0.0])], [1.0, 0.25]);
        assert!(jain(&[]).is_nan() && jain(&[0.0, 0.0]).is_nan());
    }

    #[test]
    fn fairness_compares_flows_that_last_and_send_all_they_can() {
        let none = [f64::NAN; 3];
        let flows = greedy(&json!([{ "count": 2 }, { "source": "call" }]));
        assert_eq!(flows, [true, true, false]);
        // (4 + 2)^2 / (2 (16 + 4)).
        let all =
            |greedy: &[bool], goodputs: &[f64], completions: &[f64]| fairness([greedy, &[]], goodputs, completions);
        assert_eq!(all(&flows, &[4.0, 2.0, 9.0], &none), 0.9);
        // Rows of connections cannot be told apart by their sources.
        assert_eq!(all(&[false], &[4.0, 2.0], &none), 0.9);
        assert_eq!(all(&flows, &[4.0, 2.0, 9.0], &[f64::NAN, f64::INFINITY, 3.0]), 0.9);
        assert!(all(&flows, &[4.0, 2.0, 9.0], &[f64::NAN, 3.0, f64::NAN]).is_nan());
        assert_eq!(all(&greedy(&json!([{}])), &[4.0], &[f64::NAN]), 1.0);
        assert!(all(&[true], &[4.0], &[3.0]).is_nan());
    }

    #[test]
    fn fairness_compares_flows_that_share_a_link() {
        let (greedy, none) = ([true; 3], [f64::NAN; 3]);
        let of = |crossing: [bool; 3]| fairness([&greedy, &crossing], &[4.0, 2.0, 9.0], &none);
        assert_eq!(of([true, true, false]), 0.9);
        // A flow that has the link for itself has all of it. Nothing crosses a link of ACKs.
        assert_eq!(of([false, true, false]), 1.0);
        assert!(of([false; 3]).is_nan());
        // Only the second that crosses sends all it can, so only two calls could be compared.
        assert!(fairness([&[false, true, false], &[true, true, false]], &[4.0, 2.0, 9.0], &none).is_nan());
        assert_eq!(fairness([&greedy, &[true, false, true]], &[4.0, 2.0], &none), 0.9, "a list of other flows");
    }

    /// The limit of two flows that are measured for 8 s and 2 s, from the seconds of each.
    fn limit(
        busy: [f64; 2],
        app: [f64; 2],
        rwnd: [f64; 2],
        sndbuf: [f64; 2],
        done: [f64; 2],
    ) -> Option<(&'static str, f64)> {
        let [busy_us, app_limited_us, rwnd_limited_us, sndbuf_limited_us] =
            &[busy, app, rwnd, sndbuf].map(|seconds| seconds.map(|time| time * 1e6));
        let (measured_s, completion_s) = (&[8.0, 2.0], &done);
        FlowTimes { measured_s, completion_s, busy_us, app_limited_us, rwnd_limited_us, sndbuf_limited_us }.limit()
    }

    #[test]
    fn the_limit_that_lasts_longest_has_its_part_of_the_time() {
        let (none, last) = ([0.0; 2], [f64::NAN; 2]);
        // The window has 3 s of 10 s, the receive window 6 s, the send buffer 1 s.
        assert_eq!(limit([8.0, 2.0], none, [6.0, 0.0], [0.0, 1.0], last), Some(("receive buffer", 60.0)));
        assert_eq!(limit([8.0, 2.0], none, [1.0, 0.0], [6.0, 1.0], last), Some(("send buffer", 70.0)));
        assert_eq!(limit([8.0, 2.0], none, [4.0, 0.0], none, last), None, "the window has 6 s");
        assert_eq!(limit([2.0, 2.0], [6.0, 0.0], none, none, last), Some(("application", 60.0)));
        assert_eq!(limit([2.0, 2.0], [6.0, 0.0], none, none, [3.0, f64::NAN]), None, "the first has completed");
        assert_eq!(limit(none, none, none, none, last), None, "datagrams have no times");
    }

    #[test]
    fn loss_is_of_the_packets_of_all_flows() {
        // 30 of 3000 and 50 of 1000; of a flow that sent nothing the share is unknown.
        assert_eq!(loss_percent(&[3000.0, 1000.0, 0.0], &[0.01, 0.05, f64::NAN]), 2.0);
        assert!(loss_percent(&[0.0], &[0.0]).is_nan());
        assert_eq!(goodput(&[5e6, 1.5e6], 10.0), 5.2e6);
    }
}
