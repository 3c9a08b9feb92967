//! A world in parts gives the same bytes as a whole one.

use control::testing::Steady;
use control::{Ack, Context, Controller};
use engine::{Cut, Fabric, Failure, NETWORK, RECEIVERS, SENDERS, Stopwatch, Watch};
use proptest::prelude::*;
use scenario::PlannedFlow;
use units::{Span, Time};

use super::World;
use super::workers::end_of_three;
use crate::agents::NoAgents;
use crate::flow::{ReceivingEnd, Rows, SendingEnd};
use crate::packet::Packet;
use crate::partition::Of;

/// The tables of a scenario in words, run on so many `cores`. Its world is whole with none, else cut if that is
/// possible. Also returns whether it was.
fn run(text: &str, cores: usize) -> (Vec<String>, bool) {
    run_with(text, cores, |flow| {
        Ok(control::registry::build(&flow.cc.spelling(), &flow.parameters).unwrap_or_else(|error| panic!("{error}")))
    })
}

fn run_with(
    text: &str,
    cores: usize,
    make: impl Fn(&PlannedFlow) -> Result<Box<dyn Controller>, Failure> + Sync,
) -> (Vec<String>, bool) {
    in_world(text, cores > 0, make, |mut world, end| {
        let (cut, watch) = (world.cut.clone(), Watch::default());
        let stopped = match &cut {
            Some(cut) if cores > 1 => {
                world.run_together(cut, cores, end, &watch, Stopwatch { cpu_s: || 0.0, wall_s: || 0.0 }).0
            }
            _ => world.run(end, &watch),
        };
        assert!(!stopped);
        let tables = world.finish(end, &watch).into_tables().into_iter();
        (tables.map(|table| format!("{table:?}")).collect(), cut.is_some())
    })
}

/// Lends the world of a scenario in words before its start, cut if that is `allowed` and possible, and its end.
fn in_world<R>(
    text: &str,
    allowed: bool,
    make: impl Fn(&PlannedFlow) -> Result<Box<dyn Controller>, Failure> + Sync,
    then: impl FnOnce(World<'_, NoAgents>, Time) -> R,
) -> R {
    let scenario = scenario::from_toml(text, "test.toml").and_then(|scenario| scenario.plan(&scenario::NoFiles));
    let plan = scenario.unwrap_or_else(|error| panic!("{error}\n{text}"));
    let drawn = plan.draw(plan.seed).unwrap();
    let stacks = crate::hosts::stacks(&plan, plan.seed);
    let of = Of { plan: &plan, seed: plan.seed, drawn: &drawn, make: &make, subflows: &[], stacks: &stacks };
    let mut rows = Rows::new(&plan, &drawn);
    then(World::new(of, rows.places(), None, allowed).unwrap(), Time::ZERO + plan.duration)
}

fn pick(choices: &'static [&'static str]) -> impl Strategy<Value = &'static str> {
    prop::sample::select(choices)
}

prop_compose! {
    fn flow()(
        cc in pick(&["newreno", "cubic", "vegas", "bbr1", "cdg", "ledbat", "copa"]),
        profile in pick(&["linux", "linux-3.5", "freebsd-9", "ns2-linux", "real-1992"]),
        transport in pick(&[
            "{}",
            "{ ecn = true }",
            "{ sack = false }",
            "{ ack_every = 1 }",
            "{ ack_every = 8, delayed_ack_timeout = '500ms' }",
            "{ timer_tick = '0s', receive_window = 20 }",
            "{ pacing = 'exact', segmentation_offload = false }",
        ]),
        life in pick(&[
            "",
            "start = '1s'",
            "start = '500ms'\nstop = '2s'",
            "bytes = '200kB'",
            "bytes = '1MB'\nstop = '1500ms'",
            "count = 4\nstart_jitter = '1s'",
            "rtt = '36ms'",
            "source = { rate = '2mbit', on = '300ms', off = { exponential = '200ms' } }",
        ]),
    ) -> String {
        format!("[[flows]]\ncc = '{cc}'\nprofile = '{profile}'\ntransport = {transport}\n{life}\n")
    }
}

