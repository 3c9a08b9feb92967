//! Each stack over bad paths, as a reviewer sees it: what its sender counts, and a number that stands for every packet,
//! event and call of the controller. A change of a rule shows in the stacks and on the paths that it reaches.

use std::fmt::Write as _;

use control::testing::Recorder;
use control::{Parameters, registry};
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::TestRunner;
use units::{Bytes, Digest, Distribution, Random, Rate, Span, Time};

use super::property::talk::Talk;
use super::property::{Channel, World, channel, stack};
use crate::{Application, Buffer, BufferSizes, Marks, PROFILES, Pace, Periods, Stack};

/// Segments of a run.
const SEGMENTS: u64 = 300;

/// A path without faults, with half an RTT of 40 ms.
const CLEAN: Channel = Channel {
    loss: 0.0,
    duplication: 0.0,
    marking: 0.0,
    reordering: 0.0,
    detour: Span::ZERO,
    delay: Span::from_millis(20),
    ack_loss: 0.0,
};

/// Paths by name, each with faults of its own.
const PATHS: [(&str, Channel); 7] = [
    ("clean", CLEAN),
    ("losses", Channel { loss: 0.03, ..CLEAN }),
    ("many losses", Channel { loss: 0.25, ack_loss: 0.1, ..CLEAN }),
    ("reordering", Channel { reordering: 0.2, detour: Span::from_millis(30), ..CLEAN }),
    ("late packets", Channel { loss: 0.02, reordering: 0.02, detour: Span::from_millis(900), ..CLEAN }),
    ("copies", Channel { loss: 0.02, duplication: 0.2, detour: Span::from_millis(5), ..CLEAN }),
    ("marks", Channel { loss: 0.01, marking: 0.05, ..CLEAN }),
];

/// Applications by name, for a stack and a seed.
type Writes = fn(&Stack, u64) -> Application;
const APPLICATIONS: [(&str, Writes); 3] = [
    ("greedy", |_, _| Application::Greedy),
    // The last segment is short, and may wait for an ACK.
    ("bytes", |stack, _| Application::Finite(stack.segment_size * SEGMENTS - Bytes::new(1))),
    ("bursts", |stack, seed| {
        let (on, off) = (Span::from_millis(300), Span::from_millis(900));
        let random = Random::stream(seed, "application", 0);
        let periods = Periods::new(Distribution::Exponential(on), Distribution::Exponential(off), random, Time::NEVER);
        let steps = vec![(Time::ZERO, Rate::from_mbit(4))];
        Application::Paced(Pace::new(steps, stack.segment_size, None).with_periods(periods))
    }),
];

const TITLES: &str = "path         writes cc       data again lost timeouts recoveries spurious seconds   all\n";

/// The line of one run.
fn line(stack: Stack, cc: &str, path: (&str, Channel), application: (&str, Writes), seed: u64) -> String {
    line_of(stack, cc, path, application, seed, |world| world)
}

/// The same of a world that `changed` changes before it runs.
fn line_of(
    stack: Stack,
    cc: &str,
    path: (&str, Channel),
    application: (&str, Writes),
    seed: u64,
    changed: impl FnOnce(World) -> World,
) -> String {
    let (controller, recording) = Recorder::new(registry::build(cc, &Parameters::new()).unwrap());
    let writes = application.1(&stack, seed);
    let mut world = changed(World::new(stack, path.1, writes, Box::new(controller), seed));
    world.run(SEGMENTS);
    let counters = world.sender.counters_until(world.now);
    let mut whole = Digest::default();
    world.packets.iter().for_each(|packet| write!(whole, "{packet:?}").unwrap());
    world.events.iter().for_each(|event| write!(whole, "{event:?}").unwrap());
    recording.lock().unwrap().events.iter().for_each(|call| write!(whole, "{call:?}").unwrap());
    write!(whole, "{counters:?} {:?}", world.sender.controller().decisions()).unwrap();
    format!(
        "{:12} {:6} {cc:8} {:4} {:4} {:4} {:8} {:10} {:8} {:9.3} {:016x}\n",
        path.0,
        application.0,
        counters.data_packets,
        counters.retransmitted_packets,
        counters.lost_packets,
        counters.timeouts,
        counters.recoveries,
        counters.spurious,
        world.now.as_secs_f64(),
        whole.get(),
    )
}

#[test]
fn stacks_repair_bad_paths_as_reviewed() {
    for profile in PROFILES {
        let mut text = TITLES.to_owned();
        let mut seed = 0;
        for (path, channel) in PATHS {
            for application in APPLICATIONS {
                for cc in ["newreno", "cubic", "bbr1"] {
                    seed += 1;
                    let stack = (profile.stack)();
                    let marks = match (channel.marking > 0.0, seed % 4 < 2) {
                        (false, _) => stack.marks,
                        (true, false) => Marks::Echoed { kept: 0.0 },
                        (true, true) => Marks::Counted { kept: 0.8 },
                    };
                    // Every second run has the buffers of the host.
                    let mut buffers = stack.buffers;
                    if seed % 2 == 0 {
                        buffers.sizes = buffers.usual;
                    }
                    // No link bounds the flight.
                    let receive_window = stack.receive_window.min(100);
                    text += &line(
                        Stack { marks, buffers, receive_window, ..stack },
                        cc,
                        (path, channel),
                        application,
                        seed,
                    );
                }
            }
        }
        insta::assert_snapshot!(format!("{}", profile.name), text);
    }
}

#[test]
fn stacks_of_random_options_repair_random_paths_as_reviewed() {
    let mut runner = TestRunner::deterministic();
    let mut text = TITLES.to_owned();
    for seed in 0..150 {
        let (stack, channel) = (stack(), channel()).new_tree(&mut runner).unwrap().current();
        let application = APPLICATIONS[seed as usize % APPLICATIONS.len()];
        let stack = Stack { receive_window: stack.receive_window.min(100), ..stack };
        text += &line(stack, "newreno", ("random", channel), application, seed);
    }
    insta::assert_snapshot!("options", text);
}

/// An application that writes when it likes, for hosts that talk.
const INTERACTIVE: (&str, Writes) = ("likes", |_, _| Application::Interactive);

#[test]
fn hosts_that_talk_repair_bad_paths_as_reviewed() {
    let mut runner = TestRunner::deterministic();
    let mut text = TITLES.to_owned();
    for seed in 1000..1160 {
        let (stack, channel) = (stack(), channel()).new_tree(&mut runner).unwrap().current();
        let receive_window = stack.receive_window.min(100);
        let stack = match PROFILES.get(seed as usize % 16) {
            Some(profile) => Stack { receive_window, ..(profile.stack)() },
            None => Stack { receive_window, ..stack },
        };
        let mut buffers = stack.buffers;
        let fixed = Buffer::Fixed(Bytes::new(20_000 + 700 * seed % 90_000));
        match seed % 6 {
            0 | 1 => buffers.sizes = buffers.usual,
            2 | 3 => buffers.sizes.send = fixed,
            4 => buffers.sizes = BufferSizes { send: fixed, receive: fixed },
            _ => {}
        }
        let application = [INTERACTIVE, APPLICATIONS[1], INTERACTIVE, APPLICATIONS[2]][seed as usize % 4];
        let cc = ["newreno", "cubic", "bbr1"][seed as usize % 3];
        let talks = |world: World| world.talking(Talk::new(seed));
        text += &line_of(Stack { buffers, ..stack }, cc, ("random", channel), application, seed, talks);
    }
    insta::assert_snapshot!("talk", text);
}
