//! JSON as it leaves the engine: the keys of an object are sorted, whether or not serde_json does so. A crate in the
//! build may ask it for the order in which they came.

use std::collections::BTreeMap;

use serde_json::Value;

/// `value` as text.
pub(crate) fn text(value: &Value) -> String {
    sorted(value).to_string()
}

fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let by_key: BTreeMap<_, _> = map.iter().map(|(key, value)| (key.clone(), sorted(value))).collect();
            Value::Object(by_key.into_iter().collect())
        }
        Value::Array(values) => values.iter().map(sorted).collect(),
        _ => value.clone(),
    }
}
