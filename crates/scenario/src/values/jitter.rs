//! How scenarios spell jitter: a random delay behind a link.

use std::fmt;

use network::{Chance, Early, JitterModel, Shape, Slots, Spread};
use serde::de::value::MapAccessDeserializer;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use units::{Bytes, Fraction, Span, Time};

use super::delay::wait;
use super::inline::inline;
use super::steps::{self, Stepped};

/// Slots closer than this are taken for a typing error.
const SHORTEST_SLOT: Span = Span::from_micros(10);
/// Larger batches, and rarer exceptions, are taken for one.
const MOST_PACKETS: u32 = 1_000_000;

/// Random delay behind a link: `"3ms"`, `{ normal = "20ms", correlation = "25%", reorder = true }`, or steps of these.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JitterSpec {
    /// The law.
    pub model: JitterModel,
    /// Packets may overtake each other.
    pub reorder: bool,
}

impl JitterSpec {
    pub(crate) fn is_none(&self) -> bool {
        self.model.is_none()
    }

    /// The tables of which this is read, each from its time on.
    fn tables(&self) -> Vec<(Time, Table)> {
        let JitterModel { spreads, early, slots } = &self.model;
        let reorder = match early {
            Some(early) => Reorder::Share(EarlyTable::from(*early)),
            None => Reorder::May(self.reorder),
        };
        let of = |spread: &Spread| Table { reorder: reorder.clone(), slot: slots.map(Slot::from), ..Table::of(spread) };
        if spreads.is_empty() {
            return vec![(Time::ZERO, of(&Spread::default()))];
        }
        spreads.iter().map(|(from, spread)| (*from, of(spread))).collect()
    }

    fn of_tables(tables: Vec<(Time, Table)>) -> Result<Self, String> {
        let mut spec = Self::default();
        for (from, table) in tables {
            spec.model.spreads.push((from, table.spread()?));
            match table.reorder {
                Reorder::May(may) => spec.reorder |= may,
                Reorder::Share(early) => {
                    spec.reorder = true;
                    spec.model.early = Some(early.early()?);
                }
            }
            if let Some(slot) = table.slot {
                spec.model.slots = Some(slot.slots()?);
            }
        }
        if spec.model.spreads.iter().all(|(_, spread)| spread.size.is_zero()) {
            spec.model.spreads.clear();
        }
        Ok(spec)
    }
}

/// The law of one step.
#[derive(Clone, Debug, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(transform = Self::describe_bounds)]
struct Table {
    /// Each packet is late by a time drawn uniformly from zero to below this.
    #[serde(skip_serializing_if = "Option::is_none")]
    uniform: Option<Span>,
    /// Each packet is early or late by a time drawn uniformly up to this (netem of `tc`).
    #[serde(skip_serializing_if = "Option::is_none")]
    around: Option<Span>,
    /// Each packet is early or late by a time of a normal distribution with this deviation, up to four of them
    /// (netem of `tc`).
    #[serde(skip_serializing_if = "Option::is_none")]
    normal: Option<Span>,
    /// The same by netem of `tc`, Pareto: mostly somewhat early, seldom up to four times this late.
    #[serde(skip_serializing_if = "Option::is_none")]
    pareto: Option<Span>,
    /// The same by netem of `tc`, mixed: a quarter of the normal and three of Pareto's.
    #[serde(skip_serializing_if = "Option::is_none")]
    paretonormal: Option<Span>,
    /// Each packet is late by the deferrals and retransmissions of a crowded Wi-Fi channel, with about this mean
    /// (draft-huitema-ccwg-c4-test, section 2.3).
    #[serde(skip_serializing_if = "Option::is_none")]
    wifi: Option<Span>,
    /// The correlation of each time with the one before (netem of `tc`).
    #[serde(skip_serializing_if = "is_zero")]
    correlation: Fraction,
    /// Packets may overtake each other, or this share of them takes no delay at all and overtakes the others.
    #[serde(skip_serializing_if = "Reorder::is_never")]
    reorder: Reorder,
    /// Packets leave in batches (netem of `tc`).
    #[serde(skip_serializing_if = "Option::is_none")]
    slot: Option<Slot>,
}

units::bounds! {
    Table {
        uniform: Option<Span> = Span::ZERO, Span::LONGEST_WAIT;
        around: Option<Span> = Span::ZERO, Span::LONGEST_WAIT;
        normal: Option<Span> = Span::ZERO, Span::LONGEST_WAIT;
        pareto: Option<Span> = Span::ZERO, Span::LONGEST_WAIT;
        paretonormal: Option<Span> = Span::ZERO, Span::LONGEST_WAIT;
        wifi: Option<Span> = Span::ZERO, Shape::Wifi.largest().unwrap_or(Span::LONGEST_WAIT);
    }
}

