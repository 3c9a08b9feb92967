//! What happens at instants that are known before: flows start, stop and change, the warm-up ends, rows are due.

use engine::{Failure, Series};
use record::EventKind;
use units::Time;

use super::World;
use crate::agenda::Planned;
use crate::agents::Agents;
use crate::flow::Flow;

impl<A: Agents> World<'_, A> {
    /// The next planned thing happens.
    #[inline(never)]
    pub(super) fn run_planned(&mut self, now: Time) {
        match self.agenda.pop() {
            Some(Planned::WarmUpEnds) => self.begin_measuring(now),
            Some(Planned::Agent(due)) => A::on_due(self, now, due),
            Some(Planned::Start(index)) if now < self.hosts.flows[index as usize].stop => self.start(now, index),
            Some(Planned::Stop(index)) => {
                let flow: &mut Flow = &mut self.hosts.flows[index as usize];
                if std::mem::take(&mut flow.running) && flow.completed.is_none() {
                    self.hosts.recorder.event(now, EventKind::Stop, index, None, None, None);
                }
            }
            Some(Planned::Change(index, number)) => self.change(now, index, number),
            Some(Planned::Start(_)) | None => {}
        }
    }

    /// Parameters of the controller of flow `index` change.
    fn change(&mut self, now: Time, index: u32, number: u32) {
        let change = &self.plan.flows[self.drawn[index as usize].of].changes[number as usize];
        let flow: &mut Flow = &mut self.hosts.flows[index as usize];
        let Some(ends) = flow.ends.as_mut().filter(|_| flow.running) else { return };
        match ends.set_parameters(now, &change.parameters) {
            Ok(()) => self.send(now, index),
            Err(error) => self.failure = Some(Failure::Controller(error.to_string())),
        }
    }

    /// Flow `index` starts.
    fn start(&mut self, now: Time, index: u32) {
        let i = index as usize;
        if self.hosts.flows[i].ends.is_none() {
            match self.ends(&self.drawn[i]) {
                Ok(ends) => self.hosts.flows[i].ends = Some(ends),
                Err(failure) => return self.failure = Some(failure),
            }
            self.hosts.flows[i].meter = self.hosts.recorder.meter();
        }
        let granted = A::on_start(self, now, index);
        if let Some((capture, _)) = self.hosts.captured() {
            capture.starts(now, index);
        }
        let flow: &mut Flow = &mut self.hosts.flows[i];
        flow.running = true;
        flow.start = now;
        if let Some(ends) = &mut flow.ends {
            ends.start(now, self.plan.flows[self.drawn[i].of].base_rtt, granted);
        }
        self.active.push(index);
        self.hosts.recorder.event(now, EventKind::Start, index, None, None, None);
        self.send(now, index);
    }

    /// One connection of many is complete: if its sender knows, its ends are given up. What is still on its way, such
    /// as a copy of a segment, finds nobody.
    #[inline(never)]
    pub(super) fn retire(&mut self, index: u32) {
        let flow: &mut Flow = &mut self.hosts.flows[index as usize];
        if flow.ends.as_ref().is_some_and(|ends| ends.in_flight() == 0 && ends.sender_deadline().is_none()) {
            flow.running = false;
            self.hosts.recorder.retire(self.plan, index, &self.drawn[index as usize], flow);
            flow.ends = None;
            self.look_at(index, Time::NEVER);
            self.delayed_ack_timers.clear(index);
        }
    }

    #[inline(never)]
    fn begin_measuring(&mut self, now: Time) {
        self.fabric.begin_measuring(now, &mut self.hosts);
        self.hosts.recorder.restart(now, self.plan, self.drawn, &self.hosts.flows);
    }

    #[inline(never)]
    pub(super) fn sample(&mut self, now: Time) {
        if self.schedule.take(Series::Links, now) {
            self.fabric.advance(now, &mut self.hosts);
            self.fabric.sample(now, &mut self.hosts.recorder.tables.link_series);
        }
        let (series, probes) = (self.schedule.take(Series::Flows, now), self.schedule.take(Series::Probes, now));
        if !series && !probes {
            return;
        }
        // Put in order here: a million flows that start in any order would move each other a million times.
        self.active.retain(|&index| self.hosts.flows[index as usize].sends());
        self.active.sort_unstable();
        for &index in &self.active {
            let flow = &self.hosts.flows[index as usize];
            if series {
                self.hosts.recorder.sample_flow(now, index, flow);
            }
            if probes {
                self.hosts.recorder.sample_probes(now, index, flow);
            }
        }
    }
}
