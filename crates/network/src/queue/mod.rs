//! The waiting room of a link: how much may wait, and who goes first.

mod avq;
mod backlog;
mod cake;
mod cobalt;
mod codel;
mod discipline;
mod drr;
mod dualpi2;
mod fifo;
mod fq;
mod fq_codel;
mod fq_pie;
mod metered;
mod pie;
mod police;
mod red;
pub(crate) mod tc;
#[cfg(test)]
#[path = "../../../../python/ackclock/cli/templates/queue.rs"]
#[expect(unreachable_pub, reason = "`ackclock new queue` puts its settings into the list")]
mod template;
mod turns;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use units::{Bytes, Random, Span, Time};

pub use self::avq::AvqSettings;
pub use self::cake::{AckFilter, CakeSettings, Diffserv, Isolation};
pub use self::codel::CodelSettings;
pub use self::discipline::{Admission, Context, Count, Discipline, Served};
pub use self::drr::DrrSettings;
pub use self::dualpi2::DualPi2Settings;
use self::fifo::Fifo;
pub use self::fq::FqSettings;
pub use self::fq_codel::FqCodelSettings;
pub use self::fq_pie::FqPieSettings;
pub use self::pie::PieSettings;
pub use self::police::PoliceSettings;
pub use self::red::RedSettings;
use self::tc::{BFIFO, PFIFO};
pub use self::tc::{Dialect, TcMeaning, TcQueue, TcWord};
use crate::{Discard, Egress, FlowClass, Framing, Packet, Service};

/// How much may wait. [`DisciplineSettings`] says which packet is dropped when the queue is full.
///
/// Only a packet that has to wait is tested: one that finds the link idle goes straight into service and is not dropped
/// for the limit, however small it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Limit {
    /// Everything.
    #[default]
    Infinite,
    /// So many packets: full when that many are there.
    Packets(u32),
    /// So many bytes: full for a packet that would exceed it.
    Bytes(Bytes),
    /// As much as leaves within this time: full when what waits would take longer at the rate of the moment (of a
    /// trace, at its mean rate). While the rate is zero, whatever waits takes for ever, so at most one packet gets in.
    Delay(Span),
}

/// The settings of a discipline, as a scenario spells them.
///
/// Each is a struct in the file of its discipline, with a default for every key and `deny_unknown_fields`.
pub trait Settings: Copy + Sized + 'static {
    /// The limit of a queue if the scenario names none. `None`: it must.
    const DEFAULT_LIMIT: Option<Limit> = None;

    /// The words of `tc` for them, or `None` if `tc` has no such discipline.
    const TC: Option<Dialect<Self>> = None;

    /// Checks the settings. An error has the key, and a sentence that names its value and says what is allowed.
    ///
    /// # Errors
    /// The first key whose value is not allowed.
    fn check(&self) -> Result<(), (&'static str, String)> {
        Ok(())
    }

    /// The discipline in a queue with `limit` in front of `service`.
    ///
    /// # Panics
    /// If [`Settings::check`] finds something wrong.
    fn build<P: Packet>(&self, limit: Limit, service: &Service) -> Box<dyn Discipline<P>>;
}

