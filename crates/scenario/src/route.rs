//! The network of a plan: its links, and the route of a flow across them.

use std::collections::BTreeSet;
use std::sync::Arc;

use network::{DisciplineSettings, Framing, LinkSettings, Propagation, QueueSettings, Service, Trace};
use units::packet::MTU;
use units::{Rate, Span, Time};

use crate::language::{Flow, Link, Path, Reverse};
use crate::plan::{Hop, PlannedLink, PlannedMedium};
use crate::queue_remarks::{queue_warning, short_queue, short_trace};
use crate::reader::Reader;
use crate::routing::{Border, Edge, Routes, graph_routes};
use crate::tables::{TimeTable, add_notes, is_table, note};
use crate::values::{ChangingQueue, ClearEcn, Delay, DuplicateSpec, JitterSpec, Limit, LossSpec, QueueSpec, RateSpec};
use crate::wireless::Wireless;
use crate::wlan::AccessCategory;
use crate::{Error, Files, Scenario};

/// The name of the one link of a dumbbell.
const BOTTLENECK: &str = "bottleneck";

/// Links, and how flows are routed over them.
pub(crate) struct Network {
    pub(crate) links: Vec<PlannedLink>,
    pub(crate) media: Vec<PlannedMedium>,
    pub(crate) warnings: Vec<String>,
    pub(crate) notes: Vec<String>,
    /// The end of the run.
    end: Span,
    shape: Shape,
}

enum Shape {
    /// The hops have no delay: each flow has its own.
    Dumbbell {
        delay: Box<Delay>,
        forward: Hop,
        reverse: Hop,
    },
    Graph(Vec<Edge>),
}

/// A queue, the limits that follow, and how many packets it and the delay behind it hold.
type Queues = (QueueSettings, Vec<(Time, network::Limit)>, Option<u32>);

/// One direction as written.
struct Direction<'a> {
    key: &'a str,
    name: String,
    rate: &'a RateSpec,
    queue: Option<&'a ChangingQueue>,
    framing: Framing,
    loss: &'a LossSpec,
    jitter: &'a JitterSpec,
    duplicate: Option<DuplicateSpec>,
    clear_ecn: Option<ClearEcn>,
    delay: Propagation,
    reorder: bool,
    base_rtt: Option<Span>,
}

impl Network {
    pub(crate) fn of(scenario: &Scenario, files: &dyn Files) -> Result<Self, Error> {
        let reader = &Reader { origin: &scenario.origin, files };
        let shape = Shape::Graph(Vec::new());
        let end = scenario.duration;
        let mut network =
            Self { links: Vec::new(), media: Vec::new(), warnings: Vec::new(), notes: Vec::new(), end, shape };
        let no_links = scenario.links.is_empty();
        match &scenario.path {
            Some(_) if !no_links => {
                return Err(reader.error("links", "there is a [path] too: a scenario has either [path] or [[links]]"));
            }
            Some(_) if !scenario.wlans.is_empty() => {
                let message = "there is a [path] too: beside [[wlans]] the wired part is written as [[links]]";
                return Err(reader.error("wlans", message));
            }
            Some(path) => network.shape = network.dumbbell(reader, path)?,
            None if no_links && scenario.wlans.is_empty() => {
                return Err(reader.error("", "there is no network: give either [path] or [[links]]"));
            }
            None => network.shape = network.graph(reader, scenario)?,
        }
        let mut names = BTreeSet::new();
        for link in &network.links {
            if !names.insert(&link.name) {
                let (key, what) = if network.media.is_empty() {
                    ("links", "two links are")
                } else {
                    ("wlans", "two links or stations are")
                };
                return Err(reader.error(key, format!("{what} named `{}`: names must differ", link.name)));
            }
        }
        Ok(network)
    }

