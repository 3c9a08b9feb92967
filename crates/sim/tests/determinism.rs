//! The same plan and seed give the same bytes, whatever else goes on. They also give the same bytes as earlier
//! versions.

mod common;

use std::fmt::Write;

use common::{fingerprint, plan, run_plan};

/// Scenarios with something of everything.
const SCENARIOS: [(&str, &str); 6] = [
    (
        "every controller on one bottleneck, losses in bursts",
        r#"
        duration = "20s"
        path.rate = "20mbit"
        path.rtt = "40ms"
        path.queue = "60p"
        path.loss = { model = "gilbert-elliott", good_to_bad = "0.1%", bad_to_good = "30%" }
        flows = [
          { cc = "newreno", start_jitter = "1s" },
          { cc = "cubic", start_jitter = "1s" },
          { cc = "vegas", start_jitter = "1s" },
          { cc = "cdg", start_jitter = "1s" },
          { cc = "aimd", start_jitter = "1s", parameters = { alpha = 0.5, beta = 0.8 } },
        ]
        record = { flow_series = "50ms", probes = "5acks" }
        "#,
    ),
    (
        "every profile with every kind of source",
        r#"
        duration = "20s"
        warmup = "3s"
        path.rate = [["0s", "10mbit"], ["5s", "3mbit"], ["10s", "0bit"], ["11s", "12mbit"]]
        path.rtt = "30ms"
        path.queue = { limit = "100ms", count_in_service = true }
        path.loss = "0.5%"
        path.reverse = { rate = "500kbit", queue = "30p", loss = "1%" }
        flows = [
          { cc = "newreno", profile = "freebsd-9", count = 2 },
          { cc = "cubic", profile = "ns2-linux", source = { rate = "2mbit", arrivals = "poisson" } },
          { cc = "newreno", profile = "linux", rtt = "90ms", bytes = "3MB" },
          { cc = "cdg", kind = "datagram", source = { rate = "1mbit", arrivals = "poisson" }, stop = "15s" },
        ]
        record = { flow_series = "20acks" }
        "#,
    ),
    (
        "marks instead of drops",
        r#"
        duration = "20s"
        path.rate = "10mbit"
        path.rtt = "20ms"
        path.queue = { limit = "200p", mark_above = "15p" }
        flows = [
          { cc = "newreno", transport = { ecn = true } },
          { cc = "cubic", transport = { ecn = true, ack_every = 1 } },
          { cc = "cdg", profile = "freebsd-9", transport = { ecn = true } },
        ]
        "#,
    ),
    (
        "a parking lot with traffic both ways",
        r#"
        duration = "20s"
        links = [
          { from = "a", to = "b", rate = "10mbit", delay = "10ms", queue = "50p", duplex = true },
          { from = "b", to = "c", rate = "8mbit", delay = "5ms", queue = "64kB", loss = "0.2%", duplex = true },
          { from = "c", to = "d", rate = "20mbit", delay = "1ms", queue = "infinite",
            reverse = { rate = "1mbit", queue = "20p" } },
        ]
        flows = [
          { cc = "cubic", from = "a", to = "d" },
          { cc = "newreno", from = "b", to = "c", start = "2s" },
          { cc = "vegas", from = "d", to = "a", start = "4s", extra_delay = "7ms" },
          { cc = "newreno", kind = "datagram", source = { rate = "1mbit" }, via = ["c", "b", "a"], stop = "12s" },
        ]
        record = { link_series = "10ms" }
        "#,
    ),
    (
        "recovery without SACK",
        r#"
        duration = "20s"
        path.rate = "5mbit"
        path.rtt = "60ms"
        path.queue = "25p"
        path.loss = "1%"
        flows = [
          { cc = "newreno", transport = { sack = false } },
          { cc = "cdg", transport = { sack = false, timestamps = false, limited_transmit = false } },
        ]
        "#,
    ),
    (
        "routes that change, jitter, a source that pauses and short flows",
        r#"
        duration = "20s"
        warmup = "5s"
        path.rate = "10mbit"
        path.rtt = [["0s", "60ms"], ["7s", "20ms"], ["13s", "90ms"]]
        path.reorder = true
        path.queue = "1bdp"
        path.jitter = "2ms"
        path.reverse = { jitter = { uniform = "1ms", reorder = true } }
        flows = [
          { cc = "newreno", rtt = [["0s", "40ms"], ["10s", "30ms"]] },
          { cc = "cubic", bytes = { pareto = { mean = "30kB", shape = 1.5 } }, every = { exponential = "200ms" } },
          { cc = "newreno", bytes = "20kB", every = { uniform = ["200ms", "300ms"] }, count = 2 },
          { cc = "vegas", kind = "datagram", source = { rate = "1mbit", on = { uniform = ["1s", "2s"] }, off = "2s" } },
        ]
        "#,
    ),
];

fn prints(seed: u64) -> [u64; SCENARIOS.len()] {
    SCENARIOS.map(|(_, text)| fingerprint(run_plan(plan(text), seed)))
}

#[test]
fn four_threads_at_once_give_the_bytes_of_one_alone() {
    let alone = prints(1);
    let together: Vec<_> = std::thread::scope(|scope| {
        let threads = [(); 4].map(|()| scope.spawn(|| prints(1)));
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(together.iter().all(|prints| *prints == alone), "{alone:x?} {together:x?}");
}

#[test]
fn another_seed_gives_another_run_where_something_is_random() {
    let (one, two) = (prints(1), prints(2));
    let changed: Vec<_> = SCENARIOS.iter().zip(one.iter().zip(&two)).filter(|(_, (a, b))| a != b).collect();
    // CDG draws its back-offs, so that every scenario has chance in it.
    assert_eq!(changed.len(), SCENARIOS.len(), "{changed:x?}");
}

#[test]
fn without_chance_the_seed_does_not_matter() {
    let text = r#"
        duration = "20s"
        path = { rate = "10mbit", rtt = "40ms", queue = "50p" }
        # Where timers tick, the time for which the hosts have been up is drawn.
        flows = [
          { cc = "newreno", transport = { timer_tick = "0s" } },
          { cc = "cubic", start = "1s", transport = { timer_tick = "0s" } },
          { cc = "vegas", start = "2s", transport = { timer_tick = "0s" } },
        ]
    "#;
    let print = |seed| fingerprint(run_plan(plan(text), seed));
    assert_eq!(print(1), print(2));
}

/// A change of behaviour alters these lines.
#[test]
fn a_change_of_behaviour_shows() {
    let mut lines = String::new();
    for (name, text) in SCENARIOS {
        let tables = run_plan(plan(&format!("phase_noise = false\n{text}")), 1);
        let delivered: u64 = tables.flows.iter().map(|flow| flow.delivered_bytes).sum();
        let events = tables.events.columns().kind.len();
        let print = fingerprint(tables);
        writeln!(lines, "{print:016x}  {:>6} kB, {events:>4} events: {name}", delivered / 1000).unwrap();
    }
    insta::assert_snapshot!(lines);
}
