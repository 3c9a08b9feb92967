//! From `[[wlans]]` to the media of a plan: a queue for each station, and the edges between nodes.

use network::medium::{
    ACCESS_POINT, AccessSettings, Aggregation, Category, Conventions, FrameErrors, MediumSettings, Phy, PhySettings,
    RateSettings, Standard, StationSettings, Width,
};
use network::{Framing, JitterModel, LinkSettings, LossModel, QueueSettings, Service};
use units::{Fraction, Rate, Span};

use crate::Error;
use crate::plan::{Hop, PlannedLink, PlannedMedium};
use crate::queue_remarks::queue_warning;
use crate::reader::Reader;
use crate::routing::Edge;
use crate::values::{Limit, QueueSpec};
use crate::wlan::{AccessCategory, FrameRate, MOST_STATIONS, Station, Txop, Wlan};

/// The parts that a wireless network adds to the network of a plan.
pub(crate) struct Wireless {
    pub(crate) medium: PlannedMedium,
    /// The queues of the access point and the stations.
    pub(crate) links: Vec<PlannedLink>,
    /// The directions between the access point and the stations.
    pub(crate) edges: Vec<Edge>,
    pub(crate) warnings: Vec<String>,
}

/// A station with its own settings in place of the network's.
struct Placed<'a> {
    name: String,
    key: String,
    own: Option<&'a Station>,
}

impl Placed<'_> {
    /// The name of the table that it is a copy of.
    fn table(&self) -> Option<&str> {
        self.own.map(|own| own.name.as_str())
    }
}

impl Wireless {
    /// The network `wlan`, number `index` in the file, whose first queue is number `first` of the links.
    /// With EDCA each station has a queue for each of `used`, the access categories of the flows.
    pub(crate) fn of(
        reader: &Reader<'_>,
        wlan: &Wlan,
        (index, first): (usize, usize),
        used: &[AccessCategory],
    ) -> Result<Self, Error> {
        let whole = format!("wlans.{index}");
        let below = |name: &str| format!("{whole}.{name}");
        for (key, name) in [("name", &wlan.name), ("access_point", &wlan.access_point)] {
            if let Some(message) = no_name(name) {
                return Err(reader.error(&below(key), message));
            }
        }
        let stations = stations(reader, wlan, &whole)?;
        let phy = physical_layer(wlan).map_err(|(key, message)| reader.error(&below(key), message))?;
        wlan.out_of_bounds().map_err(|(key, why)| reader.error(&below(key), why))?;
        if let Some(message) = no_beacons(wlan) {
            return Err(reader.error(&below("beacon_interval"), message));
        }
        let edca = wlan.edca.unwrap_or(wlan.standard.aggregates());
        if wlan.txop == Some(Txop::Standard) && !edca {
            let message = "`standard` is by access category: write `edca = true` too, or a time";
            return Err(reader.error(&below("txop"), message));
        }
        let categories = if edca { used.to_vec() } else { vec![AccessCategory::BestEffort] };
        let mut wireless = Self {
            links: Vec::new(),
            edges: Vec::new(),
            warnings: Vec::new(),
            medium: PlannedMedium {
                name: wlan.name.clone(),
                settings: medium_settings(wlan, phy, edca),
                first_link: first,
                categories,
                edca,
            },
        };
        let rates = Phy::new(&phy, &wireless.medium.settings.basic_rates);
        if let Some(rate) = wlan.basic_rates.iter().find(|rate| !kbit(**rate).is_some_and(|kbit| rates.has_basic(kbit)))
        {
            let message = format!("`{rate}` is no rate of this standard without MCS");
            return Err(reader.error(&below("basic_rates"), message));
        }
        if let Some(hidden) = &wlan.hidden {
            let nodes: Vec<_> = stations.iter().map(|placed| (placed.name.as_str(), placed.table())).collect();
            wireless.medium.settings.hidden =
                hidden.pairs(&nodes).map_err(|message| reader.error(&below("hidden"), message))?;
        }
        if let Some(rate) = wlan.conventions.eifs_rate.filter(|rate| !has_eifs_rate(wlan.standard, &rates, *rate)) {
            let message = format!("`{rate}` is no rate of this standard without MCS");
            return Err(reader.error(&below("conventions.eifs_rate"), message));
        }
        for (station, placed) in (0u32..).zip(&stations) {
            wireless.add(station, placed, wlan, &rates).map_err(|(own, key, message)| {
                let at = if own { placed.key.as_str() } else { whole.as_str() };
                reader.error(&format!("{at}.{key}"), message)
            })?;
        }
        Ok(wireless)
    }

