//! Random scenarios by a grammar, whose choices are the bytes of the input: whole networks with all controllers,
//! queues, losses, sources and media. A run asserts `engine::check_physics`, gives the same bytes a second time and on
//! two cores, and fails with one sentence.

use std::sync::Arc;

use engine::{Engine as _, Job, Watch};
use record::Tables;
use scenario::{NoFiles, Plan};
use sim::Simulator;
use units::Bytes;

const DURATIONS: [&str; 4] = ["300ms", "500ms", "700ms", "900ms"];
const RATES: [&str; 8] = [
    "'5mbit'",
    "'300kbit'",
    "'7777777bit'",
    "'20mbit'",
    "'unlimited'",
    "[['0s', '8mbit'], ['100ms', '1mbit'], ['250ms', '9mbit']]",
    "[['0s', '8mbit'], ['150ms', '0bit'], ['300ms', '8mbit']]",
    "{ rate = '4mbit', burst = '9kB', peakrate = '10mbit' }",
];
const DELAYS: [&str; 6] =
    ["'10ms'", "'0s'", "'1ms'", "'77ms'", "[['0s', '40ms'], ['200ms', '1ms']]", "[['0s', '3ms'], ['130ms', '60ms']]"];
const QUEUES: [&str; 24] = [
    "'20p'",
    "'9kB'",
    "'1p'",
    "'2kB'",
    "'30ms'",
    "'infinite'",
    "[['0s', '30p'], ['100ms', '3p']]",
    "{ limit = '20p', count_in_service = true, mark_above = '4p' }",
    "{ limit = '30p', count_delayed = true }",
    "{ limit = '20p', discipline = 'fq' }",
    "{ limit = '20kB', discipline = 'drr', quantum = '300B' }",
    "{ limit = '40p', discipline = 'codel', target = '1ms', interval = '20ms', ecn = true }",
    "{ discipline = 'fq_codel', flows = 3, memory_limit = '20kB' }",
    "{ limit = '40p', discipline = 'red', min = '3kB', max = '9kB', gentle = true, ecn = true }",
    "{ limit = '40p', discipline = 'red', adaptive = true }",
    "{ limit = '40p', discipline = 'avq' }",
    "{ limit = '40p', discipline = 'pie', target = '2ms', ecn = true }",
    "{ limit = '40p', discipline = 'fq_pie', flows = 2 }",
    "{ limit = '40p', discipline = 'dualpi2' }",
    "{ discipline = 'cake', memlimit = '20kB' }",
    "{ discipline = 'cake', ack_filter = 'ack-filter', diffserv = 'diffserv4' }",
    "{ limit = '40p', discipline = 'police', rate = '3mbit', burst = '9kB' }",
    "'dualpi2'",
    "'pie'",
];
const LOSSES: [&str; 9] = [
    "'0%'",
    "'1%'",
    "'30%'",
    "'100%'",
    "{ model = 'gilbert-elliott', good_to_bad = '2%', bad_to_good = '20%' }",
    "{ model = 'gilbert-elliott', good_for = '100ms', bad_for = '30ms' }",
    "{ share = '5%', correlation = '25%' }",
    "{ packets = [0, 3, 4, 9, 20, 21], openings = [0, 2] }",
    "[['0s', '0%'], ['100ms', '20%']]",
];
const JITTERS: [&str; 7] = [
    "'0s'",
    "'3ms'",
    "{ uniform = '20ms', reorder = true }",
    "{ normal = '3ms', correlation = '25%' }",
    "{ wifi = '7ms' }",
    "{ uniform = '5ms', reorder = { share = '25%', gap = 5 } }",
    "{ slot = { min = '1ms', max = '10ms', packets = 4 } }",
];
const DUPLICATES: [&str; 4] = ["", "", "duplicate = '3%'\n", "duplicate = { share = '20%', correlation = '25%' }\n"];
const TRANSPORTS: [&str; 12] = [
    "{}",
    "{ ecn = true }",
    "{ ecn = 'accurate' }",
    "{ sack = false }",
    "{ sack = false, timestamps = false }",
    "{ receive_window = 2 }",
    "{ receive_buffer = '20kB' }",
    "{ send_buffer = '20kB' }",
    "{ rack = false, tail_loss_probe = false, undo = false, limited_transmit = false }",
    "{ reduction = 'pipe', counting = 'per-ack', initial_window = 1 }",
    "{ ack_every = 8, delayed_ack_timeout = '200ms' }",
    "{ segment_size = '300B', pacing = 'linux' }",
];
const SOURCES: [&str; 12] = [
    "",
    "start = '50ms'\n",
    "start_jitter = '100ms'\nstop = '250ms'\n",
    "bytes = '1B'\n",
    "bytes = '40kB'\n",
    "source = { rate = '500kbit' }\n",
    "source = { rate = '2mbit', arrivals = 'poisson' }\nbytes = '30kB'\n",
    "source = [['0s', '1mbit'], ['100ms', '0bit'], ['200ms', '4mbit']]\n",
    "source = { rate = '2mbit', on = '50ms', off = { exponential = '30ms' } }\n",
    "bytes = '3kB'\nevery = { uniform = ['5ms', '60ms'] }\n",
    "bytes = { pareto = { mean = '9kB', shape = 1.2 } }\nconnections = 2\nthink = { exponential = '30ms' }\n",
    "bytes = '2897B'\n",
];
const DATAGRAMS: [&str; 5] = [
    "source = { rate = '700kbit' }\n",
    "source = { rate = '3mbit', arrivals = 'poisson' }\npacket_size = '300B'\n",
    "source = { rate = '1mbit', on = '20ms', off = '20ms' }\necho = false\n",
    "source = [['0s', '0bit'], ['100ms', '2mbit']]\npacket_size = '9000B'\n",
    "source = { rate = '1mbit' }\nstart = '100ms'\nstop = '200ms'\n",
];
const RECORDS: [&str; 5] = [
    "",
    "record = { events = true }\n",
    "record = { flow_series = '20ms', link_series = '7ms', probes = '30ms' }\n",
    "record = { flow_series = '3acks', probes = '2acks', events = true }\n",
    "record = { datagrams = true, frames = true, link_series = '10ms' }\n",
];
const STANDARDS: [&str; 6] = ["802.11g", "802.11a", "802.11b", "802.11n", "802.11ac", "802.11ax"];
const STATIONS: [&str; 8] = [
    "",
    "frame_errors = '40%'\n",
    "frame_errors = '100%'\nretry_limit = 1\n",
    "hidden = 'all'\nrts_above = '0B'\n",
    "rate = 'minstrel'\n",
    "airtime_fairness = true\n",
    "lifetime = '5ms'\nbeacon_interval = '20ms'\n",
    "edca = true\ntxop = 'standard'\n",
];

