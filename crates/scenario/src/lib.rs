//! The scenario language: types, defaults, validation, JSON schema.
//!
//! A scenario is written as TOML (or as JSON of the same shape) and read into [`Scenario`], which is the
//! definition of the language: parser, defaults and [`schema`] come from it. [`Scenario::plan`] checks keys against
//! each other, and gives the [`Plan`] that an engine runs: links with their settings, flows with their route,
//! everything by index. The caller passes the [`Files`] that it names. Every [`Error`] is one sentence with file, line
//! and key.
//!
//! ```
//! let text = r#"
//!     duration = "10s"
//!     path = { rate = "10mbit", rtt = "40ms", queue = "84p" }
//!     flows = [{ cc = "newreno" }]
//! "#;
//! let plan = scenario::from_toml(text, "demo.toml")?.plan(&scenario::NoFiles)?;
//! assert_eq!(plan.flows[0].name(), "newreno-0");
//! # Ok::<(), scenario::Error>(())
//! ```

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod beyond;
mod bounds;
mod copies;
mod deserializer;
mod document;
mod draw;
mod error;
mod files;
mod hidden;
mod kind;
mod language;
mod marks;
mod media;
mod memory;
mod multipath;
mod plan;
mod queue_remarks;
mod quick_start;
mod reader;
mod relay;
mod resolve;
mod route;
mod routing;
mod schema;
mod tables;
mod transport_options;
mod values;
mod wireless;
mod wlan;

pub use document::{Document, from_json, from_path, from_toml};
pub use draw::{DrawnFlow, Page};
pub use error::Error;
pub use files::{Files, NoFiles};
pub use hidden::HiddenSpec;
pub use language::{
    Change, Flow, HostBuffers, Link, Path, Protocol, Record, Relay, Reverse, Scenario, SnoopAgent, Subflow,
};
pub use plan::{
    FlowSettings, Hop, Kind, Pages, Plan, PlannedChange, PlannedFlow, PlannedLink, PlannedMedium, PlannedRelay,
    PlannedSubflow,
};
pub use quick_start::quick_start_rate;
pub use schema::schema;
pub use tables::trace_keys;
pub use transport_options::{Configured, Sysctl, TransportOptions, configure, sysctls};
pub use values::{
    Arrivals, ChangingQueue, ClearEcn, Delay, DelaySpec, Dscp, DuplicateSpec, FramingSpec, JitterSpec, Limit, LossSpec,
    OnOff, Paced, Packets, QueueSpec, RateSpec, Sampling, Source, TraceRef, WindowSpec, path_of_tc,
};
pub use wlan::{AccessCategory, ConventionsSpec, Distance, FrameRate, Station, Stations, Txop, Wlan};
