//! Queues whose limit changes in steps.

use std::fmt;

use network::DisciplineSettings;
use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use units::Time;

use super::inline::inline;
use super::queue::{Limit, QueueSpec};
use super::steps::{self, Stepped};

/// A queue, or steps of queues that differ in their limit alone: `[["0s", "100p"], ["30s", "10p"]]`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChangingQueue {
    /// The queue from the start on.
    pub first: QueueSpec,
    /// The limits that follow, each from its time on.
    pub later: Vec<(Time, Limit)>,
}

impl From<QueueSpec> for ChangingQueue {
    fn from(first: QueueSpec) -> Self {
        Self { first, later: Vec::new() }
    }
}

impl Stepped for QueueSpec {
    const NAME: &'static str = "queue";
    const EXAMPLE: &'static str = r#"["20s", "10p"]"#;
    const EXAMPLES: &'static str = r#"[["0s", "100p"], ["20s", "10p"]]"#;
}

impl ChangingQueue {
    fn of_steps(steps: &[(Time, QueueSpec)]) -> Result<Self, String> {
        let Some(&(_, first)) = steps.first() else { return Ok(Self::default()) };
        let later = &steps[1..];
        for (at, queue) in later {
            if (QueueSpec { limit: first.limit, ..*queue }) != first {
                return Err(format!("the step at `{at}` changes more than the limit; the rest of a queue stays"));
            }
            let unit = |limit: &Limit| std::mem::discriminant(limit);
            if first.discipline != DisciplineSettings::Fifo && unit(&first.limit) != unit(&queue.limit) {
                return Err(format!("the step at `{at}` has a limit in another unit, in which this discipline counts"));
            }
        }
        Ok(Self { first, later: later.iter().map(|(at, queue)| (*at, queue.limit)).collect() })
    }
}

impl Serialize for ChangingQueue {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        if self.later.is_empty() {
            return self.first.serialize(s);
        }
        let later = self.later.iter().map(|&(at, limit)| (at, QueueSpec { limit, ..self.first }));
        let steps: Vec<_> = std::iter::once((Time::ZERO, self.first)).chain(later).collect();
        steps.serialize(s)
    }
}

impl<'de> Deserialize<'de> for ChangingQueue {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = ChangingQueue;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "a queue like \"84p\", \"64kB\", \"100ms\", \"1bdp\", \"infinite\" or { limit = \"84p\", … }",
                )
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<ChangingQueue, E> {
                if text.trim().starts_with('[')
                    && let Some(spec) = inline(text)
                {
                    return spec;
                }
                QueueSpec::deserialize(StrDeserializer::new(text)).map(ChangingQueue::from)
            }
            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<ChangingQueue, A::Error> {
                QueueSpec::deserialize(MapAccessDeserializer::new(map)).map(ChangingQueue::from)
            }
            fn visit_seq<A: de::SeqAccess<'de>>(self, seq: A) -> Result<ChangingQueue, A::Error> {
                ChangingQueue::of_steps(&steps::steps(seq)?).map_err(de::Error::custom)
            }
        }
        d.deserialize_any(Visitor)
    }
}

impl schemars::JsonSchema for ChangingQueue {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ChangingQueue".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let queue = generator.subschema_for::<QueueSpec>();
        let steps = steps::schema::<QueueSpec>(generator);
        schemars::json_schema!({ "description": "A queue, or steps of its limit", "anyOf": [queue, steps] })
    }
}
