//! From [`Scenario`] to [`Plan`]: everything that takes more than one key to check.

use std::collections::BTreeSet;
use std::sync::Arc;

use control::{ControllerRef, Parameters, registry, stacks, tfrc};
use network::{FlowClass, Propagation};
use transport::{PROFILES, Stack};
use units::{Bytes, Count, Distribution, Span, Time};

use crate::beyond;
use crate::document::plain;
use crate::draw::MOST_FLOWS;
use crate::error::{FlowError, flow_error, suggestion};
use crate::kind::{kind, quick_start};
use crate::language::{Change, Flow, HostBuffers, Protocol};
use crate::marks::{unnoticed_marks, with_needs};
use crate::media::media;
use crate::multipath;
use crate::plan::{FlowSettings, Kind, Pages, Plan, PlannedChange, PlannedFlow, PlannedLink, PlannedSubflow};
use crate::relay;
use crate::route::Network;
use crate::routing::Routes;
use crate::tables::add_notes;
use crate::transport_options::{check_keeping, overlay};
use crate::values::{OnOff, Paced, Sampling, Source};
use crate::{Error, Files, Scenario};

/// More turns of a source than this are taken for a typing error.
const MOST_TURNS: u64 = 10_000_000;

impl Scenario {
    /// Resolves and validates everything, traces included, which are read from `files`. Controllers that the registry
    /// does not know are taken as they are: the engine builds or refuses them ([`Plan::check_controllers`]). A
    /// controller in a file has to be readable.
    pub fn plan(&self, files: &dyn Files) -> Result<Plan, Error> {
        self.check_run()?;
        let (scenario, notes) = self.with_tables(files)?;
        scenario.planned(notes, files)
    }

    /// The plan of a scenario whose delays and losses are no files.
    fn planned(&self, notes: Vec<String>, files: &dyn Files) -> Result<Plan, Error> {
        let mut network = Network::of(self, files)?;
        add_notes(&mut network.notes, notes);
        let flows = self.plan_flows(&network, files)?;
        check_duplicates(&network.links, &flows).map_err(|message| self.origin.error("", message))?;
        check_early(&network.links, &flows).map_err(|message| self.origin.error("", message))?;
        let limiting = limiting(&network.links, &flows);
        let bottleneck = limiting.iter().copied().min_by_key(|&link| network.links[link].rate);
        let unnoticed = unnoticed_marks(&flows, &network.links);
        let mut warnings: Vec<String> = self.origin.bare_losses().chain(network.warnings).chain(unnoticed).collect();
        warnings.extend(beyond::on_the_way(&flows, &network.links, self.duration));
        warnings.extend(beyond::in_queues(&network.links, self.duration));
        warnings.extend(beyond::between_starts(&flows));
        warnings.extend(beyond::between_rows(&self.record, self.duration));
        Ok(Plan {
            name: self.name.clone(),
            duration: self.duration,
            warmup: self.warmup,
            seed: self.seed,
            phase_noise: self.phase_noise,
            links: network.links,
            media: network.media,
            flows,
            record: self.record,
            limiting,
            bottleneck,
            warnings,
            notes: network.notes,
            origin: self.origin.clone(),
        })
    }

    fn check_run(&self) -> Result<(), Error> {
        let fail = |key, message: String| Err(self.origin.error(key, message));
        if self.duration.is_zero() {
            return fail("duration", "must be above 0, like `60s`".to_owned());
        }
        if self.warmup >= self.duration {
            let Self { warmup, duration, .. } = self;
            return fail("warmup", format!("`{warmup}` leaves nothing to measure of the duration `{duration}`"));
        }
        if let Sampling::Acks(_) = self.record.link_series {
            let message =
                format!("`{}`: a link sees no ACKs; write a time like `100ms`, or `off`", self.record.link_series);
            return fail("record.link_series", message);
        }
        profile(&self.profile).map_err(|message| self.origin.error("profile", message))?;
        if self.flows.is_empty() {
            return fail("flows", "a scenario needs at least one flow".to_owned());
        }
        let flows: u64 = self.flows.iter().map(|flow| u64::from(flow.count)).sum();
        if flows > MOST_FLOWS {
            return fail("flows", format!("there are {flows} flows; at most {MOST_FLOWS} are allowed"));
        }
        Ok(())
    }

