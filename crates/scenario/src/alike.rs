//! Which runs begin alike: they differ only in when flows start.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crate::{FlowSettings, Plan, PlannedFlow};

impl Plan {
    /// Whether a run of this plan and one of `other` differ at most in when flows start, under one seed.
    pub fn begins_as(&self, other: &Self) -> bool {
        let alike = |(a, b): (&PlannedFlow, &PlannedFlow)| {
            let settings = || FlowSettings { start: b.start, ..(*a.settings).clone() };
            (&a.name, a.subflow, a.relays) == (&b.name, b.subflow, b.relays) && settings() == *b.settings
        };
        let whole = (self.duration, self.warmup, self.record) == (other.duration, other.warmup, other.record);
        let network = self.links == other.links && self.media == other.media && self.bottleneck == other.bottleneck;
        let flows = self.flows.len() == other.flows.len() && self.flows.iter().zip(&other.flows).all(alike);
        whole && network && flows
    }
}

/// Puts those of `jobs` together, by their indices, whose resolved scenarios and seeds are the same but for starts: at
/// most `most` of them. Quick, as it reads no more than the text: [`Plan::begins_as`] says for sure.
pub fn begin_alike(jobs: &[(String, u64)], most: usize) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::with_capacity(jobs.len());
    let mut places: HashMap<(String, u64), usize> = HashMap::new();
    for (index, (resolved, seed)) in jobs.iter().enumerate() {
        match places.entry((without_starts(resolved), *seed)) {
            Entry::Occupied(place) => groups[*place.get()].push(index),
            Entry::Vacant(place) => {
                place.insert(groups.len());
                groups.push(vec![index]);
            }
        }
    }
    groups.iter().flat_map(|group| dealt(group, group.len().div_ceil(most.max(1)))).collect()
}

/// `group` dealt into so many piles: neighbours, which often start at about the same time, go to different ones, so
/// that the piles take about as long.
fn dealt(group: &[usize], piles: usize) -> impl Iterator<Item = Vec<usize>> {
    (0..piles).map(move |pile| group.iter().skip(pile).step_by(piles).copied().collect())
}

/// `resolved` without the values of the keys `start`.
fn without_starts(resolved: &str) -> String {
    let mut parts = resolved.split("\"start\":\"");
    let mut rest = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        rest.push('*');
        rest.push_str(part.split_once('"').map_or("", |(_, after)| after));
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jobs(of: &[(&str, u64)]) -> Vec<(String, u64)> {
        of.iter().map(|(text, seed)| ((*text).to_owned(), *seed)).collect()
    }

    #[test]
    fn what_differs_in_starts_alone_is_together() {
        let text = |start: &str| format!("{{\"flows\":[{{\"cc\":\"a\",\"start\":\"{start}\",\"stop\":\"9s\"}}]}}");
        let (a, b, c) = (text("1s"), text("20s"), text("3s").replace("9s", "8s"));
        let jobs = jobs(&[(&a, 1), (&a, 2), (&b, 1), (&c, 1), (&b, 2), (&a, 1)]);
        assert_eq!(begin_alike(&jobs, 9), [vec![0, 2, 5], vec![1, 4], vec![3]]);
        assert_eq!(begin_alike(&jobs, 2), [vec![0, 5], vec![2], vec![1, 4], vec![3]]);
        assert_eq!(begin_alike(&jobs, 1).len(), 6);
        assert!(begin_alike(&[], 3).is_empty());
    }
}
