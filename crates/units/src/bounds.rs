//! The bounds of keys. One declaration gives the check with its sentence, and the words of the JSON schema.

use std::fmt::Display;

use schemars::Schema;

use crate::{Bytes, Rate, Span};

/// A quantity whose least and largest values a key may declare.
pub trait Bounded: Copy + PartialOrd + Display {
    /// The words of a JSON schema for the least and the largest value: those of numbers, or those of formats, as a
    /// quantity with its unit is a text.
    const WORDS: [&str; 2];

    /// Adds the words to the schema of a key.
    fn describe(schema: &mut Schema, key: &str, ends: [Self; 2]);
}

macro_rules! bounded {
    ($words:expr, $spelled:expr, $($quantity:ty),+) => {$(
        impl Bounded for $quantity {
            const WORDS: [&str; 2] = $words;

            fn describe(schema: &mut Schema, key: &str, ends: [Self; 2]) {
                let properties = schema.get_mut("properties").and_then(|all| all.as_object_mut());
                let Some(property) = properties.and_then(|all| all.get_mut(key)?.as_object_mut()) else { return };
                for (word, end) in Self::WORDS.into_iter().zip(ends) {
                    property.insert(word.to_owned(), $spelled(end).into());
                }
            }
        }
    )+};
}
bounded!(["formatMinimum", "formatMaximum"], |end| format!("{end}"), Span, Rate, Bytes);
bounded!(["minimum", "maximum"], |end| end, u32, i32, f64);

/// The value of a key that may be left out.
pub trait Given {
    /// The quantity.
    type Value: Bounded;

    /// It, if it is given.
    fn given(&self) -> Option<Self::Value>;
}

impl<T: Bounded> Given for T {
    type Value = T;

    fn given(&self) -> Option<T> {
        Some(*self)
    }
}

impl<T: Bounded> Given for Option<T> {
    type Value = T;

    fn given(&self) -> Self {
        *self
    }
}

/// Refuses `value` of a key outside its bounds.
///
/// # Errors
/// The sentence, without the key.
pub fn within<G: Given>(value: &G, [least, most]: [G::Value; 2]) -> Result<(), String> {
    match value.given() {
        Some(value) if !(least..=most).contains(&value) => {
            Err(format!("`{value}` is out of range (allowed: {least} to {most})"))
        }
        _ => Ok(()),
    }
}

/// Adds the bounds of `key`, which may be left out, to the schema of its structure.
pub fn describe<G: Given>(schema: &mut Schema, key: &str, ends: [G::Value; 2]) {
    G::Value::describe(schema, key, ends);
}

/// Declares the bounds of keys of a structure: `bounds! { Settings { quantum: Bytes = FEW, MANY; } }` gives it
/// `out_of_bounds`, which names the first key that is, and `describe_bounds`, a transformation of its schema.
#[macro_export]
macro_rules! bounds {
    ($settings:ty {$($key:ident: $kind:ty = $least:expr, $most:expr;)+}) => {
        impl $settings {
            /// The bounds of each key, with its name.
            pub(crate) fn out_of_bounds(&self) -> Result<(), (&'static str, String)> {
                $($crate::bounds::within::<$kind>(&self.$key, [$least, $most])
                    .map_err(|why| (stringify!($key), why))?;)+
                Ok(())
            }

            /// Adds the bounds to the schema.
            pub(crate) fn describe_bounds(schema: &mut schemars::Schema) {
                $($crate::bounds::describe::<$kind>(schema, stringify!($key), [$least, $most]);)+
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default, serde::Deserialize, schemars::JsonSchema)]
    #[schemars(transform = Self::describe_bounds)]
    struct Settings {
        target: Span,
        packets: Option<u32>,
    }

    bounds! {
        Settings {
            target: Span = Span::from_millis(1), Span::from_secs(2);
            packets: Option<u32> = 1, 9;
        }
    }

    #[test]
    fn a_key_is_refused_beyond_the_ends_that_its_schema_has() {
        let of = |target, packets| Settings { target: Span::from_millis(target), packets }.out_of_bounds();
        assert_eq!((of(1, None), of(2000, Some(1)), of(1, Some(9))), (Ok(()), Ok(()), Ok(())));
        let why = "`2001ms` is out of range (allowed: 1ms to 2s)".to_owned();
        assert_eq!(of(2001, None), Err(("target", why.replace("2001ms", "2.001s"))));
        assert_eq!(of(0, None).unwrap_err().0, "target");
        let why = "`10` is out of range (allowed: 1 to 9)".to_owned();
        assert_eq!((of(1, Some(0)).unwrap_err().0, of(1, Some(10))), ("packets", Err(("packets", why))));
        let schema = schemars::schema_for!(Settings).to_value();
        let target = &schema["properties"]["target"];
        assert_eq!((&target["formatMinimum"], &target["formatMaximum"]), (&"1ms".into(), &"2s".into()));
        let packets = &schema["properties"]["packets"];
        assert_eq!((&packets["minimum"], &packets["maximum"]), (&1.into(), &9.into()));
    }
}