    fn dumbbell(&mut self, reader: &Reader<'_>, path: &Path) -> Result<Shape, Error> {
        let delay = match (&path.rtt, &path.delay) {
            (Some(rtt), None) => Delay::of_rtt(&rtt.delay),
            (None, Some(delay)) => delay.clone(),
            (None, None) => return Err(reader.error("path", "give either `rtt` or `delay`, like `rtt = \"40ms\"`")),
            (Some(_), Some(_)) => {
                return Err(reader.error("path.delay", "there is an `rtt` too: give either `rtt` or `delay`"));
            }
        };
        let direction = Direction {
            key: "path",
            name: BOTTLENECK.to_owned(),
            rate: &path.rate,
            queue: path.queue.as_ref(),
            framing: path.framing.0,
            loss: &path.loss,
            jitter: &path.jitter,
            duplicate: path.duplicate,
            clear_ecn: path.clear_ecn,
            delay: Span::ZERO.into(),
            reorder: path.reorder,
            base_rtt: Some(delay.initial_rtt()),
        };
        let forward = self.add(reader, &direction)?;
        let reverse = self.add_reverse(reader, &direction, "path.reverse", &path.reverse)?;
        Ok(Shape::Dumbbell { delay: Box::new(delay), forward, reverse })
    }

    fn graph(&mut self, reader: &Reader<'_>, scenario: &Scenario) -> Result<Shape, Error> {
        let mut edges = self.wired(reader, &scenario.links)?;
        let of_flows = scenario.flows.iter().filter_map(|flow| flow.access_category);
        let used: BTreeSet<_> = of_flows.chain([AccessCategory::default()]).collect();
        let used = Vec::from_iter(used);
        for (i, wlan) in scenario.wlans.iter().enumerate() {
            let wireless = Wireless::of(reader, wlan, (i, self.links.len()), &used)?;
            self.links.extend(wireless.links);
            self.media.push(wireless.medium);
            self.warnings.extend(wireless.warnings);
            edges.extend(wireless.edges);
        }
        Ok(Shape::Graph(edges))
    }

    fn wired(&mut self, reader: &Reader<'_>, links: &[Link]) -> Result<Vec<Edge>, Error> {
        let mut edges = Vec::new();
        for (i, link) in links.iter().enumerate() {
            let key = format!("links.{i}");
            let Link { from, to, delay, .. } = link;
            if from == to {
                return Err(reader.error(&format!("{key}.to"), format!("the link leads from `{from}` to itself")));
            }
            let name = link.name.clone().unwrap_or_else(|| format!("{from}-{to}"));
            let direction = Direction {
                key: &key,
                name,
                rate: &link.rate,
                queue: link.queue.as_ref(),
                framing: link.framing.0,
                loss: &link.loss,
                jitter: &link.jitter,
                duplicate: link.duplicate,
                clear_ecn: link.clear_ecn,
                delay: delay.delay.clone(),
                reorder: link.reorder,
                base_rtt: None,
            };
            let hop = self.add(reader, &direction)?;
            if let Some(Err((below, why))) = link.snoop.map(|agent| agent.out_of_bounds()) {
                return Err(reader.error(&format!("{key}.snoop.{below}"), why));
            }
            let timeout_min = link.snoop.map(|agent| agent.timeout_min);
            edges.push(Edge { from: from.clone(), to: to.clone(), hop, border: timeout_min.map(Border::Before) });
            let reverse = match (&link.reverse, link.duplex) {
                (None, false) => continue,
                (Some(_), true) => {
                    let message = "`duplex` makes the reverse direction like the forward one: give either of the two";
                    return Err(reader.error(&format!("{key}.reverse"), message));
                }
                (Some(reverse), false) => reverse.clone(),
                (None, true) => Reverse {
                    rate: link.rate.clone(),
                    queue: link.queue.clone().unwrap_or_default(),
                    framing: link.framing,
                    loss: link.loss.clone(),
                    jitter: link.jitter.clone(),
                    duplicate: link.duplicate,
                    clear_ecn: link.clear_ecn,
                },
            };
            let reverse_key = if link.duplex { key.clone() } else { format!("{key}.reverse") };
            let hop = self.add_reverse(reader, &direction, &reverse_key, &reverse)?;
            edges.push(Edge { from: to.clone(), to: from.clone(), hop, border: timeout_min.map(Border::After) });
        }
        Ok(edges)
    }

