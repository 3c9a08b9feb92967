//! How scenarios spell the rates of links: fixed, in steps, or from a trace.

use std::fmt;

use network::TokenBucket;
use serde::de::value::MapAccessDeserializer;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use units::{Bytes, Rate, Time};

use super::inline::inline;
use super::steps;
use super::tc_size::TcSize;
use super::trace::TraceRef;

/// The rate of a link: `"10mbit"`, `[["0s", "10mbit"], ["20s", "5mbit"]]`, `{ trace = "verizon.down" }`,
/// `{ rate = "10mbit", burst = "32kB", peakrate = "100mbit" }` or `"unlimited"`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum RateSpec {
    /// Nothing ever waits.
    #[default]
    Unlimited,
    /// One rate.
    Fixed(Rate),
    /// Each rate from its time on, the first at 0.
    Steps(Vec<(Time, Rate)>),
    /// The content of a file: delivery opportunities, or a table of rates over time.
    Trace(TraceRef),
    /// Through a token bucket.
    Shaped(TokenBucket),
}

impl RateSpec {
    /// The file that it is in.
    pub(crate) fn trace_mut(&mut self) -> Option<&mut TraceRef> {
        if let Self::Trace(trace) = self { Some(trace) } else { None }
    }
}

/// `rate` if it can ever send.
fn positive(rate: Rate) -> Result<Rate, String> {
    if rate.is_zero() {
        return Err(
            r#"a rate of 0 never sends; for an outage write steps like [["0s", "10mbit"], ["20s", "0bit"]]"#.to_owned()
        );
    }
    Ok(rate)
}

/// `steps` if they can ever send.
pub(super) fn can_send(steps: Vec<(Time, Rate)>) -> Result<Vec<(Time, Rate)>, String> {
    if steps.iter().all(|(_, rate)| rate.is_zero()) {
        return Err("a rate of 0 never sends: at least one step must be above 0".to_owned());
    }
    Ok(steps)
}

/// A token bucket, as tbf of `tc`.
#[derive(Serialize, schemars::JsonSchema)]
#[schemars(deny_unknown_fields)]
struct BucketTable {
    /// At which it fills: the rate of the link in the long run.
    rate: Rate,
    /// Its capacity: so much may leave at once at `peakrate`.
    burst: TcSize,
    /// The rate of the line, not below `rate`. By default bursts leave at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    peakrate: Option<Rate>,
}

/// The fields of both kinds of table.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AnyTable {
    trace: Option<String>,
    columns: Option<String>,
    rate: Option<Rate>,
    burst: Option<TcSize>,
    peakrate: Option<Rate>,
}

impl AnyTable {
    fn spec(self) -> Result<RateSpec, String> {
        match self {
            Self { trace: Some(trace), columns, rate: None, burst: None, peakrate: None } => {
                Ok(RateSpec::Trace(TraceRef::new(trace, columns)))
            }
            Self { trace: None, columns: None, rate: Some(rate), burst: Some(burst), peakrate } => {
                let peak = peakrate.unwrap_or(TokenBucket::AT_ONCE);
                let TcSize(burst) = burst;
                if burst == Bytes::ZERO {
                    return Err("`burst` is 0: the bucket must hold something, like `32kB`".to_owned());
                }
                if peak < positive(rate)? {
                    return Err(format!("`peakrate` is `{peak}`, which is below `rate`, `{rate}`"));
                }
                Ok(RateSpec::Shaped(TokenBucket { rate, burst, peak }))
            }
            _ => Err(concat!(
                r#"a table is a trace, `{ trace = "FILE" }`, "#,
                "or a token bucket with `rate`, `burst` and perhaps `peakrate`"
            )
            .to_owned()),
        }
    }
}

impl Serialize for RateSpec {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Unlimited => s.serialize_str("unlimited"),
            Self::Fixed(rate) => rate.serialize(s),
            Self::Steps(steps) => steps.serialize(s),
            Self::Trace(trace) => trace.serialize(s),
            Self::Shaped(TokenBucket { rate, burst, peak }) => {
                let peakrate = (*peak != TokenBucket::AT_ONCE).then_some(*peak);
                BucketTable { rate: *rate, burst: TcSize(*burst), peakrate }.serialize(s)
            }
        }
    }
}

impl<'de> Deserialize<'de> for RateSpec {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = RateSpec;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!(
                    r#"a rate like "10mbit", "unlimited", steps like [["0s", "10mbit"], ["20s", "5mbit"]] "#,
                    r#"or { trace = "FILE" }"#,
                ))
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<RateSpec, E> {
                if let Some(spec) = inline(text) {
                    return spec;
                }
                if text.trim() == "unlimited" {
                    return Ok(RateSpec::Unlimited);
                }
                let rate = text.parse().map_err(E::custom)?;
                positive(rate).map(RateSpec::Fixed).map_err(E::custom)
            }
            fn visit_seq<A: de::SeqAccess<'de>>(self, seq: A) -> Result<RateSpec, A::Error> {
                steps::steps(seq).and_then(|s| can_send(s).map(RateSpec::Steps).map_err(de::Error::custom))
            }
            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<RateSpec, A::Error> {
                AnyTable::deserialize(MapAccessDeserializer::new(map))?.spec().map_err(de::Error::custom)
            }
        }
        d.deserialize_any(Visitor)
    }
}

impl schemars::JsonSchema for RateSpec {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "LinkRate".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let rate = generator.subschema_for::<Rate>();
        let steps = steps::schema::<Rate>(generator);
        let trace = generator.subschema_for::<TraceRef>();
        let bucket = BucketTable::json_schema(generator);
        schemars::json_schema!({
            "description": "One rate, steps of rates, a trace, a token bucket, or unlimited",
            "anyOf": [rate, { "const": "unlimited" }, steps, trace, bucket]
        })
    }
}