units::bounds! {
    EarlyTable {
        gap: u32 = 1, MOST_PACKETS;
    }
}

units::bounds! {
    Slot {
        min: Span = SHORTEST_SLOT, Span::LONGEST_WAIT;
        max: Option<Span> = SHORTEST_SLOT, Span::LONGEST_WAIT;
        packets: Option<u32> = 1, MOST_PACKETS;
        bytes: Option<Bytes> = Bytes::new(1), Bytes::LARGEST;
    }
}

/// The first of the keys that are out of their bounds in words.
fn in_words(within: Result<(), (&'static str, String)>) -> Result<(), String> {
    within.map_err(|(key, why)| format!("`{key}`: {why}"))
}

impl Table {
    fn of(spread: &Spread) -> Self {
        let Spread { shape, size, correlation } = *spread;
        let mut table = Self { correlation, ..Self::default() };
        if !size.is_zero() {
            *match shape {
                Shape::Uniform => &mut table.uniform,
                Shape::Around => &mut table.around,
                Shape::Normal => &mut table.normal,
                Shape::Pareto => &mut table.pareto,
                Shape::ParetoNormal => &mut table.paretonormal,
                Shape::Wifi => &mut table.wifi,
            } = Some(size);
        }
        table
    }

    fn spread(&self) -> Result<Spread, String> {
        in_words(self.out_of_bounds())?;
        let laws = [
            (Shape::Uniform, self.uniform),
            (Shape::Around, self.around),
            (Shape::Normal, self.normal),
            (Shape::Pareto, self.pareto),
            (Shape::ParetoNormal, self.paretonormal),
            (Shape::Wifi, self.wifi),
        ];
        let mut given = laws.into_iter().filter_map(|(shape, size)| Some((shape, size?)));
        let (shape, size) = match given.next() {
            Some(law) => law,
            None if matches!(self.reorder, Reorder::Share(_)) || self.slot.is_some() => (Shape::Uniform, Span::ZERO),
            None => {
                return Err(
                    "a table of jitter has one of `uniform`, `around`, `normal`, `pareto`, `paretonormal` and `wifi`, \
                            or `slot`, or a share as `reorder`"
                        .to_owned(),
                );
            }
        };
        if given.next().is_some() {
            return Err("jitter has one distribution: give only one of `uniform`, `around`, `normal`, `pareto`, \
                        `paretonormal` and `wifi`"
                .to_owned());
        }
        if size.is_zero() && !self.correlation.is_zero() {
            return Err("`correlation` needs a distribution, like `normal = \"20ms\"`".to_owned());
        }
        if matches!(shape, Shape::Wifi) && !self.correlation.is_zero() {
            return Err(
                "`correlation` and `wifi` exclude each other: packets on that channel are independent".to_owned()
            );
        }
        Ok(Spread { shape, size, correlation: self.correlation })
    }

    /// True if a time alone says the same.
    fn plain(&self) -> Option<Span> {
        let rest = (&self.around, &self.normal, &self.pareto, &self.paretonormal, &self.wifi, &self.slot);
        let nothing_else = matches!(rest, (None, None, None, None, None, None)) && self.reorder.is_never();
        (nothing_else && self.correlation.is_zero()).then(|| self.uniform.unwrap_or_default())
    }
}

/// Overtaking.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
#[serde(untagged)]
enum Reorder {
    /// Whether packets may overtake each other.
    May(bool),
    /// Packets that take no delay.
    Share(EarlyTable),
}

impl Default for Reorder {
    fn default() -> Self {
        Self::May(false)
    }
}

impl Reorder {
    fn is_never(&self) -> bool {
        matches!(self, Self::May(false))
    }
}

impl<'de> Deserialize<'de> for Reorder {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = Reorder;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("true, false, a share like \"25%\", or { share = \"25%\", correlation = \"50%\", gap = 5 }")
            }
            fn visit_bool<E: de::Error>(self, may: bool) -> Result<Reorder, E> {
                Ok(Reorder::May(may))
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Reorder, E> {
                let share = text.parse().map_err(E::custom)?;
                Ok(Reorder::Share(EarlyTable { share, correlation: Fraction::ZERO, gap: 1 }))
            }
            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<Reorder, A::Error> {
                EarlyTable::deserialize(MapAccessDeserializer::new(map)).map(Reorder::Share)
            }
        }
        d.deserialize_any(Visitor)
    }
}

/// Packets that take no delay.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = Self::describe_bounds)]
struct EarlyTable {
    /// The share of the packets that take no delay.
    share: Fraction,
    /// The correlation of each decision with the one before.
    #[serde(default, skip_serializing_if = "is_zero")]
    correlation: Fraction,
    /// Only every packet with this distance from the last one without delay is asked.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    gap: u32,
}

