//! The backoffs of stations of which some are hidden from each other. Each stops and continues by the medium as its own
//! station senses it.

use units::{Span, Time};

use crate::medium::MediumSettings;
use crate::medium::shared::Counter;

/// The backoff of each access.
#[derive(Debug)]
pub(super) struct Backoffs {
    counters: Vec<Option<Counter>>,
    /// When each ends if its station senses nothing from now on. It is [`Time::NEVER`] while the station senses a frame
    /// or has nothing to send.
    dues: Vec<Time>,
    /// The number of each in the order in which they began.
    numbers: Vec<u64>,
    begun: u64,
    /// The accesses of each station.
    of_station: Vec<Vec<u32>>,
}

impl Backoffs {
    pub(super) fn new(settings: &MediumSettings) -> Self {
        let accesses = settings.accesses.len();
        let mut of_station = vec![Vec::new(); settings.stations.len()];
        for (access, settings) in (0..).zip(&settings.accesses) {
            of_station[settings.station as usize].push(access);
        }
        Self {
            counters: vec![None; accesses],
            dues: vec![Time::NEVER; accesses],
            numbers: vec![0; accesses],
            begun: 0,
            of_station,
        }
    }

    /// The counter of `access`, if there is one.
    pub(super) fn of(&self, access: u32) -> Option<Counter> {
        self.counters[access as usize]
    }

    /// `counter` begins, or is changed, while its station finds the medium `busy` or idle.
    pub(super) fn set(&mut self, counter: Counter, busy: bool, slot: Span) {
        let access = counter.access as usize;
        if self.counters[access].is_none() {
            self.numbers[access] = self.begun;
            self.begun += 1;
        }
        self.dues[access] = if counter.ready && !busy { counter.due(slot) } else { Time::NEVER };
        self.counters[access] = Some(counter);
    }

    /// The end of the first one.
    pub(super) fn next(&self) -> Time {
        self.dues.iter().min().copied().unwrap_or(Time::NEVER)
    }

    /// Ends those whose turn it is by `now`, and adds their accesses to `senders` in the order in which they began.
    pub(super) fn end(&mut self, now: Time, senders: &mut Vec<u32>) {
        for (access, due) in (0..).zip(&mut self.dues) {
            if *due <= now {
                senders.push(access);
                (*due, self.counters[access as usize]) = (Time::NEVER, None);
            }
        }
        senders.sort_unstable_by_key(|access| self.numbers[*access as usize]);
    }

    /// `station`, which found the medium idle, finds it taken `now`: slots are counted, and one besides where `also`.
    pub(super) fn stop(&mut self, now: Time, station: u32, slot: Span, also: u32) {
        for &access in &self.of_station[station as usize] {
            self.dues[access as usize] = Time::NEVER;
            let place = &mut self.counters[access as usize];
            if let Some(counter) = place {
                if counter.due(slot) <= now {
                    *place = None;
                } else if now >= counter.from {
                    counter.left -= (now.since(counter.from).as_nanos() / slot.as_nanos()) as u32 + also;
                }
            }
        }
    }

    /// `station` finds the medium idle. The backoffs of its accesses continue at the instants that `from` gives.
    pub(super) fn go_on(&mut self, station: u32, slot: Span, from: impl Fn(u32) -> Time) {
        for &access in &self.of_station[station as usize] {
            if let Some(counter) = &mut self.counters[access as usize] {
                counter.from = from(access);
                self.dues[access as usize] = if counter.ready { counter.due(slot) } else { Time::NEVER };
            }
        }
    }
}
