//! A setting of a discipline, and its words in `tc`.

use super::value::Value;

/// How `tc` says a setting of type `T`.
pub(crate) enum Form<T: 'static> {
    /// Each of these words means a value.
    Words(&'static [(&'static str, T)]),
    /// Its name, and the value behind it.
    Value {
        kind: &'static str,
        /// `tc` prints it behind the value.
        suffix: &'static str,
        read: fn(&str) -> Result<T, String>,
        written: fn(&T) -> Option<String>,
    },
}

impl<T: Value> Form<T> {
    pub(crate) const fn value(suffix: &'static str) -> Self {
        Self::Value { kind: T::KIND, suffix, read: T::read, written: T::written }
    }
}

/// A setting of `S` and its form.
pub(crate) struct Setting<S: 'static, T: 'static> {
    pub(crate) key: &'static str,
    pub(crate) form: Form<T>,
    pub(crate) of: fn(&S) -> &T,
    pub(crate) of_mut: fn(&mut S) -> &mut T,
    /// Only values other than the default of `tc` are written.
    pub(crate) if_other: bool,
    /// A switch that `tc` has in place of it.
    pub(crate) unless: Option<fn(&mut S) -> &mut bool>,
}

/// A [`Setting`] of any type.
pub(crate) trait Part<S> {
    fn key(&self) -> &'static str;

    /// Each of its words, with the kind of the value behind it.
    fn words(&self) -> Vec<(&'static str, Option<&'static str>)>;

    /// The words for the value in `settings`. Without them `tc` has the value in `omitted`.
    fn write(&self, settings: &S, omitted: &S, default: &S) -> Result<Vec<String>, String>;

    /// Reads `word` and the value behind it. False if it is none of its words.
    fn read(&self, settings: &mut S, word: &str, rest: &mut Rest<'_>) -> Result<bool, String>;
}

impl<S: Copy, T: Copy + PartialEq> Part<S> for Setting<S, T> {
    fn key(&self) -> &'static str {
        self.key
    }

    fn words(&self) -> Vec<(&'static str, Option<&'static str>)> {
        match &self.form {
            Form::Words(words) => words.iter().map(|(word, _)| (*word, None)).collect(),
            Form::Value { kind, .. } => vec![(self.key, Some(*kind))],
        }
    }

    fn write(&self, settings: &S, omitted: &S, default: &S) -> Result<Vec<String>, String> {
        let (value, mut copy) = ((self.of)(settings), *settings);
        let silenced = self.unless.is_some_and(|other| *other(&mut copy));
        let is_omitted = value == (self.of)(if silenced { default } else { omitted });
        if is_omitted && (silenced || self.if_other) {
            return Ok(Vec::new());
        }
        let words = match &self.form {
            Form::Words(words) => {
                words.iter().find(|(_, means)| means == value).map(|(word, _)| vec![(*word).to_owned()])
            }
            Form::Value { written, .. } => written(value).map(|word| vec![self.key.to_owned(), word]),
        };
        match words {
            Some(words) => Ok(words),
            None if is_omitted => Ok(Vec::new()),
            None => Err(format!("`tc` has no `{}`", self.key)),
        }
    }

    fn read(&self, settings: &mut S, word: &str, rest: &mut Rest<'_>) -> Result<bool, String> {
        let value = match &self.form {
            Form::Words(words) => match words.iter().find(|(one, _)| *one == word) {
                Some((_, value)) => *value,
                None => return Ok(false),
            },
            Form::Value { suffix, read, .. } if word == self.key => {
                let value = rest.value(word)?;
                read(value.strip_suffix(suffix).unwrap_or(value))?
            }
            Form::Value { .. } => return Ok(false),
        };
        *(self.of_mut)(settings) = value;
        if let Some(other) = self.unless {
            *other(settings) = false;
        }
        Ok(true)
    }
}

/// The words of a line behind the one that is read.
pub(crate) struct Rest<'a>(std::slice::Iter<'a, &'a str>);

impl<'a> Rest<'a> {
    pub(crate) fn new(words: &'a [&'a str]) -> Self {
        Self(words.iter())
    }

    pub(crate) fn next(&mut self) -> Option<&'a str> {
        self.0.next().copied()
    }

    /// The next word, which is the value of `after`.
    pub(crate) fn value(&mut self, after: &str) -> Result<&'a str, String> {
        self.next().ok_or_else(|| format!("`{after}` needs a value"))
    }
}
