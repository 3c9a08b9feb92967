//! Settings of queue disciplines with the words of `tc` that mean them, each declared once.
//!
//! [`settings!`] declares the settings of a discipline. Live runs write the words, `--tc` reads them, and a page lists
//! them. A setting that is written and read again is the same, or the writer refuses it.

mod declare;
mod setting;
mod value;

use units::{Bytes, Rate};

pub(crate) use self::declare::{choices, settings};
pub(crate) use self::setting::{Form, Part, Rest, Setting};
use self::value::Value as _;
use crate::framing::Frame;
use crate::{Framing, Limit};

/// The limit in packets of a queue without one.
const WITHOUT_END: u32 = 1_000_000;

/// How `tc` bounds a queue.
pub(crate) enum Bound {
    /// By `limit`, in packets.
    Packets,
    /// By `limit`, in bytes.
    Bytes,
    /// By a setting.
    Setting(&'static str),
}

/// A change of several settings at once.
type Change<S> = fn(&mut S);

/// The words of `tc` for a discipline with the settings `S`.
pub struct Dialect<S: 'static> {
    pub(crate) name: &'static str,
    pub(crate) bound: Bound,
    /// The word for the rate of the link, if the discipline shapes.
    pub(crate) rate: Option<&'static str>,
    /// The settings that `tc` has if no word is given.
    pub(crate) omitted: fn() -> S,
    pub(crate) settings: &'static [&'static dyn Part<S>],
    /// Words for several settings at once, and second words for one.
    pub(crate) shorthands: &'static [(&'static str, Change<S>)],
    /// How a keyword of framing changes the settings, if `tc` has these keywords for the discipline.
    pub(crate) framed: Option<fn(&mut S, Frame)>,
    /// Words that change nothing here, and why.
    pub(crate) passed: &'static [(&'static str, &'static str)],
    /// Words for which there is no setting, and why.
    pub(crate) refused: &'static [(&'static str, &'static str)],
    /// Settings that follow from all words together.
    pub(crate) settle: Option<Change<S>>,
}

/// First in, first out, by packets.
pub(crate) const PFIFO: Dialect<()> = first_in_first_out("pfifo", Bound::Packets);
/// First in, first out, by bytes.
pub(crate) const BFIFO: Dialect<()> = first_in_first_out("bfifo", Bound::Bytes);

const fn first_in_first_out(name: &'static str, bound: Bound) -> Dialect<()> {
    Dialect {
        name,
        bound,
        rate: None,
        omitted: || (),
        settings: &[],
        shorthands: &[],
        framed: None,
        passed: &[],
        refused: &[],
        settle: None,
    }
}

/// A queue as a line of `tc` describes it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TcQueue<S> {
    /// The settings of its discipline.
    pub settings: S,
    /// Its limit, if the line has one.
    pub limit: Option<Limit>,
    /// The rate of the link, if the line has it.
    pub rate: Option<Rate>,
}

impl<S> TcQueue<S> {
    /// The same queue with its settings in another type.
    pub(crate) fn map<T>(self, into: impl FnOnce(S) -> T) -> TcQueue<T> {
        TcQueue { settings: into(self.settings), limit: self.limit, rate: self.rate }
    }
}

/// A word of `tc` and its meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcWord {
    /// The discipline, by its name in `tc`.
    pub discipline: &'static str,
    /// The word.
    pub word: &'static str,
    /// The kind of value behind it.
    pub takes: Option<&'static str>,
    /// The meaning.
    pub meaning: TcMeaning,
}

