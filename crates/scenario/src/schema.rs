//! The JSON schema of the scenario language: the shape comes from the types, the parameters of each controller from the
//! registry of controllers.

use control::registry::{CONTROLLERS, MEDIA};
use control::stacks::{self, STACK, STANDARD};
use control::{Entry, Parameter, SLOW_START, tfrc};
use serde_json::{Map, Value, json};

use crate::Scenario;
use crate::draw::MOST_FLOWS;

/// The JSON schema of [`Scenario`].
pub fn schema() -> Value {
    let mut schema = schemars::schema_for!(Scenario).to_value();
    join_lines(&mut schema);
    add_copies(&mut schema);
    let flow = &mut schema["$defs"]["Flow"];
    let entries = || CONTROLLERS.iter().chain(MEDIA);
    let names = || entries().map(|entry| entry.name).chain([tfrc::NAME]);
    flow["properties"]["cc"]["examples"] = names().collect();
    flow["allOf"] = names().map(choice).collect();
    for entry in entries() {
        schema["$defs"][definition(entry.name)] = parameters(entry);
    }
    for parameter in SLOW_START {
        schema["$defs"][start_definition(parameter.name)] = parameter.schema();
    }
    schema["$defs"][definition(tfrc::NAME)] = json!({
        "type": "object",
        "description": "Parameters of TFRC: Datagrams at the rate that the throughput equation of TCP allows",
        "properties": properties(tfrc::Settings::PARAMETERS),
        "additionalProperties": false,
    });
    schema
}

/// Adds the keys of copies: they are written out before a document is read as a [`Scenario`], whose types have none.
fn add_copies(schema: &mut Value) {
    let count = json!({
        "type": "integer", "minimum": 1, "maximum": MOST_FLOWS,
        "description": "Number of copies; `{copy}` in a text is the number of the copy, from 0",
    });
    let copies = json!({
        "type": "array", "minItems": 1, "items": { "type": ["integer", "string"] },
        "description": "Copies with these numbers or names, for which `{copy}` stands. This or `count`",
    });
    for (list, part) in [("flows", "Flow"), ("links", "Link")] {
        let keys = &mut schema["$defs"][part]["properties"];
        keys["copies"] = copies.clone();
        if keys["count"].is_null() {
            keys["count"] = count.clone();
        }
        let entry = schema["properties"][list]["items"].take();
        let group = format!("{part}Group");
        schema["properties"][list]["items"] = json!({ "anyOf": [entry, { "$ref": format!("#/$defs/{group}") }] });
        schema["$defs"][group] = json!({
            "type": "object",
            "description": "Entries that are copied together: all of the first copy, then all of the next",
            "properties": {
                "count": count,
                "copies": copies,
                "each": { "type": "array", "items": entry, "description": "The entries" },
            },
            "required": ["each"],
            "additionalProperties": false,
        });
    }
}

/// Makes each paragraph of a description one line: where a comment wraps in the code is no part of the language.
fn join_lines(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                match field {
                    Value::String(text) if name == "description" => {
                        let paragraphs: Vec<String> =
                            text.split("\n\n").map(|lines| lines.replace('\n', " ")).collect();
                        *text = paragraphs.join("\n\n");
                    }
                    other => join_lines(other),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(join_lines),
        _ => {}
    }
}

/// The name of the definition that holds the parameters of controller `name`.
fn definition(name: &str) -> String {
    format!("parameters-{name}")
}

/// The name of the definition that holds the parameter `name` of slow start, which many controllers have.
fn start_definition(name: &str) -> String {
    format!("slow-start-{name}")
}

/// A flow whose controller is `name` takes its parameters.
fn choice(name: &str) -> Value {
    let parameters = format!("#/$defs/{}", definition(name));
    json!({
        "if": { "properties": { "cc": { "const": name } }, "required": ["cc"] },
        "then": { "properties": { "parameters": { "$ref": parameters } } },
    })
}

/// The schema of each of `parameters`.
fn properties(parameters: &[Parameter]) -> Map<String, Value> {
    parameters.iter().map(|p| (p.name.to_owned(), p.schema())).collect()
}

/// The parameters of `entry` in all of its forms, and no others.
fn parameters(entry: &Entry) -> Value {
    let mut properties = properties(entry.parameters);
    if entry.starts_slowly() {
        for p in SLOW_START {
            properties.insert(p.name.to_owned(), json!({ "$ref": format!("#/$defs/{}", start_definition(p.name)) }));
        }
    }
    let of_others = stacks::of(entry.name).flat_map(|(_, form)| form.parameters);
    for p in of_others.filter(|p| entry.parameters.iter().all(|own| own.name != p.name)) {
        properties.insert(p.name.to_owned(), p.schema());
    }
    let words: Vec<&str> = stacks::of(entry.name).map(|(stack, _)| stack).chain([STANDARD]).collect();
    if words.len() > 1 {
        let meaning = "The stack whose form it has, or the standard's; by default that of the profile";
        properties.insert(STACK.to_owned(), json!({ "enum": words, "description": meaning }));
    }
    json!({
        "type": "object",
        "description": format!("Parameters of {}: {}", entry.title, entry.summary),
        "properties": properties,
        "additionalProperties": false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_has_the_parameters_of_its_controller_and_no_others() {
        let mut schema = schema();
        let choice = schema["$defs"]["Flow"]["allOf"]
            .as_array()
            .unwrap()
            .iter()
            .find(|choice| choice["if"]["properties"]["cc"]["const"] == "aimd")
            .unwrap();
        assert_eq!(choice["then"]["properties"]["parameters"]["$ref"], "#/$defs/parameters-aimd");
        // Slow start's, which many have, are written once.
        let own = schema["$defs"]["parameters-aimd"]["properties"].as_object_mut().unwrap();
        for p in SLOW_START {
            let reference = format!("#/$defs/slow-start-{}", p.name);
            assert_eq!(own.remove(p.name), Some(json!({ "$ref": reference })));
        }
        assert_eq!(schema["$defs"]["slow-start-slow_start"]["default"], "own");
        assert_eq!(
            schema["$defs"]["parameters-aimd"],
            json!({
                "type": "object",
                "description": concat!(
                    "Parameters of AIMD: NewReno with a free increase per round trip ",
                    "and a free share kept on a loss",
                ),
                "properties": {
                    "alpha": {
                        "type": "number", "exclusiveMinimum": 0, "maximum": 1000, "default": 1,
                        "description": "Increase per round trip in congestion avoidance \
                                        (segments per RTT: above 0, at most 1000)"
                    },
                    "beta": {
                        "type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1, "default": 0.5,
                        "description": "Share of the window kept on a loss (above 0, below 1)"
                    },
                    "k": {
                        "type": "number", "minimum": -1, "maximum": 4, "default": 0,
                        "description": "Power of the window by which the increase is divided (-1 to 4)"
                    },
                    "l": {
                        "type": "number", "minimum": 0, "maximum": 1, "default": 1,
                        "description": "Power of the window that a loss takes (0 to 1)"
                    },
                    "decrease": {
                        "type": "number", "minimum": 0, "maximum": 1000000, "default": 0,
                        "description": "Decrease on a loss, in units of that power; 0 for 1 - beta (0 to 1000000)"
                    }
                },
                "additionalProperties": false
            })
        );
    }
}