fn datagrams() -> impl Strategy<Value = String> {
    let source = pick(&["{ rate = '1mbit', arrivals = 'poisson' }", "{ rate = '3mbit' }\nstop = '2s'"]);
    source.prop_map(|source| format!("[[flows]]\ncc = 'cdg'\nkind = 'datagram'\nsource = {source}\n"))
}

prop_compose! {
    /// Services whose times divide the delays, so that much happens at one instant, and others.
    fn scenario()(
        rate in pick(&[
            "'12mbit'",
            "'12mbit'",
            "'7777777bit'",
            "[['0s', '8mbit'], ['1s', '0bit'], ['1200ms', '12mbit']]",
        ]),
        rtt in pick(&["20ms", "24ms", "60ms"]),
        queue in pick(&[
            "'20p'",
            "'1bdp'",
            "'20kB'",
            "{ limit = '60p', mark_above = '8p' }",
            "'codel'",
            "{ limit = '40p', count_delayed = true }",
            "[['0s', '60p'], ['1s', '9p']]",
        ]),
        loss in pick(&[
            "'0%'",
            "'0.5%'",
            "'3%'",
            "[['0s', '0%'], ['1s', '3%']]",
            "{ model = 'gilbert-elliott', good_for = '500ms', bad_for = '20ms' }",
        ]),
        jitter in pick(&[
            "'0s'",
            "'0s'",
            "'2ms'",
            "{ uniform = '5ms', reorder = true }",
            "{ normal = '1ms', correlation = '50%', reorder = true }",
            "{ slot = { min = '1ms', max = '4ms', packets = 4 } }",
        ]),
        reverse in pick(&["", "reverse = { rate = '12mbit', queue = '50p', loss = '1%' }"]),
        record in pick(&[
            "flow_series = '50ms'\nprobes = '5acks'",
            "flow_series = '10ms'\nlink_series = '4ms'\ndatagrams = true",
            "flow_series = '20acks'",
            "events = false",
        ]),
        flows in prop::collection::vec(prop_oneof![4 => flow(), 1 => datagrams()], 1..5),
        warmup in pick(&["0s", "24ms", "1s"]),
        noise in any::<bool>(),
    ) -> String {
        let path = format!(
            "[path]\nrate = {rate}\nrtt = '{rtt}'\nqueue = {queue}\nloss = {loss}\njitter = {jitter}\n{reverse}\n"
        );
        let head = format!("duration = '3s'\nwarmup = '{warmup}'\nphase_noise = {noise}");
        format!("{head}\n{path}\n[record]\n{record}\n\n{}", flows.concat())
    }
}

prop_compose! {
    fn link()(
        rate in pick(&["'12mbit'", "'30mbit'", "'1gbit'", "'unlimited'\nloss = '1%'"]),
        queue in pick(&["queue = '50ms'", "queue = '20p'", "queue = 'infinite'"]),
        delay in pick(&["0s", "0s", "1ms", "20ms"]),
        jitter in pick(&["", "", "jitter = { uniform = '5ms', reorder = true }"]),
        reverse in pick(&["reverse = {}", "reverse = {}", "reverse = { rate = '3mbit', queue = '20p' }"]),
    ) -> String {
        let queue = if rate.contains("unlimited") { "" } else { queue };
        format!("rate = {rate}\n{queue}\ndelay = '{delay}'\n{jitter}\n{reverse}\n")
    }
}

