//! The plan that an engine runs.

use std::ops::Deref;
use std::sync::Arc;

use control::ControllerRef;
use network::medium::MediumSettings;
use network::{Chance, FlowClass, JitterModel, Limit, LinkSettings, Propagation};
use transport::{Datagrams, MediaSettings};
use units::{Bytes, Count, Distribution, Rate, Span, Time};

use crate::Error;
use crate::document::Origin;
use crate::language::Record;
use crate::values::{ClearEcn, Source};
use crate::wlan::AccessCategory;

/// A scenario with everything resolved, validated and indexed.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The name in reports.
    pub name: String,
    /// How long it runs.
    pub duration: Span,
    /// The measured interval starts here.
    pub warmup: Span,
    /// Master seed of all random streams.
    pub seed: u64,
    /// Clocks of hosts have a phase that is drawn, and hosts take microseconds for a packet: see
    /// [`Plan::has_phases`].
    pub phase_noise: bool,
    /// One direction of a link each, then the queues of [`Plan::media`]. [`Hop::link`] is an index into it.
    pub links: Vec<PlannedLink>,
    /// The wireless networks.
    pub media: Vec<PlannedMedium>,
    /// Every flow, copies apart, in the order of the file. [`Plan::draw`] says what of it is random.
    pub flows: Vec<PlannedFlow>,
    /// The tables that are written.
    pub record: Record,
    /// The links with a rate on which data of greedy flows travel, or of all flows where none is greedy: those that
    /// can limit them, as indices into [`Plan::links`].
    pub limiting: Vec<usize>,
    /// The expected bottleneck: the slowest of [`Plan::limiting`], the first of equals.
    pub bottleneck: Option<usize>,
    /// Settings that are allowed but probably a mistake, one sentence each.
    pub warnings: Vec<String>,
    /// Period and mean of each file of rates, delays or losses over time, a sentence each.
    pub notes: Vec<String>,
    /// The origin that errors about it name.
    pub(crate) origin: Origin,
}

/// One direction of a link.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedLink {
    /// The name in reports. A reverse direction's name ends in `:reverse`.
    pub name: String,
    /// Service, queue and loss.
    pub settings: LinkSettings,
    /// Nominal rate, `None` for unlimited: of steps the first above zero, of a trace the mean.
    pub rate: Option<Rate>,
    /// Propagation delay of the link itself at time zero. In a dumbbell it is zero, as each flow has its own.
    pub delay: Span,
    /// How much later than after the propagation delay packets arrive.
    pub jitter: JitterModel,
    /// Limits of the queue that follow the limit of the settings, each from its time on.
    pub limits: Vec<(Time, Limit)>,
    /// The most packets that wait, are in service or are under way behind it. By default there is no such limit.
    pub held: Option<u32>,
    /// Packets that arrive twice.
    pub duplicate: Option<Chance>,
    /// Where equipment clears the ECN field of packets.
    pub clear_ecn: Option<ClearEcn>,
}

/// A wireless network.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedMedium {
    /// The name in reports.
    pub name: String,
    /// Its stations, the access point first, and the rules by which they share it.
    pub settings: MediumSettings,
    /// Its first queue among [`Plan::links`]. The others follow in the order of its accesses.
    pub first_link: usize,
    /// The access categories of each station, whose queues follow each other. Without EDCA it has only best effort.
    pub categories: Vec<AccessCategory>,
    /// Frames contend by these.
    pub edca: bool,
}

impl Plan {
    /// Refuses the plan where `allowed` refuses the controller of a flow: at the line and key of the first such flow.
    ///
    /// # Errors
    /// The sentence that `allowed` gave.
    pub fn check_controllers(&self, allowed: impl Fn(&ControllerRef) -> Result<(), String>) -> Result<(), Error> {
        let mut flows = self.flows.iter();
        let refused = flows.find_map(|flow| Some((flow.entry, allowed(&flow.cc).err()?)));
        refused.map_or(Ok(()), |(entry, message)| Err(self.origin.error(&format!("flows.{entry}.cc"), message)))
    }

    /// True if the hosts of `flow` are machines whose clocks tick, and their phases are not left out.
    pub fn has_phases(&self, flow: &FlowSettings) -> bool {
        self.phase_noise && flow.kind == Kind::Tcp && flow.options.has_ticks()
    }

    /// The links that data of each flow cross, in order, as indices into [`Plan::links`].
    pub fn routes(&self) -> Vec<Vec<usize>> {
        self.flows.iter().map(|flow| flow.forward.iter().filter_map(|hop| hop.link).collect()).collect()
    }

    /// How many of [`Plan::links`] are links by themselves. The rest are queues of [`Plan::media`].
    pub fn wired_links(&self) -> usize {
        self.media.first().map_or(self.links.len(), |medium| medium.first_link)
    }
}

/// One part of a route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hop {
    /// The link to pass, an index into [`Plan::links`], or `None` if there is nothing but delay.
    pub link: Option<usize>,
    /// Propagation after it.
    pub delay: Propagation,
    /// Packets may overtake others there.
    pub reorder: bool,
    /// The station at its other end, where `link` is the queue of a wireless station.
    pub station: Option<u32>,
    /// A Snoop agent sits before it, whose local timeouts are at least this long.
    pub snoop: Option<Span>,
}

