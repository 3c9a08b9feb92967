//! What of the flows of a plan is random: when they start, and how much they send.

use std::borrow::Cow;

use units::{Bytes, Random, Span, Time};

use crate::Error;
use crate::plan::{FlowSettings, Plan, PlannedFlow};

/// More flows than this are taken for a typing error.
pub(crate) const MOST_FLOWS: u64 = 1_000_000;

/// One connection, as it is under a seed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrawnFlow {
    /// Index into [`Plan::flows`].
    pub of: usize,
    /// Its number among the connections of that flow; `None` where there is only one.
    pub number: Option<u32>,
    /// When it starts.
    pub start: Time,
    /// When it stops; at most the end of the run.
    pub stop: Time,
    /// How much it sends in all; `None` for no end.
    pub bytes: Option<Bytes>,
}

impl DrawnFlow {
    /// What reports call it; unique.
    pub fn name<'a>(&self, plan: &'a Plan) -> Cow<'a, str> {
        let name = &plan.flows[self.of].name;
        match self.number {
            None => Cow::Borrowed(name),
            Some(number) => Cow::Owned(format!("{name}-{number}")),
        }
    }

    /// The index of its random streams. How many connections another flow has makes no difference to it.
    pub fn stream(&self) -> u64 {
        self.of as u64 | self.number.map_or(0, |number| u64::from(number) + 1) << 32
    }
}

impl Plan {
    /// The connections under `seed`: the flows in their order, those of one flow in the order of their starts. An error
    /// says that there are too many.
    pub fn draw(&self, seed: u64) -> Result<Vec<DrawnFlow>, Error> {
        let end = Time::ZERO + self.duration;
        let mut drawn = Vec::with_capacity(self.flows.len());
        for (of, flow) in self.flows.iter().enumerate() {
            let index = of as u64;
            let jitter = flow.start_jitter.scale(Random::stream(seed, "start", index).uniform());
            let mut sizes = Random::stream(seed, "bytes", index);
            let mut bytes = || flow.bytes.map(|bytes| bytes.draw(&mut sizes).max(Bytes::new(1)));
            let mut start = flow.start + jitter;
            let Some(every) = flow.every else {
                drawn.push(DrawnFlow { of, number: None, start, stop: flow.stop, bytes: bytes() });
                continue;
            };
            let mut arrivals = Random::stream(seed, "arrivals", index);
            let mut number = 0;
            while start < flow.stop {
                if drawn.len() as u64 >= MOST_FLOWS {
                    return Err(self.too_many(flow));
                }
                drawn.push(DrawnFlow { of, number: Some(number), start, stop: end, bytes: bytes() });
                number += 1;
                start += every.draw(&mut arrivals);
            }
        }
        Ok(drawn)
    }

    fn too_many(&self, flow: &PlannedFlow) -> Error {
        let message = format!("`{}` makes more than the {MOST_FLOWS} flows that are allowed in a run", flow.name);
        Error { file: format!("scenario `{}`", self.name), line: None, key: "flows".to_owned(), message }
    }
}

impl FlowSettings {
    /// How many connections there are of it, on average.
    pub fn connections(&self) -> u64 {
        self.every.map_or(1, |every| {
            let life = self.stop.since(self.start).as_nanos();
            (life / every.mean().max(Span::from_nanos(1)).as_nanos()).saturating_add(1)
        })
    }
}
