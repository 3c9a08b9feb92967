//! The testbed of a run: the namespaces of both ends with their settings, and the places and sizes of packets.

use std::collections::BTreeMap;
use std::io;

use network::Limit;
use scenario::{Plan, PlannedLink, TransportOptions};
use transport::Stack;
use units::packet::{IP_HEADER, MTU, TCP_HEADER, TIMESTAMPS_OPTION};
use units::{Rate, Span};

use crate::host::namespace::{self, End, Setting};
use crate::host::router::Router;
use crate::host::sockets::{FAR, NEAR, Sockets, ahead};
use crate::queues::KernelDiscipline;

/// Places in the pool beyond what queues and wires hold: what TCP sends at once.
const SPARE_PLACES: u64 = 4096;
/// 300 MB at 1500 bytes.
const MOST_PLACES: u64 = 200_000;
/// The smallest packets that are counted on: TCP fills its segments.
const PLACE_FOR: u64 = MTU.get();
/// The headers of a segment without timestamps.
const HEADERS: u64 = IP_HEADER.get() + TCP_HEADER.get();
/// The time from the start of the clock to the start of the run, in which the threads start.
pub(crate) const SETTLING: Span = Span::from_millis(50);
/// A wake-up of the emulator serves the deliveries of at most this time,
const TOGETHER: Span = Span::from_micros(100);
/// and of the shortest round-trip time divided by this.
const PART_OF_RTT: u64 = 400;

/// Both ends of the path, and the sockets in them. Sockets are closed before the devices.
pub(crate) struct Testbed {
    pub(crate) sockets: Vec<Sockets>,
    pub(crate) near: End,
    pub(crate) far: End,
    /// Between them, those that have the queues of links.
    pub(crate) routers: Vec<Router>,
    pub(crate) queues: Vec<(usize, KernelDiscipline)>,
    pub(crate) settings: Vec<Setting>,
    pub(crate) gso_max_segs: Option<u16>,
}

impl Testbed {
    /// Makes the namespaces with their `settings` on a thread of its own, which leaves the caller's as it is. Each flow
    /// has its name of `algorithms`, and each link its queue in the kernel of `queues`.
    pub(crate) fn build(
        plan: &Plan,
        settings: Vec<Setting>,
        algorithms: &[String],
        gso_max_segs: Option<u16>,
        queues: Vec<(usize, KernelDiscipline)>,
    ) -> Result<Self, String> {
        let build = || {
            let mtu = place_size(plan) as u32;
            let limited = plan.flows.iter().any(|flow| flow.options.buffers.sizes.send.limits());
            let ahead = (!limited).then(|| ahead(plan.bottleneck.and_then(|link| plan.links[link].rate)));
            let near = End::create(NEAR, mtu, gso_max_segs, &settings)?;
            let senders = algorithms.iter().enumerate().map(|(i, name)| Sockets::sender(i, name, ahead));
            let mut sockets: Vec<Sockets> = senders.collect::<Result<_, _>>()?;
            let far = End::create(FAR, mtu, gso_max_segs, &settings)?;
            for (i, (sockets, name)) in sockets.iter_mut().zip(algorithms).enumerate() {
                sockets.listen(i, name)?;
            }
            let router = |(link, discipline): &(usize, KernelDiscipline)| {
                Router::create(discipline, plan.links[*link].rate.unwrap_or_default(), mtu)
            };
            let routers = queues.iter().map(router).collect::<Result<_, _>>()?;
            Ok(Self { sockets, near, far, routers, queues, settings, gso_max_segs })
        };
        std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().spawn_scoped(scope, build).map_err(|error| error.to_string())?;
            thread.join().unwrap_or_else(|_| Err("making the namespaces failed".to_owned()))
        })
    }

    /// Packets that the devices dropped.
    pub(crate) fn dropped(&self) -> io::Result<u64> {
        let of_routers = self.routers.iter().map(Router::dropped).sum::<io::Result<u64>>()?;
        Ok(self.near.dropped()? + self.far.dropped()? + of_routers)
    }

    /// The kernel's queues as `tc` spells them, by the names of their links.
    pub(crate) fn spelled_queues(&self, plan: &Plan) -> BTreeMap<String, String> {
        let spelled = |(link, of): &(usize, KernelDiscipline)| (plan.links[*link].name.clone(), of.words.join(" "));
        self.queues.iter().map(spelled).collect()
    }
}

/// Settings of a namespace that make its TCP behave as the profile `linux` with the options of `plan`, whatever the
/// machine's own settings are.
pub(crate) fn tcp_settings(plan: &Plan) -> Vec<Setting> {
    let written = |stack: &Stack| TransportOptions::of(stack).sysctls().unwrap_or_default();
    let usual = written(&transport::linux());
    let asked = plan.flows.first().map_or_else(|| usual.clone(), |flow| written(&flow.options));
    asked
        .into_iter()
        .map(|(name, value)| Setting { name, required: !usual.contains(&(name, value.clone())), value })
        .collect()
}

/// Settings of the namespaces of a shell: the host's own, but for those that `plan` asks for.
pub(crate) fn shell_settings(plan: &Plan) -> Vec<Setting> {
    let of_host = |setting: Setting| match setting.required {
        true => Some(setting),
        false => namespace::value_of(setting.name).map(|value| Setting { value, ..setting }),
    };
    tcp_settings(plan).into_iter().filter_map(of_host).collect()
}

/// The largest packet: a full segment with its headers.
pub(crate) fn place_size(plan: &Plan) -> u64 {
    let largest = |flow: &scenario::PlannedFlow| {
        let Stack { segment_size, timestamps, .. } = &*flow.options;
        segment_size.get() + HEADERS + if *timestamps { TIMESTAMPS_OPTION.get() } else { 0 }
    };
    plan.flows.iter().map(largest).max().unwrap_or(PLACE_FOR)
}

/// Places for all that queues and wires can hold, both ways.
pub(crate) fn places(plan: &Plan) -> usize {
    let longest = plan.flows.iter().map(|flow| flow.base_rtt).max().unwrap_or(Span::ZERO);
    let of_link = |link: &PlannedLink| {
        let rate = link.rate.unwrap_or(Rate::from_mbit(1000));
        let packets = |span| rate.bytes_in(span).get() / PLACE_FOR;
        let waiting = match link.settings.queue.limit {
            Limit::Infinite => MOST_PLACES,
            Limit::Packets(packets) => u64::from(packets),
            Limit::Bytes(bytes) => bytes.get() / HEADERS,
            Limit::Delay(span) => packets(span),
        };
        waiting.saturating_add(packets(longest)).saturating_mul(2)
    };
    let all = plan.links.iter().map(of_link).fold(SPARE_PLACES, u64::saturating_add);
    all.min(MOST_PLACES) as usize
}

/// The longest time whose deliveries share a wake-up of the emulator.
pub(crate) fn together(plan: &Plan) -> Span {
    plan.flows.iter().map(|flow| flow.base_rtt / PART_OF_RTT).fold(TOGETHER, Span::min)
}
