//! Turns on several cores: each core has partitions of its own, and all run at once.
//!
//! A turn ends when all have reached the limit known when it began. Then they hand over. So a partition has the same
//! input as on one core, and gives the same bytes.

use std::mem::replace;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::{Scope, ScopedJoinHandle};

use engine::{Cut, Stopwatch, Watch};
use units::Time;

use super::turns::{hand_over, take_turn};
use crate::agents::{Agents, NoAgents};
use crate::partition::Partition;

/// How often a message is looked for before the thread sleeps, as a turn is shorter than it takes to wake: half a
/// millisecond.
const LOOKS: u32 = 20_000;
/// A turn of some partitions.
struct Turn<'a, A> {
    parts: Vec<Box<Partition<'a, A>>>,
    clocks: [Time; 3],
    end: Time,
    stopped: bool,
}

/// The channels to one thread.
struct Worker<'a, A> {
    turns: Sender<Turn<'a, A>>,
    taken: Receiver<Turn<'a, A>>,
}

/// Threads that run the links and the receivers, while the calling thread runs the senders.
pub(crate) struct Workers<'a, A> {
    workers: Vec<Worker<'a, A>>,
    choice: Choice,
}

/// Their handles, which give the CPU time that they took.
pub(crate) type Handles<'scope> = Vec<ScopedJoinHandle<'scope, f64>>;

impl<'a> Workers<'a, NoAgents> {
    /// So many threads, one or two. `clocks` measure their gain and cost.
    pub(crate) fn new<'scope>(
        scope: &'scope Scope<'scope, '_>,
        threads: usize,
        cut: &Arc<Cut>,
        watch: &'scope Watch,
        clocks: Stopwatch,
    ) -> (Self, Handles<'scope>)
    where
        'a: 'scope,
    {
        let hire = |_| {
            let (turns, work) = channel::<Turn<'a, NoAgents>>();
            let (done, taken) = channel();
            let cut = Arc::clone(cut);
            let handle = scope.spawn(move || {
                let begin = (clocks.cpu_s)();
                while let Some(mut turn) = receive(&work) {
                    let Turn { parts, clocks, end, stopped } = &mut turn;
                    *stopped = take_turn(&cut, parts, clocks, *end, watch);
                    if done.send(turn).is_err() {
                        break;
                    }
                }
                (clocks.cpu_s)() - begin
            });
            (Worker { turns, taken }, handle)
        };
        let (workers, handles) = (0..threads.clamp(1, 2)).map(hire).unzip();
        (Self { workers, choice: Choice::new(clocks.wall_s) }, handles)
    }
}

impl<'a, A: Agents> Workers<'a, A> {
    /// True if the next turn is theirs, in a run that has handled so many `events`.
    pub(super) fn pay(&mut self, events: u64) -> bool {
        self.choice.is_together(events)
    }

    /// One turn of all `partitions`: receivers, senders, links.
    ///
    /// # Panics
    /// If a partition did.
    pub(super) fn take_turn(
        &self,
        cut: &Cut,
        partitions: &mut Vec<Box<Partition<'a, A>>>,
        clocks: &mut [Time; 3],
        end: Time,
        watch: &Watch,
    ) -> bool {
        let mut others = std::mem::take(partitions);
        let mut senders = vec![others.remove(1)];
        others.reverse();
        let known = *clocks;
        let end_of = |parts: &[Box<Partition<'_, A>>]| match parts {
            [part] if self.workers.len() > 1 => end_of_three(cut, known[part.place], end),
            _ => end,
        };
        for worker in &self.workers {
            let rest = if self.workers.len() == 1 { Vec::new() } else { others.split_off(1.min(others.len())) };
            let parts = replace(&mut others, rest);
            let end = end_of(&parts);
            let turn = Turn { parts, clocks: known, end, stopped: false };
            assert!(worker.turns.send(turn).is_ok(), "a worker waits for turns");
        }
        let end = end_of(&senders);
        let mut stopped = take_turn(cut, &mut senders, clocks, end, watch);
        for worker in &self.workers {
            let Some(turn) = receive(&worker.taken) else { panic!("a worker panicked") };
            stopped |= turn.stopped;
            turn.parts.iter().for_each(|part| clocks[part.place] = turn.clocks[part.place]);
            others.extend(turn.parts);
        }
        // Receivers, senders, links.
        partitions.extend(others.pop());
        partitions.append(&mut senders);
        partitions.append(&mut others);
        (0..partitions.len()).for_each(|from| hand_over(partitions, from));
        stopped
    }
}

/// The end of the turn of a partition that is past all before `clock`, where three run at once: a third of the shortest
/// way round. One that went as far as it may would have to wait for the others in the next turn.
pub(super) fn end_of_three(cut: &Cut, clock: Time, end: Time) -> Time {
    end.min(clock + cut.shortest_cycle() / 3)
}

/// The next message, or `None` if none will come.
fn receive<T>(from: &Receiver<T>) -> Option<T> {
    for _ in 0..LOOKS {
        match from.try_recv() {
            Ok(message) => return Some(message),
            Err(TryRecvError::Disconnected) => return None,
            Err(TryRecvError::Empty) => std::hint::spin_loop(),
        }
    }
    from.recv().ok()
}

/// Turns of a trial, and those after it that are taken in the way that proved faster.
const TRIAL: u32 = 64;
const AFTER: u32 = 2048;

/// Whether partitions run at once. Where cores share no cache, or others want them, that may take longer than one
/// after the other: both ways are tried now and again.
struct Choice {
    clock: fn() -> f64,
    together: bool,
    /// Turns until the next decision, and the events and the time at the last.
    turns: u32,
    events: u64,
    since: f64,
    /// Events a second one after the other, if that was just tried.
    alone: Option<f64>,
    tries: bool,
}

impl Choice {
    fn new(clock: fn() -> f64) -> Self {
        Self { clock, together: false, turns: TRIAL, events: 0, since: clock(), alone: None, tries: true }
    }

    /// True if the partitions of the next turn run at once, in a run that has handled so many `events`.
    fn is_together(&mut self, events: u64) -> bool {
        self.turns -= 1;
        if self.turns == 0 {
            self.decide(events);
        }
        self.together
    }

    #[cold]
    fn decide(&mut self, events: u64) {
        let now = (self.clock)();
        let speed = (events - self.events) as f64 / (now - self.since);
        (self.turns, self.events, self.since) = (TRIAL, events, now);
        match self.alone.take() {
            // First one after the other, then at once, then as proved faster.
            None if self.tries => (self.alone, self.together) = (Some(speed), true),
            Some(alone) => (self.turns, self.together, self.tries) = (AFTER, speed >= alone, false),
            None => (self.together, self.tries) = (false, true),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    thread_local! {
        static NOW: Cell<f64> = const { Cell::new(0.0) };
    }

    /// Which share of 10,000 turns is taken at once, where one takes so long that way and 1.0 the other way.
    fn share(at_once: f64) -> f64 {
        NOW.set(0.0);
        let mut choice = Choice::new(|| NOW.get());
        let mut together = 0;
        for turn in 0..10_000 {
            let is_together = choice.is_together(turn * 100);
            NOW.set(NOW.get() + if is_together { at_once } else { 1.0 });
            together += u32::from(is_together);
        }
        f64::from(together) / 1e4
    }

    #[test]
    fn partitions_run_at_once_where_that_is_faster() {
        assert!(share(0.6) > 0.9 && share(1.5) < 0.05, "{} {}", share(0.6), share(1.5));
    }
}
