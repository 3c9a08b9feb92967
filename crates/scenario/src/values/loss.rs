//! How scenarios spell random loss.

use std::fmt;

use network::LossModel;
use serde::de::value::MapAccessDeserializer;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use units::Fraction;

/// Random loss as a scenario spells it: `"1%"`, `{ model = "gilbert-elliott", … }` or `{ packets = [10, 11] }`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LossSpec(pub LossModel);

/// The forms that are tables; each has its own keys. Bursts are those of Gilbert 1960 and Elliott 1963.
#[derive(Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct Table {
    /// The name of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    model: Option<Model>,
    /// Probability, per packet, that the good state ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    good_to_bad: Option<Fraction>,
    /// Probability, per packet, that the bad state ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bad_to_good: Option<Fraction>,
    /// Probability of loss in the good state; by default 0%.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    loss_good: Option<Fraction>,
    /// Probability of loss in the bad state; by default 100%.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    loss_bad: Option<Fraction>,
    /// Exactly the packets with these numbers, counted from 0 in the order of arrival. Those that open a connection
    /// (SYN, SYN-ACK and its ACK) are not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    packets: Option<Vec<u64>>,
    /// Those that open a connection, counted alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    openings: Option<Vec<u64>>,
}

/// `numbers` in order, each once.
fn ascending(numbers: Option<Vec<u64>>) -> Vec<u64> {
    let mut numbers = numbers.unwrap_or_default();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

#[derive(Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Model {
    GilbertElliott,
}

impl TryFrom<Table> for LossModel {
    type Error = &'static str;

    fn try_from(table: Table) -> Result<Self, Self::Error> {
        match table {
            Table {
                model: None,
                good_to_bad: None,
                bad_to_good: None,
                loss_good: None,
                loss_bad: None,
                packets,
                openings,
            } if packets.is_some() || openings.is_some() => {
                Ok(Self::Packets { data: ascending(packets), openings: ascending(openings) })
            }
            Table {
                model: Some(Model::GilbertElliott),
                good_to_bad: Some(good_to_bad),
                bad_to_good: Some(bad_to_good),
                loss_good,
                loss_bad,
                packets: None,
                openings: None,
            } => Ok(Self::GilbertElliott {
                good_to_bad,
                bad_to_good,
                loss_good: loss_good.unwrap_or_default(),
                loss_bad: loss_bad.unwrap_or_else(|| Fraction::new(1.0).expect("1 is a fraction")),
            }),
            _ => {
                Err("a table of loss is { model = \"gilbert-elliott\", good_to_bad = \"1%\", bad_to_good = \"30%\" }, \
                      with loss_good and loss_bad if wanted, or { packets = [10, 11] }, or { openings = [0] }")
            }
        }
    }
}

impl Serialize for LossSpec {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            LossModel::None => Fraction::ZERO.serialize(s),
            LossModel::Bernoulli(probability) => probability.serialize(s),
            &LossModel::GilbertElliott { good_to_bad, bad_to_good, loss_good, loss_bad } => Table {
                model: Some(Model::GilbertElliott),
                good_to_bad: Some(good_to_bad),
                bad_to_good: Some(bad_to_good),
                loss_good: Some(loss_good),
                loss_bad: Some(loss_bad),
                packets: None,
                openings: None,
            }
            .serialize(s),
            LossModel::Packets { data, openings } => {
                let listed = |numbers: &Vec<u64>| (!numbers.is_empty()).then(|| numbers.clone());
                let packets = Some(data.clone()).filter(|data| !data.is_empty() || openings.is_empty());
                Table { packets, openings: listed(openings), ..Table::default() }.serialize(s)
            }
        }
    }
}

impl<'de> Deserialize<'de> for LossSpec {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Visitor;

        impl Visitor {
            fn bernoulli<E: de::Error>(value: impl de::IntoDeserializer<'static, E>) -> Result<LossSpec, E> {
                let probability = Fraction::deserialize(value.into_deserializer())?;
                Ok(LossSpec(if probability.is_zero() { LossModel::None } else { LossModel::Bernoulli(probability) }))
            }
        }

        impl<'de> de::Visitor<'de> for Visitor {
            type Value = LossSpec;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a loss like \"1%\", { model = \"gilbert-elliott\", … } or { packets = [10, 11] }")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<LossSpec, E> {
                Self::bernoulli(text.to_owned())
            }
            fn visit_f64<E: de::Error>(self, value: f64) -> Result<LossSpec, E> {
                Self::bernoulli(value)
            }
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<LossSpec, E> {
                Self::bernoulli(value)
            }
            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<LossSpec, A::Error> {
                let table = Table::deserialize(MapAccessDeserializer::new(map))?;
                LossModel::try_from(table).map(LossSpec).map_err(de::Error::custom)
            }
        }
        d.deserialize_any(Visitor)
    }
}

impl schemars::JsonSchema for LossSpec {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Loss".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let bernoulli = generator.subschema_for::<Fraction>();
        let table = Table::json_schema(generator);
        schemars::json_schema!({
            "description": "Random loss: of each packet alike, in bursts, or of the packets listed",
            "anyOf": [bernoulli, table]
        })
    }
}