    /// Adds a station. An error says whether the station itself has the key, the key, and the message.
    fn add(
        &mut self,
        station: u32,
        Placed { name, own, .. }: &Placed<'_>,
        wlan: &Wlan,
        rates: &Phy,
    ) -> Result<(), (bool, &'static str, String)> {
        let own_rate = own.and_then(|own| own.rate);
        let own_queue = own.and_then(|own| own.queue);
        let dsss = is_dsss(*own, wlan)?;
        let (rate, fastest) = frame_rate(own_rate.unwrap_or(wlan.rate), rates, dsss)
            .map_err(|message| (own_rate.is_some(), "rate", message))?;
        let queue = queue_settings(&own_queue.unwrap_or(wlan.queue))
            .map_err(|message| (own_queue.is_some(), "queue", message))?;
        let errors = frame_errors(*own, wlan)?;
        let nominal = rates.modes[usize::from(fastest)].rate();
        let PlannedMedium { settings, first_link, categories, edca, .. } = &mut self.medium;
        let link = |station: u32| *first_link + station as usize * categories.len();
        settings.stations.push(StationSettings { rate, errors, dsss });
        self.warnings.extend(queue_warning(name, queue.limit, Some(nominal)));
        for category in categories.iter() {
            let mut contends = if *edca { category.parameters() } else { Category::DCF };
            contends.txop = match wlan.txop {
                None => Span::ZERO,
                Some(Txop::Standard) => category.txop(dsss || wlan.standard == Standard::B),
                Some(Txop::Limit(limit)) => limit,
            };
            settings.accesses.push(AccessSettings { station, queue, category: contends });
            self.links.push(planned_link(format!("{name}{}", category.suffix()), queue, nominal));
        }
        if station != ACCESS_POINT {
            let hop = |from: u32, to| Hop {
                link: Some(link(from)),
                delay: Span::ZERO.into(),
                reorder: false,
                station: Some(to),
                snoop: None,
            };
            let ap = &wlan.access_point;
            self.edges.push(Edge { from: name.clone(), to: ap.clone(), hop: hop(station, ACCESS_POINT), border: None });
            self.edges.push(Edge { from: ap.clone(), to: name.clone(), hop: hop(ACCESS_POINT, station), border: None });
        }
        Ok(())
    }
}

/// A rate in kbit/s, as in the standard.
fn kbit(rate: Rate) -> Option<u32> {
    let bits = rate.bits_per_second();
    bits.is_multiple_of(1000).then(|| u32::try_from(bits / 1000).ok())?
}

/// True if an ACK for which EIFS leaves room may have this rate: also one of DSSS if 802.11b may be near.
fn has_eifs_rate(standard: Standard, rates: &Phy, rate: Rate) -> bool {
    let Some(kbit) = kbit(rate) else { return false };
    let slow = matches!(standard, Standard::B | Standard::G) && [1000, 2000, 5500].contains(&kbit);
    slow || rates.has_basic(kbit)
}

/// The physical layer of `wlan`. An error has the key and the message.
fn physical_layer(wlan: &Wlan) -> Result<PhySettings, (&'static str, &'static str)> {
    let (standard, usual) = (wlan.standard, PhySettings::of(wlan.standard));
    let wide = matches!(standard, Standard::Ac | Standard::Ax);
    let width = wlan.channel_width.unwrap_or(if wide { Width::Mhz80 } else { Width::Mhz20 });
    for (key, given, allowed, message) in [
        ("channel_width", width == Width::Mhz40, standard.aggregates(), "is for networks of `802.11n`, `ac` or `ax`"),
        ("channel_width", width > Width::Mhz40, wide, "must be `20MHz` or `40MHz`: 80 and 160 MHz are of `802.11ac`"),
        (
            "short_guard_interval",
            wlan.short_guard_interval,
            matches!(standard, Standard::N | Standard::Ac),
            "is for networks of `802.11n` or `ac`; `802.11ax` has `guard_interval`",
        ),
        (
            "guard_interval",
            wlan.guard_interval.is_some(),
            standard == Standard::Ax,
            "is for networks of `802.11ax`; `802.11n` and `ac` have `short_guard_interval`",
        ),
        ("streams", wlan.streams.is_some(), standard.aggregates(), "is for networks of `802.11n`, `ac` or `ax`"),
    ] {
        if given && !allowed {
            return Err((key, message));
        }
    }
    if wlan.streams.is_some_and(|streams| !(1..=4).contains(&streams)) {
        return Err(("streams", "must be from 1 to 4"));
    }
    if wlan.protection && wlan.standard != Standard::G {
        return Err(("protection", "is for networks of `802.11g` beside stations of 802.11b"));
    }
    Ok(PhySettings {
        protection: wlan.protection || wlan.stations.0.iter().any(|station| station.standard == Some(Standard::B)),
        short_preamble: wlan.short_preamble,
        width,
        short_guard: wlan.short_guard_interval,
        guard: wlan.guard_interval.unwrap_or_default(),
        streams: wlan.streams.unwrap_or(usual.streams),
        ..usual
    })
}

