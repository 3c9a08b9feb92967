//! Shared parts of all engines: runs, the network of a plan in motion, its meters and rows, and the sources of its
//! flows.
//!
//! An engine brings a clock and the two ends of each flow. A [`Fabric`] connects them. It is handed `now` and reads no
//! clock itself: virtual time and real time drive the same links, queues and wires and fill the same rows.

mod capture;
mod controllers;
mod cut;
mod event_queue;
mod fabric;
mod medium;
mod number;
mod physics;
mod route;
mod row;
mod rows;
mod run;
mod schedule;
mod source;
mod stages;
mod state;

pub use capture::{CaptureTo, Interfaces, comment};
pub use controllers::{Conduct, Factory, controller};
pub use cut::{Cut, NETWORK, RECEIVERS, SENDERS};
pub use event_queue::EventQueue;
pub use fabric::{Fabric, mark_bottleneck};
pub use number::{read_number, write_number};
pub use physics::check_physics;
pub use row::flow_row;
pub use rows::{ProbeRows, flow_event, sender_event, video_frames};
pub use run::{Cost, Engine, Failure, Job, Outcome, Stopwatch, Watch};
pub use schedule::{AckRows, DueAtAcks, Schedule, Series};
pub use source::{datagram_source, media_source, pace};
pub use state::{Routed, Tap};
