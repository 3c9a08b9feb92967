//! Links of every kind, and possible arrivals.

use std::sync::Arc;

use network::{
    AvqSettings, CakeSettings, CodelSettings, DisciplineSettings, DrrSettings, DualPi2Settings, FqCodelSettings,
    FqPieSettings, Framing, Limit, LinkLayer, LinkSettings, LossModel, PieSettings, PoliceSettings, QueueSettings,
    RedSettings, Service, TokenBucket, Trace,
};
use proptest::prelude::*;
use units::{Bytes, Fraction, Rate, Span, Time};

use crate::offers::{Arrival, Parcel};

pub(crate) fn span(range: std::ops::Range<u64>) -> impl Strategy<Value = Span> {
    range.prop_map(Span::from_micros)
}

pub(crate) fn rate() -> impl Strategy<Value = Rate> {
    // Up to 100 Mbit/s, in odd numbers, so that packets do not divide into nanoseconds.
    prop_oneof![1 => Just(0), 9 => 100_000u64..100_000_000].prop_map(Rate::from_bits_per_second)
}

pub(crate) fn steps() -> impl Strategy<Value = Vec<(Time, Rate)>> {
    prop::collection::vec((span(0..20_000), rate()), 0..8).prop_map(|pieces| {
        let begins = pieces.iter().scan(Time::ZERO, |next, (gap, _)| {
            let at = *next;
            *next += *gap;
            Some(at)
        });
        begins.zip(pieces.iter().map(|&(_, rate)| rate)).collect()
    })
}

/// A trace in whole milliseconds, and its times.
pub(crate) fn trace() -> impl Strategy<Value = (Arc<Trace>, Vec<u64>)> {
    prop::collection::vec(0u64..4, 1..20).prop_map(|gaps| {
        let mut times: Vec<u64> = gaps
            .iter()
            .scan(0, |at, gap| {
                *at += gap;
                Some(*at)
            })
            .collect();
        times.push(times.last().unwrap() + 1);
        let text: String = times.iter().map(|time| format!("{time}\n")).collect();
        (Arc::new(Trace::parse(&text).unwrap()), times)
    })
}

pub(crate) fn service() -> impl Strategy<Value = Service> {
    prop_oneof![
        Just(Service::Unlimited),
        rate().prop_map(Service::Fixed),
        steps().prop_map(Service::Steps),
        trace().prop_map(|(trace, _)| Service::Trace(trace)),
        (1_000_000u64..100_000_000, 1u64..10_000, 1u64..10).prop_map(|(rate, burst, times)| {
            let rate_of = Rate::from_bits_per_second;
            Service::Shaped(TokenBucket { rate: rate_of(rate), burst: Bytes::new(burst), peak: rate_of(rate * times) })
        }),
    ]
}

pub(crate) fn limit() -> impl Strategy<Value = Limit> {
    prop_oneof![
        Just(Limit::Infinite),
        (0u32..20).prop_map(Limit::Packets),
        (0u64..30_000).prop_map(|bytes| Limit::Bytes(Bytes::new(bytes))),
        span(0..20_000).prop_map(Limit::Delay),
    ]
}

pub(crate) fn loss() -> impl Strategy<Value = LossModel> {
    let fraction = || (0.0..=1.0).prop_map(|value| Fraction::new(value).unwrap());
    prop_oneof![
        Just(LossModel::None),
        fraction().prop_map(LossModel::Bernoulli),
        (fraction(), fraction(), fraction(), fraction()).prop_map(|(good_to_bad, bad_to_good, loss_good, loss_bad)| {
            LossModel::GilbertElliott { good_to_bad, bad_to_good, loss_good, loss_bad }
        }),
        prop::collection::btree_set(0u64..200, 0..20)
            .prop_map(|set| LossModel::Packets { data: set.into_iter().collect(), openings: Vec::new() }),
    ]
}

/// Any discipline of the list.
pub(crate) fn any_discipline() -> impl Strategy<Value = DisciplineSettings> {
    prop::strategy::Union::new(DisciplineSettings::NAMES.iter().map(|name| discipline(name)))
}

