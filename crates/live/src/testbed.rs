//! The testbed of a run: the namespaces of both ends with their settings, and the places and sizes of packets.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;

use network::Limit;
use rustix::io::Errno;
use scenario::{Plan, PlannedFlow, PlannedLink, TransportOptions};
use transport::Stack;
use units::packet::{IP_HEADER, MTU, TCP_HEADER, TIMESTAMPS_OPTION};
use units::{Rate, Span};

use crate::datagrams;
use crate::host::listeners;
use crate::host::namespace::{self, End, Setting};
use crate::host::router::Router;
use crate::host::sockets::{FAR, NEAR, Sockets, ahead, datagram_address, datagram_socket};
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
    /// Of each flow, but those whose ends are not the kernel's TCP.
    pub(crate) sockets: Vec<Option<Sockets>>,
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
    /// of TCP has its name of `algorithms`, and each link its queue in the kernel of `queues`.
    pub(crate) fn build(
        plan: &Plan,
        settings: Vec<Setting>,
        algorithms: &[Option<String>],
        gso_max_segs: Option<u16>,
        queues: Vec<(usize, KernelDiscipline)>,
    ) -> Result<Self, String> {
        let build = || {
            let mtu = place_size(plan) as u32;
            let limited = of_tcp(plan).any(|flow| flow.options.buffers.sizes.send.limits());
            let ahead = (!limited).then(|| ahead(plan.bottleneck.and_then(|link| plan.links[link].rate)));
            let near = End::create(NEAR, mtu, gso_max_segs, &settings)?;
            let sender = |(i, name): (usize, &Option<String>)| {
                name.as_ref().map(|name| Sockets::sender(i, name, ahead)).transpose()
            };
            let mut sockets: Vec<_> = algorithms.iter().enumerate().map(sender).collect::<Result<_, _>>()?;
            let far = End::create(FAR, mtu, gso_max_segs, &settings)?;
            for (i, pair) in sockets.iter_mut().zip(algorithms).enumerate() {
                if let (Some(sockets), Some(name)) = pair {
                    sockets.listen(i, name)?;
                }
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

    /// Sockets of UDP for these `rows`: of the sender and of the receiver, each in the namespace of its end.
    pub(crate) fn datagram_sockets(&self, rows: &[u32]) -> Result<impl Iterator<Item = (u32, [OwnedFd; 2])>, String> {
        let make = |(number, end): (usize, &End)| -> Result<Vec<OwnedFd>, String> {
            let socket = |&row: &u32| datagram_socket(datagram_address(number, row));
            let made = end.inside(|| rows.iter().map(socket).collect::<Result<_, _>>());
            made.map_err(|error| error.to_string())?.map_err(|error: Errno| format!("a socket cannot be made: {error}"))
        };
        let (near, far) = (make((0, &self.near))?, make((1, &self.far))?);
        let rows = rows.to_vec();
        Ok(rows.into_iter().zip(near.into_iter().zip(far)).map(|(row, (near, far))| (row, [near, far])))
    }

    /// Datagrams for which the sockets of either end had no room.
    pub(crate) fn without_room(&self) -> io::Result<u64> {
        let of = |end: &End| end.inside(listeners::datagrams_without_room);
        Ok(of(&self.near)? + of(&self.far)?)
    }

    /// The kernel's queues as `tc` spells them, by the names of their links.
    pub(crate) fn spelled_queues(&self, plan: &Plan) -> BTreeMap<String, String> {
        let spelled = |(link, of): &(usize, KernelDiscipline)| (plan.links[*link].name.clone(), of.words.join(" "));
        self.queues.iter().map(spelled).collect()
    }
}

/// The flows of `plan` that are the kernel's TCP.
pub(crate) fn of_tcp(plan: &Plan) -> impl Iterator<Item = &PlannedFlow> {
    plan.flows.iter().filter(|flow| !datagrams::are_of(flow))
}

/// Settings of a namespace that make its TCP behave as the profile `linux` with the options of `plan`, whatever the
/// machine's own settings are.
pub(crate) fn tcp_settings(plan: &Plan) -> Vec<Setting> {
    let written = |stack: &Stack| TransportOptions::of(stack).sysctls().unwrap_or_default();
    let usual = written(&transport::linux());
    let asked = of_tcp(plan).next().map_or_else(|| usual.clone(), |flow| written(&flow.options));
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

/// The largest packet: a datagram, or a full segment with its headers.
pub(crate) fn place_size(plan: &Plan) -> u64 {
    let largest = |flow: &PlannedFlow| {
        if datagrams::are_of(flow) {
            return flow.packet_size().get().max(PLACE_FOR);
        }
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
