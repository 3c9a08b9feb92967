//! Proxies that split a connection: what one flow delivers, another sends on.
//!
//! A proxy is the receiver of the first flow and the sender of the second, and both work as without a proxy. It buffers
//! data that has arrived in order on the first and is not acknowledged on the second. The rest of its buffer is the
//! receive window of the first flow. An ACK announces a window that opens after it was 0. This ACK may be lost, so it
//! is repeated until data comes.

use scenario::{DrawnFlow, Plan};
use units::{Span, Time};

use super::AllAgents;
use crate::agenda::{Due, Planned};
use crate::flow::{ReceivingEnd, SendingEnd};
use crate::partition::Partition;

/// The shortest time after which an ACK that opens the window is repeated.
const REMIND_AFTER: Span = Span::from_millis(200);
/// How often it is repeated.
const REMINDERS: u32 = 10;

/// The proxies of a run.
#[derive(Debug, Default)]
pub(crate) struct Proxies {
    all: Vec<Proxy>,
    /// By flow, where there are proxies: that after it, which takes it in, and that before it, which it leaves from.
    after: Vec<Option<usize>>,
    before: Vec<Option<usize>>,
}

#[derive(Debug)]
struct Proxy {
    taken: u32,
    sent: u32,
    /// How many segments it holds.
    segments: u64,
    remind_after: Span,
    /// When the open window is repeated, how often still, and how much had arrived when it opened.
    remind_at: Time,
    reminders: u32,
    arrived: u64,
}

impl Proxies {
    /// The proxies of `plan`, whose flows are as `drawn`.
    pub(crate) fn new(plan: &Plan, drawn: &[DrawnFlow]) -> Self {
        let mut new = Self::default();
        let place = |flow: usize| drawn.iter().position(|drawn| drawn.of == flow);
        for (index, flow) in plan.flows.iter().enumerate() {
            let Some(relay) = flow.relays.as_deref() else { continue };
            let (Some(taken), Some(sent)) = (place(relay.flow), place(index)) else { continue };
            new.after.resize(drawn.len(), None);
            new.before.resize(drawn.len(), None);
            (new.after[taken], new.before[sent]) = (Some(new.all.len()), Some(new.all.len()));
            new.all.push(Proxy {
                taken: taken as u32,
                sent: sent as u32,
                segments: relay.segments,
                remind_after: REMIND_AFTER.max(plan.flows[relay.flow].base_rtt * 2),
                remind_at: Time::NEVER,
                reminders: 0,
                arrived: 0,
            });
        }
        new
    }

    /// The proxy that takes `flow` in, if one does.
    fn after(&self, flow: u32) -> Option<usize> {
        *self.after.get(flow as usize)?
    }

    /// The proxy that `flow` leaves from, if it does.
    fn before(&self, flow: u32) -> Option<usize> {
        *self.before.get(flow as usize)?
    }
}

impl Partition<'_, AllAgents> {
    /// The proxies hold nothing yet.
    pub(super) fn open_proxies(&mut self) {
        for proxy in &self.agents.proxies.all {
            let taken = proxy.taken as usize;
            let sender = self.endpoints.senders[taken].end.as_mut().and_then(SendingEnd::tcp);
            let receiver = self.endpoints.receivers[taken].end.as_mut().and_then(ReceivingEnd::tcp);
            if let (Some(sender), Some(receiver)) = (sender, receiver) {
                receiver.open_to(proxy.segments);
                // As its handshake says.
                sender.note_receive_window(receiver.window());
            }
        }
    }

    /// Data of `taken` have arrived, perhaps at a proxy.
    pub(super) fn send_on(&mut self, now: Time, taken: u32) {
        let Some(index) = self.agents.proxies.after(taken) else { return };
        let sent = self.agents.proxies.all[index].sent;
        let Some(end) = &self.endpoints.receivers[taken as usize].end else { return };
        let delivered = end.delivered_segments();
        let onward = &mut self.endpoints.senders[sent as usize];
        if let Some(sender) = onward.end.as_mut().and_then(SendingEnd::tcp) {
            sender.note_written(delivered);
        }
        if onward.running {
            self.send(now, sent);
        }
    }

    /// `sent` has had an ACK: a proxy before it may hold less.
    pub(super) fn make_room(&mut self, now: Time, sent: u32) {
        let Some(index) = self.agents.proxies.before(sent) else { return };
        let proxy = &mut self.agents.proxies.all[index];
        let Some(sender) = self.endpoints.senders[sent as usize].end.as_mut().and_then(SendingEnd::tcp) else { return };
        let edge = sender.acknowledged() + proxy.segments;
        let taken = &mut self.endpoints.receivers[proxy.taken as usize];
        let Some(receiver) = taken.end.as_mut().and_then(ReceivingEnd::tcp) else { return };
        let was_closed = receiver.is_closed();
        receiver.open_to(edge);
        if !was_closed || receiver.is_closed() {
            return;
        }
        let planned = proxy.remind_at != Time::NEVER;
        (proxy.remind_at, proxy.reminders) = (now + proxy.remind_after, REMINDERS);
        proxy.arrived = receiver.delivered_segments();
        let (taken, at) = (proxy.taken, proxy.remind_at);
        if !planned {
            self.plan_reminder(index, at);
        }
        self.tell_window(now, taken);
    }

    /// The proxy of number `index` may have to say again that its window is open.
    pub(super) fn remind(&mut self, now: Time, index: u32) {
        let proxy = &mut self.agents.proxies.all[index as usize];
        if now < proxy.remind_at {
            let at = proxy.remind_at;
            return self.plan_reminder(index as usize, at);
        }
        proxy.remind_at = Time::NEVER;
        let taken = &mut self.endpoints.receivers[proxy.taken as usize];
        let sends = self.endpoints.senders[proxy.taken as usize].running && !taken.is_complete();
        let receiver = taken.end.as_mut().and_then(ReceivingEnd::tcp);
        let Some(receiver) = receiver.filter(|_| sends && proxy.reminders > 0) else { return };
        if receiver.delivered_segments() > proxy.arrived || receiver.is_closed() {
            return;
        }
        receiver.repeat();
        proxy.reminders -= 1;
        proxy.remind_at = now + proxy.remind_after;
        let (taken, at) = (proxy.taken, proxy.remind_at);
        self.plan_reminder(index as usize, at);
        self.tell_window(now, taken);
    }

    fn plan_reminder(&mut self, index: usize, at: Time) {
        self.agenda.add(at, Planned::Agent(Due::Reminder(index as u32)));
        self.quiet_until = self.quiet_until.min(at);
    }

    /// The ACK of `taken` that is due leaves the proxy.
    fn tell_window(&mut self, now: Time, taken: u32) {
        let Some(end) = &mut self.endpoints.receivers[taken as usize].end else { return };
        if let Some(ack) = end.on_timeout(now, &mut self.endpoints.acks) {
            self.acknowledge(now, taken, ack);
        }
    }
}
