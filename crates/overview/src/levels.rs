//! The bottleneck over time: the wait in its queue, and lines for comparison.

use scenario::Limit;
use units::Span;

use crate::panels::{Curve, Level};
use crate::run::Run;
use crate::statistics::{held, interpolate, map, select, sorted};

/// Bytes of a packet in which limits and bandwidth-delay products are counted.
const PACKET: f64 = 1500.0;

/// Samples of the bottleneck.
struct Samples {
    times: Vec<f64>,
    queue_bytes: Vec<f64>,
    /// Bytes that it could have carried, empty if that is not known of each sample.
    capacity_bytes: Vec<f64>,
    rate_bps: f64,
    /// Bytes on the link for each byte of IP.
    framing: f64,
    duration_s: f64,
}

impl Samples {
    fn of(run: &Run<'_>) -> Self {
        let link = run.numbers("links", "link").get(run.bottleneck().unwrap_or(0)).copied();
        let links = run.numbers("link_series", "link");
        let own = |column| select(run.numbers("link_series", column), links, &|other| Some(other) == link);
        let (times, queue_bytes, mut capacity_bytes) = (own("time_s"), own("queue_bytes"), own("capacity_bytes"));
        if sorted(capacity_bytes.clone()).len() < times.len() {
            capacity_bytes.clear();
        }
        let rate_bps = run.of_bottleneck("rate_bps");
        Self { times, queue_bytes, capacity_bytes, rate_bps, framing: run.framing(), duration_s: run.duration_s() }
    }

    /// How long (ms) the bottleneck takes from each sample on for so many bytes of IP, on the grid.
    fn waits(&self, bytes: &dyn Fn(usize) -> f64, grid: &[f64]) -> Vec<f64> {
        let capacity = &self.capacity_bytes;
        let last = capacity.last().copied().unwrap_or(0.0);
        let mut waits = Vec::new();
        for (n, time) in self.times.iter().enumerate() {
            if last <= 0.0 {
                waits.push(bytes(n) * self.framing * 8.0 / self.rate_bps * 1e3);
                continue;
            }
            let carried = capacity[n] + bytes(n) * self.framing;
            // Behind the last sample the link goes on at its mean rate.
            let behind = (carried - last).max(0.0) * self.times[self.times.len() - 1] / last;
            waits.push((interpolate(carried, capacity, &self.times) + behind - time) * 1e3);
        }
        held(&self.times, &waits, grid, self.duration_s)
    }
}

/// The waiting time (ms) of a packet that arrives now: until the link has carried the queue.
pub(crate) fn queue(run: &Run<'_>, grid: &[f64]) -> Curve {
    let samples = Samples::of(run);
    let values = samples.waits(&|n| samples.queue_bytes[n], grid);
    Curve { cc: run.only_controller(), values, ..Curve::default() }
}

/// The rate of the bottleneck (Mbit/s), of IP.
pub(crate) fn rate(run: &Run<'_>, grid: &[f64]) -> Option<Level> {
    let Samples { times, capacity_bytes: capacity, framing, .. } = Samples::of(run);
    if capacity.len() < 2 {
        return None;
    }
    let values = map(grid, &|time| {
        let after = times.partition_point(|&sample| sample < time).clamp(1, times.len() - 1);
        (capacity[after] - capacity[after - 1]) / framing * 8e-6 / (times[after] - times[after - 1])
    });
    Some(Level { label: "rate of the link", values })
}

/// The RTT of the empty path (ms) over time, if all flows have the same.
pub(crate) fn base_rtt(run: &Run<'_>, grid: &[f64]) -> Option<Level> {
    let mut base = sorted(run.flows("base_rtt_ms").to_vec());
    base.dedup();
    if base.len() != 1 {
        return None;
    }
    let (times, bases) = (run.numbers("flow_series", "time_s"), run.numbers("flow_series", "base_rtt_ms"));
    if bases.iter().all(|&of| of == base[0]) {
        return Some(Level { label: "base RTT", values: map(grid, &|_| base[0]) });
    }
    let mut samples: Vec<(f64, f64)> = times.iter().copied().zip(bases.iter().copied()).collect();
    samples.sort_by(|one, other| one.0.total_cmp(&other.0));
    if samples.windows(2).any(|pair| pair[0].0 == pair[1].0 && pair[0].1 != pair[1].1) {
        return None;
    }
    let at = |time: f64| {
        let begun = samples.partition_point(|&(from, _)| from <= time);
        samples[begun.max(1) - 1].1
    };
    Some(Level { label: "base RTT", values: map(grid, &at) })
}

/// The longest wait (ms) in the buffer of a path: until the link has carried a full one.
pub(crate) fn buffer(run: &Run<'_>, grid: &[f64]) -> Option<Level> {
    let samples = Samples::of(run);
    let bytes = limit_bytes(run, samples.rate_bps, samples.framing)?;
    Some(Level { label: "buffer", values: samples.waits(&|_| bytes, grid) })
}

/// The limit of the queue of a path in bytes of IP at a rate. `None` for an unknown or infinite one.
fn limit_bytes(run: &Run<'_>, rate_bps: f64, framing: f64) -> Option<f64> {
    let path = &run.scenario()["path"];
    let queue = &path["queue"];
    let limit = queue["limit"].as_str().or(queue.as_str())?;
    let rtt: Span = path["rtt"].as_str()?.parse().ok()?;
    let rate_bps = rate_bps / framing;
    let seconds = match limit.parse().ok()? {
        Limit::Infinite => return None,
        Limit::Packets(packets) => f64::from(packets) * (PACKET * 8.0 / rate_bps),
        Limit::Bytes(bytes) => bytes.get() as f64 * 8.0 / rate_bps,
        Limit::Delay(span) => span.as_secs_f64(),
        Limit::Bdp(factor) => factor * rtt.as_secs_f64(),
    };
    rate_bps.is_finite().then_some(seconds * rate_bps / 8.0)
}
