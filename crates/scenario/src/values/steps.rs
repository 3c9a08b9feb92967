//! Values that change stepwise: `[["0s", "10mbit"], ["20s", "5mbit"]]`.

use std::fmt;
use std::marker::PhantomData;

use serde::{Deserialize, Deserializer, de};
use units::{Rate, Span, Time};

/// A quantity that can be written in steps.
pub(crate) trait Stepped: Sized {
    /// Its name in messages, and two steps of it.
    const NAME: &'static str;
    const EXAMPLE: &'static str;
    const EXAMPLES: &'static str;
}

impl Stepped for Rate {
    const NAME: &'static str = "rate";
    const EXAMPLE: &'static str = r#"["20s", "5mbit"]"#;
    const EXAMPLES: &'static str = r#"[["0s", "10mbit"], ["20s", "5mbit"]]"#;
}

impl Stepped for Span {
    const NAME: &'static str = "delay";
    const EXAMPLE: &'static str = r#"["30s", "40ms"]"#;
    const EXAMPLES: &'static str = r#"[["0s", "100ms"], ["30s", "40ms"]]"#;
}

/// A time and a value, and nothing more.
struct Step<T>(Time, T);

impl<'de, T: Stepped + Deserialize<'de>> Deserialize<'de> for Step<T> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Visitor<T>(PhantomData<T>);
        impl<'de, T: Stepped + Deserialize<'de>> de::Visitor<'de> for Visitor<T> {
            type Value = Step<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a time and a {}, like {}", T::NAME, T::EXAMPLE)
            }
            fn visit_seq<A: de::SeqAccess<'de>>(self, mut seq: A) -> Result<Step<T>, A::Error> {
                let missing = |length| de::Error::invalid_length(length, &self);
                let time = seq.next_element()?.ok_or_else(|| missing(0))?;
                let value = seq.next_element()?.ok_or_else(|| missing(1))?;
                match seq.next_element::<de::IgnoredAny>()? {
                    Some(_) => Err(missing(3)),
                    None => Ok(Step(time, value)),
                }
            }
        }
        d.deserialize_seq(Visitor(PhantomData))
    }
}

/// The rest of a sequence of steps: the first at zero, their times increasing.
pub(crate) fn steps<'de, T, A>(mut seq: A) -> Result<Vec<(Time, T)>, A::Error>
where
    T: Stepped + Deserialize<'de>,
    A: de::SeqAccess<'de>,
{
    let mut steps = Vec::new();
    while let Some(Step(time, value)) = seq.next_element()? {
        steps.push((time, value));
    }
    in_order(steps).map_err(de::Error::custom)
}

fn in_order<T: Stepped>(steps: Vec<(Time, T)>) -> Result<Vec<(Time, T)>, String> {
    let Some(&(first, _)) = steps.first() else {
        return Err(format!("there is no step: write steps like {}", T::EXAMPLES));
    };
    if first != Time::ZERO {
        return Err(format!("the first step is at `{first}`: it must be at `0s`"));
    }
    if let Some(pair) = steps.windows(2).find(|pair| pair[0].0 >= pair[1].0) {
        return Err(format!("a step at `{}` follows one at `{}`: their times must increase", pair[1].0, pair[0].0));
    }
    Ok(steps)
}

/// The schema of steps of `T`.
pub(crate) fn schema<T: Stepped + schemars::JsonSchema>(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
    let time = generator.subschema_for::<Time>();
    let value = generator.subschema_for::<T>();
    schemars::json_schema!({
        "description": format!("Each {} from its time on; the first at 0s, times increasing", T::NAME),
        "type": "array", "minItems": 1,
        "items": { "type": "array", "prefixItems": [time, value], "minItems": 2, "maxItems": 2 }
    })
}