/// Disciplines that drop only where a queue is full.
pub(crate) fn patient() -> impl Strategy<Value = DisciplineSettings> {
    prop::strategy::Union::new(["fifo", "fq", "drr"].map(discipline))
}

/// The discipline `name`, so eager that a hundred packets show it, or with its defaults if no strategy is given here.
fn discipline(name: &str) -> BoxedStrategy<DisciplineSettings> {
    match name {
        "drr" => drr().boxed(),
        "codel" => codel().boxed(),
        "fq_codel" => fq_codel().boxed(),
        "red" => red().boxed(),
        "avq" => avq().boxed(),
        "pie" => pie().prop_map(DisciplineSettings::Pie).boxed(),
        "fq_pie" => fq_pie().boxed(),
        "dualpi2" => dualpi2().boxed(),
        "cake" => cake().boxed(),
        "police" => police().boxed(),
        _ => Just(by_default(name)).boxed(),
    }
}

fn by_default(name: &str) -> DisciplineSettings {
    let settings: DisciplineSettings = serde_json::from_value(serde_json::json!({ "discipline": name })).unwrap();
    if let Err((key, message)) = settings.check() {
        panic!("`{name}` needs a strategy of its own: {key}: {message}");
    }
    settings
}

fn size() -> impl Strategy<Value = Bytes> {
    (1u64..10_000).prop_map(Bytes::new)
}

fn quantum() -> impl Strategy<Value = Bytes> {
    (1u64..3000).prop_map(Bytes::new)
}

fn drr() -> impl Strategy<Value = DisciplineSettings> {
    quantum().prop_map(|quantum| DisciplineSettings::DeficitRoundRobin(DrrSettings { quantum }))
}

fn codel() -> impl Strategy<Value = DisciplineSettings> {
    (span(0..5000), span(1..20_000), any::<bool>(), prop::option::of(span(0..5000))).prop_map(
        |(target, interval, ecn, ce_threshold)| {
            DisciplineSettings::Codel(CodelSettings { target, interval, ecn, ce_threshold })
        },
    )
}

fn fq_codel() -> impl Strategy<Value = DisciplineSettings> {
    (span(0..5000), span(1..20_000), any::<bool>(), prop::option::of(span(0..5000)), 1u32..4, quantum()).prop_map(
        |(target, interval, ecn, ce_threshold, flows, quantum)| {
            DisciplineSettings::FqCodel(FqCodelSettings {
                target,
                interval,
                ecn,
                ce_threshold,
                flows,
                quantum,
                drop_batch: flows,
                memory_limit: quantum * 10,
            })
        },
    )
}

fn red() -> impl Strategy<Value = DisciplineSettings> {
    (size(), size(), 0.0..=1.0, any::<[bool; 5]>(), 1u32..50).prop_map(
        |(min, above, probability, [ecn, harddrop, nodrop, adaptive, gentle], burst)| {
            DisciplineSettings::Red(RedSettings {
                min: Some(min),
                max: Some(min + above),
                probability: Fraction::new(probability).unwrap(),
                burst: Some(burst),
                ecn,
                harddrop,
                nodrop,
                adaptive,
                gentle,
                ..RedSettings::default()
            })
        },
    )
}

fn avq() -> impl Strategy<Value = DisciplineSettings> {
    (size(), 0.01..=1.0, 0.01..100.0, any::<bool>()).prop_map(|(room, gamma, alpha, ecn)| {
        let gamma = Fraction::new(gamma).unwrap();
        DisciplineSettings::Avq(AvqSettings { gamma, alpha, ecn, virtual_limit: Some(room), bandwidth: None })
    })
}

fn police() -> impl Strategy<Value = DisciplineSettings> {
    (1u64..100_000_000, size(), any::<bool>()).prop_map(|(rate, burst, ecn)| {
        let rate = Some(Rate::from_bits_per_second(rate));
        DisciplineSettings::Police(PoliceSettings { rate, burst: Some(burst), ecn })
    })
}

fn pie() -> impl Strategy<Value = PieSettings> {
    (span(1..5000), span(1..5000), 0u32..=32, 0u32..=32, any::<[bool; 2]>()).prop_map(
        |(target, tupdate, alpha, beta, [ecn, bytemode])| PieSettings { target, tupdate, alpha, beta, ecn, bytemode },
    )
}

