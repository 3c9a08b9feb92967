//! Flows over wireless networks: the shares of TCP and datagrams, and their rows in the tables.

mod common;

use common::{assert_near, plan, run, run_plan};

/// A WLAN of 802.11a at 54 Mbit/s with so many `stations`, and wired hosts behind 100 Mbit/s and 20 ms.
fn home(stations: u32, flows: &str) -> String {
    format!(
        r#"
        duration = "20s"
        warmup = "5s"
        record = {{ flow_series = "off", probes = "off", link_series = "off" }}
        wlans = [{{ standard = "802.11a", stations = {stations} }}]
        links = [{{ from = "ap", to = "server", rate = "100mbit", delay = "20ms", queue = "infinite", duplex = true }}]
        flows = [{flows}]
        "#
    )
}

#[test]
fn a_datagram_source_alone_gets_the_saturation_throughput() {
    // `34 + 7.5 * 9 + 248 + 16 + 28 = 393.5 us` for 12,000 bits: 30.496 Mbit/s.
    let flow = r#"{ cc = "newreno", kind = "datagram", source = { rate = "40mbit" }, from = "sta-0", to = "server" }"#;
    let mut text = home(1, flow);
    // The echoes would contend as well.
    text = text.replace("duplex = true", r#"reverse = { rate = "1bit", queue = "1p" }"#);
    let tables = run(&text);
    assert_near(tables.flows[0].throughput_bps, 30.496e6, 0.002);
    let station = &tables.stations[1];
    assert_eq!((station.name.as_str(), station.wlan.as_str(), station.is_access_point), ("sta-0", "wlan", false));
    assert_eq!((station.collisions, station.errors, station.rate_mean_bps), (0, 0, 54e6));
    // 292 of 393.5 us.
    assert_near(station.airtime_share, 292.0 / 393.5, 0.002);
    let link = &tables.links[3];
    assert_eq!((link.name.as_str(), link.queue_packets_max), ("sta-0", 200.0));
    // A packet is in service until its last bit has arrived. Then 44 us pass until the next one is.
    assert_near(link.utilization, 349.5 / 393.5, 0.001);
}

#[test]
fn a_datagram_that_leaves_as_the_warm_up_ends_is_measured_like_its_loss() {
    // One of 1500 bytes each 12 ms: the first measured one at 120 ms, the 65th at 888 ms. The frames of each fail seven
    // times, so that it is given up after the warm-up.
    let text = r#"
        duration = "1s"
        warmup = "120ms"
        wlans = [{ standard = "802.11g", stations = ["a"], frame_errors = "100%" }]
        [[flows]]
        cc = "newreno"
        kind = "datagram"
        from = "a"
        to = "ap"
        stop = "895ms"
        source = { rate = "1mbit" }
    "#;
    let flow = &run(text).flows[0];
    assert_eq!((flow.sender.data_packets, flow.loss_rate), (65, 1.0));
}

#[test]
fn beacons_take_a_datagram_source_their_airtime() {
    // Each 15.36 ms one of 292 us, mostly PIFS (25 us) after an exchange: 317 us, 2.06 % of the 30.496 Mbit/s.
    let flow = r#"{ cc = "newreno", kind = "datagram", source = { rate = "40mbit" }, from = "sta-0", to = "server" }"#;
    let text = home(1, flow).replace("stations = 1", r#"stations = 1, beacon_interval = "15.36ms""#);
    let tables = run(&text.replace("duplex = true", r#"reverse = { rate = "1bit", queue = "1p" }"#));
    assert_near(tables.flows[0].throughput_bps, 30.496e6 * (1.0 - 317.0 / 15_360.0), 0.002);
}

#[test]
fn airtime_fairness_gives_a_fast_and_a_slow_station_half_of_the_air_each() {
    let flow = |station: &str| {
        let way = format!(r#"from = "ap", to = "{station}""#);
        format!(r#"{{ cc = "newreno", kind = "datagram", echo = false, source = {{ rate = "25mbit" }}, {way} }}"#)
    };
    let stations = r#"stations = ["fast", { name = "slow", rate = "6mbit" }], airtime_fairness = true"#;
    let text = home(2, &[flow("fast"), flow("slow")].join(", ")).replace("stations = 2", stations);
    let tables = run(&text);
    // Exchanges take 292 and 2132 us, each behind 101.5 us: 7.30 fast ones and a slow one in 5106 us.
    assert_near(tables.flows[0].throughput_bps, 7.30 * 12_000.0 / 5106e-6, 0.01);
    assert_near(tables.flows[1].throughput_bps, 12_000.0 / 5106e-6, 0.01);
}

#[test]
fn tcp_gets_less_as_its_acks_contend_too() {
    for flow in
        [r#"{ cc = "newreno", from = "sta-0", to = "server" }"#, r#"{ cc = "newreno", from = "server", to = "sta-0" }"#]
    {
        let tables = run(&home(1, flow));
        let goodput = tables.flows[0].goodput_bps / 1e6;
        // A data frame takes 248 us (23.0 of 24 Mbit/s of payload), an ACK of 88 bytes `20 + 4 * 4 = 36 us`. Two data
        // frames and one ACK take `3 * (34 + 16 + 28) + 2 * 248 + 36 = 766 us` and at most three backoffs of 67.5 us
        // each, at least one: while one counts the other does, too. 23,168 bits in 834 to 969 us: 23.9 to 27.8 Mbit/s.
        assert!((23.9..27.8).contains(&goodput), "{goodput}");
        assert!(tables.stations.iter().all(|station| station.collisions > 0));
    }
}

#[test]
fn stations_share_the_medium_alike() {
    let flows = r#"{ cc = "newreno", kind = "datagram", source = { rate = "20mbit" }, from = "sta-N", to = "server" }"#;
    let flows: Vec<String> = (0..4).map(|n| flows.replace('N', &n.to_string())).collect();
    let text = home(4, &flows.join(","));
    let text = text.replace(r#"duration = "20s""#, r#"duration = "205s""#);
    let tables = run(&text.replace("duplex = true", r#"reverse = { rate = "1bit", queue = "1p" }"#));
    let total: f64 = tables.flows.iter().map(|flow| flow.throughput_bps).sum();
    for flow in &tables.flows {
        assert_near(flow.throughput_bps, total / 4.0, 0.015);
    }
    // Every attempt is in the counts once.
    for station in &tables.stations[1..] {
        assert_eq!(station.attempts, station.acknowledged_frames + station.collisions);
    }
}

#[test]
fn hidden_stations_upload_less_and_more_with_rts() {
    let goodputs = |flow: &str, keys: &str| {
        let flows: Vec<String> = (0..2).map(|n| flow.replace('N', &n.to_string())).collect();
        let keys = format!(r#"stations = 2, rate = "6mbit"{keys}"#);
        let tables = run(&home(2, &flows.join(",")).replace("stations = 2", &keys));
        [0, 1].map(|flow| tables.flows[flow].throughput_bps / 1e6)
    };
    let (hidden, rts) = (r#", hidden = "all""#, r#", hidden = "all", rts_above = "0B""#);
    // Data frames of 2072 us are longer than the windows of the first five attempts. Behind an RTS it is 44 us.
    let datagrams = r#"{ cc = "newreno", kind = "datagram", echo = false, source = { rate = "6mbit" }, from = "sta-N",
        to = "server" }"#;
    let sum = |keys| goodputs(datagrams, keys).iter().sum::<f64>();
    assert_near(sum(""), 5.13, 0.01);
    assert_near(sum(hidden), 0.85, 0.1);
    assert_near(sum(rts), 4.94, 0.02);
    // The median of runs of two TCP flows, of both and of the smaller one: in some runs one of them gives up after its
    // first losses.
    let tcp = |keys: &str| {
        let flows = [0, 1].map(|n| format!(r#"{{ cc = "newreno", from = "sta-{n}", to = "server" }}"#));
        let keys = format!(r#"stations = 2, rate = "6mbit"{keys}"#);
        let plan = plan(&home(2, &flows.join(",")).replace("stations = 2", &keys));
        let (mut sums, mut smaller): (Vec<f64>, Vec<f64>) = (1..=7)
            .map(|seed| {
                let tables = run_plan(plan.clone(), seed);
                let [one, other] = [0, 1].map(|flow| tables.flows[flow].throughput_bps / 1e6);
                (one + other, one.min(other))
            })
            .unzip();
        [&mut sums, &mut smaller].map(|values| {
            values.sort_by(f64::total_cmp);
            values[values.len() / 2]
        })
    };
    assert_near(tcp("")[0], 4.43, 0.02);
    let ([both, smaller], [both_rts, smaller_rts]) = (tcp(hidden), tcp(rts));
    assert!((1.9..2.8).contains(&both) && (0.5..1.1).contains(&smaller), "{both} {smaller}");
    assert_near(both_rts, 4.53, 0.02);
    assert!((0.1..0.4).contains(&smaller_rts), "{smaller_rts}");
}

#[test]
fn every_frame_has_a_row_where_frames_are_recorded() {
    let flow = r#"{ cc = "newreno", from = "sta-0", to = "sta-1", bytes = "100kB" }"#;
    let tables = run(&home(2, flow).replace("probes = \"off\"", "probes = \"off\", frames = true").replace("5s", "0s"));
    let attempts: u64 = tables.stations.iter().map(|station| station.attempts).sum();
    assert_eq!(tables.frames.time_s.len() as u64, attempts);
    // 70 segments go up to the access point and down to the other station.
    let large = tables.frames.bytes.iter().zip(&tables.frames.acknowledged).filter(|(bytes, _)| **bytes == 1536);
    assert_eq!(large.map(|(_, acknowledged)| acknowledged).sum::<u32>(), 2 * 69);
    assert!(tables.flows[0].completion_s.is_finite());
}

#[test]
fn rate_adaptations_find_what_a_distance_allows() {
    // At 40 m 24 Mbit/s works, at `33.3 - 30 log10(4) = 15 dB`. 36 Mbit/s hardly does.
    for rate in ["arf", "samplerate", "minstrel"] {
        let flow = r#"{ cc = "newreno", kind = "datagram", source = { rate = "30mbit" }, from = "sta-0", to = "ap" }"#;
        let text =
            home(1, flow).replace("stations = 1", &format!(r#"stations = 1, distance = "40m", rate = "{rate}""#));
        let tables = run(&text);
        let station = &tables.stations[1];
        let mean = station.rate_mean_bps / 1e6;
        assert!((18.0..40.0).contains(&mean), "{rate}: {mean}");
        assert!(station.errors > 0 && tables.flows[0].throughput_bps > 6e6, "{rate}");
    }
}

#[test]
fn a_call_of_the_voice_category_waits_less_behind_an_upload() {
    let wait = |edca: &str, category: &str| {
        let call = r#"{ cc = "newreno", kind = "datagram", packet_size = "186B", source = { rate = "74.4kbit" },
            from = "sta-0", to = "server" "#;
        let text = home(1, &format!(r#"{{ cc = "cubic", from = "sta-0", to = "server" }}, {call}{category} }}"#));
        let tables = run(&text.replace("stations = 1", &format!("stations = 1, edca = {edca}")));
        tables.flows[1].rtt_p50_ms
    };
    let (alike, voice) = (wait("false", ""), wait("true", r#", access_category = "voice""#));
    // 200 frames of some 0.45 ms, ACKs between them, wait before it in the common queue, and none in its own.
    assert!(alike > 80.0 && voice < 45.0, "{alike} {voice}");
}