/// The meaning of a word of `tc`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TcMeaning {
    /// The setting with this key.
    Key(&'static str),
    /// Several settings, or one that has another word too.
    Shorthand,
    /// Nothing here, for this reason.
    Passed(&'static str),
    /// It is refused, for this reason.
    Refused(&'static str),
}

impl<S: Copy + Default> Dialect<S> {
    /// The name, and the words for `limit` and `settings`.
    ///
    /// # Errors
    /// The first setting that `tc` cannot be told.
    pub(crate) fn write(&self, settings: &S, limit: Limit) -> Result<Vec<String>, String> {
        let mut words = vec![self.name.to_owned()];
        let limit = match (&self.bound, limit) {
            (Bound::Packets, Limit::Packets(packets)) => Some(packets.to_string()),
            (Bound::Packets, Limit::Infinite) => Some(WITHOUT_END.to_string()),
            (Bound::Packets, _) => return Err("its limit in `tc` is one in packets".to_owned()),
            (Bound::Bytes, Limit::Bytes(bytes)) => bytes.written(),
            (Bound::Bytes, _) => return Err("its limit in `tc` is one in bytes".to_owned()),
            (Bound::Setting(_), Limit::Infinite) => None,
            (Bound::Setting(key), _) => return Err(format!("`tc` bounds `{}` by `{key}` alone", self.name)),
        };
        words.extend(limit.into_iter().flat_map(|limit| ["limit".to_owned(), limit]));
        let (omitted, default) = ((self.omitted)(), S::default());
        for setting in self.settings {
            words.extend(setting.write(settings, &omitted, &default)?);
        }
        Ok(words)
    }

    /// The queue of `words`, which follow the name.
    ///
    /// # Errors
    /// The first word that cannot be read, and why.
    pub(crate) fn read(&self, words: &[&str]) -> Result<TcQueue<S>, String> {
        let mut queue = TcQueue { settings: (self.omitted)(), limit: None, rate: None };
        let mut rest = Rest::new(words);
        while let Some(word) = rest.next() {
            self.read_word(word, &mut rest, &mut queue).map_err(|why| format!("{}: {why}", self.name))?;
        }
        if let Some(settle) = self.settle {
            settle(&mut queue.settings);
        }
        Ok(queue)
    }

    fn read_word(&self, word: &str, rest: &mut Rest<'_>, queue: &mut TcQueue<S>) -> Result<(), String> {
        if let ("limit", Bound::Packets) = (word, &self.bound) {
            let packets = rest.value(word)?;
            queue.limit = Some(Limit::Packets(u32::read(packets.strip_suffix('p').unwrap_or(packets))?));
            return Ok(());
        }
        if let ("limit", Bound::Bytes) = (word, &self.bound) {
            queue.limit = Some(Limit::Bytes(Bytes::read(rest.value(word)?)?));
            return Ok(());
        }
        if self.rate == Some(word) {
            let rate = rest.value(word)?;
            queue.rate = if rate == "unlimited" { None } else { Some(Rate::read(rate)?) };
            return Ok(());
        }
        if let Some((_, set)) = self.shorthands.iter().find(|(one, _)| *one == word) {
            set(&mut queue.settings);
            return Ok(());
        }
        if let Some(framed) = self.framed
            && let Some((_, frame)) = Framing::KEYWORDS.iter().find(|(one, _)| *one == word)
        {
            framed(&mut queue.settings, *frame);
            return Ok(());
        }
        for setting in self.settings {
            if setting.read(&mut queue.settings, word, rest)? {
                return Ok(());
            }
        }
        if self.passed.iter().any(|(one, _)| *one == word) {
            return Ok(());
        }
        if let Some((_, why)) = self.refused.iter().find(|(one, _)| *one == word) {
            return Err(format!("`{word}`: {why}"));
        }
        let known: Vec<&str> = self.words().into_iter().filter(TcWord::is_read).map(|known| known.word).collect();
        Err(format!("there is no `{word}`; there are {}", known.join(", ")))
    }

    /// Every word of the discipline.
    pub(crate) fn words(&self) -> Vec<TcWord> {
        let word = |word, takes, meaning| TcWord { discipline: self.name, word, takes, meaning };
        let limit = match self.bound {
            Bound::Packets => Some(word("limit", Some("PACKETS"), TcMeaning::Key("limit"))),
            Bound::Bytes => Some(word("limit", Some("SIZE"), TcMeaning::Key("limit"))),
            Bound::Setting(_) => None,
        };
        let rate = self.rate.map(|rate| word(rate, Some(Rate::KIND), TcMeaning::Key("rate")));
        let settings = self.settings.iter().flat_map(|setting| {
            setting.words().into_iter().map(|(one, takes)| word(one, takes, TcMeaning::Key(setting.key())))
        });
        let keywords = self.framed.iter().flat_map(|_| Framing::KEYWORDS).map(|(one, _)| *one);
        let shorthands = self.shorthands.iter().map(|(one, _)| *one).chain(keywords);
        let shorthands = shorthands.map(|one| word(one, None, TcMeaning::Shorthand));
        let passed = self.passed.iter().map(|&(one, why)| word(one, None, TcMeaning::Passed(why)));
        let refused = self.refused.iter().map(|&(one, why)| word(one, None, TcMeaning::Refused(why)));
        limit.into_iter().chain(rate).chain(settings).chain(shorthands).chain(passed).chain(refused).collect()
    }
}

impl TcWord {
    /// False if it is refused.
    pub fn is_read(&self) -> bool {
        !matches!(self.meaning, TcMeaning::Refused(_))
    }
}
