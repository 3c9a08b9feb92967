//! Laws of physics for the tables of a run over simulated links: no plan, seed or controller breaks them.
//!
//! The simulator asserts them at the end of each run in debug builds, so every test and every fuzzer checks them. Laws
//! about totals need a run without a warm-up: packets under way when it ends count at one end only.

use record::{FlowRow, LinkRow, StationRow, Tables};
use scenario::{DrawnFlow, Hop, Kind, Plan, PlannedFlow};
use units::Span;

/// The largest IPv4 packet. One that an end of the measured interval cuts counts as a whole.
const LARGEST_PACKET: f64 = 65_535.0;
/// Rounding errors of a quotient, as a share of it.
const ROUNDING: f64 = 1e-12;

/// Checks `tables` of a run of `plan` with the flows `drawn`.
///
/// # Errors
/// The first law that they break, with the row.
pub fn check_physics(plan: &Plan, drawn: &[DrawnFlow], tables: &Tables) -> Result<(), String> {
    let measured_s = seconds(plan.duration.saturating_sub(plan.warmup));
    for row in &tables.flows {
        let drawn = &drawn[row.flow as usize];
        check_flow(plan, drawn, row, measured_s).map_err(|law| format!("flow `{}`: {law}: {row:?}", row.name))?;
    }
    for row in &tables.links {
        check_link(plan, row).map_err(|law| format!("link `{}`: {law}: {row:?}", row.name))?;
    }
    for row in &tables.stations {
        check_station(row, measured_s).map_err(|law| format!("station `{}`: {law}: {row:?}", row.name))?;
    }
    check_last_links(plan, drawn, tables)?;
    check_datagrams(plan, drawn, tables)
}

fn seconds(span: Span) -> f64 {
    span.as_nanos() as f64 / 1e9
}

/// `Ok` if `holds`, or the name of the law.
fn law(name: &str, holds: bool) -> Result<(), String> {
    if holds { Ok(()) } else { Err(name.to_owned()) }
}

/// True if no value is above the next by more than rounding errors. Nulls do not count.
fn ascend(values: &[f64]) -> bool {
    let known: Vec<f64> = values.iter().copied().filter(|value| !value.is_nan()).collect();
    known.windows(2).all(|pair| pair[0] <= pair[1] * (1.0 + ROUNDING))
}

fn is_share(value: f64) -> bool {
    (0.0..=1.0).contains(&value)
}

/// The shortest time from end to end over `hops`. Normal jitter makes packets earlier, too.
fn shortest(plan: &Plan, hops: &[Hop]) -> Span {
    let lead = |hop: &Hop| hop.link.map_or(Span::ZERO, |link| plan.links[link].jitter.lead());
    hops.iter().fold(Span::ZERO, |sum, hop| sum + hop.delay.shortest().saturating_sub(lead(hop)))
}

/// True if something on the way of `flow` sends packets of its own.
fn is_copied(plan: &Plan, flow: &PlannedFlow) -> bool {
    let copies = |hop: &Hop| hop.snoop.is_some() || hop.link.is_some_and(|link| plan.links[link].duplicate.is_some());
    matches!(flow.kind, Kind::Tcp) && flow.forward.iter().any(copies)
}

/// The most application bytes in a packet.
fn payload(flow: &PlannedFlow) -> u64 {
    match flow.kind {
        Kind::Tcp => flow.options.segment_size.get(),
        Kind::Datagram { packet_size, .. } | Kind::Tfrc { packet_size } | Kind::Media { packet_size } => {
            packet_size.get()
        }
    }
}

fn check_flow(plan: &Plan, drawn: &DrawnFlow, row: &FlowRow, measured_s: f64) -> Result<(), String> {
    let flow = &plan.flows[drawn.of];
    let sent = row.sender.data_packets;
    law("a share of the packets is lost", is_share(row.loss_rate))?;
    law("packets sent again are packets sent", row.sender.retransmitted_packets <= sent)?;
    law("it lives within the measured interval", (0.0..=measured_s).contains(&row.measured_s))?;
    law("rates are not negative", row.goodput_bps >= 0.0 && row.throughput_bps >= 0.0)?;
    let quantiles = [row.rtt_p50_ms, row.rtt_p90_ms, row.rtt_p95_ms, row.rtt_p99_ms];
    law("quantiles of the RTT ascend", ascend(&quantiles))?;
    let within = |value: f64| ascend(&[row.rtt_min_ms, value, row.rtt_max_ms]);
    law("the RTT is within its extremes", quantiles.into_iter().chain([row.rtt_mean_ms]).all(within))?;
    let forward = shortest(plan, &flow.forward);
    // A difference of two readings of a clock may be short of the time by less than a tick.
    let tick = flow.options.clock.tick.max(flow.options.clock.timestamp_tick);
    let read = (forward + shortest(plan, &flow.reverse)).floor_to(tick);
    let there_and_back = read.as_nanos() as f64 / 1e6;
    law("no ACK outruns light", row.rtt_min_ms.is_nan() || row.rtt_min_ms >= there_and_back)?;
    law("no byte outruns light", row.completion_s.is_nan() || row.completion_s >= seconds(forward))?;
    law("no more arrives than is to be sent", drawn.bytes.is_none_or(|bytes| row.delivered_bytes <= bytes.get()))?;
    if plan.warmup.is_zero() {
        let arrived = row.throughput_bps * row.measured_s / 8.0;
        law("delivered bytes have arrived", row.delivered_bytes as f64 <= arrived * (1.0 + ROUNDING) + 0.5)?;
        let dropped = (row.loss_rate * sent as f64).round() as u64;
        let left = if is_copied(plan, flow) { sent } else { sent - dropped };
        law("sent is delivered, lost or under way", row.delivered_bytes <= left * payload(flow))?;
    }
    Ok(())
}

