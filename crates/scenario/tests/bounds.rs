//! Every key of the schema has bounds, and a value beyond them is one sentence that names the key.

use scenario::{NoFiles, from_json};
use serde_json::{Map, Value, json};

/// Keys of whole numbers that any number may be: names, seeds, and numbers of packets.
const UNBOUNDED: &[&str] = &["seed", "copies", "packets.0", "openings.0"];

/// Words of the sentences that refuse a value for its size.
const REASONS: &[&str] = &[
    "allowed: ",
    "at most ",
    "expected ",
    "is below ",
    "is less than ",
    "is no window",
    "is not between ",
    "is not from ",
    "is not negative",
    "must be ",
    "needs at least ",
    "too large",
];

/// A key with a quantity or a number.
struct Leaf {
    path: Vec<String>,
    /// Keys that stand beside it: those that choose among forms of a table, and those that must be given.
    beside: Map<String, Value>,
    /// The keys above a list of steps, of which it is in the second value.
    stepped: Option<usize>,
    schema: Map<String, Value>,
}

/// The walk through the schema.
struct Walk {
    definitions: Value,
    leaves: Vec<Leaf>,
}

impl Walk {
    fn of_schema() -> Vec<Leaf> {
        let mut schema = scenario::schema();
        let definitions = schema["$defs"].take();
        let mut walk = Self { definitions, leaves: Vec::new() };
        walk.node(&schema, &[], [&Map::new(), &Map::new()], &[], None);
        walk.leaves
    }

    /// Walks `node` at `path`. `beside` are keys of the table that it is in, and `own` those of itself.
    fn node(
        &mut self,
        node: &Value,
        path: &[String],
        [beside, own]: [&Map<String, Value>; 2],
        above: &[String],
        stepped: Option<usize>,
    ) {
        let Some(fields) = node.as_object() else { return };
        let mut fields = fields.clone();
        let mut above = above.to_vec();
        while let Some(reference) = fields.remove("$ref") {
            let name = reference.as_str().unwrap().rsplit('/').next().unwrap().to_owned();
            if name.starts_with("parameters-") || name.ends_with("Group") || above.contains(&name) {
                return;
            }
            // Words beside a reference count before those behind it.
            let mut found = self.definitions[&name].as_object().unwrap().clone();
            found.extend(fields);
            fields = found;
            above.push(name);
        }
        let quantity = above.last().filter(|name| matches!(&***name, "Span" | "Time" | "Rate" | "Bytes"));
        let kinds = match &fields.get("type") {
            Some(Value::Array(kinds)) => kinds.clone(),
            Some(kind) => vec![(*kind).clone()],
            None => Vec::new(),
        };
        if quantity.is_some() || kinds.contains(&json!("integer")) || kinds.contains(&json!("number")) {
            self.leaves.push(Leaf { path: path.to_vec(), beside: beside.clone(), stepped, schema: fields });
            return;
        }
        let own = with_needed(own.clone(), &fields);
        let none = Map::new();
        for (key, value) in fields.get("properties").and_then(Value::as_object).into_iter().flatten() {
            self.node(value, &[path, std::slice::from_ref(key)].concat(), [&own, &none], &above, stepped);
        }
        // Words beside the alternatives belong to each of them.
        let words = ["formatMinimum", "formatMaximum", "minimum", "maximum"];
        let inherited: Map<String, Value> =
            fields.iter().filter(|(key, _)| words.contains(&&***key)).map(|(k, v)| (k.clone(), v.clone())).collect();
        for alternatives in ["anyOf", "oneOf", "allOf"] {
            for one in fields.get(alternatives).and_then(Value::as_array).into_iter().flatten() {
                let mut one = one.clone();
                if let (Some(one), false) = (one.as_object_mut(), inherited.is_empty()) {
                    one.extend(inherited.clone());
                }
                self.node(&one, path, [beside, &own], &above, stepped);
            }
        }
        if let Some(items) = fields.get("items") {
            if let Some(step) = items.get("prefixItems").and_then(Value::as_array) {
                self.node(&step[1], path, [beside, &none], &above, Some(path.len()));
            } else {
                self.node(items, &[path, &["0".to_owned()]].concat(), [&none, &none], &above, stepped);
            }
        }
    }
}

/// The keys `own` of a table, and those that its `fields` choose by a constant or require.
fn with_needed(mut own: Map<String, Value>, fields: &Map<String, Value>) -> Map<String, Value> {
    let required = fields.get("required").and_then(Value::as_array);
    for (key, value) in fields.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let is_required = required.is_some_and(|all| all.contains(&json!(key)));
        if let Some(value) = value.get("const").cloned().or_else(|| example(value).filter(|_| is_required)) {
            own.insert(key.clone(), value);
        }
    }
    if own.contains_key("discipline") {
        own.insert("limit".to_owned(), "50p".into());
    }
    if own.get("discipline") == Some(&json!("police")) {
        own.extend([("rate".to_owned(), "1mbit".into()), ("burst".to_owned(), "32kB".into())]);
    }
    own
}

/// A value of a key that must be given.
fn example(schema: &Value) -> Option<Value> {
    let name = schema.get("$ref").and_then(Value::as_str).and_then(|reference| reference.rsplit('/').next());
    Some(match name {
        Some("Bytes" | "TcSize") => json!("32kB"),
        Some("Span" | "Time") => json!("1ms"),
        Some("Rate") => json!("10mbit"),
        Some("Fraction") => json!("1%"),
        Some("Limit") => json!("50p"),
        Some("Count") => json!(3),
        _ => return None,
    })
}

