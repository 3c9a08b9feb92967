//! Random quantities: constant, uniform, exponential, Pareto and measured, with their spelling.
//!
//! Written here and not taken from `rand_distr`, whose draws change from version to version: a seed must give the same
//! run for ever.

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use serde::de::value::MapAccessDeserializer;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::{Bytes, EMPIRICAL, Empirical, ParseError, Random, Span};

/// With a larger shape all values are the mean.
const LARGEST_SHAPE: f64 = 1000.0;

/// The quantity of a [`Distribution`]: a whole number of its smallest unit.
pub trait Quantity: Copy + PartialOrd + fmt::Display + FromStr<Err = ParseError> {
    /// Its name in messages.
    const NAME: &'static str;
    /// One value as it is written, and a larger one.
    const EXAMPLES: [&'static str; 2];
    /// How many of its smallest unit the tables of [`Empirical`] have for one.
    const UNIT: f64;
    /// In its smallest unit.
    fn to_f64(self) -> f64;
    /// The nearest quantity, or the largest if `value` is larger.
    fn from_f64(value: f64) -> Self;
    /// The quantity that a number without unit is, or `None` if it needs one.
    fn whole(number: u64) -> Option<Self> {
        let _ = number;
        None
    }
}

impl Quantity for Span {
    const NAME: &'static str = "time";
    const EXAMPLES: [&'static str; 2] = ["2s", "3s"];
    const UNIT: f64 = 1e9;
    fn to_f64(self) -> f64 {
        self.as_nanos() as f64
    }
    fn from_f64(value: f64) -> Self {
        Self::from_nanos(value.round() as u64)
    }
}

impl Quantity for Bytes {
    const NAME: &'static str = "size";
    const EXAMPLES: [&'static str; 2] = ["30kB", "60kB"];
    const UNIT: f64 = 1.0;
    fn to_f64(self) -> f64 {
        self.get() as f64
    }
    fn from_f64(value: f64) -> Self {
        Self::new(value.round() as u64)
    }
}

/// How a span, a size or a number is drawn: `"2s"`, `{ uniform = ["2s", "3s"] }`, `{ exponential = "2s" }`,
/// `{ pareto = { mean = "2s", shape = 1.5 } }` or `{ empirical = "mah-think", most = "20s" }`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Distribution<T> {
    /// Always this.
    Constant(T),
    /// Uniform between these two.
    Uniform(T, T),
    /// Exponential with this mean.
    Exponential(T),
    /// Pareto of the first kind: P(X > x) = (m / x)^shape from m = mean (shape - 1) / shape on.
    Pareto {
        /// The mean.
        mean: T,
        /// Above 1, as the mean is infinite otherwise. The variance is infinite up to 2.
        shape: f64,
    },
    /// As it was measured.
    Empirical {
        /// The table.
        of: &'static Empirical,
        /// Larger values are cut down to it.
        most: Option<T>,
    },
}

impl<T: Quantity> Distribution<T> {
    /// The next value. A constant draws nothing.
    pub fn draw(&self, random: &mut Random) -> T {
        match *self {
            Self::Constant(value) => value,
            Self::Uniform(low, high) => T::from_f64(low.to_f64() + (high.to_f64() - low.to_f64()) * random.uniform()),
            Self::Exponential(mean) => T::from_f64(mean.to_f64() * random.exponential()),
            Self::Pareto { mean, shape } => {
                let smallest = mean.to_f64() * (shape - 1.0) / shape;
                T::from_f64(smallest * libm::pow(1.0 - random.uniform(), -1.0 / shape))
            }
            Self::Empirical { of, most } => {
                let value = T::from_f64(of.quantile(random.uniform()) * T::UNIT);
                most.filter(|most| *most < value).unwrap_or(value)
            }
        }
    }

