//! The definition of the language: every key of a scenario, with its default.

use std::path::PathBuf;

use control::ControllerRef;
use serde::{Deserialize, Serialize};
use transport::MediaSettings;
use units::{Bytes, Count, Distribution, Rate, Span, Time};

use crate::document::Origin;
use crate::values::{
    ChangingQueue, ClearEcn, Delay, DelaySpec, Dscp, DuplicateSpec, FramingSpec, JitterSpec, LossSpec, RateSpec,
    Sampling, Source, TraceRef, WindowSpec,
};
use crate::wlan::{AccessCategory, Wlan};

/// A network and the flows on it. The network is either one bottleneck (`path`) or any number of `links`.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Its name in reports, by default the name of the file.
    #[serde(default)]
    pub name: String,
    /// How long it runs.
    pub duration: Span,
    /// The measured interval starts here and ends with the run.
    #[serde(default)]
    pub warmup: Span,
    /// Fixes every random draw: the same seed gives the same run. At most 2^63 - 1.
    #[serde(default = "one")]
    pub seed: u64,
    /// Unless this is false, the hosts of profiles whose clocks tick have a clock of timestamps whose phase the seed
    /// draws, and take up to 10 us for a packet.
    #[serde(default = "yes", skip_serializing_if = "is_true")]
    pub phase_noise: bool,
    /// The TCP options of flows that name no profile.
    #[serde(default = "linux")]
    pub profile: String,
    /// The buffers of the hosts of TCP flows: without a limit, or as the profile of a flow has them.
    /// `transport.receive_buffer` and `transport.send_buffer` set a flow's.
    #[serde(default, skip_serializing_if = "HostBuffers::is_unlimited")]
    pub buffers: HostBuffers,
    /// One bottleneck that all flows share (a dumbbell).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<Path>,
    /// Links between named nodes, in place of `path`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Link>,
    /// Wireless networks, whose access points and stations are nodes, as the ends of `links` are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wlans: Vec<Wlan>,
    /// The senders, each with its receiver.
    #[serde(default)]
    pub flows: Vec<Flow>,
    /// The series and events that the run writes down.
    #[serde(default)]
    pub record: Record,
    #[serde(skip)]
    pub(crate) origin: Origin,
}

/// A dumbbell: the bottleneck, and the propagation delay of every flow after it.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Path {
    /// Rate of the bottleneck, of IP bytes.
    pub rate: RateSpec,
    /// Base RTT (propagation), half of it each way. This or `delay`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt: Option<DelaySpec>,
    /// One-way propagation delay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Delay>,
    /// The queue before the bottleneck. To be given unless the rate is unlimited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<ChangingQueue>,
    /// Headers, padding and cells that packets take on the line: keywords like `"pppoe-vcmux"`, or a table.
    #[serde(default, skip_serializing_if = "FramingSpec::is_none")]
    pub framing: FramingSpec,
    /// Random loss before the queue.
    #[serde(default)]
    pub loss: LossSpec,
    /// Random delay behind it.
    #[serde(default, skip_serializing_if = "JitterSpec::is_none")]
    pub jitter: JitterSpec,
    /// Data of TCP flows that arrive twice: a share of the packets, or a table with `correlation` (netem of `tc`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duplicate: Option<DuplicateSpec>,
    /// Equipment clears the ECN field, `"before"` the queue or `"after"` it, as at the ends of tunnels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clear_ecn: Option<ClearEcn>,
    /// Packets overtake others when a delay becomes shorter, in both directions.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reorder: bool,
    /// The path of the ACKs.
    #[serde(default)]
    pub reverse: Reverse,
}

