//! What a run needs of the machine: namespaces with a device each, sockets in them, and system calls.

pub(crate) mod hosts;
pub(crate) mod listeners;
pub(crate) mod namespace;
mod netlink;
pub(crate) mod sockets;
pub(crate) mod system;