prop_compose! {
    /// Flows over links of their own, a common one and one behind it, and flows that enter or leave in between.
    fn several_links()(
        links in prop::collection::vec(link(), 4),
        common in pick(&["20p", "infinite", "50ms"]),
        ends in prop::collection::vec(pick(&["'one'|'d'", "'two'|'d'", "'one'|'b'", "'a'|'b'", "'two'|'b'"]), 1..4),
        cc in pick(&["newreno", "cubic", "bbr1"]),
        noise in any::<bool>(),
    ) -> String {
        let places = [("one", "a"), ("two", "a"), ("b", "c"), ("c", "d")];
        let links = places.iter().zip(&links).map(|((from, to), link)| {
            format!("[[links]]\nname = '{from}'\nfrom = '{from}'\nto = '{to}'\n{link}\n")
        });
        let common = format!(
            "[[links]]\nname = 'common'\nfrom = 'a'\nto = 'b'\nrate = '10mbit'\nqueue = '{common}'\ndelay = '10ms'\n\
             reverse = {{}}\n"
        );
        let flows = ends.iter().map(|ends| {
            let (from, to) = ends.split_once('|').unwrap();
            format!("[[flows]]\ncc = '{cc}'\nfrom = {from}\nto = {to}\ncount = 2\nstart_jitter = '40ms'\n")
        });
        let text: String = links.chain([common]).chain(flows).collect();
        format!("duration = '1s'\nwarmup = '200ms'\nphase_noise = {noise}\n{text}")
    }
}