    fn plan_flows(&self, network: &Network, files: &dyn Files) -> Result<Vec<PlannedFlow>, Error> {
        let flows = self.flows.iter().map(|flow| flow.count as usize).sum();
        let mut planned: Vec<PlannedFlow> = Vec::with_capacity(flows);
        let mut connections = 0u64;
        let (mut copies, mut multipath_flows) = (0, 0);
        for (i, flow) in self.flows.iter().enumerate() {
            let at = |(key, message): FlowError| self.origin.error(&format!("flows.{i}.{key}"), message);
            let stem = flow.name.clone().unwrap_or_else(|| flow.cc.stem().into_owned());
            let mut paths = Vec::new();
            for path in multipath::paths(flow).map_err(at)? {
                let key = |key: String| if multipath::ROUTE.contains(&&*key) { path.key.clone() + &key } else { key };
                let settings = self.plan_flow(&path.flow, network, files);
                let mut settings = settings.map_err(|(name, message)| at((key(name), message)))?;
                // One place in the cache for all.
                if let Some(last) = planned.last().filter(|last| last.options == settings.options) {
                    settings.options = Arc::clone(&last.options);
                }
                (settings.stem, settings.suffix) = (stem.clone(), path.suffix);
                paths.push(Arc::new(settings));
            }
            let size = paths[0].options.segment_size.get();
            let relays = relay::relayed(flow, size, &self.flows[..i], &planned).map_err(at)?;
            let of_copy: u64 = paths.iter().map(|settings| settings.connections()).sum();
            connections = connections.saturating_add(of_copy.saturating_mul(u64::from(flow.count)));
            if connections > MOST_FLOWS {
                // A count that has saturated is none.
                let counted = match connections {
                    u64::MAX => format!("more than {}", 10u64.pow(18)),
                    count => format!("about {count}"),
                };
                let message = format!("there are {counted} flows; at most {MOST_FLOWS} are allowed");
                return Err(at(flow_error("every", message)));
            }
            let numbered = flow.count > 1 || flow.name.is_none();
            if (stem.trim().is_empty() && !numbered) || stem.contains(char::is_control) {
                let name = if numbered { format!("{stem}-0") } else { stem };
                let message = format!("{name:?} is not a name: it needs letters, and no line breaks");
                return Err(at(flow_error("name", message)));
            }
            for copy in 0..flow.count {
                let number = numbered.then_some(if flow.name.is_some() { copy } else { copies });
                copies += 1;
                for (index, settings) in paths.iter().enumerate() {
                    let subflow = PlannedSubflow { flow: multipath_flows, index, count: paths.len() };
                    let subflow = (!flow.subflows.is_empty()).then(|| Box::new(subflow));
                    let relays = relays.map(Box::new);
                    planned.push(PlannedFlow { number, entry: i, subflow, relays, settings: Arc::clone(settings) });
                }
                multipath_flows += usize::from(!flow.subflows.is_empty());
            }
        }
        // Once all are planned: beside copies that are given up again they would leave holes in memory.
        let mut names = BTreeSet::new();
        for flow in &planned {
            if !names.insert(flow.name()) {
                let message = format!("two flows are named `{}`: names must differ", flow.name());
                return Err(self.origin.error(&format!("flows.{}.name", flow.entry), message));
            }
        }
        check_connection_names(&planned, &names).map_err(|message| self.origin.error("flows", message))?;
        Ok(planned)
    }

    /// The parameters of the controller of `flow`: those given, and for one of the registry the form that the stack of
    /// the profile has.
    fn parameters(&self, flow: &Flow) -> Result<Parameters, FlowError> {
        let stack = flow.profile.as_ref().unwrap_or(&self.profile);
        match &flow.cc {
            ControllerRef::Registered(name) => stacks::complete(name, stack, &flow.parameters)
                .map_err(|error| flow_error("parameters", error.to_string())),
            _ => Ok(flow.parameters.clone()),
        }
    }