    /// The median: the size of most values where a long tail makes the mean.
    pub fn median(&self) -> T {
        match *self {
            Self::Constant(_) | Self::Uniform(..) => self.mean(),
            Self::Exponential(mean) => T::from_f64(mean.to_f64() * std::f64::consts::LN_2),
            Self::Pareto { mean, shape } => {
                T::from_f64(mean.to_f64() * (shape - 1.0) / shape * libm::exp2(1.0 / shape))
            }
            Self::Empirical { of, most } => {
                let median = T::from_f64(of.quantile(0.5) * T::UNIT);
                most.filter(|most| *most < median).unwrap_or(median)
            }
        }
    }

    /// The mean.
    pub fn mean(&self) -> T {
        match *self {
            Self::Constant(mean) | Self::Exponential(mean) | Self::Pareto { mean, .. } => mean,
            Self::Uniform(low, high) => T::from_f64((low.to_f64() + high.to_f64()) / 2.0),
            Self::Empirical { of, most } => {
                let most = most.map_or(f64::INFINITY, |most| most.to_f64() / T::UNIT);
                T::from_f64(of.mean(most) * T::UNIT)
            }
        }
    }
}

/// The forms that are tables.
#[derive(Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, bound(deserialize = "T: Deserialize<'de>"))]
struct Table<T> {
    // A list, as an array of two would be read from a longer one.
    /// Between these two.
    #[schemars(with = "Option<[T; 2]>")]
    uniform: Option<Vec<T>>,
    /// With this mean.
    exponential: Option<T>,
    /// With this mean and shape.
    pareto: Option<Pareto<T>>,
    /// As it was measured: the name of a table.
    empirical: Option<String>,
    /// With `empirical`: what exceeds it is cut down to it.
    most: Option<T>,
}

#[derive(Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct Pareto<T> {
    /// The mean.
    mean: T,
    /// Above 1.
    #[schemars(extend("exclusiveMinimum" = 1.0, "maximum" = LARGEST_SHAPE))]
    shape: f64,
}

impl<T: Quantity> Table<T> {
    fn distribution(self) -> Result<Distribution<T>, String> {
        let [low, high] = T::EXAMPLES;
        if self.empirical.is_some() || self.most.is_some() {
            return self.measured();
        }
        match (self.uniform.as_deref(), self.exponential, self.pareto) {
            (Some([low, high]), None, None) if high < low => {
                Err(format!("`uniform` ends at `{high}`, which is below its start `{low}`"))
            }
            (Some(&[low, high]), None, None) => Ok(Distribution::Uniform(low, high)),
            (Some(ends), None, None) => Err(format!(
                "`uniform` has {} values: it is from one to another, like `[\"{low}\", \"{high}\"]`",
                ends.len()
            )),
            (None, Some(mean), None) => Ok(Distribution::Exponential(mean)),
            (None, None, Some(Pareto { mean, shape })) if shape > 1.0 && shape <= LARGEST_SHAPE => {
                Ok(Distribution::Pareto { mean, shape })
            }
            (None, None, Some(Pareto { shape, .. })) => {
                Err(format!("`shape` is {shape}: it must be above 1, or there is no mean, and at most {LARGEST_SHAPE}"))
            }
            _ => Err(format!(
                "a distribution is one of `uniform = [\"{low}\", \"{high}\"]`, `exponential = \"{low}\"` and \
                 `pareto = {{ mean = \"{low}\", shape = 1.5 }}`"
            )),
        }
    }

