//! How scenarios spell random loss.

use std::fmt;

use network::LossModel;
use serde::de::value::MapAccessDeserializer;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use units::{Fraction, Span, Time};

use super::inline::inline;
use super::steps::{self, Stepped};
use super::trace::TraceRef;

/// Random loss as a scenario spells it: `"1%"`, `{ model = "gilbert-elliott", … }`, `{ packets = [10, 11] }`, steps of
/// these, or `{ trace = "leo.csv" }`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LossSpec {
    /// The model; of a file not read yet none.
    pub model: LossModel,
    /// The file that has the share of lost packets over time.
    pub trace: Option<TraceRef>,
}

impl LossSpec {
    pub(crate) fn is_none(&self) -> bool {
        self.model == LossModel::None && self.trace.is_none()
    }

    /// Each packet with the probability of the latest step.
    pub(crate) fn of_steps(steps: &[(Time, Fraction)]) -> Self {
        let step = |&(from, share): &(Time, Fraction)| (from, bernoulli(share));
        LossModel::Steps(steps.iter().map(step).collect()).into()
    }
}

impl From<LossModel> for LossSpec {
    fn from(model: LossModel) -> Self {
        Self { model, trace: None }
    }
}

fn bernoulli(share: Fraction) -> LossModel {
    if share.is_zero() { LossModel::None } else { LossModel::Bernoulli(share) }
}

impl Stepped for LossSpec {
    const NAME: &'static str = "loss";
    const EXAMPLE: &'static str = r#"["20s", "1%"]"#;
    const EXAMPLES: &'static str = r#"[["0s", "0%"], ["20s", "1%"]]"#;
}

/// The forms that are tables. Each has its own keys. Bursts are as in Gilbert 1960 and Elliott 1963.
#[derive(Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
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
    /// The mean time of the good state, in place of `good_to_bad`: states last by time, whatever is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    good_for: Option<Span>,
    /// The mean time of the bad state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bad_for: Option<Span>,
    /// The share of lost packets, with `correlation`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    share: Option<Fraction>,
    /// The correlation of the losses of two successive packets: losses in bursts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    correlation: Option<Fraction>,
    /// Probability of loss in the good state, by default 0%.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    loss_good: Option<Fraction>,
    /// Probability of loss in the bad state, by default 100%.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    loss_bad: Option<Fraction>,
    /// Exactly the packets with these numbers, counted from 0 in the order of arrival. Those that open a connection
    /// (SYN, SYN-ACK and its ACK) are not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    packets: Option<Vec<u64>>,
    /// Those that open a connection, counted alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    openings: Option<Vec<u64>>,
    /// A table with a column of losses over time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    trace: Option<String>,
    /// The columns of a table without a header.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    columns: Option<String>,
}

/// `numbers` in order, each once.
fn ascending(numbers: Option<Vec<u64>>) -> Vec<u64> {
    let mut numbers = numbers.unwrap_or_default();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

#[derive(PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Model {
    GilbertElliott,
}

/// The forms of the table, in an error.
const FORMS: &str = "a table of loss is { model = \"gilbert-elliott\", good_to_bad = \"1%\", bad_to_good = \"30%\" } \
                     (or good_for = \"10s\", bad_for = \"200ms\"), with loss_good and loss_bad if wanted, or \
                     { share = \"5%\", correlation = \"25%\" }, { packets = [10, 11] }, { openings = [0] } or \
                     { trace = \"FILE\" }";

impl TryFrom<Table> for LossSpec {
    type Error = String;

    fn try_from(mut table: Table) -> Result<Self, Self::Error> {
        let loss_good = table.loss_good.take();
        let loss_bad = table.loss_bad.take();
        let in_states = loss_good.is_some() || loss_bad.is_some();
        let loss_good = loss_good.unwrap_or_default();
        let loss_bad = loss_bad.unwrap_or_else(|| Fraction::new(1.0).expect("1 is a fraction"));
        let model = table.model.take();
        // Each form takes its keys out. None may be left.
        let spec = match model {
            Some(Model::GilbertElliott) => match (table.good_to_bad.take(), table.bad_to_good.take()) {
                (Some(good_to_bad), Some(bad_to_good)) => {
                    LossModel::GilbertElliott { good_to_bad, bad_to_good, loss_good, loss_bad }.into()
                }
                (None, None) => {
                    let (Some(good_for), Some(bad_for)) = (table.good_for.take(), table.bad_for.take()) else {
                        return Err(FORMS.to_owned());
                    };
                    if good_for.is_zero() || bad_for.is_zero() {
                        return Err("`good_for` and `bad_for` are the mean times of the states: they must be above 0"
                            .to_owned());
                    }
                    LossModel::Periods { good_for, bad_for, loss_good, loss_bad }.into()
                }
                _ => return Err(FORMS.to_owned()),
            },
            None if in_states => return Err(FORMS.to_owned()),
            None => {
                if let (Some(share), Some(correlation)) = (table.share.take(), table.correlation.take()) {
                    correlated(share, correlation)?.into()
                } else if let Some(trace) = table.trace.take() {
                    let trace = Some(TraceRef::new(trace, table.columns.take()));
                    Self { model: LossModel::None, trace }
                } else if table.packets.is_some() || table.openings.is_some() {
                    let (data, openings) = (ascending(table.packets.take()), ascending(table.openings.take()));
                    LossModel::Packets { data, openings }.into()
                } else {
                    return Err(FORMS.to_owned());
                }
            }
        };
        if table == Table::default() { Ok(spec) } else { Err(FORMS.to_owned()) }
    }
}

