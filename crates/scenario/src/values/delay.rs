//! How scenarios spell propagation delays.

use std::fmt;

use network::Propagation;
use serde::de::value::MapAccessDeserializer;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use units::bounds::within;
use units::{ParseError, Span, Time};

use super::inline::inline;
use super::steps;
use super::trace::TraceRef;

/// The bounds of a delay.
const WAIT: [Span; 2] = [Span::ZERO, Span::LONGEST_WAIT];

/// The time that `text` spells, if a packet may be on its way so long.
pub(super) fn wait(text: &str) -> Result<Span, String> {
    let span: Span = text.parse().map_err(|error: ParseError| error.to_string())?;
    within(&span, WAIT)?;
    Ok(span)
}

/// Steps of delays, each of them one.
fn waits<'de, A: de::SeqAccess<'de>>(seq: A) -> Result<Vec<(Time, Span)>, A::Error> {
    let steps = steps::steps(seq)?;
    steps.iter().try_for_each(|(_, delay)| within(delay, WAIT)).map_err(de::Error::custom)?;
    Ok(steps)
}

/// A propagation delay: `"40ms"`, steps `[["0s", "100ms"], ["30s", "40ms"]]`, or `{ trace = "leo.csv" }`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DelaySpec {
    /// The delay; of a file not read yet zero.
    pub delay: Propagation,
    /// The file that has it.
    pub trace: Option<TraceRef>,
}

impl From<Propagation> for DelaySpec {
    fn from(delay: Propagation) -> Self {
        Self { delay, trace: None }
    }
}

impl From<TraceRef> for DelaySpec {
    fn from(trace: TraceRef) -> Self {
        Self { delay: Span::ZERO.into(), trace: Some(trace) }
    }
}

impl DelaySpec {
    pub(crate) fn of_steps(steps: &[(Time, Span)]) -> Self {
        let initial = steps.first().map_or(Span::ZERO, |step| step.1);
        Propagation::steps(initial, steps.iter().skip(1).copied()).into()
    }
}

impl Serialize for DelaySpec {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        if let Some(trace) = &self.trace {
            return trace.serialize(s);
        }
        if self.delay.is_constant() {
            return self.delay.initial().serialize(s);
        }
        let first = (Time::ZERO, self.delay.initial());
        let steps: Vec<_> = std::iter::once(first).chain(self.delay.later().iter().copied()).collect();
        steps.serialize(s)
    }
}

impl<'de> Deserialize<'de> for DelaySpec {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = DelaySpec;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(r#"a time like "40ms", or steps like [["0s", "100ms"], ["30s", "40ms"]]"#)
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<DelaySpec, E> {
                if let Some(spec) = inline(text) {
                    return spec;
                }
                wait(text).map(|delay| Propagation::from(delay).into()).map_err(E::custom)
            }
            fn visit_seq<A: de::SeqAccess<'de>>(self, seq: A) -> Result<DelaySpec, A::Error> {
                Ok(DelaySpec::of_steps(&waits(seq)?))
            }
            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<DelaySpec, A::Error> {
                TraceRef::deserialize(MapAccessDeserializer::new(map)).map(DelaySpec::from)
            }
        }
        d.deserialize_any(Visitor)
    }
}

impl schemars::JsonSchema for DelaySpec {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Propagation".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let mut constant = generator.subschema_for::<Span>();
        constant.insert("formatMaximum".to_owned(), Span::LONGEST_WAIT.to_string().into());
        let steps = steps::schema::<Span>(generator);
        let trace = generator.subschema_for::<TraceRef>();
        schemars::json_schema!({
            "description": "One delay, steps of delays, or a table over time", "anyOf": [constant, steps, trace]
        })
    }
}

/// Propagation delay of each direction: `"20ms"`, steps or a table for both, or
/// `{ forward = "20ms", reverse = "30ms" }`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delay {
    /// From sender to receiver.
    pub forward: DelaySpec,
    /// Back.
    pub reverse: DelaySpec,
}

impl Delay {
    /// Half of a round trip each way.
    pub fn of_rtt(rtt: &Propagation) -> Self {
        Self { forward: rtt.map(|rtt| rtt / 2).into(), reverse: rtt.map(|rtt| rtt - rtt / 2).into() }
    }

    /// Both ways together, at time zero.
    pub fn initial_rtt(&self) -> Span {
        self.forward.delay.initial() + self.reverse.delay.initial()
    }

    fn both(one_way: DelaySpec) -> Self {
        Self { forward: one_way.clone(), reverse: one_way }
    }
}

#[derive(Serialize, schemars::JsonSchema)]
struct Table<'a> {
    forward: &'a DelaySpec,
    reverse: &'a DelaySpec,
}

/// The fields of both kinds of table.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AnyTable {
    forward: Option<DelaySpec>,
    reverse: Option<DelaySpec>,
    trace: Option<String>,
    columns: Option<String>,
}

impl Serialize for Delay {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        if self.forward == self.reverse {
            return self.forward.serialize(s);
        }
        Table { forward: &self.forward, reverse: &self.reverse }.serialize(s)
    }
}

impl<'de> Deserialize<'de> for Delay {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = Delay;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!(
                    r#"a time like "20ms", steps like [["0s", "50ms"], ["30s", "20ms"]], "#,
                    r#"or { forward = "20ms", reverse = "30ms" }"#,
                ))
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Delay, E> {
                if let Some(spec) = inline(text) {
                    return spec;
                }
                let one_way = wait(text).map_err(E::custom)?;
                Ok(Delay::both(Propagation::from(one_way).into()))
            }
            fn visit_seq<A: de::SeqAccess<'de>>(self, seq: A) -> Result<Delay, A::Error> {
                Ok(Delay::both(DelaySpec::of_steps(&waits(seq)?)))
            }
            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<Delay, A::Error> {
                match AnyTable::deserialize(MapAccessDeserializer::new(map))? {
                    AnyTable { forward: None, reverse: None, trace: Some(trace), columns } => {
                        Ok(Delay::both(TraceRef::new(trace, columns).into()))
                    }
                    AnyTable { forward: Some(forward), reverse: Some(reverse), trace: None, columns: None } => {
                        Ok(Delay { forward, reverse })
                    }
                    AnyTable { forward: Some(_), trace: None, .. } => Err(de::Error::missing_field("reverse")),
                    AnyTable { reverse: Some(_), trace: None, .. } => Err(de::Error::missing_field("forward")),
                    _ => Err(de::Error::custom(
                        "a table of delays is { forward = \"20ms\", reverse = \"30ms\" } or { trace = \"FILE\" }",
                    )),
                }
            }
        }
        d.deserialize_any(Visitor)
    }
}

impl schemars::JsonSchema for Delay {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Delay".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let both = generator.subschema_for::<DelaySpec>();
        let mut each = Table::json_schema(generator);
        each.insert("additionalProperties".to_owned(), false.into());
        schemars::json_schema!({
            "description": "One-way propagation delay, the same both ways or each",
            "anyOf": [both, each]
        })
    }
}