/// The fault of the interval of beacons, if any: `hostapd` takes only 15 to 65,535 units of 1.024 ms.
fn no_beacons(wlan: &Wlan) -> Option<String> {
    let interval = wlan.beacon_interval?;
    let allowed = Span::from_micros(15 * 1024)..=Span::from_micros(65_535 * 1024);
    if wlan.hidden.is_some() {
        return Some("a network with `hidden` stations sends no beacons here: leave one of the two out".to_owned());
    }
    let message = format!("`{interval}` must be from 15.36ms to 67.10784s; access points mostly have 102.4ms");
    (!allowed.contains(&interval)).then_some(message)
}

/// True if a station knows only DSSS in a network that knows OFDM.
fn is_dsss(own: Option<&Station>, wlan: &Wlan) -> Result<bool, (bool, &'static str, String)> {
    match own.and_then(|own| own.standard) {
        None => Ok(false),
        Some(standard) if standard == wlan.standard => Ok(false),
        Some(Standard::B) if wlan.standard == Standard::G => Ok(true),
        Some(_) => {
            let message = "must be that of the network, or `802.11b` in a network of `802.11g`";
            Err((true, "standard", message.to_owned()))
        }
    }
}

/// The medium of `wlan` without its stations.
fn medium_settings(wlan: &Wlan, phy: PhySettings, edca: bool) -> MediumSettings {
    MediumSettings {
        phy,
        basic_rates: wlan.basic_rates.iter().map(|rate| (rate.bits_per_second() / 1000) as u32).collect(),
        conventions: conventions(wlan),
        short_retry_limit: wlan.retry_limit,
        long_retry_limit: wlan.long_retry_limit,
        rts_threshold: wlan.rts_above.map(|bytes| u32::try_from(bytes.get()).unwrap_or(u32::MAX)),
        lifetime: wlan.lifetime,
        beacons: wlan.beacon_interval,
        qos: edca || wlan.standard.aggregates(),
        aggregation: Aggregation::of(wlan.standard),
        airtime_fairness: wlan.airtime_fairness,
        stations: Vec::new(),
        accesses: Vec::new(),
        hidden: Vec::new(),
    }
}

/// The fault of `name`, if it is none.
fn no_name(name: &str) -> Option<String> {
    let none = name.trim().is_empty() || name.contains(char::is_control);
    none.then(|| format!("{name:?} is not a name: it needs letters, and no line breaks"))
}

/// The access point and the stations, copies apart.
fn stations<'a>(reader: &Reader<'_>, wlan: &'a Wlan, key: &str) -> Result<Vec<Placed<'a>>, Error> {
    let access_point = Placed { name: wlan.access_point.clone(), key: key.to_owned(), own: None };
    let mut placed = vec![access_point];
    if wlan.stations.0.is_empty() {
        return Err(reader.error(&format!("{key}.stations"), "a network needs at least one station"));
    }
    for (i, station) in wlan.stations.0.iter().enumerate() {
        let key = format!("{key}.stations.{i}");
        station.out_of_bounds().map_err(|(below, why)| reader.error(&format!("{key}.{below}"), why))?;
        // Before there is a name for each.
        if placed.len() + station.count.unwrap_or(1) as usize > MOST_STATIONS as usize {
            return Err(reader.error(&key, format!("at most {MOST_STATIONS} stations share a network")));
        }
        let names = match station.count {
            None => vec![station.name.clone()],
            Some(count) => (0..count).map(|copy| format!("{}-{copy}", station.name)).collect(),
        };
        for name in names {
            if let Some(message) = no_name(&name) {
                return Err(reader.error(&key, message));
            }
            placed.push(Placed { name, key: key.clone(), own: Some(station) });
        }
    }
    Ok(placed)
}