    /// The table that `empirical` names.
    fn measured(self) -> Result<Distribution<T>, String> {
        let Self { uniform: None, exponential: None, pareto: None, empirical: Some(name), most } = self else {
            return Err("`most` belongs to `empirical`, and no other distribution stands beside it".to_owned());
        };
        let of = Empirical::named(&name).filter(|table| table.of == T::NAME).ok_or_else(|| {
            let own = EMPIRICAL.iter().filter(|table| table.of == T::NAME);
            let names: Vec<String> = own.map(|table| format!("`{}`", table.name)).collect();
            format!("`empirical` has no {} called `{name}`: there is {}", T::NAME, names.join(" and "))
        })?;
        Ok(Distribution::Empirical { of, most })
    }
}

impl<T: Quantity + Serialize> Serialize for Distribution<T> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        if let Self::Constant(value) = self {
            return value.serialize(s);
        }
        let mut map = s.serialize_map(None)?;
        match *self {
            Self::Constant(_) => {}
            Self::Uniform(low, high) => map.serialize_entry("uniform", &[low, high])?,
            Self::Exponential(mean) => map.serialize_entry("exponential", &mean)?,
            Self::Pareto { mean, shape } => map.serialize_entry("pareto", &Pareto { mean, shape })?,
            Self::Empirical { of, most } => {
                map.serialize_entry("empirical", of.name)?;
                if let Some(most) = most {
                    map.serialize_entry("most", &most)?;
                }
            }
        }
        map.end()
    }
}

impl<'de, T: Quantity + Deserialize<'de>> Deserialize<'de> for Distribution<T> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Visitor<T>(PhantomData<T>);
        impl<'de, T: Quantity + Deserialize<'de>> de::Visitor<'de> for Visitor<T> {
            type Value = Distribution<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let [low, high] = T::EXAMPLES;
                write!(
                    f,
                    "a {} like \"{low}\", or a distribution like {{ uniform = [\"{low}\", \"{high}\"] }}",
                    T::NAME
                )
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Distribution<T>, E> {
                text.parse().map(Distribution::Constant).map_err(E::custom)
            }
            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Distribution<T>, E> {
                let whole = u64::try_from(number).ok().and_then(T::whole);
                whole.map(Distribution::Constant).ok_or_else(|| E::invalid_type(de::Unexpected::Signed(number), &self))
            }
            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Distribution<T>, E> {
                let whole = T::whole(number).map(Distribution::Constant);
                // Numbers of files are signed.
                whole.ok_or_else(|| E::invalid_type(de::Unexpected::Signed(number as i64), &self))
            }
            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<Distribution<T>, A::Error> {
                Table::deserialize(MapAccessDeserializer::new(map))?.distribution().map_err(de::Error::custom)
            }
        }
        d.deserialize_any(Visitor(PhantomData))
    }
}

