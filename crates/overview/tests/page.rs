//! Pages of runs that are small enough to work every number out by hand.

use serde_json::{Value, json};

/// A run: 10 s on a link of 8 Mbit/s with a buffer of 40 ms.
///
/// Flow `a` delivers 500,000 bytes a second. Flow `b` starts at 4 s and delivers 250,000. Each second has a sample, and
/// a fifth of each packet is its header.
/// The queue grows by 5,000 bytes a second, which are 5 ms.
struct Made {
    scenario: Value,
    flows: Vec<(&'static str, Column)>,
    names: Vec<String>,
    controllers: Vec<&'static str>,
    others: Vec<(&'static str, &'static str, Column)>,
}

type Column = Vec<f64>;

const NAN: f64 = f64::NAN;

fn seconds() -> Column {
    (0..=10).map(f64::from).collect()
}

fn made() -> Made {
    let each = |of: fn(f64) -> f64| seconds().into_iter().map(of).collect::<Column>();
    let both = |a: fn(f64) -> f64, b: fn(f64) -> f64| [each(a), each(b)].concat();
    Made {
        scenario: json!({ "path": { "rate": "8mbit", "rtt": "40ms", "queue": "1bdp" }, "flows": [{ "count": 2 }] }),
        names: vec!["a".into(), "b".into()],
        controllers: vec!["newreno", "cdg"],
        flows: vec![
            ("flow", vec![0.0, 1.0]),
            ("start_s", vec![0.0, 4.0]),
            ("stop_s", vec![10.0, 10.0]),
            ("measured_s", vec![10.0, 6.0]),
            ("base_rtt_ms", vec![40.0, 40.0]),
            ("delivered_bytes", vec![5e6, 1.5e6]),
            ("goodput_bps", vec![4e6, 2e6]),
            ("throughput_bps", vec![5e6, 2.5e6]),
            ("data_packets", vec![3000.0, 1000.0]),
            ("loss_rate", vec![0.01, 0.05]),
            ("rtt_p50_ms", vec![90.0, 60.0]),
            ("completion_s", vec![NAN, NAN]),
        ],
        others: vec![
            ("links", "link", vec![0.0, 1.0]),
            ("links", "is_bottleneck", vec![0.0, 1.0]),
            ("links", "rate_bps", vec![NAN, 8e6]),
            ("links", "queue_delay_mean_ms", vec![NAN, 12.34]),
            ("links", "queue_delay_p95_ms", vec![NAN, 47.5]),
            ("flow_series", "time_s", both(|t| t, |t| t)),
            ("flow_series", "flow", both(|_| 0.0, |_| 1.0)),
            ("flow_series", "delivered_bytes", both(|t| 5e5 * t, |t| 2.5e5 * (t - 4.0).max(0.0))),
            ("flow_series", "arrived_bytes", both(|t| 6.25e5 * t, |t| 3.125e5 * (t - 4.0).max(0.0))),
            ("flow_series", "base_rtt_ms", both(|_| 40.0, |_| 40.0)),
            ("flow_series", "latest_rtt_ms", both(|t| 40.0 + 10.0 * t, |t| if t < 5.0 { NAN } else { 60.0 })),
            ("flow_series", "window_segments", both(|t| 10.0 + t, |_| 4.0)),
            ("link_series", "time_s", both(|t| t, |t| t)),
            ("link_series", "link", both(|_| 0.0, |_| 1.0)),
            ("link_series", "queue_bytes", both(|_| 7.0, |t| 5e3 * t)),
            ("link_series", "capacity_bytes", both(|_| NAN, |t| 1e6 * t)),
            ("events", "time_s", vec![1.0, 2.0, 3.0]),
        ],
    }
}

impl Made {
    /// Sets a column of another table, or adds it.
    fn with_other(mut self, table: &'static str, name: &'static str, values: Column) -> Self {
        self.others.retain(|&(of, known, _)| (of, known) != (table, name));
        self.others.push((table, name, values));
        self
    }

    /// Sets a column of the flows.
    fn with(mut self, name: &str, values: &[f64]) -> Self {
        self.flows.iter_mut().filter(|(known, _)| *known == name).for_each(|(_, column)| *column = values.to_vec());
        self
    }

