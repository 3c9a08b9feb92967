//! Values as `tc` spells them.

use units::{Bytes, Fraction, Rate, Span, tc};

/// A value as `tc` spells it.
pub(crate) trait Value: Sized {
    /// The kind of word, as usage lines name it.
    const KIND: &'static str;

    /// The value of `word`.
    fn read(word: &str) -> Result<Self, String>;

    /// Its word; `None` if it is not given.
    fn written(&self) -> Option<String>;
}

impl Value for Span {
    const KIND: &'static str = "TIME";

    fn read(word: &str) -> Result<Self, String> {
        tc::time(word).map_err(|error| error.to_string())
    }

    /// `tc` counts whole microseconds.
    fn written(&self) -> Option<String> {
        Some(format!("{}us", self.as_nanos().div_ceil(1000)))
    }
}

impl Value for Bytes {
    const KIND: &'static str = "SIZE";

    fn read(word: &str) -> Result<Self, String> {
        tc::size(word).map_err(|error| error.to_string())
    }

    fn written(&self) -> Option<String> {
        Some(self.get().to_string())
    }
}

impl Value for Rate {
    const KIND: &'static str = "RATE";

    fn read(word: &str) -> Result<Self, String> {
        tc::rate(word).map_err(|error| error.to_string())
    }

    fn written(&self) -> Option<String> {
        Some(tc::spelled_rate(*self))
    }
}

/// A share of 1, without a sign.
impl Value for Fraction {
    const KIND: &'static str = "SHARE";

    fn read(word: &str) -> Result<Self, String> {
        let share = word.parse().ok().and_then(Self::new);
        share.ok_or_else(|| format!("{word}: is no share from 0 to 1, like 0.02"))
    }

    fn written(&self) -> Option<String> {
        Some(self.get().to_string())
    }
}

macro_rules! numbers {
    ($($number:ty: $kind:literal, $what:literal;)+) => {$(
        impl Value for $number {
            const KIND: &'static str = $kind;

            fn read(word: &str) -> Result<Self, String> {
                word.parse().map_err(|_| format!(concat!("{}: is no ", $what), word))
            }

            fn written(&self) -> Option<String> {
                Some(self.to_string())
            }
        }
    )+};
}

numbers! {
    u32: "NUMBER", "whole number";
    i32: "NUMBER", "whole number";
    f64: "NUMBER", "number";
}

impl<T: Value> Value for Option<T> {
    const KIND: &'static str = T::KIND;

    fn read(word: &str) -> Result<Self, String> {
        T::read(word).map(Some)
    }

    fn written(&self) -> Option<String> {
        self.as_ref().and_then(T::written)
    }
}
