//! TCP-Gentle through the whole simulator (Edwan 2010, chapter 7): one flow over 100 Mbit/s and 100 ms, an ACK for each
//! packet of 1500 bytes, `Q_max = 50`, no slow start, no limit of the queue.

mod common;

use common::{assert_near, run};

/// When the window gave up a queue above Q_max, seconds.
fn decongestions(cc: &str) -> Vec<f64> {
    let tables = run(&format!(
        r#"
        duration = "300s"
        path = {{ rate = "100mbit", rtt = "100ms", queue = "100000p" }}
        record = {{ flow_series = "off", probes = "20ms", link_series = "off" }}
        [[flows]]
        cc = "{cc}"
        parameters = {{ q_max = 50, slow_start = false }}
        transport = {{ ack_every = 1, initial_window = 2 }}
        "#
    ));
    let probes = &tables.probes;
    let code = probes.names().iter().position(|known| *known == "decongestions").expect("a probe of both");
    let rows = probes.time_s.iter().zip(probes.code.iter().zip(&probes.value));
    let counts = rows.filter(|(_, (c, _))| usize::from(**c) == code).map(|(time, (_, value))| (*time, *value));
    let mut seen = 0.0;
    counts.filter(|(_, count)| std::mem::replace(&mut seen, *count) < *count).map(|(time, _)| time).collect()
}

#[test]
fn gentle_gives_up_its_queue_at_the_times_of_the_reference_run() {
    let times = decongestions("gentle-1");
    let reference = [6.04, 8.74, 11.4, 14.1, 16.8, 19.5, 22.2, 24.9, 30.2, 41.8, 62.1, 93.7, 139.0, 202.0, 264.0];
    assert_eq!(times.len(), reference.len(), "{times:?}");
    for (time, expected) in times.iter().zip(reference) {
        assert_near(*time, expected, 0.05);
    }
}

#[test]
fn yeah_gives_up_its_queue_every_three_quarters_of_a_second() {
    let times = decongestions("yeah");
    let between: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_near(
        between[between.len() / 2..].iter().sum::<f64>() / (between.len() - between.len() / 2) as f64,
        0.74,
        0.05,
    );
}
