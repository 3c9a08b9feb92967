//! The range of a parameter. One typed value serves the check, the words of its message, the documentation and the JSON
//! schema.

use std::fmt;

use serde_json::{Value, json};
use units::{Rate, Span};

/// A value of a parameter as a scenario writes it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Literal {
    /// A number.
    Number(f64),
    /// A whole number.
    Integer(u32),
    /// A time with its unit.
    Time(Span),
    /// A rate with its unit.
    Rate(Rate),
    /// `true` or `false`.
    Switch(bool),
    /// One of some words.
    Word(&'static str),
}

impl Literal {
    /// As JSON has it.
    pub fn to_json(self) -> Value {
        match self {
            // Whole, so that 1 is written and not 1.0.
            Self::Number(x) if x.fract() == 0.0 && x.abs() < 1e15 => json!(x as i64),
            Self::Number(x) => json!(x),
            Self::Integer(n) => json!(n),
            Self::Switch(on) => json!(on),
            Self::Time(_) | Self::Rate(_) | Self::Word(_) => Value::String(self.to_string()),
        }
    }

    /// Its size among values of its kind, 0 where that means nothing.
    fn magnitude(self) -> f64 {
        match self {
            Self::Number(x) => x,
            Self::Integer(n) => f64::from(n),
            Self::Time(span) => span.as_secs_f64(),
            Self::Rate(rate) => rate.bits_per_second() as f64,
            Self::Switch(_) | Self::Word(_) => 0.0,
        }
    }
}

impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // Not hundreds of digits.
            Self::Number(x) if *x != 0.0 && !(1e-4..1e24).contains(&x.abs()) => write!(f, "{x:e}"),
            Self::Number(x) => x.fmt(f),
            Self::Integer(n) => n.fmt(f),
            Self::Time(span) => span.fmt(f),
            Self::Rate(rate) => rate.fmt(f),
            Self::Switch(on) => on.fmt(f),
            Self::Word(word) => f.write_str(word),
        }
    }
}

/// How a parameter must compare with another one of the same kind, given by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// At least the other.
    NotBelow(&'static str),
    /// Less than the other.
    Below(&'static str),
    /// More than the other.
    Above(&'static str),
}

impl Relation {
    fn other(self) -> &'static str {
        match self {
            Self::NotBelow(other) | Self::Below(other) | Self::Above(other) => other,
        }
    }

    fn holds(self, value: Literal, other: Literal) -> bool {
        let (value, other) = (value.magnitude(), other.magnitude());
        match self {
            Self::NotBelow(_) => value >= other,
            Self::Below(_) => value < other,
            Self::Above(_) => value > other,
        }
    }
}

impl fmt::Display for Relation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotBelow(other) => write!(f, "not below {other}"),
            Self::Below(other) => write!(f, "below {other}"),
            Self::Above(other) => write!(f, "above {other}"),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Edge<T> {
    value: T,
    /// Whether the edge itself is not allowed.
    open: bool,
}

/// The lower end of an interval, from [`above`] or [`from`]. The upper end makes it [`Bounds`].
#[derive(Clone, Copy, Debug)]
pub struct Low<T>(Edge<T>);

/// More than `value`.
pub const fn above<T: Copy>(value: T) -> Low<T> {
    Low(Edge { value, open: true })
}

/// At least `value`.
pub const fn from<T: Copy>(value: T) -> Low<T> {
    Low(Edge { value, open: false })
}

impl<T: Copy> Low<T> {
    /// At most `value`.
    pub const fn up_to(self, value: T) -> Bounds<T> {
        Bounds { low: self.0, high: Edge { value, open: false }, relation: None }
    }

    /// Less than `value`.
    pub const fn below(self, value: T) -> Bounds<T> {
        Bounds { low: self.0, high: Edge { value, open: true }, relation: None }
    }
}

/// An interval whose ends may be open: `above(0.0).up_to(1000.0)`, `from(1).up_to(64)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds<T> {
    low: Edge<T>,
    high: Edge<T>,
    relation: Option<Relation>,
}

impl<T: Copy> Bounds<T> {
    /// Also at least parameter `other`.
    #[must_use]
    pub const fn not_below(self, other: &'static str) -> Self {
        Self { relation: Some(Relation::NotBelow(other)), ..self }
    }

    /// Also less than parameter `other`.
    #[must_use]
    pub const fn less_than(self, other: &'static str) -> Self {
        Self { relation: Some(Relation::Below(other)), ..self }
    }

    /// Also more than parameter `other`.
    #[must_use]
    pub const fn more_than(self, other: &'static str) -> Self {
        Self { relation: Some(Relation::Above(other)), ..self }
    }

