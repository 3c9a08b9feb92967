//! The runs of a page: facts as JSON, and columns of their tables.

use serde_json::Value;

use crate::metrics::{self, FlowTimes};
use crate::panels::Curve;
use crate::statistics::median;

/// The tables and columns that a page reads. `stations` is read in wireless networks only.
pub const COLUMNS: [(&str, &[&str]); 6] = [
    (
        "flows",
        &[
            "flow",
            "name",
            "cc",
            "start_s",
            "stop_s",
            "measured_s",
            "base_rtt_ms",
            "delivered_bytes",
            "goodput_bps",
            "throughput_bps",
            "data_packets",
            "busy_us",
            "app_limited_us",
            "rwnd_limited_us",
            "sndbuf_limited_us",
            "loss_rate",
            "rtt_p50_ms",
            "completion_s",
        ],
    ),
    (
        "links",
        &[
            "link",
            "name",
            "is_bottleneck",
            "rate_bps",
            "utilization",
            "throughput_bps",
            "queue_delay_mean_ms",
            "queue_delay_p95_ms",
        ],
    ),
    ("flow_series", &["time_s", "flow", "arrived_bytes", "latest_rtt_ms", "base_rtt_ms", "window_segments"]),
    ("link_series", &["time_s", "link", "queue_bytes", "capacity_bytes"]),
    ("events", &["time_s", "kind"]),
    ("stations", &["link"]),
];

/// A label with its repetitions, of which there is at least one.
pub(crate) struct Label<'a> {
    pub(crate) name: String,
    pub(crate) of: Vec<Run<'a>>,
}

impl<'a> Label<'a> {
    /// The first repetition.
    pub(crate) fn first(&self) -> &Run<'a> {
        &self.of[0]
    }
}

/// The labels of a request, whose columns are places in `numbers`.
pub(crate) fn labels(request: Value, numbers: &[f64]) -> Result<Vec<Label<'_>>, String> {
    let mut labels = Vec::new();
    for mut one in items(request) {
        let of: Vec<Run<'_>> = items(one["of"].take()).into_iter().map(|facts| Run { facts, numbers }).collect();
        if of.is_empty() {
            return Err("a label of the page has no run".to_owned());
        }
        labels.push(Label { name: text(&one["label"]), of });
    }
    if labels.is_empty() { Err("the page has no label".to_owned()) } else { Ok(labels) }
}

fn items(list: Value) -> Vec<Value> {
    if let Value::Array(items) = list { items } else { Vec::new() }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// A run.
pub(crate) struct Run<'a> {
    facts: Value,
    numbers: &'a [f64],
}

impl<'a> Run<'a> {
    fn column(&self, table: &str, column: &str) -> &Value {
        &self.facts["tables"][table][column]
    }

