//! The parts of the machine that a run needs: namespaces with a device each, sockets in them, and system calls.

pub(crate) mod arrivals;
pub(crate) mod hosts;
pub(crate) mod listeners;
pub(crate) mod namespace;
mod netlink;
pub(crate) mod router;
pub(crate) mod sockets;
pub(crate) mod system;
