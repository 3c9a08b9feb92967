//! Waiting for a packet or for the next delivery, at little cost.
//!
//! To wake up costs a virtual machine some 20 us of CPU time and comes as late. Two things spare most of it.
//!
//! - Deliveries that follow each other closely share a wake-up, the last one's.
//! - Most of the cost is to program the clock's next interrupt, which the kernel does whenever its earliest timer
//!   changes. A timer that is set while an earlier one is pending spares that: its turn comes when the earlier one
//!   expires, which sets the clock anyway. So there are several timers, and the wake-ups after the next are set ahead.

use std::io;
use std::os::fd::OwnedFd;

use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime};
use units::{Span, Time};

use crate::emulator::Clock;
use crate::host::system;

/// Timers, of which one is the next to expire.
const TIMERS: usize = 3;
/// Deliveries that are due so shortly after a wake-up are served with it: they come about as late.
const WAKE_UP: Span = Span::from_micros(20);
/// Deliveries no further apart share a wake-up: the machine wakes up about as late.
const GAP: Span = Span::from_micros(30);
/// The longest sleep, after which the wish to stop is noticed.
const LONGEST_SLEEP: Span = Span::from_millis(50);
/// The most devices and timers that one wait reports. The next wait reports the others.
const AT_ONCE: usize = 8;
/// The token of the timers for epoll. The devices count from 0.
const TIMER: u64 = u64::MAX;

/// Lets one thread sleep.
pub(crate) struct Waiter {
    clock: Clock,
    epoll: OwnedFd,
    timers: [Timer; TIMERS],
    /// Deliveries of a longer time never share a wake-up.
    span: Span,
    virtual_time: bool,
}

struct Timer {
    file: OwnedFd,
    /// For which instant it is set.
    at: Time,
}

impl Waiter {
    /// Waits on `clock` and for `devices`. Fails where the process may open no more files.
    pub(crate) fn new(clock: Clock, devices: &[&OwnedFd], span: Span) -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        for (number, device) in (0..).zip(devices) {
            epoll::add(&epoll, device, EventData::new_u64(number), EventFlags::IN)?;
        }
        let timer = || {
            let file = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)?;
            epoll::add(&epoll, &file, EventData::new_u64(TIMER), EventFlags::IN)?;
            io::Result::Ok(Timer { file, at: Time::NEVER })
        };
        let timers = [timer()?, timer()?, timer()?];
        Ok(Self { clock, epoll, timers, span, virtual_time: system::in_virtual_time() })
    }

    /// Waits no more for `device`.
    pub(crate) fn forget(&mut self, device: &OwnedFd) {
        // One that is gone is not waited for either.
        let _ = epoll::delete(&self.epoll, device);
    }

    /// Waits until a device has a packet, and names those that have one to `ready`, or until something is due. `next`
    /// says when the first thing is due after an instant. May end early.
    pub(crate) fn wait(&mut self, next: impl Fn(Time) -> Time, mut ready: impl FnMut(usize)) {
        let now = self.clock.now();
        let longest = if next(Time::ZERO) <= now {
            Span::ZERO
        } else if self.virtual_time {
            // A wake-up costs nothing and is never late.
            next(now).since(now).min(LONGEST_SLEEP)
        } else {
            self.set(now, next);
            LONGEST_SLEEP
        };
        let nothing = epoll::Event { flags: EventFlags::empty(), data: EventData::new_u64(TIMER) };
        let mut found = [nothing; AT_ONCE];
        // Interrupted or not, the caller looks again.
        let count = epoll::wait(&self.epoll, &mut found[..], Some(&system::timespec(longest))).unwrap_or(0);
        let tokens = found[..count].iter().map(|event| event.data.u64());
        tokens.filter(|&token| token != TIMER).for_each(|token| ready(token as usize));
    }

    /// Sets the timers for deliveries due after `now`, the earliest first.
    fn set(&mut self, now: Time, next: impl Fn(Time) -> Time) {
        let (mut after, mut free) = (now, [true; TIMERS]);
        for _ in 0..TIMERS {
            let first = next(after);
            if first == Time::NEVER {
                break;
            }
            let last = last_of_group(first, self.span, &next);
            let fits = |&i: &usize| (first..=last).contains(&self.timers[i].at);
            let other =
                || (0..TIMERS).filter(|&i| free[i]).max_by_key(|&i| (self.timers[i].at <= now, self.timers[i].at));
            let Some(index) = (0..TIMERS).find(fits).or_else(other) else { break };
            free[index] = false;
            if !fits(&index) {
                self.timers[index].set(self.clock, last);
            }
            after = self.timers[index].at + WAKE_UP;
        }
        // One that has expired would end the waiting at once.
        for (timer, _) in self.timers.iter_mut().zip(free).filter(|(timer, free)| *free && timer.at <= now) {
            timer.set(self.clock, Time::NEVER);
        }
    }
}