    /// Adds one direction and returns the hop across it.
    fn add(&mut self, reader: &Reader<'_>, direction: &Direction<'_>) -> Result<Hop, Error> {
        let key = |name: &str| format!("{}.{name}", direction.key);
        let (service, rate) =
            self.service(direction.rate, &key("rate"), reader).map_err(|m| reader.error(&key("rate"), m))?;
        let (queue, limits, held) = match (direction.queue, rate) {
            (Some(queue), _) => {
                self.queues(queue, direction, rate).map_err(|message| reader.error(&key("queue"), message))?
            }
            (None, None) => (QueueSettings::default(), Vec::new(), None),
            (None, Some(_)) => {
                let message = "is missing: write packets `84p`, bytes `64kB`, a time `100ms`, `1bdp` or `infinite`";
                return Err(reader.error(&key("queue"), message));
            }
        };
        let queue = framed(queue, direction.framing, rate).map_err(|message| reader.error(&key("framing"), message))?;
        let settings = LinkSettings { service, queue, loss: direction.loss.model.clone() };
        self.warnings.extend(short_trace(&direction.name, &settings.service));
        self.links.push(PlannedLink {
            name: direction.name.clone(),
            settings,
            rate,
            delay: direction.delay.initial(),
            jitter: direction.jitter.model.clone(),
            limits,
            held,
            duplicate: direction.duplicate.map(|spec| spec.0),
            clear_ecn: direction.clear_ecn,
        });
        let reorder = direction.reorder || direction.jitter.reorder;
        Ok(Hop {
            link: Some(self.links.len() - 1),
            delay: direction.delay.clone(),
            reorder,
            station: None,
            snoop: None,
        })
    }

    /// Adds the direction back from `forward`, which is no link if it does nothing but delay.
    fn add_reverse(
        &mut self,
        reader: &Reader<'_>,
        forward: &Direction<'_>,
        key: &str,
        reverse: &Reverse,
    ) -> Result<Hop, Error> {
        let Reverse { rate, queue, framing, loss, jitter, duplicate, clear_ecn } = reverse;
        let (delay, reorder) = (forward.delay.clone(), forward.reorder);
        let changes_packets = duplicate.is_some() || clear_ecn.is_some() || !framing.is_none();
        if *rate == RateSpec::Unlimited && loss.is_none() && jitter.is_none() && !changes_packets {
            return Ok(Hop { link: None, delay, reorder, station: None, snoop: None });
        }
        let name = format!("{}{REVERSE}", forward.name);
        let base_rtt = forward.base_rtt;
        self.add(
            reader,
            &Direction {
                key,
                name,
                rate,
                queue: Some(queue),
                framing: framing.0,
                loss,
                jitter,
                duplicate: *duplicate,
                clear_ecn: *clear_ecn,
                delay,
                reorder,
                base_rtt,
            },
        )
    }

