//! Turns of partitions, and their exchange of packets.

use engine::{Cut, NETWORK, RECEIVERS, SENDERS, Watch};
use units::Time;

use crate::agents::Agents;
use crate::partition::Partition;

/// Lets `parts` run one after the other, each as far as all that may reach it is known, and at most to `end`. Says
/// whether one was stopped or failed.
pub(super) fn take_turn<A: Agents>(
    cut: &Cut,
    parts: &mut [Box<Partition<'_, A>>],
    clocks: &mut [Time; 3],
    end: Time,
    watch: &Watch,
) -> bool {
    let mut stopped = false;
    for index in 0..parts.len() {
        let place = parts[index].place;
        let horizon = cut.horizon(place, clocks).min(end);
        if horizon > clocks[place] {
            stopped |= parts[index].run(horizon, watch);
            clocks[place] = parts[index].reached(horizon);
            hand_over(parts, index);
        }
    }
    stopped
}

/// Hands over what one of `parts` has for the others.
pub(super) fn hand_over<A>(parts: &mut [Box<Partition<'_, A>>], from: usize) {
    for to in (0..parts.len()).filter(|&to| to != from) {
        if let Ok([from, to]) = parts.get_disjoint_mut([from, to]) {
            hand_over_to(from, to);
        }
    }
}

fn hand_over_to<A>(from: &mut Partition<'_, A>, to: &mut Partition<'_, A>) {
    from.fabric.hand_over(&mut to.fabric);
    match (from.place, to.place) {
        (RECEIVERS, SENDERS) => from.endpoints.acks.hand_over(&mut to.endpoints.acks),
        (NETWORK, SENDERS) => {
            for slot in from.endpoints.lost_acks.iter_mut().flat_map(|lost| lost.drain(..)) {
                to.endpoints.acks.take(slot);
            }
        }
        (host, NETWORK) => {
            if let (Some(offers), Some(inboxes)) = (&mut from.offers, &mut to.inboxes) {
                inboxes[host].fill(offers);
            }
        }
        _ => {}
    }
}