/// The other direction of a path or link. By default it only delays.
#[derive(Clone, Debug, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reverse {
    /// Its rate.
    #[serde(default)]
    pub rate: RateSpec,
    /// Its queue.
    #[serde(default)]
    pub queue: ChangingQueue,
    /// Headers, padding and cells that packets take on the line: keywords like `"pppoe-vcmux"`, or a table.
    #[serde(default, skip_serializing_if = "FramingSpec::is_none")]
    pub framing: FramingSpec,
    /// Its random loss.
    #[serde(default)]
    pub loss: LossSpec,
    /// Random delay behind it.
    #[serde(default, skip_serializing_if = "JitterSpec::is_none")]
    pub jitter: JitterSpec,
    /// Data of TCP flows that arrive twice: a share of the packets, or a table with `correlation` (netem of `tc`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duplicate: Option<DuplicateSpec>,
    /// Equipment clears the ECN field, `"before"` the queue or `"after"` it, as at the ends of tunnels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clear_ecn: Option<ClearEcn>,
}

/// A link between two nodes.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Its name in reports, by default `<from>-<to>`. The other direction is `<name>:reverse`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The node that sends into it.
    pub from: String,
    /// The node at its end.
    pub to: String,
    /// Its rate, of IP bytes.
    pub rate: RateSpec,
    /// Propagation delay, the same in both directions.
    pub delay: DelaySpec,
    /// The queue before it. To be given unless the rate is unlimited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<ChangingQueue>,
    /// Headers, padding and cells that packets take on the line: keywords like `"pppoe-vcmux"`, or a table.
    #[serde(default, skip_serializing_if = "FramingSpec::is_none")]
    pub framing: FramingSpec,
    /// Random loss before the queue.
    #[serde(default)]
    pub loss: LossSpec,
    /// Random delay behind it.
    #[serde(default, skip_serializing_if = "JitterSpec::is_none")]
    pub jitter: JitterSpec,
    /// Data of TCP flows that arrive twice: a share of the packets, or a table with `correlation` (netem of `tc`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duplicate: Option<DuplicateSpec>,
    /// Equipment clears the ECN field, `"before"` the queue or `"after"` it, as at the ends of tunnels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clear_ecn: Option<ClearEcn>,
    /// Packets overtake others when a delay becomes shorter, in both directions.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reorder: bool,
    /// The link has a reverse direction with the same rate, queue, loss and jitter. This or `reverse`.
    #[serde(default)]
    pub duplex: bool,
    /// The reverse direction, where it differs. Without `duplex` and this the link has one direction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverse: Option<Reverse>,
    /// A Snoop agent (Balakrishnan et al. 1995) before the link, at `from`, which repairs the losses of TCP flows that
    /// arrive there over other links. By default there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snoop: Option<SnoopAgent>,
}

/// A Snoop agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(transform = Self::describe_bounds)]
pub struct SnoopAgent {
    /// No local timeout is shorter (snoopTick_ in ns-2).
    pub timeout_min: Span,
}

