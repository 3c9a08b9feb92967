//! Quick-Start (RFC 4782): routers grant a rate to a connection that asks for one in its SYN.
//!
//! Every link on the way of the data approves its spare rate: its rate less its traffic in the last RTT, and less its
//! grants in that RTT. All links are asked at the instant at which the SYN leaves. A real SYN reaches them one after
//! the other.

use scenario::quick_start_rate;
use units::{Rate, Time};

use super::AllAgents;
use crate::partition::Partition;

/// Rates that the links of a run have granted, and the bytes that they carried before a request.
#[derive(Debug, Default)]
pub(crate) struct Grants {
    /// For a flow that is about to ask: when its links were looked at, and the bytes that each had sent by then.
    looked: Vec<(u32, Time, Vec<u64>)>,
    /// When which link granted which rate.
    granted: Vec<(Time, usize, Rate)>,
}

impl Partition<'_, AllAgents> {
    /// An RTT before flow `index` asks: notes what its links have sent.
    pub(super) fn look_before_request(&mut self, now: Time, index: u32) {
        let sent = self.sent_by_links(now, index);
        self.agents.grants.looked.push((index, now, sent));
    }

    /// The rate that flow `index` is granted as it starts, or `None` if it asks for none, or is refused.
    pub(super) fn grant(&mut self, now: Time, index: u32) -> Option<Rate> {
        let plan = self.plan;
        let planned = &plan.flows[self.drawn[index as usize].of];
        let mut rate = planned.quick_start?;
        let sent = self.sent_by_links(now, index);
        let before = self.agents.grants.looked.iter().position(|(flow, ..)| *flow == index);
        let before = before.map(|place| self.agents.grants.looked.swap_remove(place));
        let links: Vec<usize> = planned.forward.iter().filter_map(|hop| hop.link).collect();
        self.agents.grants.granted.retain(|(at, ..)| now.since(*at) <= planned.base_rtt);
        for (place, &link) in links.iter().enumerate() {
            let Some(capacity) = plan.links[link].rate else { continue };
            let used = before.as_ref().map_or(0.0, |(_, since, earlier)| {
                let seconds = now.since(*since).as_secs_f64();
                if seconds > 0.0 { 8.0 * (sent[place] - earlier[place]) as f64 / seconds } else { 0.0 }
            });
            let granted = self.agents.grants.granted.iter().filter(|(_, other, _)| *other == link);
            let granted: u64 = granted.map(|(.., rate)| rate.bits_per_second()).sum();
            let left = capacity.bits_per_second().saturating_sub(granted).saturating_sub(used as u64);
            rate = rate.min(Rate::from_bits_per_second(left));
        }
        let rate = quick_start_rate(rate)?;
        self.agents.grants.granted.extend(links.into_iter().map(|link| (now, link, rate)));
        Some(rate)
    }

    /// The bytes that each link on the way of the data of flow `index` has sent by `now`.
    fn sent_by_links(&mut self, now: Time, index: u32) -> Vec<u64> {
        let plan = self.plan;
        let hops = &plan.flows[self.drawn[index as usize].of].forward;
        self.fabric.advance(now, &mut self.endpoints);
        hops.iter().filter_map(|hop| hop.link).map(|link| self.fabric.departed_bytes(now, link)).collect()
    }
}
