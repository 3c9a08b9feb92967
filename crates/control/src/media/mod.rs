//! Controllers of media: they set the target rate of an encoder, [`pacing_rate`](crate::Controller::pacing_rate), in
//! flows of kind `media`.
//!
//! Each feedback brings a report of every packet with its delay
//! ([`on_segment_delivered`](crate::Controller::on_segment_delivered),
//! [`on_segment_lost`](crate::Controller::on_segment_lost)), and then one [`on_ack`](crate::Controller::on_ack). Rates
//! are of the payload. A window of [`WITHOUT_LIMIT`] limits nothing.

pub mod gcc;
pub mod nada;
mod received;
pub mod scream;

use crate::Entry;

/// The window of a controller that has a rate alone.
pub const WITHOUT_LIMIT: f64 = crate::law::LARGEST_WINDOW;

/// Every one, in alphabetical order.
pub(crate) const ENTRIES: &[Entry] = &[gcc::ENTRY, nada::ENTRY, scream::ENTRY];