    /// The [`PlannedFlow::cc`] of `flow` with its `parameters`.
    fn controller(&self, flow: &Flow, parameters: &Parameters, files: &dyn Files) -> Result<ControllerRef, FlowError> {
        match &flow.cc {
            ControllerRef::Source(_) => {
                let file = flow.cc.file().unwrap_or_default();
                match files.read(&self.origin.beside(&file)) {
                    Ok(_) => Ok(flow.cc.at(|file| self.origin.beside(file))),
                    Err(error) => Err(flow_error("cc", format!("`{}` cannot be read: {error}", file.display()))),
                }
            }
            ControllerRef::Registered(name) => match registry::build(name, parameters) {
                Ok(_) => Ok(flow.cc.clone()),
                Err(error) => Err(flow_error("parameters", plain(&error.to_string()))),
            },
            ControllerRef::Engine(name) if name == tfrc::NAME => {
                tfrc::Settings::of(parameters).map_err(|error| flow_error("parameters", plain(&error.to_string())))?;
                Ok(flow.cc.clone())
            }
            ControllerRef::Engine(spelled) => match flow.cc.python_file() {
                Some(file) => Err(flow_error(
                    "cc",
                    format!(
                        "`{file}` is Python, which no scenario can name: `ackclock compare {spelled}` runs its \
                         controller, and so does a scenario that is written in Python"
                    ),
                )),
                None => Ok(flow.cc.clone()),
            },
            ControllerRef::Python { .. } => Ok(flow.cc.clone()),
        }
    }

    /// The changes of the parameters of `flow`, which runs from `start` to `stop`, in the order of time.
    fn changes(
        flow: &Flow,
        stack: &Stack,
        parameters: &Parameters,
        (start, stop): (Time, Time),
    ) -> Result<Vec<PlannedChange>, FlowError> {
        let planned = |change: &Change| {
            let window = change.receive_window.map(|window| window.segments(stack.segment_size)).transpose();
            let receive_window = window.map_err(|error| flow_error("changes", format!("`{}`: {error}", change.at)))?;
            Ok(PlannedChange { at: change.at, parameters: change.parameters.clone(), receive_window })
        };
        let mut changes: Vec<PlannedChange> = flow.changes.iter().map(planned).collect::<Result<_, FlowError>>()?;
        changes.sort_by_key(|change| change.at);
        let Some(first) = changes.first() else { return Ok(changes) };
        let mut wrong = flow.changes.iter().filter_map(|change| wrong_change(flow, change));
        if let Some(message) = wrong.next() {
            return Err(flow_error("changes", message));
        }
        if let Some(key) = [("every", flow.every), ("think", flow.think)].iter().find_map(|(k, v)| v.map(|_| k)) {
            return Err(flow_error("changes", format!("is for one connection, not for `{key}`")));
        }
        if first.at < start {
            return Err(flow_error(
                "changes",
                format!("`{}` is before the latest start of the flow at `{start}`", first.at),
            ));
        }
        if let Some(late) = changes.iter().find(|change| change.at >= stop) {
            return Err(flow_error("changes", format!("`{}` is not before the end of the flow at `{stop}`", late.at)));
        }
        if changes.iter().all(|change| change.parameters.is_empty()) {
            return Ok(changes);
        }
        let ControllerRef::Registered(name) = &flow.cc else {
            return Err(flow_error("changes", "only parameters of a controller of the engine's own can change"));
        };
        let mut controller = registry::build(name, parameters).map_err(|e| flow_error("parameters", e.to_string()))?;
        for change in &changes {
            let changed = controller.set_parameters(&change.parameters);
            changed.map_err(|error| flow_error("changes", plain(&format!("`{}`: {error}", change.at))))?;
        }
        Ok(changes)
    }