/// One sender with its receiver, or several alike.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = Self::describe_bounds)]
pub struct Flow {
    /// The congestion controller, as in `ackclock show controllers`, or a file beside the scenario: `….c`, `….rs`,
    /// `….so`.
    #[schemars(with = "String")]
    pub cc: ControllerRef,
    /// Parameters of the controller.
    #[serde(default, skip_serializing_if = "control::Parameters::is_empty")]
    pub parameters: control::Parameters,
    /// Its name in reports, by default `<cc>-<index among the flows>`, or the name of the file of a controller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Number of copies. `{copy}` in a text is the number of the copy, from 0. Their names get `-0`, `-1` and so on.
    #[serde(default = "one_copy")]
    pub count: u32,
    /// When it starts.
    #[serde(default)]
    pub start: Time,
    /// A random delay of the start, uniform from 0 to below this, drawn for every copy.
    #[serde(default)]
    pub start_jitter: Span,
    /// When it stops sending, or the last of `every` has started, by default at the end of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Time>,
    /// How much it sends. The flow ends when all is delivered, by default never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<Distribution<Bytes>>,
    /// The time from one to the next: a connection of its own, with `bytes` each, starts at `start` and then again and
    /// again before `stop`. Their names get `-0`, `-1` and so on. By default there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<Distribution<Span>>,
    /// Pages of connections in place of `every`: how long their reader pauses from the completion of one page to the
    /// request of the next. Each connection sends `bytes`. Pages begin before `stop`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub think: Option<Distribution<Span>>,
    /// How many connections a page has, at once, by default one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connections: Option<Distribution<Count>>,
    /// Base RTT of this flow in place of the path's, half of it each way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt: Option<DelaySpec>,
    /// Its data take the way back of a `path`, and its ACKs the other one, as an upload beside downloads.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reverse: bool,
    /// The node of the sender, among `links`. The route with the fewest hops is taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The node of the receiver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// All nodes from sender to receiver in order, in place of `from` and `to`. ACKs take the same route back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<Vec<String>>,
    /// Propagation delay each way, on top of the delays of the links.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra_delay: Option<Span>,
    /// The paths that a multipath flow uses at once, with a TCP connection each or one QUIC connection.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub subflows: Vec<Subflow>,
    /// The flow whose data it sends on, from a proxy that splits a connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relays: Option<Relay>,
    /// The rate that the SYN asks the routers for (Quick-Start, RFC 4782), by default none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quick_start: Option<Rate>,
    /// The access category of its packets in wireless networks with EDCA (802.11e), by default best effort.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access_category: Option<AccessCategory>,
    /// The code point of DiffServ (RFC 2474) in its packets and their ACKs, by which `cake` with `diffserv` sorts them,
    /// by default `CS0`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dscp: Option<Dscp>,
    /// The TCP options of a stack or era, by default the profile of the scenario.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// Single TCP options in place of the profile's.
    #[serde(default, skip_serializing_if = "Overrides::is_empty")]
    #[schemars(schema_with = "crate::transport_options::schema")]
    pub transport: Overrides,
    /// TCP, datagrams, or media.
    #[serde(default)]
    pub kind: Protocol,
    /// The encoder of a flow of kind `media`, its repair of losses and its feedback.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media: Option<MediaSettings>,
    /// The receiver echoes each datagram. By default it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub echo: Option<bool>,
    /// IP size of a datagram, or of the largest packet of media, by default 1500 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packet_size: Option<Bytes>,
    /// The data that the application offers.
    #[serde(default)]
    pub source: Source,
    /// Parameters of the controller that change while the flow runs, where the controller allows it (SIAD's Num_RTT,
    /// Kühlewind 2016), and receive windows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
}

/// A proxy that splits a connection: it takes in one flow, acknowledges it, and sends its data on as another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Relay {
    /// The name of the flow that it takes in, one above in the file.
    pub flow: String,
    /// How much it holds: data that arrived in order and is not acknowledged further on. The rest of the buffer is the
    /// receive window of the flow that it takes in.
    pub buffer: Bytes,
}

/// One path of a multipath flow. Without keys it is routed as any flow of the scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = Self::describe_bounds)]
pub struct Subflow {
    /// Its name in reports, after the name of the flow and a colon, by default its number, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Base RTT in place of the path's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt: Option<DelaySpec>,
    /// The node of the sender.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The node of the receiver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// All nodes in order, in place of `from` and `to`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<Vec<String>>,
    /// Propagation delay each way, on top of the delays of the links.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra_delay: Option<Span>,
}

impl Flow {
    /// The flow on the path of `subflow`.
    pub(crate) fn on(&self, subflow: &Subflow) -> Self {
        let Subflow { rtt, from, to, via, extra_delay, .. } = subflow.clone();
        Self { rtt, from, to, via, extra_delay, subflows: Vec::new(), ..self.clone() }
    }
}

/// A change of a flow while it runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// When it changes.
    pub at: Time,
    /// New values of parameters of the controller. The others stay.
    #[serde(default, skip_serializing_if = "control::Parameters::is_empty")]
    pub parameters: control::Parameters,
    /// A new receive window, in segments or as a size. A larger one is announced at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receive_window: Option<WindowSpec>,
}

/// TCP options by name.
pub(crate) type Overrides = serde_json::Map<String, serde_json::Value>;

/// The buffers of hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HostBuffers {
    /// Buffers never limit a flow.
    #[default]
    Unlimited,
    /// The sizes that the stack of the profile has by default.
    Profile,
}

impl HostBuffers {
    fn is_unlimited(&self) -> bool {
        *self == Self::Unlimited
    }
}