/// The packets of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A TCP connection.
    Tcp,
    /// Datagrams at the rate of the source, each echoed. The controller only watches.
    Datagram {
        /// IP size of one.
        packet_size: Bytes,
        /// Each is echoed. The controller sees nothing otherwise.
        echo: bool,
    },
    /// Datagrams at the rate that TFRC allows (RFC 5348).
    Tfrc {
        /// IP size of one.
        packet_size: Bytes,
    },
    /// RTP packets of an encoder, whose rate the controller sets.
    Media {
        /// IP size of the largest.
        packet_size: Bytes,
    },
}

/// One flow: its number, and its [`FlowSettings`].
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedFlow {
    /// The number in its name, or `None` for a name without.
    pub number: Option<u32>,
    /// The index of its table in the scenario, which its copies and subflows share.
    pub entry: usize,
    /// Its place among the paths of a multipath flow.
    pub subflow: Option<Box<PlannedSubflow>>,
    /// The data of another flow that it sends on from a proxy, or `None` for data of its own.
    pub relays: Option<Box<PlannedRelay>>,
    /// Everything else; the copies of a flow share it.
    pub settings: Arc<FlowSettings>,
}

/// The data that a flow from a proxy sends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedRelay {
    /// The index of the flow that the proxy takes in, smaller than the flow's own index.
    pub flow: usize,
    /// How many segments the proxy holds, at least 1.
    pub segments: u64,
}

/// The place of a subflow in its flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedSubflow {
    /// The number of the flow among the flows with subflows.
    pub flow: usize,
    /// Its number among the subflows.
    pub index: usize,
    /// How many there are.
    pub count: usize,
}

impl PlannedFlow {
    /// The name in reports, which is unique. Each of several connections has a number behind it.
    pub fn name(&self) -> String {
        let FlowSettings { stem, suffix, .. } = &*self.settings;
        self.number.map_or_else(|| format!("{stem}{suffix}"), |number| format!("{stem}-{number}{suffix}"))
    }
}

impl Deref for PlannedFlow {
    type Target = FlowSettings;

    fn deref(&self) -> &FlowSettings {
        &self.settings
    }
}

impl FlowSettings {
    /// Propagation there and back of a packet whose ACK arrives at `at`. All delays are behind the queues.
    pub fn base_rtt_at(&self, at: Time) -> Span {
        let (mut base_rtt, mut left) = (Span::ZERO, at);
        for hop in self.forward.iter().chain(&self.reverse).rev() {
            let delay = hop.delay.until(left);
            base_rtt += delay;
            left = Time::from_nanos(left.as_nanos().saturating_sub(delay.as_nanos()));
        }
        base_rtt
    }

    /// True if its application always has more than leaves.
    pub fn is_greedy(&self) -> bool {
        self.source == Source::Greedy && !matches!(self.kind, Kind::Datagram { .. } | Kind::Media { .. })
    }

    /// IP size of a datagram, of TCP the payload of a full segment.
    pub fn packet_size(&self) -> Bytes {
        match self.kind {
            Kind::Tcp => self.options.segment_size,
            Kind::Datagram { packet_size, .. } | Kind::Tfrc { packet_size } | Kind::Media { packet_size } => {
                packet_size
            }
        }
    }
}

/// A change of a flow while it runs.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedChange {
    /// When it changes.
    pub at: Time,
    /// New values of parameters of the controller. The others stay.
    pub parameters: control::Parameters,
    /// A new receive window in segments.
    pub receive_window: Option<u32>,
}

/// How the connections of a flow come in pages.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pages {
    /// The pause from the completion of one page to the request of the next.
    pub think: Distribution<Span>,
    /// The connections of a page. At least one is made.
    pub connections: Distribution<Count>,
}

/// The settings of a flow, which its copies share.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowSettings {
    /// The parts of its name before and behind the number.
    pub stem: String,
    /// The name of a subflow with a colon, or nothing.
    pub suffix: String,
    /// Its controller.
    pub cc: ControllerRef,
    /// Parameters of the controller, which accepts them: the given ones, completed by the stack's.
    pub parameters: control::Parameters,
    /// Those given alone, for engines that bring a stack of their own.
    pub given: control::Parameters,
    /// When which of these change, in the order of time. The controller accepts that.
    pub changes: Vec<PlannedChange>,
    /// Name of the profile that the options come from.
    pub profile: String,
    /// Its TCP.
    pub options: Arc<transport::Stack>,
    /// TCP or datagrams.
    pub kind: Kind,
    /// The contents of its source, if that is a recording.
    pub media: Option<Datagrams>,
    /// The encoder and the feedback of a flow of media.
    pub call: MediaSettings,
    /// The data that the application offers.
    pub source: Source,
    /// The rate that its SYN asks for, one that can be asked for (Quick-Start), or `None` for no request.
    pub quick_start: Option<Rate>,
    /// How much it sends in all, or `None` for no end.
    pub bytes: Option<Distribution<Bytes>>,
    /// The time from the start of one connection to the start of the next, or `None` for one connection only.
    pub every: Option<Distribution<Span>>,
    /// Pages of connections, each of which waits for the one before, or `None` for none.
    pub pages: Option<Pages>,
    /// When it starts, a random delay up to `start_jitter` (exclusive) apart.
    pub start: Time,
    /// The most the start is delayed.
    pub start_jitter: Span,
    /// When it stops, or with `every` starts no more, at most the end of the run.
    pub stop: Time,
    /// The route of the data, at least one hop.
    pub forward: Vec<Hop>,
    /// The route of the ACKs, at least one hop.
    pub reverse: Vec<Hop>,
    /// Propagation there and back at time zero.
    pub base_rtt: Span,
    /// The nodes at its ends by number, and its code point.
    pub class: FlowClass,
}