/// Makes the list of disciplines: `name in the language => Variant(its settings)`.
macro_rules! disciplines {
    ($($(#[$doc:meta])* $name:literal => $variant:ident($settings:ty),)*) => {
        /// In which order packets are served, and which are marked or dropped. In a scenario the key `discipline` holds
        /// the name, and the settings stand beside it.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
        #[serde(tag = "discipline")]
        pub enum DisciplineSettings {
            /// First in, first out; the packet that arrives at a full queue is dropped (drop-tail).
            #[default]
            #[serde(rename = "fifo")]
            Fifo,
            $($(#[$doc])* #[serde(rename = $name)] $variant($settings),)*
        }

        impl DisciplineSettings {
            /// The names, first in, first out before all others.
            pub const NAMES: &[&str] = &["fifo", $($name),*];

            /// The limit of a queue of the discipline `name` where the scenario names none.
            pub fn default_limit(name: &str) -> Option<Limit> {
                match name {
                    $($name => <$settings as Settings>::DEFAULT_LIMIT,)*
                    _ => None,
                }
            }

            /// Its name.
            pub const fn name(&self) -> &'static str {
                match self {
                    Self::Fifo => "fifo",
                    $(Self::$variant(_) => $name,)*
                }
            }

            /// As [`Settings::check`].
            ///
            /// # Errors
            /// The first key whose value is not allowed.
            pub fn check(&self) -> Result<(), (&'static str, String)> {
                match self {
                    Self::Fifo => Ok(()),
                    $(Self::$variant(settings) => settings.check(),)*
                }
            }

            /// The words of `tc` for a queue of this discipline with `limit`.
            ///
            /// # Errors
            /// `tc` cannot be told the discipline, the limit or a setting: a sentence about that.
            pub fn tc_words(&self, limit: Limit) -> Result<Vec<String>, String> {
                match self {
                    Self::Fifo if matches!(limit, Limit::Bytes(_)) => BFIFO.write(&(), limit),
                    Self::Fifo => PFIFO.write(&(), limit),
                    $(Self::$variant(settings) => match <$settings>::TC {
                        Some(dialect) => dialect.write(settings, limit),
                        None => Err("its discipline is not among those of `tc`".to_owned()),
                    },)*
                }
            }

            /// The queue of the discipline that `tc` calls `name`, with the words behind it.
            ///
            /// # Errors
            /// `name` is none of `tc`, a word cannot be read, or its value is not allowed.
            pub fn from_tc(name: &str, words: &[&str]) -> Result<TcQueue<Self>, String> {
                for dialect in [PFIFO, BFIFO] {
                    if dialect.name == name {
                        return Ok(dialect.read(words)?.map(|()| Self::Fifo));
                    }
                }
                $(if let Some(dialect) = <$settings>::TC && dialect.name == name {
                    let queue = dialect.read(words)?;
                    queue.settings.check().map_err(|(key, why)| format!("{name}: `{key}`: {why}"))?;
                    return Ok(queue.map(Self::$variant));
                })*
                Err(format!("there is no discipline `{name}`"))
            }

            /// Every word of `tc` for a queue, discipline by discipline.
            pub fn words_of_tc() -> Vec<TcWord> {
                let mut words = PFIFO.words();
                words.extend(BFIFO.words());
                $(words.extend(<$settings>::TC.iter().flat_map(Dialect::words));)*
                words
            }

            /// The framing of its link, if it has settings for that.
            pub fn framing(&self) -> Framing {
                if let Self::Cake(settings) = self { settings.framing() } else { Framing::default() }
            }

            /// The discipline; `None` for first in, first out, which a queue has in itself.
            fn build<P: Packet>(&self, limit: Limit, service: &Service) -> Option<Box<dyn Discipline<P>>> {
                Some(match self {
                    Self::Fifo => return None,
                    $(Self::$variant(settings) => settings.build(limit, service),)*
                })
            }
        }
    };
}

disciplines! {
    /// Fair queueing (Demers, Keshav and Shenker 1990): serves the packet that would finish first if the flows were
    /// served bit by bit in turn. A full queue drops the last packet of the longest flow.
    "fq" => FairQueueing(FqSettings),
    /// Deficit round robin (Shreedhar and Varghese 1995): flows take turns of `quantum` bytes and carry over what they
    /// do not use. A full queue drops the last packet of the longest flow.
    "drr" => DeficitRoundRobin(DrrSettings),
    /// Controlled delay (RFC 8289): drops or marks at the head, more and more often, while every packet of an
    /// `interval` waits longer than `target`. A full queue drops the arrival; 1000 packets by default.
    "codel" => Codel(CodelSettings),
    /// Flow queues by deficit round robin, new ones first, each under CoDel (RFC 8290). A full queue drops from the
    /// head of the longest; 10240 packets by default.
    "fq_codel" => FqCodel(FqCodelSettings),
    /// Random early detection (Floyd and Jacobson 1993): drops or marks arrivals at random, with a probability that
    /// grows with the average length from `min` to `max`. A full queue drops the arrival.
    "red" => Red(RedSettings),
    /// Adaptive virtual queue (Kunniyur and Srikant 2001): marks or drops arrivals that overflow a slower queue, whose
    /// capacity adapts until the link is used to the share `gamma`. A full queue drops the arrival.
    "avq" => Avq(AvqSettings),
    /// Proportional integral controller enhanced (RFC 8033): drops or marks arrivals with a probability that follows
    /// the queueing delay every `tupdate`. A full queue drops the arrival; 1000 packets by default.
    "pie" => Pie(PieSettings),
    /// Flow queues by deficit round robin, new ones first, each under PIE (RFC 8033). A full queue drops the arrival;
    /// 10240 packets by default.
    "fq_pie" => FqPie(FqPieSettings),
    /// The coupled dual queue of L4S (RFC 9332): a low-latency queue for ECT(1), a classic queue for all others, one PI
    /// controller for both. A full queue drops the arrival; 10000 packets by default.
    "dualpi2" => DualPi2(DualPi2Settings),
    /// CAKE (Høiland-Jørgensen, Täht and Morton 2018): flow queues by deficit round robin, each under COBALT, by host
    /// and by class. A full queue drops from the head of the longest; only `memlimit` bounds it by default.
    "cake" => Cake(CakeSettings),
    /// First in, first out behind a policer (police of tc): drops or marks arrivals that exceed a token bucket. A full
    /// queue drops the arrival.
    "police" => Police(PoliceSettings),
}

/// The queue of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct QueueSettings {
    /// How much may wait.
    pub limit: Limit,
    /// True if the packet in service takes room too, as in Mahimahi, where a packet stays in the queue until its
    /// opportunity, or behind a shaper of Linux. For a delay limit it counts the rest of its service. RED's average
    /// counts it, too.
    pub count_in_service: bool,
    /// An ECN-capable packet that finds at least so many packets waiting (not counting the one in service) is marked. A
    /// full queue drops it all the same.
    pub mark_above: Option<u32>,
    /// Who goes first, and who is dropped.
    pub discipline: DisciplineSettings,
    /// How the link frames packets, unless the discipline has settings for that.
    pub framing: Framing,
}

impl QueueSettings {
    /// How the link frames packets; `None` if they take their own bytes alone.
    pub fn line(&self) -> Option<Framing> {
        self.framing.if_any().or_else(|| self.discipline.framing().if_any())
    }

    /// True if ACKs are dropped that later ones make redundant. Packets then hold in [`Packet::tcp_ack`] the fields to
    /// compare.
    pub fn filters_acks(&self) -> bool {
        matches!(self.discipline, DisciplineSettings::Cake(cake) if cake.ack_filter != AckFilter::NoAckFilter)
    }
}

/// A queue at work.
#[derive(Debug)]
pub(crate) struct Queue<P> {
    /// The packets that wait first in, first out.
    fifo: Fifo<P>,
    /// Any other discipline. Boxed, and its calls never inlined, so that first in, first out stays lean.
    managed: Option<Box<Managed<P>>>,
    count: Count,
}

/// A discipline with its state.
#[derive(Debug)]
struct Managed<P> {
    discipline: Box<dyn Discipline<P>>,
    random: Random,
    /// Dropped and not yet reported: how many waited after each.
    dropped: Vec<(P, u32)>,
    /// The classes of packets by [`Packet::class`].
    classes: Arc<[FlowClass]>,
}

impl<P: Packet> Queue<P> {
    pub(crate) fn new(settings: QueueSettings, service: &Service, random: Random) -> Self {
        match settings.discipline.build(settings.limit, service) {
            None => Self { fifo: Fifo::new(), managed: None, count: Count::before(settings.line()) },
            Some(discipline) => Self::managed(discipline, settings.line(), random),
        }
    }

    pub(crate) fn managed(discipline: Box<dyn Discipline<P>>, framing: Option<Framing>, random: Random) -> Self {
        let classes = Arc::new([]);
        let managed = Some(Box::new(Managed { discipline, random, dropped: Vec::new(), classes }));
        Self { fifo: Fifo::new(), managed, count: Count::before(framing) }
    }

    /// A discipline may distinguish packets by these classes.
    pub(crate) fn set_classes(&mut self, classes: &Arc<[FlowClass]>) {
        if let Some(managed) = &mut self.managed {
            managed.classes = Arc::clone(classes);
        }
    }

    /// True if packets may be dropped when their turn comes.
    #[inline]
    pub(crate) const fn is_managed(&self) -> bool {
        self.managed.is_some()
    }

    /// Decides on `packet`, for which there is room. `in_service` takes room beside the waiting packets.
    #[inline]
    pub(crate) fn admit(&mut self, now: Time, packet: &P, in_service: Bytes) -> Admission {
        if self.managed.is_none() {
            return Admission::Take;
        }
        self.ask_beside(now, in_service, |discipline, cx| discipline.admit(packet, cx)).unwrap_or(Admission::Take)
    }

    /// Drops one or more packets for `packet`, or returns false if `packet` is to be dropped.
    pub(crate) fn make_room(&mut self, now: Time, packet: &P, in_service: Bytes) -> bool {
        let before = self.count.packets;
        self.ask_beside(now, in_service, |discipline, cx| discipline.make_room(packet, cx));
        self.count.packets < before
    }

    /// `packet` found nothing waiting and the link idle: it is served at once.
    #[inline]
    pub(crate) fn pass(&mut self, now: Time, packet: &P) {
        if self.managed.is_some() {
            self.ask(now, |discipline, cx| discipline.pass(packet, cx));
        }
    }

    /// `packet` waits.
    #[inline]
    pub(crate) fn push(&mut self, now: Time, packet: P, out: &mut impl Egress<P>) {
        self.count.add(&packet);
        if self.managed.is_none() {
            return self.fifo.push(now, packet);
        }
        self.ask(now, |discipline, cx| discipline.push(packet, cx));
        self.report_evicted(now, out);
    }

    /// Lets the processor fetch memory that is touched after `others` more packets, if packets wait first in, first
    /// out.
    #[inline]
    pub(crate) fn prefetch(&self, others: usize) {
        self.fifo.prefetch(others);
    }

    /// The packet whose service starts, with the time of its arrival.
    #[inline]
    pub(crate) fn pop(&mut self, now: Time, out: &mut impl Egress<P>) -> Option<(P, Time)> {
        if self.managed.is_some() {
            return self.pop_managed(now, out);
        }
        let (packet, arrived) = self.fifo.pop()?;
        self.count.remove(&packet);
        Some((packet, arrived))
    }

    /// The first packet that `fits`, if the queue is first in, first out. In any other, the packet whose turn it is, as
    /// `Err` if it does not fit.
    pub(crate) fn pop_first(
        &mut self,
        now: Time,
        fits: impl Fn(&P) -> bool,
        out: &mut impl Egress<P>,
    ) -> Result<Option<(P, Time)>, (P, Time)> {
        if self.managed.is_some() {
            return match self.pop_managed(now, out) {
                Some(next) if !fits(&next.0) => Err(next),
                next => Ok(next),
            };
        }
        let next = self.fifo.pop_first(fits);
        if let Some((packet, _)) = &next {
            self.count.remove(packet);
        }
        Ok(next)
    }

    #[inline(never)]
    fn pop_managed(&mut self, now: Time, out: &mut impl Egress<P>) -> Option<(P, Time)> {
        // A discipline must not depend on how often an empty queue is looked at.
        if self.count.packets == 0 {
            return None;
        }
        let served = self.ask(now, |discipline, cx| discipline.pop(cx)).flatten();
        for (packet, queued) in self.managed.iter_mut().flat_map(|managed| managed.dropped.drain(..)) {
            out.discard(packet, now, Discard::Head, queued);
        }
        let Served { mut packet, arrived, marked } = served?;
        self.count.remove(&packet);
        if marked {
            packet.mark_congestion();
            out.mark(&packet, now, self.count.packets);
        }
        Some((packet, arrived))
    }

    /// Reports to `out` the packets that were dropped for a packet that arrived at `now`.
    #[inline(never)]
    pub(crate) fn report_evicted(&mut self, now: Time, out: &mut impl Egress<P>) {
        let queued = self.count.packets;
        for (packet, _) in self.managed.iter_mut().flat_map(|managed| managed.dropped.drain(..)) {
            out.discard(packet, now, Discard::Evicted, queued);
        }
    }

    /// Calls the discipline, if there is one.
    fn ask<T>(&mut self, now: Time, call: impl FnOnce(&mut dyn Discipline<P>, &mut Context<'_, P>) -> T) -> Option<T> {
        self.ask_beside(now, Bytes::ZERO, call)
    }

    #[inline(never)]
    fn ask_beside<T>(
        &mut self,
        now: Time,
        in_service: Bytes,
        call: impl FnOnce(&mut dyn Discipline<P>, &mut Context<'_, P>) -> T,
    ) -> Option<T> {
        let Managed { discipline, random, dropped, classes } = self.managed.as_deref_mut()?;
        let count = &mut self.count;
        Some(call(discipline.as_mut(), &mut Context { now, random, count, in_service, dropped, classes }))
    }

    /// How many wait.
    #[inline]
    pub(crate) const fn packets(&self) -> u32 {
        self.count.packets
    }

    /// Their size.
    #[inline]
    pub(crate) const fn bytes(&self) -> Bytes {
        self.count.bytes
    }
    /// The bytes that they will take on the link.
    #[inline]
    pub(crate) const fn bytes_on_link(&self) -> Bytes {
        self.count.all_on_link()
    }

    /// The bytes that a packet of `size` takes on the link.
    #[inline]
    pub(crate) fn on_link(&self, size: Bytes) -> Bytes {
        self.count.on_link(size)
    }
}