    fn plan_flow(&self, flow: &Flow, network: &Network, files: &dyn Files) -> Result<FlowSettings, FlowError> {
        flow.out_of_bounds().map_err(|(key, why)| flow_error(key, why))?;
        let parameters = self.parameters(flow)?;
        let cc = self.controller(flow, &parameters, files)?;
        let name = flow.profile.as_ref().unwrap_or(&self.profile);
        let profile = profile(name).map_err(|message| flow_error("profile", message))?;
        let needed = if flow.kind == Protocol::Tcp { with_needs(profile, &cc, &parameters) } else { profile };
        let mut stack = overlay(&with_buffers(needed, self.buffers), &flow.transport)?;
        check_keeping(&cc, &parameters, &stack)?;
        let end = Time::ZERO + self.duration;
        if flow.start >= end {
            return Err(flow_error("start", format!("`{}` is not before the end of the run at `{end}`", flow.start)));
        }
        let stop = flow.stop.unwrap_or(end);
        let latest = flow.start + flow.start_jitter;
        if stop <= latest {
            let start = if flow.start_jitter.is_zero() { "the start" } else { "the latest start, jitter included," };
            return Err(flow_error("stop", format!("`{stop}` is not after {start} at `{latest}`")));
        }
        check_amounts(flow, stop.min(end).since(flow.start))?;
        let kind = kind(flow)?;
        let media = media(flow, kind, |path| files.read(&self.origin.beside(path)))?;
        let quick_start = quick_start(flow, kind)?;
        // The request goes with the SYN.
        stack.handshake |= quick_start.is_some();
        let changes = Self::changes(flow, &stack, &parameters, (latest, stop.min(end)))?;
        let Routes { forward, reverse, hosts } =
            network.routes(flow).map_err(|(key, message)| flow_error(key, message))?;
        let rtt = |delay: fn(&Propagation) -> Span| forward.iter().chain(&reverse).map(|hop| delay(&hop.delay)).sum();
        let (base_rtt, shortest): (Span, Span) = (rtt(Propagation::initial), rtt(Propagation::shortest));
        let limited = forward.iter().any(|hop| hop.link.is_some_and(|link| network.links[link].rate.is_some()));
        if shortest.is_zero() && !limited {
            return Err(flow_error("rtt", "is 0 on an unlimited path: no time would pass; give a delay or a rate"));
        }
        Ok(FlowSettings {
            stem: String::new(),
            suffix: String::new(),
            cc,
            parameters,
            given: flow.parameters.clone(),
            changes,
            profile: name.clone(),
            options: Arc::new(stack),
            kind,
            media,
            call: flow.media.clone().unwrap_or_default(),
            source: flow.source.clone(),
            quick_start,
            bytes: flow.bytes,
            every: flow.every,
            pages: pages(flow),
            start: flow.start,
            start_jitter: flow.start_jitter,
            stop: stop.min(end),
            forward,
            reverse,
            base_rtt,
            class: FlowClass { hosts, dscp: flow.dscp.unwrap_or_default().0 },
        })
    }
}

/// The pages of `flow`, if it has any.
fn pages(flow: &Flow) -> Option<Pages> {
    let connections = flow.connections.unwrap_or(Distribution::Constant(Count(1)));
    flow.think.map(|think| Pages { think, connections })
}

/// Refuses a flow that is named as one of the connections of another may be: `NAME-0`, `NAME-1`…
/// Why `change` of `flow` is none.
fn wrong_change(flow: &Flow, change: &Change) -> Option<String> {
    match change.receive_window {
        Some(_) if flow.kind != Protocol::Tcp || flow.relays.is_some() => {
            Some("`receive_window` is for flows of kind `tcp` without `relays`".to_owned())
        }
        None if change.parameters.is_empty() => Some(format!("`{}` changes nothing", change.at)),
        _ => None,
    }
}

/// Only data of TCP flows may arrive twice: other ends count what arrives.
fn check_duplicates(links: &[PlannedLink], flows: &[PlannedFlow]) -> Result<(), String> {
    for (index, link) in links.iter().enumerate().filter(|(_, link)| link.duplicate.is_some()) {
        let mut others = flows.iter().filter(|flow| flow.kind != Kind::Tcp);
        if let Some(flow) = others.find(|flow| flow.forward.iter().any(|hop| hop.link == Some(index))) {
            return Err(format!(
                "`duplicate` of `{}` is for flows of kind `tcp`, and `{}`, which passes it, is none",
                link.name,
                flow.name()
            ));
        }
    }
    Ok(())
}

/// Packets that take no delay need to know of one.
fn check_early(links: &[PlannedLink], flows: &[PlannedFlow]) -> Result<(), String> {
    for (index, link) in links.iter().enumerate().filter(|(_, link)| link.jitter.early.is_some()) {
        let hops = flows.iter().flat_map(|flow| flow.forward.iter().chain(&flow.reverse));
        let mut delays = hops.filter(|hop| hop.link == Some(index)).map(|hop| &hop.delay);
        let first = delays.next();
        if first.is_some_and(|first| !first.is_constant()) || delays.any(|delay| Some(delay) != first) {
            return Err(format!(
                "the jitter of `{}` lets a share of its packets take no delay: there must be one delay behind it, \
                 without steps",
                link.name
            ));
        }
    }
    Ok(())
}

