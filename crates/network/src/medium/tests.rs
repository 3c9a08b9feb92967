//! The medium against Bianchi's model and against exchanges worked out by hand.

mod airtime;
mod beacons;
mod exchanges;
mod hidden;
mod recorded;
mod rules;
mod saturation;