fn is_zero(share: &Fraction) -> bool {
    share.is_zero()
}

fn one() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_one(gap: &u32) -> bool {
    *gap == 1
}

impl From<Early> for EarlyTable {
    fn from(Early { chance: Chance { share, correlation }, gap }: Early) -> Self {
        Self { share, correlation, gap }
    }
}

impl EarlyTable {
    fn early(self) -> Result<Early, String> {
        in_words(self.out_of_bounds()).map_err(|why| format!("`reorder`: {why}"))?;
        let Self { share, correlation, gap } = self;
        if share.is_zero() {
            return Err("`reorder`: share must be above 0; `reorder = false` keeps the order".to_owned());
        }
        Ok(Early { chance: Chance { share, correlation }, gap })
    }
}

/// Batches.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = Self::describe_bounds)]
struct Slot {
    /// The least time from one slot to the next.
    min: Span,
    /// The most, by default `min`. Times are uniform between the two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max: Option<Span>,
    /// The most packets of a slot, by default all that are there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    packets: Option<u32>,
    /// A slot ends with the packet that reaches so many bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bytes: Option<Bytes>,
}

impl From<Slots> for Slot {
    fn from(Slots { min, max, packets, bytes }: Slots) -> Self {
        Self { min, max: (max != min).then_some(max), packets, bytes }
    }
}

impl Slot {
    fn slots(self) -> Result<Slots, String> {
        in_words(self.out_of_bounds()).map_err(|why| format!("`slot`: {why}"))?;
        let Self { min, max, packets, bytes } = self;
        let max = max.unwrap_or(min);
        if max < min {
            return Err(format!("`slot`: max `{max}` is below min `{min}`"));
        }
        Ok(Slots { min, max, packets, bytes })
    }
}

/// One step: a time, or a table.
impl<'de> Deserialize<'de> for OneStep {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = OneStep;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(r#"a time like "3ms", or { uniform = "3ms", reorder = true }"#)
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<OneStep, E> {
                let uniform = Some(wait(text).map_err(E::custom)?);
                Ok(OneStep(Table { uniform, ..Table::default() }))
            }
            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<OneStep, A::Error> {
                Table::deserialize(MapAccessDeserializer::new(map)).map(OneStep)
            }
        }
        d.deserialize_any(Visitor)
    }
}

struct OneStep(Table);

impl Stepped for OneStep {
    const NAME: &'static str = "jitter";
    const EXAMPLE: &'static str = r#"["20s", "5ms"]"#;
    const EXAMPLES: &'static str = r#"[["0s", "0ms"], ["20s", "5ms"]]"#;
}

impl Serialize for JitterSpec {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let tables = self.tables();
        let alone = |table: &Table, s: S| match table.plain() {
            Some(uniform) => uniform.serialize(s),
            None => table.serialize(s),
        };
        match tables.as_slice() {
            [(Time::ZERO, table)] => alone(table, s),
            steps => steps.serialize(s),
        }
    }
}

impl<'de> Deserialize<'de> for JitterSpec {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = JitterSpec;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(r#"a time like "3ms", or { uniform = "3ms", reorder = true }"#)
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<JitterSpec, E> {
                if let Some(spec) = inline(text) {
                    return spec;
                }
                wait(text).map(|size| JitterSpec { model: size.into(), reorder: false }).map_err(E::custom)
            }
            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<JitterSpec, A::Error> {
                let table = Table::deserialize(MapAccessDeserializer::new(map))?;
                JitterSpec::of_tables(vec![(Time::ZERO, table)]).map_err(de::Error::custom)
            }
            fn visit_seq<A: de::SeqAccess<'de>>(self, seq: A) -> Result<JitterSpec, A::Error> {
                let tables = steps::steps(seq)?.into_iter().map(|(from, OneStep(table))| (from, table)).collect();
                JitterSpec::of_tables(tables).map_err(de::Error::custom)
            }
        }
        d.deserialize_any(Visitor)
    }
}

impl schemars::JsonSchema for JitterSpec {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Jitter".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let limit = generator.subschema_for::<Span>();
        let table = Table::json_schema(generator);
        let time = generator.subschema_for::<Time>();
        let one = schemars::json_schema!({ "anyOf": [limit, table] });
        schemars::json_schema!({
            "description": "Random delay of each packet, uniform from 0 to below this, or a table with more, or steps",
            "anyOf": [limit, table, {
                "type": "array", "minItems": 1,
                "items": { "type": "array", "prefixItems": [time, one], "minItems": 2, "maxItems": 2 }
            }]
        })
    }
}
