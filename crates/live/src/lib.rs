//! The real clock: runs a plan on the kernel's own TCP, across a path that this process emulates.
//!
//! [`check`] refuses plans that cannot run live. [`Live`] makes two network namespaces and joins them by the links and
//! wires of the plan. It opens a TCP connection or UDP sockets for each flow, and fills the tables that a simulated run
//! fills, with [`Fidelity`] about how well the machine kept up. [`shell`] runs programs of the user's own across the
//! same path. Nothing outside these namespaces is touched, and nothing stays when the process ends, however it ends.

#[cfg(not(target_os = "linux"))]
compile_error!("live runs need Linux");

mod algorithm;
mod check;
mod datagrams;
mod emulator;
mod fidelity;
mod host;
mod project_controllers;
mod queues;
mod run;
mod shell;
mod tcp;
mod testbed;
#[cfg(feature = "quic")]
mod udp;
mod virtual_time;
mod watchdog;

pub use algorithm::{Algorithm, Algorithms, InKernel, Internal, Listed};
pub use check::{MOST_FLOWS, Refusal, check};
pub use datagrams::are_of as of_datagrams;
pub use fidelity::{Fidelity, Lateness, Trains};
pub use host::namespace::check_machine;
pub use project_controllers::ProjectControllers;
pub use queues::Queues;
pub use run::{Live, Outcome};
pub use shell::{Reading, Shell, ShellOutcome, become_root, shell};
#[cfg(feature = "quic")]
pub use udp::QuicLive;
pub use virtual_time::VirtualTime;