/// The last of those that share a wake-up with the one at `first`, in a time of `span`. `next` is the next after an
/// instant.
fn last_of_group(first: Time, span: Span, next: impl Fn(Time) -> Time) -> Time {
    let mut last = first;
    loop {
        let following = next(last);
        if following > last + GAP || following > first + span {
            return last;
        }
        last = following;
    }
}

impl Timer {
    /// Sets it for `at`, and takes back that it has expired.
    fn set(&mut self, clock: Clock, at: Time) {
        self.at = at;
        let never = system::timespec(Span::ZERO);
        let it_value = if at == Time::NEVER { never } else { system::timespec(clock.machine(at)) };
        // The kernel refuses nothing that is a time.
        let _ = timerfd_settime(&self.file, TimerfdTimerFlags::ABSTIME, &Itimerspec { it_interval: never, it_value });
    }
}

#[cfg(test)]
mod tests {
    use rustix::event::{EventfdFlags, eventfd};
    use rustix::io::write;

    use super::*;

    fn at(micros: u64) -> Time {
        Time::ZERO + Span::from_micros(micros)
    }

    /// The next of `micros` after an instant.
    fn next(micros: &[u64]) -> impl Fn(Time) -> Time {
        move |instant| micros.iter().map(|&due| at(due)).find(|&due| due > instant).unwrap_or(Time::NEVER)
    }

    fn device() -> OwnedFd {
        eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC).unwrap()
    }

    fn waiter(devices: &[OwnedFd; 2]) -> Waiter {
        Waiter::new(Clock::start(), &devices.each_ref(), Span::from_micros(100)).unwrap()
    }

    fn waits(waiter: &mut Waiter, next: impl Fn(Time) -> Time) -> Vec<usize> {
        let mut ready = Vec::new();
        waiter.wait(next, |device| ready.push(device));
        ready
    }

    #[test]
    fn deliveries_close_together_share_a_wake_up_but_not_for_long() {
        let group = |micros: &[u64]| last_of_group(at(100), Span::from_micros(100), next(micros));
        assert_eq!(group(&[100, 131]), at(100), "31 us apart");
        assert_eq!(group(&[100, 130, 160, 191]), at(160));
        assert_eq!(group(&[100, 125, 150, 175, 200, 201]), at(200), "100 us at most");
    }

    #[test]
    fn later_wake_ups_are_set_ahead_and_stay_as_they_are() {
        let devices = [device(), device()];
        let mut waiter = waiter(&devices);
        let due = [100, 120, 200, 300, 400];
        waiter.set(at(50), next(&due));
        let set = |waiter: &Waiter| waiter.timers.each_ref().map(|timer| timer.at);
        let (before, expected) = (set(&waiter), [120, 200, 300].map(at));
        assert!(expected.iter().all(|time| before.contains(time)), "{before:?}");
        // The first has expired, and its timer is set for the fourth.
        waiter.set(at(140), next(&due));
        let expected = before.map(|time| if time == at(120) { at(400) } else { time });
        assert_eq!(set(&waiter), expected);
        // Nothing more is due: the one that has expired is taken back.
        waiter.set(at(350), next(&[]));
        assert_eq!(set(&waiter), expected.map(|time| if time <= at(350) { Time::NEVER } else { time }));
    }

    #[test]
    fn a_packet_or_a_due_delivery_ends_the_waiting() {
        let devices = [device(), device()];
        let mut waiter = waiter(&devices);
        write(&devices[1], &1u64.to_ne_bytes()).unwrap();
        let far_off = |instant: Time| if instant < at(60_000_000) { at(60_000_000) } else { Time::NEVER };
        assert_eq!(waits(&mut waiter, far_off), [1]);
        waiter.forget(&devices[1]);
        let due = waiter.clock.now() + Span::from_millis(5);
        while waiter.clock.now() < due {
            assert!(waits(&mut waiter, |instant| if instant < due { due } else { Time::NEVER }).is_empty());
        }
    }
}