    /// The values of a column, NaN for null, or indices of names.
    pub(crate) fn numbers(&self, table: &str, column: &str) -> &'a [f64] {
        let place = self.column(table, column);
        let part = |key: &str| place[key].as_u64().unwrap_or(0) as usize;
        let (at, length) = (part("at"), part("length"));
        self.numbers.get(at..at + length).unwrap_or_default()
    }

    /// The texts of a column, or the names into which it has indices.
    pub(crate) fn texts(&self, table: &str, column: &str) -> Vec<String> {
        let column = self.column(table, column);
        let texts = column.as_array().or(column["names"].as_array());
        texts.map_or_else(Vec::new, |texts| texts.iter().map(text).collect())
    }

    /// The resolved scenario.
    pub(crate) fn scenario(&self) -> &Value {
        &self.facts["scenario"]
    }

    pub(crate) fn duration_s(&self) -> f64 {
        self.facts["duration_s"].as_f64().unwrap_or(f64::NAN)
    }

    /// The start of the measured interval.
    pub(crate) fn warmup_s(&self) -> f64 {
        self.facts["warmup_s"].as_f64().unwrap_or(f64::NAN)
    }

    /// The length of the measured interval.
    pub(crate) fn measured_s(&self) -> f64 {
        self.duration_s() - self.warmup_s()
    }

    /// A column of the flows.
    pub(crate) fn flows(&self, column: &str) -> &'a [f64] {
        self.numbers("flows", column)
    }

    /// What limited the flows for longest, unless it was the window, and for how much of the time in percent.
    pub(crate) fn limit(&self) -> Option<(&'static str, f64)> {
        let times = FlowTimes {
            measured_s: self.flows("measured_s"),
            completion_s: self.flows("completion_s"),
            busy_us: self.flows("busy_us"),
            app_limited_us: self.flows("app_limited_us"),
            rwnd_limited_us: self.flows("rwnd_limited_us"),
            sndbuf_limited_us: self.flows("sndbuf_limited_us"),
        };
        times.limit()
    }

    /// IP bytes of each flow that reached the receiver in the measured interval.
    pub(crate) fn arrived_bytes(&self) -> Vec<f64> {
        let (rates, lives) = (self.flows("throughput_bps"), self.flows("measured_s"));
        rates.iter().zip(lives).map(|(rate, life)| rate * life / 8.0).collect()
    }

    /// Jain's index of the flows whose data cross the bottleneck.
    pub(crate) fn fairness(&self) -> f64 {
        let greedy = metrics::greedy(&self.scenario()["flows"]);
        metrics::fairness([&greedy, &self.crossing()], self.flows("goodput_bps"), self.flows("completion_s"))
    }

    /// Bit/s of data that reached the receivers over the bottleneck, in IP packets.
    pub(crate) fn throughput(&self) -> f64 {
        let (mut bytes, crossing) = (self.arrived_bytes(), self.crossing());
        if crossing.len() == bytes.len() {
            for (bytes, crosses) in bytes.iter_mut().zip(crossing) {
                *bytes = if crosses { *bytes } else { 0.0 };
            }
        }
        metrics::goodput(&bytes, self.measured_s())
    }

    /// True for each flow of the scenario whose data cross the bottleneck. Empty if that is not known.
    fn crossing(&self) -> Vec<bool> {
        let link = self.bottleneck().and_then(|row| self.numbers("links", "link").get(row));
        link.map_or_else(Vec::new, |&link| metrics::crossing(&lists(&self.facts["routes"]), link as usize))
    }

    /// The median RTT of each flow above its base RTT (ms). Where that changes, of the samples in the measured interval
    /// above the base RTT then.
    pub(crate) fn delays_above_base(&self) -> Vec<f64> {
        let (medians, bases) = (self.flows("rtt_p50_ms"), self.flows("base_rtt_ms"));
        let sample = |column| self.numbers("flow_series", column);
        let (times, rtts, at_samples) = (sample("time_s"), sample("latest_rtt_ms"), sample("base_rtt_ms"));
        let mut changes = vec![false; bases.len()];
        let rows = self.sampled_rows();
        for (&row, &base) in rows.iter().zip(at_samples) {
            if row < bases.len() && base != bases[row] {
                changes[row] = true;
            }
        }
        let mut above = vec![Vec::new(); bases.len()];
        for (n, &row) in rows.iter().enumerate() {
            if changes.get(row) == Some(&true) && times[n] >= self.warmup_s() && rtts[n].is_finite() {
                above[row].push(rtts[n] - at_samples[n]);
            }
        }
        let mut delays = Vec::new();
        for (row, above) in above.into_iter().enumerate() {
            delays.push(if changes[row] { median(above) } else { medians[row] - bases[row] });
        }
        delays
    }

    pub(crate) fn flow_count(&self) -> usize {
        self.flows("flow").len()
    }

    /// The controller of all flows, empty if there are several.
    pub(crate) fn only_controller(&self) -> String {
        let mut controllers = self.texts("flows", "cc");
        controllers.dedup();
        if controllers.len() == 1 { controllers.remove(0) } else { String::new() }
    }

    /// An empty curve for each flow, and its index by flow.
    ///
    /// Flows of one controller and name without the number at its end (`web-17` is of `web`) are one curve if they are
    /// `together`. It is called `240 x web`.
    pub(crate) fn groups(&self, together: bool) -> (Vec<Curve>, Vec<usize>) {
        let (mut curves, mut group_of) = (Vec::<Curve>::new(), Vec::new());
        for (name, cc) in self.texts("flows", "name").into_iter().zip(self.texts("flows", "cc")) {
            let name = if together { stem(&name).to_owned() } else { name };
            let same = curves.iter().rposition(|curve| together && curve.name == name && curve.cc == cc);
            group_of.push(same.unwrap_or(curves.len()));
            if same.is_none() {
                curves.push(Curve { name, cc, ..Curve::default() });
            }
        }
        for (group, curve) in curves.iter_mut().enumerate() {
            let flows = group_of.iter().filter(|&&of| of == group).count();
            if flows > 1 {
                curve.name = format!("{flows} x {}", curve.name);
            }
        }
        (curves, group_of)
    }

    /// The row in the table of flows of each sample in `flow_series`, `usize::MAX` for a flow that the table lacks.
    pub(crate) fn sampled_rows(&self) -> Vec<usize> {
        let mut rows = Vec::new();
        for (row, &flow) in self.flows("flow").iter().enumerate() {
            rows.resize(rows.len().max(flow as usize + 1), usize::MAX);
            rows[flow as usize] = row;
        }
        let flows = self.numbers("flow_series", "flow");
        flows.iter().map(|&flow| rows.get(flow as usize).copied().unwrap_or(usize::MAX)).collect()
    }

    /// The row of the bottleneck among the links.
    pub(crate) fn bottleneck(&self) -> Option<usize> {
        self.numbers("links", "is_bottleneck").iter().position(|&is| is == 1.0)
    }

    /// Bytes that the packets of this run take at the bottleneck, for each of IP: 1 without headers below IP and cells.
    pub(crate) fn framing(&self) -> f64 {
        let scenario = self.scenario();
        if !(frames(&scenario["path"]) || frames(&scenario["links"]) || frames(&scenario["wlans"])) {
            return 1.0;
        }
        let taken = self.of_bottleneck("utilization") * self.of_bottleneck("rate_bps");
        let framing = taken / self.of_bottleneck("throughput_bps");
        if framing.is_finite() { framing } else { 1.0 }
    }

    /// A number of the bottleneck, NaN without one.
    pub(crate) fn of_bottleneck(&self, column: &str) -> f64 {
        self.bottleneck().and_then(|row| self.numbers("links", column).get(row)).copied().unwrap_or(f64::NAN)
    }
}

/// True if anything in a part of a scenario frames packets: `framing`, or the settings of `cake` for that.
fn frames(part: &Value) -> bool {
    let is_framing = |(key, value): (&String, &Value)| match key.as_str() {
        "framing" | "overhead" | "mpu" | "link_layer" => !value.is_null(),
        _ => frames(value),
    };
    match part {
        Value::Object(fields) => fields.iter().any(is_framing),
        Value::Array(parts) => parts.iter().any(frames),
        _ => false,
    }
}

/// Lists of numbers.
fn lists(routes: &Value) -> Vec<Vec<usize>> {
    let mut found = Vec::new();
    for route in routes.as_array().into_iter().flatten() {
        let mut links = Vec::new();
        for link in route.as_array().into_iter().flatten() {
            links.push(link.as_u64().unwrap_or(u64::MAX) as usize);
        }
        found.push(links);
    }
    found
}

/// A name without the number at its end.
fn stem(name: &str) -> &str {
    match name.rsplit_once('-') {
        Some((stem, number)) if !stem.is_empty() && is_number(number) => stem,
        _ => name,
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|letter| letter.is_ascii_digit())
}
