//! Reads a type from a TOML value, and finds the key of an error.
//!
//! `toml` knows the place of an error only for text, and compiles five large functions for each type that it reads.

use std::fmt::Display;

use serde::de::value::{BorrowedStrDeserializer, StrDeserializer};
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, EnumAccess, Error as _, Expected, MapAccess, SeqAccess, VariantAccess,
    Visitor,
};
use toml::{Table, Value};

/// An error, and the dotted key at which it is.
#[derive(Debug)]
pub(crate) struct KeyError {
    pub(crate) key: String,
    pub(crate) message: String,
}

impl KeyError {
    /// This error in the value of `name`.
    fn below(mut self, name: &str) -> Self {
        self.key = if self.key.is_empty() { name.to_owned() } else { format!("{name}.{}", self.key) };
        self
    }
}

impl Display for KeyError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.key, self.message)
    }
}

impl std::error::Error for KeyError {}

impl serde::de::Error for KeyError {
    fn custom<T: Display>(message: T) -> Self {
        Self { key: String::new(), message: message.to_string() }
    }
}

/// The value of type `T` that `given` describes.
pub(crate) fn read<'a, T: Deserialize<'a>>(given: &'a Value) -> Result<T, KeyError> {
    T::deserialize(Given(given))
}

/// The keys of a table.
struct Keys<'a> {
    rest: toml::map::Iter<'a, String, Value>,
    /// The key whose value comes next.
    next: Option<(&'a str, &'a Value)>,
}

impl<'a> Keys<'a> {
    fn of(table: &'a Table) -> Self {
        Self { rest: table.iter(), next: None }
    }
}

impl<'de> MapAccess<'de> for Keys<'de> {
    type Error = KeyError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, KeyError> {
        let Some((name, value)) = self.rest.next() else { return Ok(None) };
        self.next = Some((name, value));
        seed.deserialize(BorrowedStrDeserializer::new(name)).map(Some).map_err(|error: KeyError| error.below(name))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, KeyError> {
        let (name, value) = self.next.take().ok_or_else(|| KeyError::custom("a value before its key"))?;
        seed.deserialize(Given(value)).map_err(|error| error.below(name))
    }
}

/// The entries of a list, each with its index.
struct Entries<'a>(std::iter::Enumerate<std::slice::Iter<'a, Value>>);

impl<'de> SeqAccess<'de> for Entries<'de> {
    type Error = KeyError;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, KeyError> {
        let Some((index, value)) = self.0.next() else { return Ok(None) };
        seed.deserialize(Given(value)).map(Some).map_err(|error| error.below(&index.to_string()))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.0.len())
    }
}

/// A value.
struct Given<'a>(&'a Value);

/// A `date` is given for something else that is `expected`: no key takes one. Flattened settings are read as JSON
/// first, whose own sentence would name JSON.
fn dated(date: &toml::value::Datetime, expected: &dyn Expected) -> KeyError {
    let text = expected.to_string();
    let expected = if text.contains("JSON") { "text in quotes, a number, a list or a table" } else { &text };
    KeyError::custom(format!("invalid type: date `{date}`, expected {expected}"))
}

impl<'de> Deserializer<'de> for Given<'de> {
    type Error = KeyError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, KeyError> {
        match self.0 {
            Value::String(text) => visitor.visit_borrowed_str(text),
            Value::Integer(whole) => visitor.visit_i64(*whole),
            Value::Float(real) => visitor.visit_f64(*real),
            Value::Boolean(flag) => visitor.visit_bool(*flag),
            Value::Datetime(date) => Err(dated(date, &visitor)),
            Value::Array(entries) => visitor.visit_seq(Entries(entries.iter().enumerate())),
            Value::Table(table) => visitor.visit_map(Keys::of(table)),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, KeyError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, KeyError> {
        visitor.visit_newtype_struct(self)
    }

    /// A list is none: its entries would be taken for the fields in their order, and none at all for their defaults.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, KeyError> {
        match self.0 {
            Value::Array(_) => Err(KeyError::custom("invalid type: list, expected a table")),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, KeyError> {
        match self.0 {
            Value::String(variant) => visitor.visit_enum(StrDeserializer::new(variant)),
            Value::Table(table) if table.len() == 1 => visitor.visit_enum(Keys::of(table)),
            Value::Table(_) => Err(KeyError::custom("invalid type: table, expected text in quotes")),
            _ => Err(KeyError::custom("expected text in quotes")),
        }
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map identifier ignored_any
    }
}

impl<'de> EnumAccess<'de> for Keys<'de> {
    type Error = KeyError;
    type Variant = Settings<'de>;

    fn variant_seed<V: DeserializeSeed<'de>>(mut self, seed: V) -> Result<(V::Value, Settings<'de>), KeyError> {
        let variant = self.next_key_seed(seed)?;
        match (variant, self.next) {
            (Some(variant), Some((name, value))) => Ok((variant, Settings { name, value })),
            _ => Err(KeyError::custom("expected text in quotes")),
        }
    }
}

/// The settings of a variant, by its name.
struct Settings<'a> {
    name: &'a str,
    value: &'a Value,
}

impl<'de> VariantAccess<'de> for Settings<'de> {
    type Error = KeyError;

    fn unit_variant(self) -> Result<(), KeyError> {
        match self.value {
            Value::Table(table) if table.is_empty() => Ok(()),
            _ => Err(KeyError::custom("expected an empty table").below(self.name)),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, KeyError> {
        seed.deserialize(Given(self.value)).map_err(|error| error.below(self.name))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, KeyError> {
        Given(self.value).deserialize_any(visitor).map_err(|error| error.below(self.name))
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], visitor: V) -> Result<V::Value, KeyError> {
        Given(self.value).deserialize_any(visitor).map_err(|error| error.below(self.name))
    }
}