fn fq_pie() -> impl Strategy<Value = DisciplineSettings> {
    (pie(), 1u32..4, quantum()).prop_map(|(pie, flows, quantum)| {
        let PieSettings { target, tupdate, alpha, beta, ecn, bytemode } = pie;
        DisciplineSettings::FqPie(FqPieSettings {
            target,
            tupdate,
            alpha,
            beta,
            ecn,
            ecn_prob: 30 * flows,
            bytemode,
            flows,
            quantum,
            memory_limit: quantum * 10,
        })
    })
}

fn cake() -> impl Strategy<Value = DisciplineSettings> {
    (span(1..20_000), any::<bool>(), 1u64..30_000).prop_map(|(rtt, flowblind, memory)| {
        let memlimit = Some(Bytes::new(memory));
        DisciplineSettings::Cake(CakeSettings { rtt, flowblind, memlimit, ..CakeSettings::default() })
    })
}

fn dualpi2() -> impl Strategy<Value = DisciplineSettings> {
    (span(1..5000), span(1..5000), span(0..5000), 0u32..3, 1u32..10, any::<[bool; 2]>()).prop_map(
        |(target, tupdate, step_thresh, min_qlen_step, coupling_factor, [overflow, any_ect])| {
            DisciplineSettings::DualPi2(DualPi2Settings {
                target,
                tupdate,
                alpha: 10.0,
                beta: 100.0,
                step_thresh,
                min_qlen_step,
                coupling_factor,
                classic_protection: 10 * coupling_factor,
                overflow,
                any_ect,
            })
        },
    )
}

fn framing() -> impl Strategy<Value = Framing> {
    let layer = prop_oneof![Just(LinkLayer::None), Just(LinkLayer::Atm), Just(LinkLayer::Ptm)];
    let some = (-64i32..=256, 0u32..=256, layer, 0u32..=256);
    let some =
        some.prop_map(|(overhead, mpu, link_layer, pad)| Framing { overhead, mpu, link_layer, pad, pad_limit: 0 });
    prop_oneof![Just(Framing::default()), some]
}

pub(crate) fn settings() -> impl Strategy<Value = LinkSettings> {
    settings_of(patient())
}

pub(crate) fn settings_of(
    discipline: impl Strategy<Value = DisciplineSettings>,
) -> impl Strategy<Value = LinkSettings> {
    (service(), limit(), any::<bool>(), prop::option::of(0u32..10), discipline, framing(), loss()).prop_map(
        |(service, limit, count_in_service, mark_above, discipline, framing, loss)| LinkSettings {
            service,
            queue: QueueSettings { limit, count_in_service, mark_above, discipline, framing },
            loss,
        },
    )
}

/// Bursts and pauses. Full packets, acknowledgements, anything between and beyond.
pub(crate) fn arrivals() -> impl Strategy<Value = Vec<Arrival>> {
    let whole_ms = (0u64..5).prop_map(|ms| ms * 1_000_000);
    let gap = prop_oneof![3 => Just(0), 3 => 1u64..2_000_000, 2 => whole_ms, 1 => 0u64..50_000_000];
    let size = prop_oneof![3 => Just(1500), 2 => Just(40), 2 => 1u64..4000];
    prop::collection::vec((gap, size, 0u32..5, any::<bool>()), 1..120).prop_map(|packets| {
        let mut at = Time::ZERO;
        packets
            .into_iter()
            .enumerate()
            .map(|(number, (gap, size, flow, ecn))| {
                at += Span::from_nanos(gap);
                Arrival { at, parcel: Parcel { number, flow, size: Bytes::new(size), ecn, marked: false } }
            })
            .collect()
    })
}

pub(crate) fn wakes() -> impl Strategy<Value = Vec<Time>> {
    prop::collection::vec(0u64..300_000_000, 0..200).prop_map(|mut nanos| {
        nanos.sort_unstable();
        nanos.into_iter().map(Time::from_nanos).collect()
    })
}
