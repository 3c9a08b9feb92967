//! The network between the ends, and the clock that drives both.

use std::sync::atomic::Ordering;

use engine::{Fabric, Failure, Routed as _, Schedule, Series, Watch};
use record::Tables;
use units::Time;

use crate::datagram::Datagram;
use crate::endpoints::{Endpoints, Of};

/// Looked up every so many events: often enough to stop within milliseconds.
const EVENTS_BETWEEN_LOOKS: u64 = 1024;

/// A run in virtual time.
pub(crate) struct World<'a> {
    fabric: Fabric<Datagram>,
    ends: Endpoints<'a>,
    schedule: Schedule,
    of: Of<'a>,
    events: u64,
}

impl<'a> World<'a> {
    pub(crate) fn new(of: Of<'a>) -> Self {
        let fabric = Fabric::new(of.plan, of.seed, false);
        Self {
            ends: Endpoints::new(of, |flow| fabric.first_steps(flow)),
            fabric,
            schedule: Schedule::new(of.plan, &[Series::Flows, Series::Probes, Series::Links]),
            of,
            events: 0,
        }
    }

    /// Runs to `end`.
    pub(crate) fn run(&mut self, end: Time, watch: &Watch) -> Result<(), Failure> {
        while let Some(now) = self.step(end)? {
            if self.events.is_multiple_of(EVENTS_BETWEEN_LOOKS) {
                watch.elapsed_nanos.store(now.as_nanos(), Ordering::Relaxed);
                watch.looking.inspect(|looking| looking());
                self.ends.check_decisions(self.events / EVENTS_BETWEEN_LOOKS);
                if watch.is_stopped() {
                    return Err(watch.failure());
                }
            }
        }
        watch.elapsed_nanos.store(end.as_nanos(), Ordering::Relaxed);
        if watch.conduct.is_broken() { Err(watch.failure()) } else { Ok(()) }
    }

    /// Does the next event, if it is before `end`, and gives its time. At one instant the warm-up ends first: the rest
    /// is measured. Then packets move, then timers expire, and rows are taken last, also at the very end.
    fn step(&mut self, end: Time) -> Result<Option<Time>, Failure> {
        let due = [self.fabric.next(), self.ends.next_timer(), self.schedule.warmup(), self.schedule.next()];
        let now = due.into_iter().min().unwrap_or(Time::NEVER);
        if now > end || (now == end && due[3] != now) {
            return Ok(None);
        }
        self.events += 1;
        if now == end {
            self.sample(now);
        } else if self.schedule.take_warmup(now) {
            self.begin_measuring(now);
        } else if now == due[0] {
            self.move_packets(now)?;
        } else if now == due[1] {
            self.ends.expire(now)?;
            self.forward(now);
        } else {
            self.sample(now);
        }
        Ok(Some(now))
    }

    /// Hands out what arrives at the end of a wire.
    fn move_packets(&mut self, now: Time) -> Result<(), Failure> {
        let Some(wire) = self.fabric.begin(now, &mut self.ends.records) else { return Ok(()) };
        while let Some(mut datagram) = self.fabric.pop_due(wire, now) {
            if self.fabric.is_last(&datagram) {
                self.ends.deliver(now, datagram)?;
                self.forward(now);
            } else {
                datagram.next_step();
                self.fabric.forward(now, datagram, &mut self.ends.records);
            }
        }
        self.fabric.end(wire);
        Ok(())
    }

    /// Datagrams that leave go on their way.
    fn forward(&mut self, now: Time) {
        for datagram in self.ends.leaving.drain(..) {
            self.fabric.forward(now, datagram, &mut self.ends.records);
        }
    }

    fn begin_measuring(&mut self, now: Time) {
        self.fabric.begin_measuring(now, &mut self.ends.records);
        self.ends.begin_measuring(now);
    }

    /// Takes the rows that are due.
    fn sample(&mut self, now: Time) {
        if self.schedule.take(Series::Links, now) {
            self.fabric.advance(now, &mut self.ends.records);
            self.fabric.sample(now, &mut self.ends.records.tables.link_series);
        }
        let (series, probes) = (self.schedule.take(Series::Flows, now), self.schedule.take(Series::Probes, now));
        if series || probes {
            self.ends.sample(now, series, probes);
        }
    }

    /// Ends the run at `end`: its tables, and how many events and data packets it had.
    pub(crate) fn finish(mut self, end: Time) -> Result<(Tables, [u64; 2]), Failure> {
        let plan = self.of.plan;
        self.fabric.advance(end, &mut self.ends.records);
        let (links, stations) = (self.fabric.rows(end, plan), self.fabric.station_rows(end, plan));
        let dropped = std::mem::take(&mut self.ends.records.dropped);
        let (mut tables, data_packets) = self.ends.finish(&dropped)?;
        tables.events.sort_by_time();
        Ok((Tables { links, stations, ..tables }, [self.events, data_packets]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Quic;

    /// The most events in a row that a run of one flow has at one instant.
    fn most_at_an_instant(path: &str, cc: &str) -> u32 {
        let toml = format!("duration = \"10ms\"\npath = {{ {path} }}\nflows = [{{ cc = \"{cc}\" }}]");
        let plan = scenario::from_toml(&toml, "test.toml").unwrap().plan(&scenario::NoFiles).unwrap();
        let (drawn, engine, watch) = (plan.draw(1).unwrap(), Quic::default(), Watch::default());
        let mut world = World::new(Of { plan: &plan, seed: 1, drawn: &drawn, engine: &engine, watch: &watch });
        let (mut last, mut count, mut most) = (Time::NEVER, 0, 0);
        while let Some(now) = world.step(Time::ZERO + plan.duration).unwrap() {
            count = if now == last { count + 1 } else { 1 };
            (last, most) = (now, most.max(count));
            assert!(most < 1000, "{cc} on {path}: time stands still at {now:?}");
        }
        most
    }

    #[test]
    fn a_timer_never_expires_twice_at_an_instant() {
        // BBRv3 starts with 2.8 times the rate: at 16 Gbit/s noq's pacer takes no time to earn a byte.
        let paths = [
            "rate = \"10gbit\", rtt = \"1ms\", queue = \"1bdp\"",
            "rate = \"100gbit\", rtt = \"100us\", queue = \"1bdp\"",
            "rate = \"1gbit\", rtt = \"0ms\", queue = \"100p\"",
        ];
        for (path, cc) in paths.into_iter().flat_map(|path| ["noq:bbr3", "noq:cubic", "bbr3"].map(|cc| (path, cc))) {
            let most = most_at_an_instant(path, cc);
            assert!(most < 10, "{cc} on {path}: {most}");
        }
    }
}