impl<T: Quantity + schemars::JsonSchema> schemars::JsonSchema for Distribution<T> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        format!("DistributionOf{}", T::schema_name()).into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let constant = generator.subschema_for::<T>();
        let table = Table::<T>::json_schema(generator);
        schemars::json_schema!({ "description": "One value, or how it is drawn", "anyOf": [constant, table] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(text: &str) -> Vec<f64> {
        let distribution: Distribution<Span> = serde_json::from_str(text).unwrap();
        let mut random = Random::stream(3, "test", 0);
        (0..200_000).map(|_| distribution.draw(&mut random).as_secs_f64()).collect()
    }

    fn mean(values: &[f64]) -> f64 {
        values.iter().sum::<f64>() / values.len() as f64
    }

    fn share_above(values: &[f64], limit: f64) -> f64 {
        values.iter().filter(|&&v| v > limit).count() as f64 / values.len() as f64
    }

    #[test]
    fn a_constant_is_the_same_every_time() {
        assert!(drawn(r#""2s""#).iter().all(|&v| v == 2.0));
    }

    #[test]
    fn uniform_values_lie_between_the_ends_with_the_mean_half_way() {
        let values = drawn(r#"{ "uniform": ["2s", "3s"] }"#);
        assert!(values.iter().all(|v| (2.0..=3.0).contains(v)));
        assert!((mean(&values) - 2.5).abs() < 0.003, "{}", mean(&values));
    }

    #[test]
    fn exponential_values_exceed_their_mean_with_probability_one_over_e() {
        let values = drawn(r#"{ "exponential": "2s" }"#);
        assert!((mean(&values) - 2.0).abs() < 0.02, "{}", mean(&values));
        assert!((share_above(&values, 2.0) - 0.3679).abs() < 0.005);
    }

    #[test]
    fn pareto_values_begin_at_the_smallest_and_have_the_tail_of_the_shape() {
        // Mean 3 s and shape 3: from 3 * 2/3 = 2 s on, and above 4 s with probability (2/4)^3 = 1/8.
        let values = drawn(r#"{ "pareto": { "mean": "3s", "shape": 3 } }"#);
        assert!(values.iter().all(|&v| v >= 2.0));
        assert!((mean(&values) - 3.0).abs() < 0.03, "{}", mean(&values));
        assert!((share_above(&values, 4.0) - 0.125).abs() < 0.004);
    }

    #[test]
    fn measured_values_are_cut_at_the_most() {
        // Half of the think times are at or below 16.2 s. Of think times cut at 20 s, 45.73 % are 20 s.
        let values = drawn(r#"{ "empirical": "mah-think", "most": "20s" }"#);
        assert!((share_above(&values, 16.2) - 0.5).abs() < 0.005);
        assert!((share_above(&values, 19.999) - 0.4573).abs() < 0.005);
        let distribution: Distribution<Span> =
            serde_json::from_str(r#"{"empirical":"mah-think","most":"20s"}"#).unwrap();
        assert!((mean(&values) / distribution.mean().as_secs_f64() - 1.0).abs() < 0.005);
    }

    #[test]
    fn tables_of_another_quantity_are_refused() {
        let refused = |text: &str| serde_json::from_str::<Distribution<Span>>(text).unwrap_err().to_string();
        let other = refused(r#"{"empirical":"mah-reply"}"#);
        assert!(other.starts_with("`empirical` has no time called `mah-reply`: there is `mah-think`"), "{other}");
        assert!(refused(r#"{"exponential":"2s","most":"3s"}"#).starts_with("`most` belongs to `empirical`"));
    }

    #[test]
    fn half_of_the_values_are_below_the_median() {
        for text in [
            r#"{ "uniform": ["2s", "3s"] }"#,
            r#"{ "exponential": "2s" }"#,
            r#"{ "pareto": { "mean": "3s", "shape": 1.1 } }"#,
        ] {
            let distribution: Distribution<Span> = serde_json::from_str(text).unwrap();
            let above = share_above(&drawn(text), distribution.median().as_secs_f64());
            assert!((above - 0.5).abs() < 0.005, "{text}: {above}");
        }
    }

    #[test]
    fn a_shape_is_above_1_and_at_most_1000() {
        let read = |shape: &str| {
            let text = format!("{{ \"pareto\": {{ \"mean\": \"2s\", \"shape\": {shape} }} }}");
            serde_json::from_str::<Distribution<Span>>(&text).is_ok()
        };
        assert_eq!(["1.0", "1.001", "1000.0", "1000.1"].map(read), [false, true, true, false]);
    }

    #[test]
    fn each_quantity_has_a_schema_of_its_own_with_both_forms() {
        use schemars::JsonSchema as _;
        let names = [Distribution::<Span>::schema_name(), Distribution::<Bytes>::schema_name()];
        assert_eq!(names, ["DistributionOfSpan", "DistributionOfBytes"]);
        let schema = schemars::schema_for!(Distribution<Span>).to_value();
        assert_eq!(schema["anyOf"].as_array().map(Vec::len), Some(2), "{schema}");
    }

    #[test]
    fn every_form_reads_back_as_it_was_written() {
        for text in [
            r#""30kB""#,
            r#"{"uniform":["30kB","60kB"]}"#,
            r#"{"exponential":"30kB"}"#,
            r#"{"pareto":{"mean":"30kB","shape":1.5}}"#,
            r#"{"empirical":"mah-reply"}"#,
            r#"{"empirical":"mah-reply","most":"1MB"}"#,
        ] {
            let read: Distribution<Bytes> = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&read).unwrap(), text);
        }
    }
}