    /// The service of a rate at `key`, and the rate by which it counts.
    fn service(&mut self, rate: &RateSpec, key: &str, reader: &Reader<'_>) -> Result<(Service, Option<Rate>), String> {
        Ok(match rate {
            RateSpec::Unlimited => (Service::Unlimited, None),
            RateSpec::Fixed(rate) => (Service::Fixed(*rate), Some(*rate)),
            RateSpec::Shaped(bucket) => (Service::Shaped(*bucket), Some(bucket.rate)),
            RateSpec::Steps(steps) => {
                let nominal = steps.iter().map(|&(_, rate)| rate).find(|rate| !rate.is_zero());
                (Service::Steps(steps.clone()), nominal)
            }
            RateSpec::Trace(trace) => {
                let file = &trace.trace;
                let text = reader.read(file).map_err(|error| format!("the trace `{file}` cannot be read: {error}"))?;
                if is_table(&text, trace.columns.as_deref()) {
                    let in_file = |error| format!("the table `{file}`: {error}");
                    let table = TimeTable::parse(&text, trace.columns.as_deref()).map_err(in_file)?;
                    let (steps, mean) = table.rates(self.end).map_err(in_file)?;
                    add_notes(&mut self.notes, table.notes(key, file, mean));
                    return Ok((Service::Steps(steps), Some(mean)));
                }
                let read = Trace::parse(&text).map_err(|error| format!("the trace `{file}`, {error}"))?;
                let mean = read.mean_rate();
                self.notes.push(note(key, file, read.period(), mean));
                (Service::Trace(Arc::new(read)), Some(mean))
            }
        })
    }

    /// The queue of `direction` with all that belongs to it.
    fn queues(
        &mut self,
        queue: &ChangingQueue,
        direction: &Direction<'_>,
        rate: Option<Rate>,
    ) -> Result<Queues, String> {
        let settings = self.queue(&queue.first, direction, rate)?;
        let mut limits = Vec::new();
        for &(at, limit) in &queue.later {
            limits.push((at, limit_of(limit, direction, rate)?));
        }
        let held = match (queue.first.count_delayed, settings.limit) {
            (false, _) => None,
            (true, _) if !limits.is_empty() => {
                return Err("`count_delayed` does not go with steps of the limit".to_owned());
            }
            (true, network::Limit::Packets(packets)) => Some(packets),
            (true, _) => return Err("`count_delayed` needs a limit in packets, like `1000p`".to_owned()),
        };
        Ok((settings, limits, held))
    }

    fn queue(
        &mut self,
        queue: &QueueSpec,
        direction: &Direction<'_>,
        rate: Option<Rate>,
    ) -> Result<QueueSettings, String> {
        let limit = limit_of(queue.limit, direction, rate)?;
        let drops_at_its_limit_alone = matches!(queue.discipline, DisciplineSettings::Fifo);
        if drops_at_its_limit_alone || !matches!(limit, network::Limit::Infinite) {
            self.warnings.extend(queue_warning(&direction.name, limit, rate));
        }
        if !matches!(queue.limit, Limit::Bdp(_)) && !direction.name.ends_with(REVERSE) {
            self.warnings.extend(short_queue(&direction.name, limit, rate, direction.base_rtt));
        }
        Ok(QueueSettings {
            limit,
            count_in_service: queue.count_in_service,
            mark_above: queue.mark_above.map(|packets| packets.0),
            discipline: queue.discipline,
            framing: Framing::default(),
        })
    }

    /// The forward and reverse route of a flow. An error is the name of the key and the message.
    pub(crate) fn routes(&self, flow: &Flow) -> Result<Routes, (&'static str, String)> {
        match &self.shape {
            Shape::Dumbbell { delay, forward, reverse } => dumbbell_routes(flow, delay, forward, reverse),
            Shape::Graph(edges) => {
                if flow.reverse {
                    let message = "belongs to scenarios with a [path]; among [[links]] write `from` and `to`";
                    return Err(("reverse", message.to_owned()));
                }
                let mut routes = graph_routes(flow, edges)?;
                self.categorise(flow, routes.forward.iter_mut().chain(&mut routes.reverse))?;
                Ok(routes)
            }
        }
    }