/// Panics unless `text` gives the same bytes on so many `cores` as in one part.
fn compare(text: &str, cores: usize) {
    for (whole, parts) in run(text, 0).0.into_iter().zip(run(text, cores).0) {
        assert!(whole == parts, "{:?} on {cores} cores", whole.split(',').next());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_world_in_parts_gives_the_bytes_of_a_whole_one(text in scenario()) {
        compare(&text, 1);
    }

    #[test]
    fn links_that_take_packets_stage_by_stage_give_the_bytes_of_a_whole_world(text in several_links()) {
        compare(&text, 1);
    }
}

proptest! {
    // On a busy machine each of some hundred turns waits for a core.
    #![proptest_config(ProptestConfig::with_cases(4))]

    #[test]
    fn a_world_on_several_cores_gives_the_bytes_of_a_whole_one(text in scenario()) {
        compare(&text, 2);
        compare(&text, 3);
    }
}

#[test]
fn a_world_in_parts_skips_the_time_in_which_nothing_happens() {
    // A billion turns of a millisecond.
    let text = "duration = '1000000s'\npath = { rate = '10mbit', rtt = '2ms', queue = '50p' }\n\
        flows = [{ cc = 'newreno', bytes = '30kB' }, { cc = 'newreno', bytes = '30kB', start = '900000s' }]\n\
        record = { flow_series = 'off', link_series = 'off', probes = 'off' }";
    assert!(run(text, 0).0 == run(text, 1).0);
}

#[test]
fn a_turn_ends_before_it_holds_all_that_many_flows_send() {
    // 4,000 flows send ten segments each within 100 ms, in turns of at most 50.
    let text = "duration = '200ms'\npath = { rate = '1gbit', rtt = '100ms', queue = 'infinite' }\n\
        flows = [{ cc = 'newreno', count = 4000, start_jitter = '100ms' }]";
    let held = in_world(text, true, newreno, |mut world, end| {
        world.run(end, &Watch::default());
        world.at(SENDERS).offers.as_ref().map_or(0, Vec::capacity)
    });
    assert!((1..1000).contains(&held), "{held}");
}

fn newreno(_: &PlannedFlow) -> Result<Box<dyn Controller>, Failure> {
    Ok(control::registry::build("newreno", &control::Parameters::default()).unwrap())
}

/// What the two ends of the only flow are at each of these milliseconds.
fn ends_at<const N: usize>(text: &str, allowed: bool, at: [u64; N]) -> [(&'static str, &'static str); N] {
    in_world(text, allowed, newreno, |mut world, _| {
        assert_eq!(world.cut.is_some(), allowed);
        at.map(|ms| {
            world.run(Time::ZERO + Span::from_millis(ms), &Watch::default());
            let sender = match world.at(SENDERS).endpoints.senders[0].end.as_ref().unwrap() {
                SendingEnd::Tcp(_) => "sender",
                SendingEnd::Opening(_) => "handshake",
                _ => panic!("no TCP"),
            };
            let receiver = match world.at(RECEIVERS).endpoints.receivers[0].end.as_ref().unwrap() {
                ReceivingEnd::Waiting(_) => "waiting",
                // No SYN-ACK will leave again.
                opening @ ReceivingEnd::Opening(_) if opening.deadline().is_none() => "open",
                ReceivingEnd::Opening(_) => "handshake",
                ReceivingEnd::Tcp(_) => "receiver",
                _ => panic!("no TCP"),
            };
            (sender, receiver)
        })
    })
}

#[test]
fn an_end_has_the_state_of_a_handshake_from_its_syn_to_what_ends_it() {
    // 50 ms each way, and less than a millisecond for packets and hosts. The SYN leaves at 200 ms and arrives at 250,
    // the SYN-ACK at 300, the data behind its ACK at 350.
    let flow = |path: &str, more: &str| {
        format!(
            "duration = '2s'\npath = {{ rate = '1gbit', rtt = '100ms', queue = '50p'{path} }}\n\
             flows = [{{ cc = 'newreno', start = '200ms'{more} }}]"
        )
    };
    for allowed in [false, true] {
        let at = [199, 201, 249, 251, 299, 301, 349, 351];
        let (before, sent) = (("sender", "waiting"), ("handshake", "waiting"));
        let (both, answered) = (("handshake", "handshake"), ("sender", "handshake"));
        let data = ("sender", "receiver");
        let expected = [before, sent, sent, both, both, answered, answered, data];
        assert_eq!(ends_at(&flow("", ""), allowed, at), expected);
        // The first SYN is lost, and the second leaves a second later by an exact timer.
        let lost = flow(", loss = [['0s', '100%'], ['500ms', '0%']]", ", transport = { timer_tick = '0s' }");
        let expected = [sent, sent, both, both, answered, answered, data];
        assert_eq!(ends_at(&lost, allowed, [1199, 1249, 1251, 1299, 1301, 1349, 1351]), expected);
        // The ACK opens the connection of an application that has no data until 500 ms.
        let late = flow("", ", source = { rate = [['0s', '0bit'], ['500ms', '10mbit']] }");
        assert_eq!(
            ends_at(&late, allowed, [349, 351, 549, 560]),
            [answered, ("sender", "open"), ("sender", "open"), data]
        );
        // Without a handshake there is no such state: data leave at 200 ms.
        let plain = flow("", ", transport = { handshake = false }");
        assert_eq!(ends_at(&plain, allowed, [199, 201, 249, 251]), [before, before, before, data]);
    }
}

#[test]
fn senders_that_stay_lie_side_by_side_and_connections_that_come_and_go_do_not() {
    // Two flows, connections of three segments of which the first is over after three round trips, and another flow.
    let text = "duration = '1s'\npath = { rate = '100mbit', rtt = '20ms', queue = '1000p' }\n\
        flows = [{ cc = 'newreno', count = 2 }, { cc = 'cubic', bytes = '3kB', every = '300ms' }, { cc = 'newreno' }]";
    in_world(text, false, newreno, |mut world, _| {
        for (ms, connections) in [(10, 1), (200, 0)] {
            world.run(Time::ZERO + Span::from_millis(ms), &Watch::default());
            let ends = world.at(SENDERS).endpoints.senders.iter().filter_map(|sender| sender.end.as_ref());
            let places: Vec<_> = ends.map(SendingEnd::place_in_row).collect();
            let in_row: Vec<usize> = places.iter().flatten().copied().collect();
            assert_eq!((in_row.len(), places.len() - in_row.len()), (3, connections));
            // A sender has ten cache lines, and its meter one.
            assert_eq!([in_row[1] - in_row[0], in_row[2] - in_row[1]], [11 * 64; 2]);
        }
    });
}

#[test]
#[should_panic(expected = "broken")]
fn a_run_on_several_cores_ends_where_a_controller_panics() {
    let broken = || {
        let mut acks = 0;
        let on_ack = move |_: &mut Context<'_>, _: &Ack| {
            acks += 1;
            assert!(acks < 2, "broken");
        };
        Box::new(Steady { window: 10.0, on_ack })
    };
    run_with(&dumbbell("", "", ""), 2, |_| Ok(broken()));
}