impl Leaf {
    fn name(&self) -> String {
        self.path.join(".")
    }

    /// A scenario with `value` at the key.
    fn document(&self, value: Value) -> Value {
        let mut document = json!({ "duration": "10s", "flows": [{ "cc": "newreno" }] });
        match &*self.path[0] {
            "links" => {
                document["links"] =
                    json!([{ "from": "a", "to": "b", "rate": "10mbit", "delay": "5ms", "queue": "50p" }]);
                document["flows"][0]["from"] = "a".into();
                document["flows"][0]["to"] = "b".into();
            }
            "wlans" => {
                document["wlans"] = json!([{
                    "standard": "802.11g", "rate": "54mbit", "queue": "50p", "access_point": "a",
                    "stations": [{ "name": "b" }],
                }]);
                document["flows"][0]["from"] = "a".into();
                document["flows"][0]["to"] = "b".into();
            }
            _ => document["path"] = json!({ "rate": "10mbit", "rtt": "40ms", "queue": "50p" }),
        }
        if self.path.contains(&"connections".to_owned()) {
            (document["flows"][0]["think"], document["flows"][0]["bytes"]) = ("1s".into(), "10kB".into());
        }
        if self.name() == "links.0.count" {
            (document["links"][0]["to"], document["flows"][0]["to"]) = ("b{copy}".into(), "b0".into());
        }
        if self.name() == "wlans.0.streams" {
            (document["wlans"][0]["standard"], document["wlans"][0]["rate"]) = ("802.11n".into(), "fastest".into());
        }
        if self.path.contains(&"media".to_owned()) {
            (document["flows"][0]["kind"], document["flows"][0]["cc"]) = ("media".into(), "gcc".into());
        }
        let mut at = &mut document;
        for (depth, key) in self.path.iter().enumerate() {
            if self.stepped == Some(depth) {
                *at = json!([["0s", {}]]);
                at = &mut at[0][1];
            }
            at = match key.parse::<usize>() {
                Ok(index) => {
                    if !at.is_array() {
                        *at = json!([{}]);
                    }
                    &mut at[index]
                }
                Err(_) => {
                    if !at.is_object() {
                        *at = json!({});
                    }
                    if depth + 1 == self.path.len() {
                        at.as_object_mut().unwrap().extend(self.beside.clone());
                    }
                    &mut at[key]
                }
            };
        }
        *at = if self.stepped == Some(self.path.len()) { json!([["0s", value]]) } else { value };
        document
    }

    /// The error of `value` at the key, if it is refused.
    fn refusal(&self, value: Value) -> Option<String> {
        let document = self.document(value);
        let planned = from_json(&document, "demo").and_then(|scenario| scenario.plan(&NoFiles));
        planned.err().map(|error| error.to_string())
    }
}

/// The number and the unit of a spelling.
fn split(text: &str) -> (f64, &str) {
    let end = text.find(|c: char| c.is_alphabetic()).unwrap_or(text.len());
    (text[..end].parse().unwrap(), &text[end..])
}

/// Values of a leaf below its least and above its largest.
fn beyond(leaf: &Leaf) -> Vec<Value> {
    let word = |word: &str| leaf.schema.get(word);
    if let Some(most) = word("formatMaximum").and_then(Value::as_str) {
        let (number, unit) = split(most);
        let mut values = vec![json!(format!("-1{unit}")), json!(format!("1e30{unit}"))];
        values.push(json!(format!("{}{unit}", number * 1.5)));
        let least = word("formatMinimum").and_then(Value::as_str).map_or((0.0, ""), split);
        if least.0 > 0.0 {
            values.push(json!(format!("0{unit}")));
        }
        return values;
    }
    let number = |name: &str| word(name).and_then(Value::as_f64);
    let least = number("minimum").or(number("exclusiveMinimum")).expect("a least value");
    let most = number("maximum").or(number("exclusiveMaximum")).expect("a largest value");
    let is_whole = leaf.schema.get("format").is_some() || least.fract() == 0.0 && most.fract() == 0.0;
    [least - 1.0, most + 1.0, 1e18].map(|value| if is_whole { json!(value as i64) } else { json!(value) }).to_vec()
}

#[test]
fn a_value_beyond_the_bounds_of_its_key_is_refused_with_the_key() {
    let leaves = Walk::of_schema();
    assert!(leaves.len() > 300, "{}", leaves.len());
    let mut faults = Vec::new();
    for leaf in &leaves {
        let name = leaf.name();
        if UNBOUNDED.iter().any(|end| name == *end || name.ends_with(&format!(".{end}"))) || name.contains("copies") {
            continue;
        }
        let has = |words: [&str; 2]| words.iter().any(|word| leaf.schema.contains_key(*word));
        if !has(["formatMaximum", "maximum"]) && !leaf.schema.contains_key("exclusiveMaximum") {
            faults.push(format!("{name} has no largest value: {:?}", leaf.schema));
            continue;
        }
        if !has(["formatMaximum", "minimum"]) && !leaf.schema.contains_key("exclusiveMinimum") {
            faults.push(format!("{name} has no least value"));
            continue;
        }
        for value in beyond(leaf) {
            match leaf.refusal(value.clone()) {
                None => faults.push(format!("{name} = {value} {:?} is taken", leaf.beside)),
                Some(why) => {
                    let names_key = why.starts_with(&format!("demo: {}", leaf.path[0]));
                    if !names_key || !REASONS.iter().any(|reason| why.contains(reason)) {
                        faults.push(format!("{name} = {value} is refused for another reason: {why}"));
                    }
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}:\n{}", faults.len(), faults.join("\n"));
}
