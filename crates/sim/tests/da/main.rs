//! The experiments of Dabbous 1992 on the networks of its Figures 2 and 4, to the packet: nothing in them is drawn by
//! chance.
//!
//! A packet of 1000 bytes takes 1 ms at 8 Mbit/s and 10 ms at 800 kbit/s, an ACK of 40 bytes 0.04 and 0.4 ms. From A
//! to C and back that is `1 + 5 + 10 + 100 + 0.4 + 100 + 0.04 + 5 = 221.44 ms`, and 22.144 packets fill the pipe.

#[path = "../common/mod.rs"]
mod common;

mod alone;
mod change;
mod pairs;

use common::run;
use record::Tables;

/// The networks: A and B, each with a link of its own, and C behind the gateway G.
struct Network {
    seconds: u32,
    /// Propagation from B to G.
    b: &'static str,
    /// Propagation from G to C and back, as TOML.
    bottleneck: &'static str,
    /// Packets that may wait at G.
    places: u32,
}

const NETWORK: Network = Network { seconds: 100, b: "5ms", bottleneck: "\"100ms\"", places: 15 };

/// The largest window of section 4.1, and `D_a = D_t` to the letter.
const DA: &str = "max_window = 64, empty_queue = 0";

/// A flow: controller, parameters, and start.
type Source<'a> = (&'a str, &'a str, &'a str);

impl Network {
    /// Runs the source at A, and the one at B if there is one. Measured from 20 s on.
    fn run(&self, a: Source<'_>, b: Option<Source<'_>>) -> Tables {
        let flow = |node: &str, (cc, parameters, start): Source<'_>| {
            let what = format!("cc = \"{cc}\", parameters = {{ {parameters} }}, start = \"{start}\"");
            format!("{{ {what}, from = \"{node}\", to = \"C\" }}")
        };
        let flows: Vec<String> = [("A", Some(a)), ("B", b)].iter().filter_map(|(n, s)| s.map(|s| flow(n, s))).collect();
        let Self { seconds, b, bottleneck, places } = self;
        run(&format!(
            r#"
            duration = "{seconds}s"
            warmup = "20s"
            profile = "real-1992"
            links = [
                {{ from = "A", to = "G", rate = "8mbit", delay = "5ms", queue = "15p", duplex = true }},
                {{ from = "B", to = "G", rate = "8mbit", delay = "{b}", queue = "15p", duplex = true }},
                {{ from = "G", to = "C", rate = "800kbit", delay = {bottleneck}, queue = "{places}p", duplex = true }},
            ]
            flows = [{}]
            record = {{ flow_series = "1ack", probes = "1ack", link_series = "off" }}
            "#,
            flows.join(", ")
        ))
    }
}

/// The single source of Figure 2.
fn alone(cc: &str, parameters: &str) -> Tables {
    NETWORK.run((cc, parameters, "0s"), None)
}

/// Packets per second that `flow` brought to C, those that came twice counted twice.
fn packets_per_second(tables: &Tables, flow: usize) -> f64 {
    tables.flows[flow].throughput_bps / 8000.0
}

/// Windows of `flow` from `start` seconds on, one for each ACK.
fn windows(tables: &Tables, flow: u32, start: f64) -> Vec<f64> {
    let s = &tables.flow_series.columns();
    (0..s.time_s.len()).filter(|&i| s.flow[i] == flow && s.time_s[i] >= start).map(|i| s.window_segments[i]).collect()
}

/// Times and values of a probe of `flow`.
fn probe(tables: &Tables, flow: u32, name: &str) -> (Vec<f64>, Vec<f64>) {
    let p = &tables.probes;
    let code = p.names().iter().position(|n| *n == name).expect("a probe of this name") as u16;
    (0..p.value.len()).filter(|&i| p.flow[i] == flow && p.code[i] == code).map(|i| (p.time_s[i], p.value[i])).unzip()
}