/// [`Plan::limiting`].
fn limiting(links: &[PlannedLink], flows: &[PlannedFlow]) -> Vec<usize> {
    let any_greedy = flows.iter().any(|flow| flow.is_greedy());
    let mut carries = vec![false; links.len()];
    for flow in flows.iter().filter(|flow| flow.is_greedy() || !any_greedy) {
        flow.forward.iter().filter_map(|hop| hop.link).for_each(|link| carries[link] = true);
    }
    (0..links.len()).filter(|&link| carries[link] && links[link].rate.is_some()).collect()
}

fn check_connection_names(planned: &[PlannedFlow], names: &BTreeSet<String>) -> Result<(), String> {
    for flow in planned.iter().filter(|flow| flow.is_many()).map(PlannedFlow::name) {
        let prefix = format!("{flow}-");
        let numbered = |name: &&String| {
            name.strip_prefix(&prefix).is_some_and(|number| number.bytes().all(|digit| digit.is_ascii_digit()))
        };
        if let Some(name) = names.range(prefix.clone()..).take_while(|name| name.starts_with(&*prefix)).find(numbered) {
            return Err(format!(
                "a flow is named `{name}`, and so may one of the connections of `{flow}` be: names must differ"
            ));
        }
    }
    Ok(())
}

/// Refuses sizes, and times between starts and turns, of zero, and more turns than a machine bears in the `life` of the
/// flow.
fn check_amounts(flow: &Flow, life: Span) -> Result<(), FlowError> {
    if flow.bytes.is_some_and(|bytes| bytes.mean() == Bytes::ZERO) {
        return Err(flow_error("bytes", "must be above 0; without `bytes` the flow has no end"));
    }
    match flow.every {
        Some(every) if every.mean().is_zero() => {
            return Err(flow_error("every", "must be above 0: it is the time from one start to the next"));
        }
        Some(_) if flow.bytes.is_none() => {
            return Err(flow_error("every", "needs `bytes`: without, none of the connections would end"));
        }
        _ => {}
    }
    check_pages(flow)?;
    if let Source::Paced(Paced { periods: Some(OnOff { on, off }), .. }) = &flow.source {
        // The median counts: with a few long periods there are many more turns than by the mean.
        let turns = life.as_nanos() / (on.median() + off.median()).as_nanos().max(1);
        if turns > MOST_TURNS {
            return Err(flow_error(
                "source",
                format!("goes on and off about {turns} times; at most {MOST_TURNS} are allowed"),
            ));
        }
    }
    Ok(())
}

/// Refuses keys of pages that exclude each other.
fn check_pages(flow: &Flow) -> Result<(), FlowError> {
    if flow.think.is_none() {
        return match flow.connections {
            Some(_) => Err(flow_error("connections", "is how many a page has: it needs `think`")),
            None => Ok(()),
        };
    }
    if flow.every.is_some() {
        return Err(flow_error("think", "stands in place of `every`: a page waits for the one before"));
    }
    if flow.bytes.is_none() {
        return Err(flow_error("think", "needs `bytes`: without, no page would ever be complete"));
    }
    if flow.source != Source::Greedy {
        return Err(flow_error("source", "of a page is greedy: its connections send `bytes` as fast as they may"));
    }
    if flow.connections.is_some_and(|connections| connections.mean() == Count(0)) {
        return Err(flow_error("connections", "must be at least 1"));
    }
    Ok(())
}

/// The `stack` with the buffers of its hosts.
fn with_buffers(mut stack: Stack, buffers: HostBuffers) -> Stack {
    if buffers == HostBuffers::Profile {
        stack.buffers.sizes = stack.buffers.usual;
    }
    stack
}

fn profile(name: &str) -> Result<Stack, String> {
    PROFILES.iter().find(|profile| profile.name == name).map(|profile| (profile.stack)()).ok_or_else(|| {
        let known: Vec<&str> = PROFILES.iter().map(|profile| profile.name).collect();
        format!("there is no profile `{name}`; {}", suggestion(name, &known))
    })
}
