//! Units as types: points in time, spans, rates, sizes and fractions, each with its spelling.
//!
//! No bare number crosses a module boundary in ackclock. Spelling follows `tc`: `10mbit`, `40ms`,
//! `64kB`, `1%`; `k`, `M` and `G` are powers of ten, only `Ki` and `Mi` are binary. Parsing is strict:
//! a number without its unit is refused, and so is `kbps`, which means kilobytes to `tc` and kilobits
//! to everybody else.

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub mod bounds;
mod count;
mod counters;
mod digest;
mod distribution;
mod ecn;
mod empirical;
pub mod packet;
mod parse;
mod random;
mod rate;
mod size;
pub mod tc;
mod time;

pub use count::Count;
pub use counters::SenderCounters;
pub use digest::Digest;
pub use distribution::{Distribution, Quantity};
pub use ecn::Ecn;
pub use empirical::{EMPIRICAL, Empirical};
pub use parse::ParseError;
pub use random::Random;
pub use rate::Rate;
pub use size::{Bytes, Fraction};
pub use time::{Span, Time};