/// The memory of a small machine.
const MEMORY: Bytes = Bytes::new(1 << 30);

/// Choices, one a byte. Behind the input each is the first.
struct Choices<'a>(std::slice::Iter<'a, u8>);

impl Choices<'_> {
    fn below(&mut self, count: usize) -> usize {
        usize::from(self.0.next().copied().unwrap_or(0)) % count
    }

    fn of(&mut self, list: &[&'static str]) -> &'static str {
        list[self.below(list.len())]
    }

    /// The keys of a link in one direction.
    fn service(&mut self, prefix: &str) -> String {
        let keys = [
            ("rate", self.of(&RATES)),
            ("queue", self.of(&QUEUES)),
            ("loss", self.of(&LOSSES)),
            ("jitter", self.of(&JITTERS)),
        ];
        keys.map(|(key, value)| format!("{prefix}{key} = {value}\n")).concat()
    }

    /// One flow between `ends`, of which it takes two.
    fn flow(&mut self, ends: &[&str]) -> String {
        let entries = control::registry::CONTROLLERS;
        let cc = match self.below(entries.len() + 1) {
            0 => "tfrc",
            one => entries[one - 1].name,
        };
        let mut text = format!("[[flows]]\ncc = '{cc}'\n");
        if !ends.is_empty() {
            let from = self.below(ends.len());
            let to = (from + 1 + self.below(ends.len() - 1)) % ends.len();
            text += &format!("from = '{}'\nto = '{}'\n", ends[from], ends[to]);
        }
        if cc == "tfrc" {
            return text;
        }
        if self.below(5) == 4 {
            return text + "kind = 'datagram'\n" + self.of(&DATAGRAMS);
        }
        let profile = transport::PROFILES[self.below(transport::PROFILES.len())].name;
        text + &format!("profile = '{profile}'\ntransport = {}\n{}", self.of(&TRANSPORTS), self.of(&SOURCES))
    }

    /// A scenario of one path, of links in a row, or of a wireless network.
    fn scenario(&mut self) -> String {
        let mut text = format!("duration = '{}'\nseed = {}\n", self.of(&DURATIONS), 1 + self.below(256));
        if self.below(3) == 2 {
            text += "warmup = '100ms'\n";
        }
        text += self.of(&RECORDS);
        let ends: &[&str] = match self.below(4) {
            0 | 1 => {
                text += &format!("[path]\nrtt = {}\n{}{}", self.of(&DELAYS), self.service(""), self.of(&DUPLICATES));
                if self.below(2) == 1 {
                    text += &self.service("reverse.");
                }
                &[]
            }
            2 => {
                for ends in ["from = 'a'\nto = 'b'\n", "from = 'b'\nto = 'c'\n", "from = 'c'\nto = 'd'\n"] {
                    let snoop = ["", "", "", "snoop = {}\n"][self.below(4)];
                    text += &format!("[[links]]\n{ends}delay = {}\n{}{snoop}", self.of(&DELAYS), self.service(""));
                    text += if self.below(2) == 0 { "duplex = true\n" } else { "reverse = {}\n" };
                }
                &["a", "d", "b", "c"]
            }
            _ => {
                text +=
                    &format!("[[links]]\nfrom = 'ap'\nto = 'server'\nduplex = true\ndelay = {}\n", self.of(&DELAYS));
                text += &self.service("");
                let (standard, more) = (self.of(&STANDARDS), self.of(&STATIONS));
                text += &format!("[[wlans]]\nstandard = '{standard}'\nstations = ['x', 'y']\n{more}");
                &["x", "server", "y", "ap"]
            }
        };
        (0..1 + self.below(4)).fold(text, |text, _| text + &self.flow(ends))
    }
}

/// A run of `plan`, or why there is none.
fn run(plan: &Arc<Plan>, cores: usize) -> Result<Tables, String> {
    let job = Job { plan: plan.clone(), seed: plan.seed };
    let simulator = Simulator { cores, ..Simulator::default() };
    simulator.run(&job, &Watch::default()).map(|outcome| outcome.tables).map_err(|failure| failure.to_string())
}

/// Runs the scenario of `input`. Returns true if it has a plan that fits into memory.
///
/// # Panics
/// At an exception.
pub fn hold(input: &[u8]) -> bool {
    let text = Choices(input.iter()).scenario();
    let read = scenario::from_toml(&text, "fuzz.toml").unwrap_or_else(|error| panic!("{error}\n{text}"));
    let plan = match read.plan(&NoFiles) {
        // Nothing bounds it: every command refuses it, as it would take all memory and time.
        Ok(plan) if plan.check_memory(MEMORY).is_err() => return false,
        Ok(plan) => Arc::new(plan),
        Err(error) => {
            let sentence = error.to_string();
            assert!(!sentence.is_empty() && !sentence.contains('\n'), "{sentence:?}");
            return false;
        }
    };
    let once = run(&plan, 1);
    // As text, in which a number that is none equals itself.
    let shown = format!("{once:?}");
    assert!(format!("{:?}", run(&plan, 1)) == shown, "a second run differs\n{text}");
    assert!(format!("{:?}", run(&plan, 2)) == shown, "two cores differ\n{text}");
    true
}
