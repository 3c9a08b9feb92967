//! The random part of the flows of a plan: when they start, and how much they send.

use units::{Bytes, Random, Span, Time};

use crate::Error;
use crate::plan::{FlowSettings, Pages, Plan, PlannedFlow};

/// More flows than this are taken for a typing error.
pub(crate) const MOST_FLOWS: u64 = 1_000_000;

/// One connection, as it is under a seed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrawnFlow {
    /// Index into [`Plan::flows`].
    pub of: usize,
    /// Its number among the connections of that flow, or `None` if there is only one.
    pub number: Option<u32>,
    /// When it starts.
    pub start: Time,
    /// When it stops, at most the end of the run.
    pub stop: Time,
    /// How much it sends in all, or `None` for no end.
    pub bytes: Option<Bytes>,
    /// The page it belongs to. But for the first page, `start` is when it would begin if all before took no time.
    pub page: Option<Page>,
}

/// One page of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// Its number among the pages of the flow.
    pub number: u32,
    /// How long its reader pauses before it, once the page before is complete.
    pub think: Span,
}

impl DrawnFlow {
    /// The name in reports, which is unique.
    pub fn name(&self, plan: &Plan) -> String {
        let name = plan.flows[self.of].name();
        match self.number {
            None => name,
            Some(number) => format!("{name}-{number}"),
        }
    }

    /// The index of its random streams. How many connections another flow has makes no difference to it.
    pub fn stream(&self) -> u64 {
        self.of as u64 | self.number.map_or(0, |number| u64::from(number) + 1) << 32
    }
}

impl Plan {
    /// The connections under `seed`: the flows in their order, connections of one flow in the order of their starts. An
    /// error says that there are too many.
    pub fn draw(&self, seed: u64) -> Result<Vec<DrawnFlow>, Error> {
        let end = Time::ZERO + self.duration;
        let mut drawn = Vec::with_capacity(self.flows.len());
        for (of, flow) in self.flows.iter().enumerate() {
            let index = of as u64;
            let jitter = flow.start_jitter.scale(Random::stream(seed, "start", index).uniform());
            let mut sizes = Random::stream(seed, "bytes", index);
            let mut bytes = || flow.bytes.map(|bytes| bytes.draw(&mut sizes).max(Bytes::new(1)));
            let mut start = flow.start + jitter;
            if let Some(pages) = &flow.pages {
                self.draw_pages((of, flow), pages, start, seed, &mut drawn)?;
                continue;
            }
            let Some(every) = flow.every else {
                // A proxy sends on as much as it takes in.
                let taken = flow.relays.as_ref().and_then(|relay| drawn.iter().find(|other| other.of == relay.flow));
                let bytes = taken.map_or_else(bytes, |other| other.bytes);
                drawn.push(DrawnFlow { of, number: None, start, stop: flow.stop, bytes, page: None });
                continue;
            };
            let mut arrivals = Random::stream(seed, "arrivals", index);
            let mut number = 0;
            while start < flow.stop {
                if drawn.len() as u64 >= MOST_FLOWS {
                    return Err(self.too_many(flow));
                }
                drawn.push(DrawnFlow { of, number: Some(number), start, stop: end, bytes: bytes(), page: None });
                number += 1;
                start += every.draw(&mut arrivals);
            }
        }
        Ok(drawn)
    }

    /// The pages of a flow that begins at `start`: as many as there would be if none took longer than a round trip.
    fn draw_pages(
        &self,
        (of, flow): (usize, &PlannedFlow),
        pages: &Pages,
        mut start: Time,
        seed: u64,
        drawn: &mut Vec<DrawnFlow>,
    ) -> Result<(), Error> {
        let stream = |name| Random::stream(seed, name, of as u64);
        let (mut sizes, mut thinking, mut counts) = (stream("bytes"), stream("think"), stream("connections"));
        let stop = Time::ZERO + self.duration;
        let (mut connection, mut page) = (0, Page { number: 0, think: Span::ZERO });
        while start < flow.stop {
            for _ in 0..pages.connections.draw(&mut counts).0.max(1) {
                if drawn.len() as u64 >= MOST_FLOWS {
                    return Err(self.too_many(flow));
                }
                let bytes = flow.bytes.map(|bytes| bytes.draw(&mut sizes).max(Bytes::new(1)));
                drawn.push(DrawnFlow { of, number: Some(connection), start, stop, bytes, page: Some(page) });
                connection += 1;
            }
            page = Page { number: page.number + 1, think: pages.think.draw(&mut thinking) };
            start += page.think + flow.base_rtt;
        }
        Ok(())
    }

    fn too_many(&self, flow: &PlannedFlow) -> Error {
        let message = format!("`{}` makes more than the {MOST_FLOWS} flows that are allowed in a run", flow.name());
        Error { file: format!("scenario `{}`", self.name), line: None, key: "flows".to_owned(), message }
    }
}

impl FlowSettings {
    /// True if it makes many connections.
    pub const fn is_many(&self) -> bool {
        self.every.is_some() || self.pages.is_some()
    }

    /// How many connections there are of it, on average, of pages at most.
    pub fn connections(&self) -> u64 {
        if let Some(Pages { think, connections }) = &self.pages {
            let life = self.stop.since(self.start).as_nanos();
            let cycle = (think.mean() + self.base_rtt).as_nanos().max(1);
            return (life / cycle).saturating_add(1).saturating_mul(u64::from(connections.mean().0.max(1)));
        }
        self.every.map_or(1, |every| {
            let life = self.stop.since(self.start).as_nanos();
            (life / every.mean().max(Span::from_nanos(1)).as_nanos()).saturating_add(1)
        })
    }
}