    fn contains(&self, value: T) -> bool
    where
        T: PartialOrd,
    {
        let Self { low, high, .. } = self;
        (if low.open { value > low.value } else { value >= low.value })
            && (if high.open { value < high.value } else { value <= high.value })
    }

    fn words(&self, literal: fn(T) -> Literal) -> String {
        let (low, high) = (literal(self.low.value), literal(self.high.value));
        let interval = match (self.low.open, self.high.open) {
            (false, false) => format!("{low} to {high}"),
            (true, false) => format!("above {low}, at most {high}"),
            (true, true) => format!("above {low}, below {high}"),
            (false, true) => format!("at least {low}, below {high}"),
        };
        match self.relation {
            Some(relation) => format!("{interval}, {relation}"),
            None => interval,
        }
    }

    fn schema(&self, kind: &str, literal: fn(T) -> Literal) -> Value {
        let low = if self.low.open { "exclusiveMinimum" } else { "minimum" };
        let high = if self.high.open { "exclusiveMaximum" } else { "maximum" };
        json!({ "type": kind, low: literal(self.low.value).to_json(), high: literal(self.high.value).to_json() })
    }
}

/// The values allowed for a parameter. Displays in words.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Range {
    /// A number.
    Number(Bounds<f64>),
    /// A whole number.
    Integer(Bounds<u32>),
    /// A whole number, or this word.
    IntegerOr(Bounds<u32>, &'static str),
    /// A time.
    Time(Bounds<Span>),
    /// A rate.
    Rate(Bounds<Rate>),
    /// `true` or `false`.
    Switch,
    /// One of these.
    Choice(&'static [Literal]),
}

impl Range {
    /// `value`, if it is of the right kind, otherwise its fault in words.
    pub(crate) fn read(&self, value: &Value) -> Result<Literal, String> {
        let value = value.clone();
        let wrong = |error: serde_json::Error| in_words(&error.to_string());
        match self {
            Self::Number(_) => serde_json::from_value(value).map(Literal::Number).map_err(wrong),
            Self::IntegerOr(_, word) if value == *word => Ok(Literal::Word(word)),
            Self::Integer(_) | Self::IntegerOr(..) => {
                serde_json::from_value(value).map(Literal::Integer).map_err(wrong)
            }
            Self::Time(_) => serde_json::from_value(value).map(Literal::Time).map_err(wrong),
            Self::Rate(_) => serde_json::from_value(value).map(Literal::Rate).map_err(wrong),
            Self::Switch => serde_json::from_value(value).map(Literal::Switch).map_err(wrong),
            Self::Choice(choices) => choices
                .iter()
                .copied()
                .find(|choice| choice.to_json() == value)
                .ok_or_else(|| format!("{value} is not allowed")),
        }
    }

    /// Whether `value` is within. `other` gives the value of the parameter of that name.
    pub(crate) fn contains(&self, value: Literal, other: impl Fn(&str) -> Option<Literal>) -> bool {
        let within = match (self, value) {
            (Self::Number(bounds), Literal::Number(x)) => bounds.contains(x),
            (Self::Integer(bounds) | Self::IntegerOr(bounds, _), Literal::Integer(n)) => bounds.contains(n),
            (Self::Time(bounds), Literal::Time(span)) => bounds.contains(span),
            (Self::Rate(bounds), Literal::Rate(rate)) => bounds.contains(rate),
            _ => true,
        };
        within && self.relation().is_none_or(|is| other(is.other()).is_none_or(|other| is.holds(value, other)))
    }

    fn relation(&self) -> Option<Relation> {
        match self {
            Self::Number(bounds) => bounds.relation,
            Self::Integer(bounds) | Self::IntegerOr(bounds, _) => bounds.relation,
            Self::Time(bounds) => bounds.relation,
            Self::Rate(bounds) => bounds.relation,
            Self::Switch | Self::Choice(_) => None,
        }
    }

    /// Its JSON schema. Times and rates are strings, whose bounds a schema cannot say.
    pub(crate) fn schema(&self) -> Value {
        match self {
            Self::Number(bounds) => bounds.schema("number", Literal::Number),
            Self::Integer(bounds) => bounds.schema("integer", Literal::Integer),
            Self::IntegerOr(bounds, word) => {
                json!({ "anyOf": [bounds.schema("integer", Literal::Integer), { "const": word }] })
            }
            Self::Time(_) | Self::Rate(_) => json!({ "type": "string" }),
            Self::Switch => json!({ "type": "boolean" }),
            Self::Choice(choices) => json!({ "enum": choices.iter().map(|one| one.to_json()).collect::<Value>() }),
        }
    }
}

/// `message` of a deserialiser with the names of Rust's types in words.
fn in_words(message: &str) -> String {
    let names = [
        ("expected f64", "expected a number"),
        ("expected u32", "expected a whole number"),
        ("expected a boolean", "expected true or false"),
    ];
    names.iter().fold(message.to_owned(), |text, (from, to)| text.replace(from, to))
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(bounds) => f.write_str(&bounds.words(Literal::Number)),
            Self::Integer(bounds) => f.write_str(&bounds.words(Literal::Integer)),
            Self::IntegerOr(bounds, word) => write!(f, "{}, or \"{word}\"", bounds.words(Literal::Integer)),
            Self::Time(bounds) => f.write_str(&bounds.words(Literal::Time)),
            Self::Rate(bounds) => f.write_str(&bounds.words(Literal::Rate)),
            Self::Switch => f.write_str("true or false"),
            Self::Choice(choices) => {
                for (i, choice) in choices.iter().enumerate() {
                    let before = if i == 0 {
                        ""
                    } else if i + 1 == choices.len() {
                        " or "
                    } else {
                        ", "
                    };
                    write!(f, "{before}{}", choice.to_json())?;
                }
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_and_closed_ends_are_checked_as_they_are_worded() {
        // (range, words, allowed, refused)
        let of = [
            (from(1.0).up_to(2.0), "1 to 2", [1.0, 2.0], [0.9, 2.1]),
            (above(1.0).up_to(2.0), "above 1, at most 2", [1.1, 2.0], [1.0, 2.1]),
            (above(1.0).below(2.0), "above 1, below 2", [1.1, 1.9], [1.0, 2.0]),
            (from(1.0).below(2.0), "at least 1, below 2", [1.0, 1.9], [0.9, 2.0]),
        ];
        for (bounds, words, allowed, refused) in of {
            let range = Range::Number(bounds);
            assert_eq!(range.to_string(), words);
            let holds = |x| range.contains(Literal::Number(x), |_| None);
            assert_eq!((allowed.map(holds), refused.map(holds)), ([true, true], [false, false]), "{words}");
        }
    }

    #[test]
    fn a_relation_compares_with_the_other_parameter() {
        let bounds = from(Span::ZERO).up_to(Span::from_secs(10));
        let time = |millis| Literal::Time(Span::from_millis(millis));
        let other = |_: &str| Some(time(5));
        // Against 5 ms: (range, words, whether 4, 5 and 6 ms are allowed).
        for (bounds, words, allowed) in [
            (bounds.not_below("t"), "0s to 10s, not below t", [false, true, true]),
            (bounds.less_than("t"), "0s to 10s, below t", [true, false, false]),
            (bounds.more_than("t"), "0s to 10s, above t", [false, false, true]),
        ] {
            let range = Range::Time(bounds);
            assert_eq!(range.to_string(), words);
            assert_eq!([4, 5, 6].map(|millis| range.contains(time(millis), other)), allowed, "{words}");
        }
    }

    #[test]
    fn choices_are_worded_as_they_are_written() {
        const CHOICES: &[Literal] = &[Literal::Integer(1), Literal::Integer(2), Literal::Word("both")];
        let range = Range::Choice(CHOICES);
        assert_eq!(range.to_string(), "1, 2 or \"both\"");
        assert_eq!(range.read(&json!(2)), Ok(Literal::Integer(2)));
        assert_eq!(range.read(&json!("both")), Ok(Literal::Word("both")));
        assert_eq!(range.read(&json!("2")), Err("\"2\" is not allowed".to_owned()));
    }

    #[test]
    fn very_small_and_very_large_numbers_are_written_with_an_exponent() {
        let written = [0.0, 1.0, 0.875, 1e-6, 1e6, 1e300].map(|x| Literal::Number(x).to_string());
        assert_eq!(written, ["0", "1", "0.875", "1e-6", "1000000", "1e300"]);
    }

    #[test]
    fn the_schema_has_the_same_ends() {
        assert_eq!(
            Range::Number(above(0.0).up_to(1000.0)).schema(),
            json!({ "type": "number", "exclusiveMinimum": 0, "maximum": 1000 })
        );
        assert_eq!(
            Range::IntegerOr(from(2).up_to(9), "all").schema(),
            json!({ "anyOf": [{ "type": "integer", "minimum": 2, "maximum": 9 }, { "const": "all" }] })
        );
        assert_eq!(Range::Choice(&[Literal::Word("a"), Literal::Integer(2)]).schema(), json!({ "enum": ["a", 2] }));
    }

    #[test]
    fn numbers_are_whole_in_json_as_long_as_they_are_exact() {
        let written = |x| Literal::Number(x).to_json().to_string();
        assert_eq!([3.0, 0.5, 999_999_999_999_999.0].map(written), ["3", "0.5", "999999999999999"]);
        assert_eq!(written(1e15), "1000000000000000.0");
    }
}