/// How the rate is chosen among the standard's, and the fastest that may come of it.
fn frame_rate(rate: FrameRate, phy: &Phy, dsss: bool) -> Result<(RateSettings, u8), String> {
    let mode = |mode: &u8| phy.modes[usize::from(*mode)];
    let found = match rate {
        FrameRate::Fastest => return Ok((RateSettings::Fastest, phy.fastest_for(dsss))),
        FrameRate::Arf => return Ok((RateSettings::Arf, phy.fastest_for(dsss))),
        FrameRate::SampleRate => return Ok((RateSettings::SampleRate, phy.fastest_for(dsss))),
        FrameRate::SampleRateFreebsd => return Ok((RateSettings::SampleRateFreebsd, phy.fastest_for(dsss))),
        FrameRate::Minstrel => return Ok((RateSettings::Minstrel, phy.fastest_for(dsss))),
        FrameRate::Fixed(rate) => phy.data_modes_for(dsss).find(|index| mode(index).rate() == rate),
        // With all streams, if an index has several rates.
        FrameRate::Mcs(mcs) => phy.data_modes_for(dsss).filter(|index| mode(index).mcs == Some(mcs)).last(),
    };
    found.map(|index| (RateSettings::Fixed(index), index)).ok_or_else(|| {
        let spelling = |index: u8| match mode(&index).mcs {
            Some(mcs) => format!("mcs{mcs}"),
            None => mode(&index).rate().to_string(),
        };
        let mut known: Vec<String> = Vec::new();
        for name in phy.data_modes_for(dsss).map(spelling) {
            if !known.contains(&name) {
                known.push(name);
            }
        }
        format!("`{rate}` is no rate of this standard; there are {}", known.join(", "))
    })
}

/// How frames between a station and the access point are lost: as the station says, or else the network.
fn frame_errors(own: Option<&Station>, wlan: &Wlan) -> Result<FrameErrors, (bool, &'static str, String)> {
    let both = |own| Err((own, "distance", "there are `frame_errors` too: give either of the two".to_owned()));
    let share = |share: Fraction| if share.is_zero() { FrameErrors::None } else { FrameErrors::Share(share.get()) };
    match own.map(|own| (own.frame_errors, own.distance)) {
        Some((Some(_), Some(_))) => both(true),
        Some((Some(errors), None)) => Ok(share(errors)),
        Some((None, Some(distance))) => Ok(FrameErrors::Distance(distance.0)),
        None | Some((None, None)) => match wlan.distance {
            Some(_) if !wlan.frame_errors.is_zero() => both(false),
            Some(distance) => Ok(FrameErrors::Distance(distance.0)),
            None => Ok(share(wlan.frame_errors)),
        },
    }
}

fn queue_settings(queue: &QueueSpec) -> Result<QueueSettings, String> {
    let limit = match queue.limit {
        Limit::Infinite => network::Limit::Infinite,
        Limit::Packets(n) => network::Limit::Packets(n),
        Limit::Bytes(bytes) => network::Limit::Bytes(bytes),
        limit @ (Limit::Delay(_) | Limit::Bdp(_)) => {
            return Err(format!(
                "`{limit}` needs a rate that is known in advance; the queue of a station has packets `200p`, bytes \
                 `300kB` or `infinite`"
            ));
        }
    };
    if queue.count_delayed {
        return Err("`count_delayed` is for links; a station has no delay behind its queue".to_owned());
    }
    Ok(QueueSettings {
        limit,
        count_in_service: queue.count_in_service,
        mark_above: queue.mark_above.map(|packets| packets.0),
        discipline: queue.discipline,
        framing: Framing::default(),
    })
}

fn planned_link(name: String, queue: QueueSettings, nominal: Rate) -> PlannedLink {
    PlannedLink {
        name,
        settings: LinkSettings { service: Service::Fixed(nominal), queue, loss: LossModel::None },
        rate: Some(nominal),
        delay: Span::ZERO,
        jitter: JitterModel::default(),
        limits: Vec::new(),
        held: None,
        duplicate: None,
        clear_ecn: None,
    }
}

fn conventions(wlan: &Wlan) -> Conventions {
    let written = &wlan.conventions;
    Conventions {
        after_collision: written.after_collision,
        countdown: written.countdown,
        eifs_rate: written.eifs_rate.map(|rate| (rate.bits_per_second() / 1000) as u32),
        reset_after_drop: written.reset_after_drop,
        immediate_access: written.immediate_access,
    }
}
