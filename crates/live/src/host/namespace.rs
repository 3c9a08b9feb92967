//! One end of the path: a network namespace with nothing in it but a TUN device, both without a name outside this
//! process.
//!
//! A namespace lives as long as something is open in it. Whatever ends the process closes all, so nothing stays.

use std::fs;
use std::io::{self, ErrorKind};
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use units::packet::MTU;

use crate::host::netlink;
use crate::host::sockets::NEAR;
use crate::host::system::{self, Interface};

/// The device in either namespace.
pub(crate) const DEVICE: &str = "path";
/// Both ends are in one network of this size.
const PREFIX: u32 = 30;
/// Packets that may wait to be read. A window of TCP may send more at once than the default of 500, and drops there are
/// silent.
const QUEUE_LENGTH: i32 = 10_000;

/// Refuses where this process cannot make the parts of a live run: a network namespace, and a device in it.
///
/// # Errors
/// A sentence that names the missing part.
pub fn check_machine() -> Result<(), String> {
    // A thread of its own, with which both go.
    let thread = std::thread::Builder::new().spawn(|| End::create(NEAR, MTU.get() as u32, None, &[]).map(drop));
    let thread = thread.map_err(|error| format!("a thread cannot be made: {error}"))?;
    thread.join().unwrap_or_else(|_| Err("a thread panicked".to_owned()))
}

/// Where the settings of TCP are.
const SETTINGS: &str = "/proc/sys/net/ipv4";

/// A setting of the kernel's TCP.
pub(crate) struct Setting {
    /// Its name below net.ipv4.
    pub(crate) name: &'static str,
    pub(crate) value: String,
    /// A kernel without it behaves otherwise.
    pub(crate) required: bool,
}

/// An end of the path.
pub(crate) struct End {
    /// Packets written arrive at this end. Packets read have left it.
    pub(crate) tun: OwnedFd,
    namespace: OwnedFd,
}

impl End {
    /// A namespace of its own for the calling thread, which stays in it, with `settings` and a device at `address`.
    /// TCP hands it at most `gso_max_segs` segments at once, if that is given.
    pub(crate) fn create(
        address: Ipv4Addr,
        mtu: u32,
        gso_max_segs: Option<u16>,
        settings: &[Setting],
    ) -> Result<Self, String> {
        system::unshare_network().map_err(|error| match error.kind() {
            ErrorKind::PermissionDenied => {
                "making a network namespace needs root (CAP_SYS_ADMIN); run as root, or under `unshare -r`".to_owned()
            }
            _ => format!("a network namespace cannot be made: {error}"),
        })?;
        let namespace = fs::File::open("/proc/thread-self/ns/net")
            .map_err(|error| format!("/proc/thread-self/ns/net cannot be opened: {error}"))?;
        // Otherwise IPv6 sends packets of its own over the path.
        for all in ["all", "default"] {
            let _ = fs::write(format!("/proc/sys/net/ipv6/conf/{all}/disable_ipv6"), "1");
        }
        for setting in settings {
            set(setting)?;
        }
        let tun = system::open_tun(DEVICE).map_err(|error| match error.kind() {
            // Opening it gives EACCES. The request that follows gives EPERM.
            ErrorKind::PermissionDenied if error.raw_os_error() == Some(libc::EPERM) => {
                "making a TUN device needs root (CAP_NET_ADMIN)".to_owned()
            }
            ErrorKind::PermissionDenied => {
                "/dev/net/tun cannot be opened: it needs root, or a device that others may read and write".to_owned()
            }
            ErrorKind::NotFound => "there is no /dev/net/tun: load the kernel module `tun`".to_owned(),
            _ => format!("a TUN device cannot be made: {error}"),
        })?;
        configure(address, mtu).map_err(|error| format!("the TUN device cannot be configured: {error}"))?;
        if let Some(segments) = gso_max_segs {
            netlink::set_gso_max_segs(DEVICE, segments)
                .map_err(|error| format!("gso_max_segs of the TUN device cannot be set to {segments}: {error}"))?;
        }
        Ok(Self { tun, namespace: namespace.into() })
    }

    /// Packets that the device dropped because its reader was too slow. Looks from a thread of its own, as the
    /// namespace of the calling one must not change.
    pub(crate) fn dropped(&self) -> io::Result<u64> {
        self.inside(|| fs::read_to_string("/proc/thread-self/net/dev"))?.map(|text| transmit_drops(&text))
    }

    /// Moves the calling thread into this namespace.
    pub(crate) fn enter(&self) -> io::Result<()> {
        Ok(move_into_link_name_space(self.namespace.as_fd(), Some(LinkNameSpaceType::Network))?)
    }

    /// Does `work` in this namespace, on a thread of its own.
    pub(crate) fn inside<T: Send>(&self, work: impl FnOnce() -> T + Send) -> io::Result<T> {
        std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().spawn_scoped(scope, || {
                self.enter()?;
                Ok(work())
            })?;
            thread.join().unwrap_or_else(|_| Err(io::Error::other("a thread panicked")))
        })
    }
}

fn configure(address: Ipv4Addr, mtu: u32) -> io::Result<()> {
    let control = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    Interface { name: "lo", control: &control }.bring_up()?;
    let device = Interface { name: DEVICE, control: &control };
    device.set_mtu(mtu as i32)?;
    // Refused in a user namespace, where the drops show if the default was too small.
    let _ = device.set_queue_length(QUEUE_LENGTH);
    device.set_address(address.octets(), PREFIX)?;
    device.bring_up()
}

/// Makes a setting in the namespace of the calling thread. A kernel may lack it if it behaves so without it.
fn set(Setting { name, value, required }: &Setting) -> Result<(), String> {
    let path = Path::new(SETTINGS).join(name);
    match fs::write(&path, value) {
        Err(error) if *required || error.kind() != ErrorKind::NotFound => {
            Err(format!("{} cannot be set to `{value}`: {error}", path.display()))
        }
        _ => Ok(()),
    }
}

/// The value of a setting in the namespace of the calling thread, if the kernel has it.
pub(crate) fn value_of(name: &str) -> Option<String> {
    let text = fs::read_to_string(Path::new(SETTINGS).join(name)).ok()?;
    Some(text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// The packets of the device that were dropped on their way out, from the text of /proc/net/dev.
fn transmit_drops(text: &str) -> u64 {
    let line = text.lines().filter_map(|line| line.trim_start().strip_prefix(DEVICE)?.strip_prefix(':')).next();
    // Eight numbers about reception, then bytes, packets, errors and drops in transmission.
    line.and_then(|numbers| numbers.split_whitespace().nth(11)?.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_are_read_from_their_column() {
        let text = "Inter-|   Receive                  |  Transmit\n \
                    face |bytes packets errs drop fifo frame compressed multicast|\
                    bytes packets errs drop fifo colls carrier compressed\n    \
                    lo:       0       0    0    7    0     0          0         0        \
                    0       0    0    8    0     0       0          0\n  \
                    path: 7530000    5020    0    1    0     0          0         0  \
                    9000000    6000    2    3    4     0       0          0\n";
        assert_eq!(transmit_drops(text), 3);
        assert_eq!(transmit_drops("nothing"), 0);
    }
}
