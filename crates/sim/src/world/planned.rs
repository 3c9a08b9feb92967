//! Events at instants that are known before: flows start, stop and change, the warm-up ends, rows are due.

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
            Some(Planned::Start(index)) if now < self.endpoints.flows[index as usize].stop => self.start(now, index),
            Some(Planned::Stop(index)) => {
                let flow: &mut Flow = &mut self.endpoints.flows[index as usize];
                if std::mem::take(&mut flow.running) && flow.completed.is_none() {
                    self.endpoints.recorder.event(now, EventKind::Stop, index, None, None, None);
                }
            }
            Some(Planned::Change(index, number)) => self.change(now, index, number),
            Some(Planned::Start(_)) | None => {}
        }
    }

    /// Parameters of the controller of flow `index` change.
    fn change(&mut self, now: Time, index: u32, number: u32) {
        let change = &self.plan.flows[self.drawn[index as usize].of].changes[number as usize];
        let flow: &mut Flow = &mut self.endpoints.flows[index as usize];
        let Some(connection) = flow.connection.as_mut().filter(|_| flow.running) else { return };
        match connection.set_parameters(now, &change.parameters) {
            Ok(()) => self.send(now, index),
            Err(error) => self.failure = Some(Failure::Controller(error.to_string())),
        }
    }

    /// Flow `index` starts.
    fn start(&mut self, now: Time, index: u32) {
        let i = index as usize;
        if self.endpoints.flows[i].connection.is_none() {
            match self.connection(&self.drawn[i]) {
                Ok(connection) => self.endpoints.flows[i].connection = Some(connection),
                Err(failure) => return self.failure = Some(failure),
            }
            self.endpoints.flows[i].meter = self.endpoints.recorder.meter();
        }
        let granted = A::on_start(self, now, index);
        if let Some((capture, _)) = self.endpoints.captured() {
            capture.starts(now, index);
        }
        let flow: &mut Flow = &mut self.endpoints.flows[i];
        flow.running = true;
        flow.start = now;
        if let Some(connection) = &mut flow.connection {
            connection.start(now, self.plan.flows[self.drawn[i].of].base_rtt, granted);
        }
        self.active.push(index);
        self.endpoints.recorder.event(now, EventKind::Start, index, None, None, None);
        self.send(now, index);
    }

    /// One connection of many is complete: if its sender knows, its two ends are given up. Later packets, such as a
    /// copy of a segment, are dropped.
    #[inline(never)]
    pub(super) fn retire(&mut self, index: u32) {
        let flow: &mut Flow = &mut self.endpoints.flows[index as usize];
        if flow
            .connection
            .as_ref()
            .is_some_and(|connection| connection.in_flight() == 0 && connection.sender_deadline().is_none())
        {
            flow.running = false;
            self.endpoints.recorder.retire(self.plan, index, &self.drawn[index as usize], flow);
            flow.connection = None;
            self.look_at(index, Time::NEVER);
            self.delayed_ack_timers.clear(index);
        }
    }

    #[inline(never)]
    fn begin_measuring(&mut self, now: Time) {
        self.fabric.begin_measuring(now, &mut self.endpoints);
        self.endpoints.recorder.restart(now, self.plan, self.drawn, &self.endpoints.flows);
    }

    #[inline(never)]
    pub(super) fn sample(&mut self, now: Time) {
        if self.schedule.take(Series::Links, now) {
            self.fabric.advance(now, &mut self.endpoints);
            self.fabric.sample(now, &mut self.endpoints.recorder.tables.link_series);
        }
        let (series, probes) = (self.schedule.take(Series::Flows, now), self.schedule.take(Series::Probes, now));
        if !series && !probes {
            return;
        }
        // Put in order here: a million flows that start in any order would move each other a million times.
        self.active.retain(|&index| self.endpoints.flows[index as usize].sends());
        self.active.sort_unstable();
        for &index in &self.active {
            let flow = &self.endpoints.flows[index as usize];
            if series {
                self.endpoints.recorder.sample_flow(now, index, flow);
            }
            if probes {
                self.endpoints.recorder.sample_probes(now, index, flow);
            }
        }
    }
}