/// The share of partitions that move in a turn, over the last of many turns that all three take at once to `end_of`
/// their clocks.
fn share_that_moves(text: &str, end_of: impl Fn(&Cut, Time) -> Time) -> f64 {
    let plan = scenario::from_toml(text, "test.toml").and_then(|scenario| scenario.plan(&scenario::NoFiles)).unwrap();
    let (_, cut) = Fabric::<Packet>::cut(&plan, 1).unwrap();
    let (mut clocks, mut moved) = ([Time::ZERO; 3], 0);
    for turn in 0..600 {
        let known = clocks;
        for place in [SENDERS, RECEIVERS, NETWORK] {
            clocks[place] = known[place].max(cut.horizon(place, &known).min(end_of(&cut, known[place])));
            moved += u32::from(turn >= 300 && clocks[place] > known[place]);
        }
    }
    f64::from(moved) / 900.0
}

#[test]
fn three_partitions_at_once_all_move_in_each_turn() {
    for path in ["", ", reverse = { rate = '5mbit', queue = '50p' }"] {
        let text = dumbbell(path, "", "");
        // Senders and receivers take turns with the links if each goes as far as it may.
        assert!(share_that_moves(&text, |_, _| Time::NEVER) < 0.7);
        assert_eq!(share_that_moves(&text, |cut, clock| end_of_three(cut, clock, Time::NEVER)), 1.0);
    }
}

/// A dumbbell with `more` keys, and one flow with `flow`.
fn dumbbell(path: &str, flow: &str, more: &str) -> String {
    format!(
        "duration = '1s'\n{more}\npath = {{ rate = '10mbit', rtt = '20ms', queue = '50p'{path} }}\n\
         flows = [{{ cc = 'newreno'{flow} }}]"
    )
}

#[test]
fn a_plan_is_cut_unless_something_is_known_in_two_places_at_once() {
    let cut = |path, flow, more| run(&dumbbell(path, flow, more), 1).1;
    assert!(cut("", "", ""));
    assert!(cut(", reverse = { rate = '1mbit', queue = '10p' }", ", count = 3, stop = '500ms'", ""));
    assert!(cut("", "", "record = { probes = '3acks' }"));
    for (path, flow, more) in
        [("", ", bytes = '30kB', every = '100ms'", ""), ("", "", "record = { flow_series = '3acks' }")]
    {
        assert!(!cut(path, flow, more), "{path} {flow} {more}");
    }
    assert!(!run(&dumbbell("", "", "").replace("20ms", "0ms"), 1).1, "a delay of zero");
    // From end to end and back to the first every way takes 20 ms, though the last link has no delay.
    let last = |more: &str| {
        format!(
            "duration = '1s'\n[[links]]\nname = 'first'\nfrom = 'a'\nto = 'b'\nrate = '10mbit'\nqueue = '20p'\n\
             delay = '20ms'\nreverse = {{}}\n\
             [[links]]\nname = 'last'\nfrom = 'b'\nto = 'c'\nrate = 'unlimited'\nloss = '1%'\n\
             delay = '0s'\nreverse = {{{more}}}\n[[flows]]\ncc = 'newreno'\nfrom = 'a'\nto = 'c'\n"
        )
    };
    assert!(run(&last(""), 1).1);
    assert!(!run(&last("rate = '1mbit', queue = '9p'"), 1).1, "ACKs meet the links where data leave them");
    let managed = dumbbell("", "", "").replace("'50p'", "'codel'");
    assert!(!run(&managed, 1).1);
    assert!(run(&format!("record = {{ events = false }}\n{managed}"), 1).1);
}