    fn facts(self, doubles: &mut Vec<u8>) -> Value {
        let mut place = |values: &[f64]| {
            let at = doubles.len() / 8;
            doubles.extend(values.iter().flat_map(|value| value.to_le_bytes()));
            json!({ "at": at, "length": values.len() })
        };
        let mut tables = json!({
            "flows": { "name": self.names, "cc": self.controllers },
            "links": { "name": ["back", "forth"] },
            "events": { "kind": place(&[1.0, 0.0, 1.0]) },
        });
        tables["events"]["kind"]["names"] = json!(["mark", "drop"]);
        for (name, values) in &self.flows {
            tables["flows"][name] = place(values);
        }
        for (table, name, values) in &self.others {
            tables[table][name] = place(values);
        }
        json!({ "scenario": self.scenario, "duration_s": 10.0, "warmup_s": 0.0, "tables": tables })
    }
}

fn page(labels: Vec<(&str, Vec<Made>)>) -> Value {
    let mut doubles = Vec::new();
    let mut line = Vec::new();
    for (label, runs) in labels {
        let of: Vec<Value> = runs.into_iter().map(|run| run.facts(&mut doubles)).collect();
        line.push(json!({ "label": label, "of": of }));
    }
    let line = Value::from(line).to_string() + "\n";
    overview::page(&[line.into_bytes(), doubles].concat()).unwrap()
}

fn sentence(page: &Value, question: &str) -> String {
    let rows = page["sentences"].as_array().unwrap();
    rows.iter().find(|row| row[0] == question).map_or_else(String::new, |row| row[1].as_str().unwrap().to_owned())
}

/// A curve of a panel at a time. A run has 40 steps a second.
fn at(curve: &Value, second: f64) -> Option<f64> {
    curve[(40.0 * second) as usize].as_f64()
}

#[test]
fn sentences_answer_the_questions() {
    let one = page(vec![("run", vec![made()])]);
    assert_eq!(sentence(&one, "Throughput"), "6.5 Mbit/s, of the 8 that the bottleneck carries");
    assert_eq!(sentence(&one, "Delay"), "12.3 ms of queueing on average; 95 % of the time at most 47.5 ms");
    // 30 of 3000 and 50 of 1000.
    assert_eq!(sentence(&one, "Loss"), "2 % of the data packets, on the way");
    // (4 + 2)^2 / (2 (16 + 4)).
    assert_eq!(sentence(&one, "Fairness"), "Jain's index of the lasting flows: 0.9 (1 is equal)");
    assert_eq!(sentence(&one, "Delivery"), "");
}

#[test]
fn labels_have_a_number_each() {
    let mut alone = made().with("delivered_bytes", &[0.0, 0.0]).with("throughput_bps", &[0.0, 0.0]);
    alone.scenario = json!({ "links": [], "flows": [{}, { "source": "call" }] });
    let two = page(vec![("one", vec![made()]), ("other", vec![alone])]);
    assert_eq!(sentence(&two, "Throughput"), "one 6.5, other 0 Mbit/s, of the 8 that the bottleneck carries");
    assert_eq!(sentence(&two, "Delivery"), "no data was delivered in the measured time with other");
    let delay = "one 12.3, other 12.3 ms of queueing on average at the bottleneck, forth; 95 % of the time at most ";
    assert_eq!(sentence(&two, "Delay"), format!("{delay}one 47.5, other 47.5 ms"));
    // The call needs no more, and a single flow is left.
    let fairness = "Jain's index of the lasting flows at the bottleneck, forth: 0.9 (1 is equal)";
    assert_eq!(sentence(&two, "Fairness"), fairness);
}

#[test]
fn a_station_has_no_rate_of_its_own() {
    let mut wireless = made();
    wireless.scenario["wlans"] = json!([{}]);
    wireless.others.push(("stations", "link", vec![1.0]));
    assert_eq!(sentence(&page(vec![("run", vec![wireless])]), "Throughput"), "6.5 Mbit/s");
}

#[test]
fn flows_that_complete_are_not_compared() {
    let short = made().with("completion_s", &[3.0, NAN]);
    let said = sentence(&page(vec![("run", vec![short])]), "Fairness");
    assert_eq!(said, "less than two flows that send all they can last, and only these are compared");
}

#[test]
fn a_curve_of_one_label_is_a_flow() {
    let shown = page(vec![("run", vec![made()])]);
    let [throughput, rtt, queue, window] = [0, 1, 2, 3].map(|n| shown["stack"][n].clone());
    assert_eq!(
        [&throughput, &rtt, &queue, &window].map(|panel| &panel["name"]),
        ["throughput", "rtt", "queue", "window"]
    );
    let [a, b] = [0, 1].map(|n| throughput["curves"][n].clone());
    assert_eq!([&a["label"], &a["cc"], &b["label"], &b["cc"]], ["a", "newreno", "b", "cdg"]);
    assert_eq!([at(&a["median"], 5.0), at(&b["median"], 3.0), at(&b["median"], 8.0)], [Some(5.0), None, Some(2.5)]);
    assert_eq!(
        (&throughput["levels"][0]["label"], at(&throughput["levels"][0]["values"], 5.0)),
        (&json!("rate of the link"), Some(8.0))
    );
    let rtts = [0, 1].map(|n| at(&rtt["curves"][n]["median"], 7.5));
    assert_eq!((rtts, at(&rtt["levels"][0]["values"], 0.0)), ([Some(110.0), Some(60.0)], Some(40.0)));
    // 25,000 bytes at a million bytes a second, and a buffer of 40 ms.
    assert_eq!(at(&queue["curves"][0]["median"], 5.0).map(f64::round), Some(25.0));
    assert_eq!(at(&queue["levels"][0]["values"], 5.0).map(f64::round), Some(40.0));
    assert_eq!(queue["ticks"][0]["at"], json!([1.0, 3.0]));
    assert_eq!([0, 1].map(|n| at(&window["curves"][n]["median"], 6.0)), [Some(16.0), Some(4.0)]);
}

#[test]
fn a_curve_of_several_labels_is_all_flows_of_a_run() {
    let faster = made();
    let shown = page(vec![("one", vec![made(), faster]), ("other", vec![made()])]);
    let throughput = &shown["stack"][0]["curves"];
    assert_eq!((throughput[0]["label"].clone(), throughput[0]["cc"].clone()), (json!("one"), json!("")));
    assert_eq!([at(&throughput[0]["median"], 3.5), at(&throughput[0]["median"], 8.5)], [Some(5.0), Some(7.5)]);
    assert_eq!([at(&throughput[0]["low"], 8.5), at(&throughput[0]["high"], 8.5)], [Some(7.5); 2]);
    assert!(throughput[1].get("low").is_none());
    // The RTT is the mean of both flows: 110 and 60 ms.
    assert_eq!(at(&shown["stack"][1]["curves"][0]["median"], 7.0), Some(85.0));
}

#[test]
fn a_repaired_loss_that_delivers_all_behind_it_is_no_peak() {
    let mut repaired = made();
    let held = |t: f64| if t < 6.0 { 0.0 } else { 5e5 * t };
    let delivered = repaired.others.iter_mut().find(|(_, name, _)| *name == "delivered_bytes").unwrap();
    delivered.2 = seconds().into_iter().map(held).chain(seconds().into_iter().map(|_| 0.0)).collect();
    let shown = page(vec![("run", vec![repaired])]);
    let a = &shown["stack"][0]["curves"][0]["median"];
    assert_eq!([3.5, 5.5, 8.5].map(|second| at(a, second)), [Some(5.0); 3]);
}

#[test]
fn flows_of_the_other_direction_do_not_count() {
    let said = |routes: Value| {
        let mut doubles = Vec::new();
        let mut facts = made().facts(&mut doubles);
        facts["routes"] = routes;
        let line = json!([{ "label": "run", "of": [facts] }]).to_string() + "\n";
        let page = overview::page(&[line.into_bytes(), doubles].concat()).unwrap();
        ["Throughput", "Fairness"].map(|question| sentence(&page, question))
    };
    // The bottleneck is link 1, and the first flow has 5 Mbit/s.
    let [throughput, index] = said(json!([[1], [0]]));
    assert_eq!(throughput, "5 Mbit/s, of the 8 that the bottleneck carries");
    assert_eq!(index, "Jain's index of the lasting flows: 1 (1 is equal)");
    let [throughput, index] = said(json!([[1], [0, 1]]));
    assert_eq!(throughput, "6.5 Mbit/s, of the 8 that the bottleneck carries");
    assert_eq!(index, "Jain's index of the lasting flows: 0.9 (1 is equal)");
}

/// So many flows, of which all but the last are web flows.
fn many(count: usize) -> Made {
    let mut many = made();
    let of = |value: f64| vec![value; count];
    many.names = (0..count).map(|n| format!("web-{n}")).collect();
    many.names[count - 1] = "file".to_owned();
    many.controllers = vec!["cubic"; count];
    let numbers: Column = (0..count).map(|n| n as f64).collect();
    for (name, column) in &mut many.flows {
        *column = if *name == "flow" { numbers.clone() } else { of(column[0]) };
    }
    many.flows.iter_mut().filter(|(name, _)| *name == "throughput_bps").for_each(|(_, column)| *column = of(1.6e6));
    // Each flow has two samples. The rest of its two million bytes counts at its end.
    many.flows.iter_mut().filter(|(name, _)| *name == "completion_s").for_each(|(_, column)| *column = of(10.0));
    many.flows.iter_mut().filter(|(name, _)| *name == "data_packets").for_each(|(_, column)| *column = of(4000.0));
    many.flows.iter_mut().filter(|(name, _)| *name == "loss_rate").for_each(|(_, column)| *column = of(0.0));
    many.others.retain(|(table, ..)| *table != "flow_series");
    let twice = |values: [f64; 2]| values.into_iter().flat_map(|value| vec![value; count]).collect::<Column>();
    many.others.extend([
        ("flow_series", "time_s", twice([1.0, 2.0])),
        ("flow_series", "flow", [numbers.clone(), numbers].concat()),
        ("flow_series", "arrived_bytes", twice([5e5, 1e6])),
        ("flow_series", "base_rtt_ms", twice([40.0, 40.0])),
        ("flow_series", "latest_rtt_ms", twice([NAN, 50.0])),
        ("flow_series", "window_segments", (0..2 * count).map(|n| n as f64).collect()),
    ]);
    many
}

#[test]
fn many_flows_are_one_curve_by_name_and_controller() {
    let shown = page(vec![("run", vec![many(17)])]);
    let throughput = &shown["stack"][0]["curves"];
    assert_eq!([&throughput[0]["label"], &throughput[1]["label"]], ["16 x web", "file"]);
    // Half a million bytes of each of 16 flows in a second, and the second half of all in the last one.
    assert_eq!(
        [1.0, 2.0, 5.0, 9.75].map(|second| at(&throughput[0]["median"], second)),
        [64.0, 64.0, 0.0, 128.0].map(Some)
    );
    // The mean over 0 to 15, then over 17 to 32.
    let window = &shown["stack"][3]["curves"][0]["median"];
    assert_eq!([at(window, 1.5), at(window, 2.0)], [Some(7.5), Some(24.5)]);
    let counts = |shown: &Value| {
        let length = |list: &Value| list.as_array().unwrap().len();
        [0, 3]
            .map(|panel| length(&shown["stack"][panel]["curves"]))
            .map(|curves| (curves, length(&shown["plane"]["points"])))
    };
    assert_eq!(counts(&shown), [(2, 1); 2]);
    assert_eq!(counts(&page(vec![("run", vec![many(16)])])), [(16, 16); 2]);
}

#[test]
fn points_are_flows_and_distributions_are_shares() {
    let shown = page(vec![("run", vec![made()])]);
    let points = &shown["plane"]["points"];
    assert_eq!(
        [&points[0]["x"], &points[0]["y"], &points[1]["x"], &points[1]["y"]],
        [[50.0], [4.0], [20.0], [2.0]].map(|x| json!(x)).each_ref()
    );
    let samples = &shown["distributions"][0];
    assert_eq!((samples["name"].clone(), samples["log_x"].clone()), (json!("rtt-distribution"), json!(false)));
    // Eleven samples from 40 to 140 ms: the first is at the left end. All samples of the other flow are 60 ms.
    let [a, b] = [0, 1].map(|n| samples["curves"][n]["median"].clone());
    assert_eq!([&a[0], &a[399], &b[79], &b[80]].map(|share| share.as_f64().unwrap()), [1.0 / 11.0, 1.0, 0.0, 1.0]);
}

#[test]
fn completion_times_are_shown_by_size() {
    let short = || made().with("completion_s", &[2.0, 30.0]).with("delivered_bytes", &[5e3, 9999.0]);
    let shown = page(vec![("run", vec![short(), short()])]);
    let times = &shown["distributions"][1];
    assert_eq!(
        (&times["name"], &times["title"]),
        (&json!("completion-0"), &json!("share of the transfers of below 10 kB"))
    );
    assert_eq!(
        (times["log_x"].clone(), times["x"][0].clone(), times["x"][399].clone()),
        (json!(true), json!(2000.0), json!(30000.0))
    );
    assert_eq!(
        (times["curves"][0]["median"][0].clone(), times["curves"][0]["median"][399].clone()),
        (json!(0.5), json!(1.0))
    );
    assert_eq!(shown["distributions"].as_array().unwrap().len(), 2);
}

#[test]
fn many_drops_are_as_many_ticks_as_a_screen_shows() {
    let mut lossy = made();
    lossy.others.retain(|(table, ..)| *table != "events");
    // The kinds are of three events. The others have none.
    lossy.others.push(("events", "time_s", (0..2000).map(|n| f64::from(n) / 200.0).collect()));
    lossy.others.push(("events", "kind", vec![1.0; 2000]));
    let mut doubles = Vec::new();
    let mut facts = lossy.facts(&mut doubles);
    facts["tables"]["events"]["kind"]["names"] = json!(["mark", "drop"]);
    let line = json!([{ "label": "run", "of": [facts] }]).to_string() + "\n";
    let shown = overview::page(&[line.into_bytes(), doubles].concat()).unwrap();
    let ticks = shown["stack"][2]["ticks"][0]["at"].as_array().unwrap().clone();
    assert_eq!((ticks.len(), ticks[1].as_f64()), (501, Some(0.02)));
}

#[test]
fn a_run_without_samples_has_no_curves() {
    let mut short = made();
    short.others.retain(|(table, ..)| *table != "flow_series");
    let shown = page(vec![("run", vec![short])]);
    assert_eq!((&shown["stack"], &shown["distributions"]), (&json!([]), &json!([])));
}

#[test]
fn a_page_needs_runs() {
    let why = |request: &[u8]| overview::page(request).unwrap_err();
    assert_eq!(why(b"[]\n"), "the page has no label");
    assert_eq!(why(br#"[{"label": "x", "of": []}]"#), "a label of the page has no run");
    assert!(why(b"nothing").starts_with("expected"));
}

#[test]
fn a_line_that_frames_packets_carries_less_of_ip() {
    // 1696 bytes on the line for each packet of 1500: 8 Mbit/s carry 7.075 of IP, of which 6.5 left.
    let mut framed = made();
    framed.scenario["path"]["framing"] = json!({ "overhead": 32, "link_layer": "atm" });
    let of_ip = 6.5e6;
    let framed = framed.with_other("links", "throughput_bps", vec![NAN, of_ip]).with_other(
        "links",
        "utilization",
        vec![0.0, of_ip * 1696.0 / 1500.0 / 8e6],
    );
    let shown = page(vec![("run", vec![framed])]);
    let said = sentence(&shown, "Throughput");
    assert!(said.ends_with(", of the 7.08 that the bottleneck carries without the frames of its 8"), "{said}");
    // The rate in the panel of the throughput, and a wait of 45,000 bytes of IP at 9 s.
    let rate = &shown["stack"][0]["levels"][0]["values"];
    assert!((rate[100].as_f64().unwrap() - 7.0755).abs() < 1e-3, "{rate}");
    let wait = at(&shown["stack"][2]["curves"][0]["median"], 9.0).unwrap();
    assert!((wait - 45e3 * 8.0 * 1696.0 / 1500.0 / 8e6 * 1e3).abs() < 0.1, "{wait}");
    let plain = sentence(&page(vec![("run", vec![made()])]), "Throughput");
    assert!(plain.ends_with(", of the 8 that the bottleneck carries"), "{plain}");
}

#[test]
fn delay_is_above_the_base_rtt_of_its_time() {
    // The base RTT of the first flow is 70 ms from 5 s on, and of the second 40 ms all the time.
    let bases = (0..=10).map(|t| if t < 5 { 40.0 } else { 70.0 }).chain([40.0; 11]).collect();
    let shown = page(vec![("run", vec![made().with_other("flow_series", "base_rtt_ms", bases)])]);
    // RTTs of 40, 50 to 80 ms above 40, then 90 to 140 above 70: 0, 10, 20, 20, 30, 30, 40, 40, 50, 60, 70.
    let points = &shown["plane"]["points"];
    assert_eq!([&points[0]["x"][0], &points[1]["x"][0]], [30.0, 20.0]);
    // Flows of different base RTTs have no line, and one that both have follows it.
    assert_eq!(shown["stack"][1]["levels"].as_array().map_or(0, Vec::len), 0);
    let bases = (0..22).map(|n| if n % 11 < 5 { 40.0 } else { 70.0 }).collect();
    let shown = page(vec![("run", vec![made().with_other("flow_series", "base_rtt_ms", bases)])]);
    let line = &shown["stack"][1]["levels"][0]["values"];
    assert_eq!([0.0, 4.5, 5.0, 9.0].map(|second| at(line, second)), [40.0, 40.0, 70.0, 70.0].map(Some));
}

#[test]
fn without_capacities_a_queue_waits_at_the_rate_of_its_link() {
    let waits = |mut made: Made| {
        made = made.with_other("link_series", "capacity_bytes", vec![NAN; 22]);
        let shown = page(vec![("run", vec![made])]);
        assert_eq!(shown["stack"][0]["levels"], json!([]), "the rate over time is not known");
        [4.0, 9.0].map(|second| at(&shown["stack"][2]["curves"][0]["median"], second).unwrap())
    };
    assert_eq!(waits(made()), [20.0, 45.0]);
    // Packets take twice their bytes on the link.
    let mut framed = made().with_other("links", "throughput_bps", vec![NAN, 4e6]);
    framed.scenario["path"]["framing"] = json!({ "overhead": 1500 });
    assert_eq!(waits(framed.with_other("links", "utilization", vec![0.0, 1.0])), [40.0, 90.0]);
}

#[test]
fn behind_the_last_sample_the_link_goes_on_at_its_mean_rate() {
    // 50,000 bytes wait at the end, and the link has carried ten million in ten seconds.
    let shown = page(vec![("run", vec![made()])]);
    let queue = &shown["stack"][2]["curves"][0]["median"];
    assert!((at(queue, 10.0).unwrap() - 50.0).abs() < 1e-6, "{queue}");
}

#[test]
fn the_rate_of_the_link_is_what_it_could_carry_between_two_samples() {
    let times = (0..=10).chain(0..=10).map(|n| f64::from(2 * n)).collect();
    let shown = page(vec![("run", vec![made().with_other("link_series", "time_s", times)])]);
    // A million bytes in each two seconds.
    assert_eq!(at(&shown["stack"][0]["levels"][0]["values"], 5.0), Some(4.0));
}

#[test]
fn the_buffer_of_a_path_is_the_wait_behind_a_full_one() {
    let wait = |limit: &str| {
        let mut limited = made();
        limited.scenario["path"]["queue"] = json!(limit);
        at(&page(vec![("run", vec![limited])])["stack"][2]["levels"][0]["values"], 3.0).map(|wait| wait.round())
    };
    // The link carries 1000 bytes a millisecond. The RTT has 40 ms.
    assert_eq!(
        ["30kB", "20p", "15ms", "2bdp", "infinite"].map(wait),
        [Some(30.0), Some(30.0), Some(15.0), Some(80.0), None]
    );
}

#[test]
fn a_signal_is_held_for_a_second_or_a_twentieth_of_the_run() {
    let rtts = (0..22).map(|n| if n <= 5 { 50.0 } else { NAN }).collect();
    let shown = page(vec![("run", vec![made().with_other("flow_series", "latest_rtt_ms", rtts)])]);
    let rtt = &shown["stack"][1]["curves"][0]["median"];
    assert_eq!([4.9, 6.0, 6.1].map(|second| at(rtt, second)), [Some(50.0), Some(50.0), None]);
}

#[test]
fn what_limits_the_flows_for_longest_is_said_unless_it_is_the_window() {
    // Of 16 s in which flows had data, the receive window limited them for so long.
    let limited = |seconds: [f64; 2]| {
        let mut made = made();
        made.flows.extend([
            ("busy_us", vec![10e6, 6e6]),
            ("app_limited_us", vec![0.0, 0.0]),
            ("rwnd_limited_us", seconds.map(|time| time * 1e6).to_vec()),
            ("sndbuf_limited_us", vec![1e6, 0.0]),
        ]);
        made
    };
    let said = |labels| sentence(&page(labels), "Limit");
    let receiver = "was limited by its receive buffer";
    let one = limited([8.0, 2.0]);
    assert_eq!(said(vec![("run", vec![one])]), format!("run {receiver} 62.5 % of the time"));
    assert_eq!(said(vec![("run", vec![limited([4.0, 2.0])])]), "", "the window has 9 s");
    // The median of three repetitions, and two labels.
    let three = || [[8.0, 2.0], [10.0, 2.0], [9.0, 2.0]].map(limited).into();
    let other = limited([10.0, 6.0]);
    let both = said(vec![("one", three()), ("other", vec![other])]);
    assert_eq!(both, format!("one {receiver} 68.8 % of the time; other {receiver} 100 % of the time"));
}
