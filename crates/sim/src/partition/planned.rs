//! Events at instants that are known before: flows start, stop and change.

use engine::Failure;
use record::EventKind;
use units::Time;

use super::{Of, Partition};
use crate::agenda::Planned;
use crate::agents::Agents;
use crate::endpoints::Endpoints;
use crate::flow::{Places, ReceiverHalf, SenderHalf};

impl<'a, A: Agents> Partition<'a, A> {
    /// The next planned thing happens.
    #[inline(never)]
    pub(super) fn run_planned(&mut self, now: Time) {
        match self.agenda.pop() {
            Some(Planned::Agent(due)) => A::on_due(self, now, due),
            Some(Planned::Start(index)) if now < self.endpoints.senders[index as usize].stop => self.start(now, index),
            Some(Planned::Stop(index)) => self.stop(now, index),
            Some(Planned::Change(index, number)) => self.change(now, index, number),
            Some(Planned::Start(_) | Planned::WarmUpEnds) | None => {}
        }
    }

    /// Flow `index`, which is not complete, stops.
    pub(crate) fn stop(&mut self, now: Time, index: u32) {
        if std::mem::take(&mut self.endpoints.senders[index as usize].running) {
            self.endpoints.recorder.event(now, EventKind::Stop, index);
        }
    }

    /// Parameters of the controller of flow `index` change, or its receive window.
    fn change(&mut self, now: Time, index: u32, number: u32) {
        let change = &self.plan.flows[self.drawn[index as usize].of].changes[number as usize];
        if let Some(segments) = change.receive_window
            && let Some(end) = &mut self.endpoints.receivers[index as usize].end
            && let Some(receiver) = end.tcp()
        {
            receiver.set_window(segments);
            if let Some(ack) = end.on_timeout(now, &mut self.endpoints.acks) {
                self.acknowledge(now, index, ack);
            }
        }
        if change.parameters.is_empty() {
            return;
        }
        let sender: &mut SenderHalf<'a> = &mut self.endpoints.senders[index as usize];
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
            let (sending, receiving) = match self.ends(&self.drawn[i], &mut Places::default()) {
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
        let Of { stacks, seed, .. } = self.of;
        let sender: &mut SenderHalf<'a> = &mut self.endpoints.senders[i];
        sender.running = true;
        sender.start = now;
        sender.end = sender.end.take().map(|end| end.start(now, granted, &stacks[self.drawn[i].of], seed));
        self.active.push(index);
        self.endpoints.recorder.event(now, EventKind::Start, index);
        self.send(now, index);
    }

    /// One connection of many is complete: if its sender knows, its two ends are given up. Later packets, such as a
    /// copy of a segment, are dropped.
    #[inline(never)]
    pub(super) fn retire(&mut self, now: Time, index: u32) {
        let i = index as usize;
        let Endpoints { senders, receivers, recorder, .. } = &mut self.endpoints;
        let (sender, receiver): (&mut SenderHalf<'a>, &mut ReceiverHalf) = (&mut senders[i], &mut receivers[i]);
        if sender.end.as_ref().is_some_and(|end| end.in_flight() == 0 && end.deadline().is_none()) {
            sender.running = false;
            recorder.retire(now, self.plan, (index, &self.drawn[i]), sender, receiver);
            (sender.end, receiver.end) = (None, None);
            self.look_at(index, Time::NEVER);
            self.delayed_ack_timers.clear(index);
        }
    }
}