fn check_link(plan: &Plan, row: &LinkRow) -> Result<(), String> {
    law("it sends for a share of the time", is_share(row.utilization))?;
    law("it is busy for a share of the time", (0.0..=1.0 + ROUNDING).contains(&row.busy_share))?;
    law("quantiles of the queue ascend", ascend(&[0.0, row.queue_packets_p50, row.queue_packets_p95]))?;
    law("the queue is within its maximum", ascend(&[row.queue_packets_p95, row.queue_packets_max]))?;
    law("its mean is, too", ascend(&[0.0, row.queue_packets_mean, row.queue_packets_max]))?;
    let over_time = [row.queue_delay_p50_ms, row.queue_delay_p95_ms, row.queue_delay_p99_ms, row.queue_delay_max_ms];
    law("quantiles of the delay ascend", row.queue_delay_p50_ms >= 0.0 && ascend(&over_time))?;
    law("the mean delay is within them", ascend(&[0.0, row.queue_delay_mean_ms, row.queue_delay_max_ms]))?;
    let longest = row.packet_queue_delay_max_ms;
    let of_packets = [row.packet_queue_delay_p50_ms, row.packet_queue_delay_p95_ms, row.packet_queue_delay_p99_ms];
    law("quantiles of packets' delays ascend", ascend(&of_packets) && ascend(&[of_packets[2], longest]))?;
    law("packets' mean delay is within them", ascend(&[0.0, row.packet_queue_delay_mean_ms, longest]))?;
    let framing = plan.links.get(row.link as usize).and_then(|link| link.settings.queue.line());
    // Compressed headers take less on the link than in the packet.
    let saved = framing.map_or(0, |framing| u64::from(framing.overhead.min(0).unsigned_abs()) * row.departed_packets);
    let most = row.capacity_bytes + LARGEST_PACKET + saved as f64;
    law("no more leaves than can", row.capacity_bytes.is_nan() || row.departed_bytes as f64 <= most)?;
    let gone = row.departed_packets + row.dropped_packets + row.lost_packets;
    law("only packets that arrived leave", !plan.warmup.is_zero() || gone <= row.arrived_packets)
}

fn check_station(row: &StationRow, measured_s: f64) -> Result<(), String> {
    law("frames sent again are attempts", row.retries <= row.attempts)?;
    law("an attempt fails in one way", row.collisions + row.errors <= row.attempts)?;
    law("acknowledged frames were sent", row.acknowledged_frames <= row.sent_frames)?;
    law("it sends for a share of the time", (0.0..=1.0 + ROUNDING).contains(&row.airtime_share))?;
    law("it sends in the measured interval", row.airtime_s <= measured_s * (1.0 + ROUNDING))
}

/// What arrives at the ends of flows has left their last link.
fn check_last_links(plan: &Plan, drawn: &[DrawnFlow], tables: &Tables) -> Result<(), String> {
    if !plan.warmup.is_zero() {
        return Ok(());
    }
    let mut arrived = vec![0.0; plan.links.len()];
    for row in &tables.flows {
        if let Some(link) = plan.flows[drawn[row.flow as usize].of].forward.last().and_then(|hop| hop.link) {
            arrived[link] += row.throughput_bps * row.measured_s / 8.0;
        }
    }
    let links = tables.links.iter().zip(arrived);
    links.into_iter().try_for_each(|(link, arrived)| {
        let carried = link.departed_bytes as f64;
        law(
            &format!("link `{}`: it carried {carried} bytes, and {arrived} arrived", link.name),
            arrived <= carried * (1.0 + ROUNDING) + 0.5,
        )
    })
}

/// Datagrams take at least the propagation delay.
fn check_datagrams(plan: &Plan, drawn: &[DrawnFlow], tables: &Tables) -> Result<(), String> {
    let least: Vec<f64> = drawn.iter().map(|drawn| seconds(shortest(plan, &plan.flows[drawn.of].forward))).collect();
    let table = &tables.datagrams;
    let times = table.sent_s.iter().zip(&table.arrived_s).zip(&table.flow);
    times.into_iter().try_for_each(|((sent, arrived), &flow)| {
        let took = arrived - sent;
        let holds = took >= least[flow as usize] - 1e-9;
        law(&format!("a datagram of flow {flow} sent at {sent} s took {took} s, less than light"), holds)
    })
}
