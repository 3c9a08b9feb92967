//! The output of a run: meters, columnar tables and packet captures.
//!
//! An engine feeds a [`LinkMeter`] per link direction and a [`FlowMeter`] per flow, pushes samples and
//! events into columns, and hands over [`Tables`]. [`Tables::into_tables`] turns them into named [`Table`]s
//! whose column vectors any consumer takes without copying. [`pcapng`] writes what passed an observation
//! point as a capture that Wireshark opens.
//!
//! Statistics ([`FlowRow`], [`LinkRow`]) cover the measured interval, from the end of the warm-up to the end of the
//! run. Series and events cover the whole run.

mod durations;
mod flow;
mod histogram;
mod link;
mod packed;
pub mod pcapng;
mod rows;
mod samples;
mod sending;
mod series;
mod station;
mod table;
mod waits;

pub use flow::{FlowCounters, FlowDescription, FlowMeter, FlowRow, Lifetime};
pub use histogram::Histogram;
pub use link::{LinkCounters, LinkDescription, LinkMeter, LinkRow};
pub use rows::{Columns, Series};
pub use samples::{Samples, Statistics};
pub use sending::Sending;
pub use series::{
    DatagramRow, Datagrams, EventKind, EventRow, Events, FlowSample, FlowSeries, FlowState, LinkSample, LinkSeries,
    Probes, VideoFrameRow, VideoFrames,
};
pub use station::{FrameFate, FrameRow, Frames, StationCounters, StationDescription, StationMeter, StationRow};
pub use table::{Column, Data, Table, Tables, milliseconds, seconds};

/// The version of the tables: names, types, units and meaning of their columns. Changes with any of them.
pub const SCHEMA_VERSION: u32 = 3;
