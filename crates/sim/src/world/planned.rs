//! Events at instants that are known before: flows start, stop and change, the warm-up ends, rows are due.

use engine::{Failure, Series};
use record::EventKind;
use units::Time;

use super::World;
use crate::agenda::Planned;
use crate::agents::Agents;
use crate::endpoints::Endpoints;
use crate::flow::{ReceiverHalf, SenderHalf};

impl<A: Agents> World<'_, A> {
    /// The next planned thing happens.
    #[inline(never)]
    pub(super) fn run_planned(&mut self, now: Time) {
        match self.agenda.pop() {
            Some(Planned::WarmUpEnds) => self.begin_measuring(now),
            Some(Planned::Agent(due)) => A::on_due(self, now, due),
            Some(Planned::Start(index)) if now < self.endpoints.senders[index as usize].stop => self.start(now, index),
            Some(Planned::Stop(index)) => {
                let Endpoints { senders, receivers, .. } = &mut self.endpoints;
                let stops = std::mem::take(&mut senders[index as usize].running);
                if stops && !receivers[index as usize].is_complete() {
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
        let sender: &mut SenderHalf = &mut self.endpoints.senders[index as usize];
        let Some(end) = sender.end.as_mut().filter(|_| sender.running) else { return };
        match end.set_parameters(now, &change.parameters) {
            Ok(()) => self.send(now, index),
            Err(error) => self.failure = Some(Failure::Controller(error.to_string())),
        }
    }

    /// Flow `index` starts.
    fn start(&mut self, now: Time, index: u32) {
        let i = index as usize;
        if self.endpoints.senders[i].end.is_none() {
            let (sending, receiving) = match self.ends(&self.drawn[i]) {
                Ok(ends) => ends,
                Err(failure) => return self.failure = Some(failure),
            };
            self.endpoints.senders[i].end = Some(sending);
            self.endpoints.receivers[i].end = Some(receiving);
        }
        let granted = A::on_start(self, now, index);
        if let Some((capture, _)) = self.endpoints.captured() {
            capture.starts(now, index);
        }
        let sender: &mut SenderHalf = &mut self.endpoints.senders[i];
        sender.running = true;
        sender.start = now;
        if let Some(end) = &mut sender.end {
            end.start(now, self.plan.flows[self.drawn[i].of].base_rtt, granted);
        }
        self.active.push(index);
        self.endpoints.recorder.event(now, EventKind::Start, index, None, None, None);
        self.send(now, index);
    }

    /// One connection of many is complete: if its sender knows, its two ends are given up. Later packets, such as a
    /// copy of a segment, are dropped.
    #[inline(never)]
    pub(super) fn retire(&mut self, index: u32) {
        let i = index as usize;
        let Endpoints { senders, receivers, recorder, .. } = &mut self.endpoints;
        let (sender, receiver): (&mut SenderHalf, &mut ReceiverHalf) = (&mut senders[i], &mut receivers[i]);
        if sender.end.as_ref().is_some_and(|end| end.in_flight() == 0 && end.deadline().is_none()) {
            sender.running = false;
            recorder.retire(self.plan, index, &self.drawn[i], sender, receiver);
            (sender.end, receiver.end) = (None, None);
            self.look_at(index, Time::NEVER);
            self.delayed_ack_timers.clear(index);
        }
    }

    #[inline(never)]
    fn begin_measuring(&mut self, now: Time) {
        self.fabric.begin_measuring(now, &mut self.endpoints);
        let Endpoints { senders, receivers, recorder, .. } = &mut self.endpoints;
        recorder.restart(now, self.plan, self.drawn, senders, receivers);
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
        let Endpoints { senders, receivers, recorder, .. } = &mut self.endpoints;
        self.active.retain(|&index| senders[index as usize].running && !receivers[index as usize].is_complete());
        self.active.sort_unstable();
        for &index in &self.active {
            let sender = &senders[index as usize];
            if series {
                recorder.sample_flow(now, index, sender, &receivers[index as usize]);
            }
            if probes {
                recorder.sample_probes(now, index, sender);
            }
        }
    }
}
