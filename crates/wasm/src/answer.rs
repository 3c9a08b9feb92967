//! The answer to a request to run: facts as JSON, and the places in memory of columns and capture.

use record::{Data, Table, Tables};
use serde_json::{Value, json};

/// Facts, tables and capture of a run.
#[derive(Debug)]
pub struct Answer {
    facts: Value,
    tables: Vec<Table>,
    capture: Option<Vec<u8>>,
}

impl Answer {
    pub(crate) fn new(facts: Value, tables: Tables, capture: Option<Vec<u8>>) -> Self {
        Self { facts, tables: tables.into_tables().into(), capture }
    }

    pub(crate) fn without_tables(facts: Value) -> Self {
        Self { facts, tables: Vec::new(), capture: None }
    }

    /// The tables.
    pub fn tables(&self) -> &[Table] {
        &self.tables
    }

    /// The facts; `tables` names columns with address and length, where they are not text. The places are good as
    /// long as the answer lives.
    pub fn to_json(&self) -> Value {
        let mut facts = self.facts.clone();
        facts["tables"] = self.tables.iter().map(described).collect();
        facts["capture"] = self.capture.as_ref().map_or(Value::Null, |bytes| place(bytes));
        facts
    }
}

fn described(table: &Table) -> Value {
    let columns = table.columns.iter().map(|column| {
        let mut found = values(&column.data);
        found["name"] = json!(column.name);
        found["unit"] = json!(column.unit);
        found
    });
    json!({ "name": table.name, "columns": columns.collect::<Value>() })
}

/// Kind, place and length of values, or texts themselves. `null` is true where some values may be none.
fn values(data: &Data) -> Value {
    let (kind, nullable, place) = match data {
        Data::U32(values) => ("u32", false, place(values)),
        Data::NullableU32(values) => ("u32", true, place(values)),
        Data::U64(values) => ("u64", false, place(values)),
        Data::NullableU64(values) => ("u64", true, place(values)),
        Data::F64(values) => ("f64", false, place(values)),
        Data::NullableF64(values) => ("f64", true, place(values)),
        Data::Bool(values) => ("bool", false, place(values)),
        Data::Str(values) => return json!({ "kind": "text", "values": values }),
        Data::Dict { codes, names } => {
            return json!({ "kind": "names", "names": names, "at": address(codes), "length": codes.len() });
        }
    };
    json!({ "kind": kind, "null": nullable, "at": place["at"], "length": place["length"] })
}

fn place<T>(values: &[T]) -> Value {
    json!({ "at": address(values), "length": values.len() })
}

fn address<T>(values: &[T]) -> usize {
    values.as_ptr() as usize
}