/// The kind of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// A TCP connection.
    #[default]
    Tcp,
    /// Datagrams at the rate of `source`, each echoed. Nothing reacts to loss, the controller only watches.
    Datagram,
    /// A call: RTP packets of an encoder whose rate the controller sets.
    Media,
}

/// The series and events that a run writes down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Record {
    /// Window, RTT, rates of every flow.
    pub flow_series: Sampling,
    /// Internals of the controllers.
    pub probes: Sampling,
    /// Queue and throughput of every link: a time or "off".
    pub link_series: Sampling,
    /// Drops, marks, losses, retransmissions, timeouts, recoveries.
    pub events: bool,
    /// Every frame on the air of a wireless network.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub frames: bool,
    /// Every datagram that arrives, of flows of kind `datagram` and `media`, and every video frame.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub datagrams: bool,
}

impl Default for Record {
    fn default() -> Self {
        let sampling = Sampling::Every(Span::from_millis(100));
        Self {
            flow_series: sampling,
            probes: sampling,
            link_series: sampling,
            events: true,
            frames: false,
            datagrams: false,
        }
    }
}

impl Scenario {
    /// The same with all paths below `directory`, the one of its file: read back from anywhere, it names the same
    /// traces and controllers.
    #[must_use]
    pub fn anchored(mut self, directory: &std::path::Path) -> Self {
        let anchored = |path: &std::path::Path| directory.join(path).components().collect::<PathBuf>();
        for trace in self.traces_mut() {
            trace.trace = anchored(trace.trace.as_ref()).display().to_string();
        }
        for flow in &mut self.flows {
            flow.cc = flow.cc.at(anchored);
            if let Source::Trace(file) = &mut flow.source {
                *file = anchored(file.as_ref()).display().to_string();
            }
        }
        self
    }

    /// The files given in place of values.
    fn traces_mut(&mut self) -> impl Iterator<Item = &mut TraceRef> {
        let mut found: Vec<&mut TraceRef> = Vec::new();
        if let Some(path) = &mut self.path {
            found.extend([&mut path.rate, &mut path.reverse.rate].into_iter().filter_map(RateSpec::trace_mut));
            found.extend(path.rtt.iter_mut().filter_map(|rtt| rtt.trace.as_mut()));
            let delays = path.delay.iter_mut().flat_map(|delay| [&mut delay.forward, &mut delay.reverse]);
            found.extend(delays.filter_map(|delay| delay.trace.as_mut()));
            found.extend([&mut path.loss, &mut path.reverse.loss].into_iter().filter_map(|loss| loss.trace.as_mut()));
        }
        for link in &mut self.links {
            found.extend(link.rate.trace_mut());
            found.extend(link.delay.trace.as_mut());
            found.extend(link.loss.trace.as_mut());
            if let Some(reverse) = &mut link.reverse {
                found.extend(reverse.rate.trace_mut());
                found.extend(reverse.loss.trace.as_mut());
            }
        }
        for flow in &mut self.flows {
            let subflows = flow.subflows.iter_mut().filter_map(|subflow| subflow.rtt.as_mut());
            found.extend(flow.rtt.iter_mut().chain(subflows).filter_map(|rtt| rtt.trace.as_mut()));
        }
        found.into_iter()
    }

    /// Fills in the defaults that depend on something else.
    pub(crate) fn complete(&mut self) {
        if self.name.is_empty() {
            let stem = std::path::Path::new(&self.origin.file).file_stem();
            self.name = stem.map_or_else(|| "scenario".to_owned(), |stem| stem.to_string_lossy().into_owned());
        }
        let mut index = 0;
        for flow in &mut self.flows {
            if flow.count == 1 {
                flow.name.get_or_insert_with(|| format!("{}-{index}", flow.cc.stem()));
            }
            flow.stop.get_or_insert(Time::ZERO + self.duration);
            flow.profile.get_or_insert_with(|| self.profile.clone());
            index += u64::from(flow.count);
        }
    }
}

fn one() -> u64 {
    1
}

fn yes() -> bool {
    true
}

fn is_true(set: &bool) -> bool {
    *set
}

fn one_copy() -> u32 {
    1
}

fn linux() -> String {
    "linux".to_owned()
}