    /// Over wireless networks packets of `flow` pass the queues of its access category.
    fn categorise<'a>(
        &self,
        flow: &Flow,
        hops: impl Iterator<Item = &'a mut Hop>,
    ) -> Result<(), (&'static str, String)> {
        let Some(category) = flow.access_category else { return Ok(()) };
        let mut wireless = false;
        for hop in hops.filter(|hop| hop.station.is_some()) {
            wireless = true;
            let medium = self.media.iter().rfind(|medium| hop.link >= Some(medium.first_link));
            let Some(medium) = medium.filter(|medium| medium.edca) else {
                let message = "needs a WLAN whose frames contend by category: write `edca = true` there";
                return Err(("access_category", message.to_owned()));
            };
            let queue = medium.categories.iter().position(|known| *known == category).unwrap_or(0);
            hop.link = hop.link.map(|link| link + queue);
        }
        if wireless { Ok(()) } else { Err(("access_category", "belongs to flows over [[wlans]]".to_owned())) }
    }
}

/// The settings of a queue before a line with `framing` and `rate`.
fn framed(queue: QueueSettings, framing: Framing, rate: Option<Rate>) -> Result<QueueSettings, String> {
    if framing.if_any().is_some() && rate.is_none() {
        return Err("changes nothing on an unlimited link: give a `rate`".to_owned());
    }
    if framing.if_any().is_some() && queue.discipline.framing().if_any().is_some() {
        let keys = "`overhead`, `mpu` and `link_layer`";
        return Err(format!("the queue has {keys}, too: give either of the two"));
    }
    Ok(QueueSettings { framing, ..queue })
}

fn limit_of(limit: Limit, direction: &Direction<'_>, rate: Option<Rate>) -> Result<network::Limit, String> {
    Ok(match limit {
        Limit::Infinite => network::Limit::Infinite,
        Limit::Packets(n) => network::Limit::Packets(n),
        Limit::Bytes(bytes) => network::Limit::Bytes(bytes),
        Limit::Delay(span) => network::Limit::Delay(span),
        Limit::Bdp(factor) => network::Limit::Packets(packets_of_bdp(factor, rate, direction)?),
    })
}

fn packets_of_bdp(factor: f64, rate: Option<Rate>, direction: &Direction<'_>) -> Result<u32, String> {
    let spelled = Limit::Bdp(factor);
    let Some(base_rtt) = direction.base_rtt else {
        return Err(format!("`{spelled}` needs the base RTT of a [path]; for a link write packets, bytes or a time"));
    };
    let Some(rate) = rate else {
        return Err(format!("`{spelled}` needs a rate, but this link is unlimited"));
    };
    let bits = factor * rate.bits_per_second() as f64 * base_rtt.as_secs_f64();
    let packets = (bits / (8 * direction.framing.on_link(MTU).get()) as f64).round();
    if packets < 1.0 {
        return Err(format!("`{spelled}` is no whole packet at {rate} and {base_rtt}: a queue must have room for one"));
    }
    if packets > f64::from(u32::MAX) {
        return Err(format!("`{spelled}` is more than {} packets at {rate} and {base_rtt}", u32::MAX));
    }
    Ok(packets as u32)
}

/// The end of the name of the direction back.
const REVERSE: &str = ":reverse";
fn dumbbell_routes(flow: &Flow, path: &Delay, forward: &Hop, reverse: &Hop) -> Result<Routes, (&'static str, String)> {
    let of_links = [
        ("from", flow.from.is_some()),
        ("to", flow.to.is_some()),
        ("via", flow.via.is_some()),
        ("extra_delay", flow.extra_delay.is_some()),
        ("access_category", flow.access_category.is_some()),
    ];
    if let Some((key, _)) = of_links.into_iter().find(|(_, given)| *given) {
        return Err((key, "belongs to scenarios with [[links]]; this one has a [path]".to_owned()));
    }
    let delay = flow.rtt.as_ref().map_or_else(|| path.clone(), |rtt| Delay::of_rtt(&rtt.delay));
    let mut ways = [
        vec![Hop { delay: delay.forward.delay, ..forward.clone() }],
        vec![Hop { delay: delay.reverse.delay, ..reverse.clone() }],
    ];
    let mut hosts = [0, 1];
    if flow.reverse {
        ways.reverse();
        hosts.reverse();
    }
    let [forward, reverse] = ways;
    Ok(Routes { forward, reverse, hosts })
}