/// Losses of the `share` of the packets, each correlated with the one before: a chain whose bad state loses all.
fn correlated(share: Fraction, correlation: Fraction) -> Result<LossModel, String> {
    let of = |value: f64| Fraction::new(value).unwrap_or_default();
    if correlation.is_zero() {
        return Ok(bernoulli(share));
    }
    if correlation.get() >= 1.0 || share.get() >= 1.0 {
        return Err("`share` and `correlation` must be below 100%: with all of it no state would ever end".to_owned());
    }
    let changes = 1.0 - correlation.get();
    Ok(LossModel::GilbertElliott {
        good_to_bad: of(share.get() * changes),
        bad_to_good: of((1.0 - share.get()) * changes),
        loss_good: Fraction::ZERO,
        loss_bad: of(1.0),
    })
}

impl Serialize for LossSpec {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        if let Some(trace) = &self.trace {
            return trace.serialize(s);
        }
        let states = |loss_good, loss_bad| Table {
            model: Some(Model::GilbertElliott),
            loss_good: Some(loss_good),
            loss_bad: Some(loss_bad),
            ..Table::default()
        };
        match &self.model {
            LossModel::None => Fraction::ZERO.serialize(s),
            LossModel::Bernoulli(probability) => probability.serialize(s),
            &LossModel::GilbertElliott { good_to_bad, bad_to_good, loss_good, loss_bad } => {
                let (good_to_bad, bad_to_good) = (Some(good_to_bad), Some(bad_to_good));
                Table { good_to_bad, bad_to_good, ..states(loss_good, loss_bad) }.serialize(s)
            }
            &LossModel::Periods { good_for, bad_for, loss_good, loss_bad } => {
                let (good_for, bad_for) = (Some(good_for), Some(bad_for));
                Table { good_for, bad_for, ..states(loss_good, loss_bad) }.serialize(s)
            }
            LossModel::Packets { data, openings } => {
                let listed = |numbers: &Vec<u64>| (!numbers.is_empty()).then(|| numbers.clone());
                let packets = Some(data.clone()).filter(|data| !data.is_empty() || openings.is_empty());
                Table { packets, openings: listed(openings), ..Table::default() }.serialize(s)
            }
            LossModel::Steps(steps) => {
                let steps: Vec<_> = steps.iter().map(|(from, model)| (from, Self::from(model.clone()))).collect();
                steps.serialize(s)
            }
        }
    }
}

impl<'de> Deserialize<'de> for LossSpec {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Visitor;

        impl Visitor {
            fn bernoulli<E: de::Error>(value: impl de::IntoDeserializer<'static, E>) -> Result<LossSpec, E> {
                Fraction::deserialize(value.into_deserializer()).map(|share| bernoulli(share).into())
            }
        }

        impl<'de> de::Visitor<'de> for Visitor {
            type Value = LossSpec;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a loss like \"1%\", { model = \"gilbert-elliott\", … } or { packets = [10, 11] }")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<LossSpec, E> {
                if let Some(spec) = inline(text) {
                    return spec;
                }
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
                LossSpec::try_from(table).map_err(de::Error::custom)
            }
            fn visit_seq<A: de::SeqAccess<'de>>(self, seq: A) -> Result<LossSpec, A::Error> {
                let mut models = Vec::new();
                for (from, LossSpec { model, trace }) in steps::steps(seq)? {
                    if trace.is_some() || matches!(model, LossModel::Steps(_)) {
                        return Err(de::Error::custom("a step of losses is a share or a model, no steps and no file"));
                    }
                    models.push((from, model));
                }
                Ok(LossModel::Steps(models).into())
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
        let time = generator.subschema_for::<Time>();
        let one = schemars::json_schema!({ "anyOf": [bernoulli, table] });
        schemars::json_schema!({
            "description": "Random loss: of each packet alike, in bursts, of the packets listed, or steps of these",
            "anyOf": [bernoulli, table, {
                "type": "array", "minItems": 1,
                "items": { "type": "array", "prefixItems": [time, one], "minItems": 2, "maxItems": 2 }
            }]
        })
    }
}
