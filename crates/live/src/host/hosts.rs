//! Names for the two ends, for programs that run there.

use std::{fs, io};

use rustix::mount::{MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_bind, mount_change, unmount};

use crate::host::sockets::{FAR, NEAR};
use crate::host::system;

const HOSTS: &str = "/etc/hosts";
/// A folder that every machine has.
const FOLDER: &str = "/tmp";
/// The folders of `/sys` that belong to a network namespace.
const DEVICES: [&str; 2] = ["/class/net", "/devices/virtual/net"];

/// Gives the calling thread and its children mounts of their own, in which `/etc/hosts` also knows the two ends:
/// `near`, and `far`, which is `server` too. The machine's own file stays as it is, and nothing is left behind.
///
/// # Errors
/// The machine has no such file, or does not let its mounts be changed.
pub(crate) fn name_the_ends() -> io::Result<()> {
    let names = with_names(&fs::read_to_string(HOSTS)?);
    system::unshare_mounts()?;
    // Mounts here are not seen outside.
    mount_change("/", MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC)?;
    // Only until the file is mounted: nobody else is here yet.
    mount("ackclock", FOLDER, "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, c"mode=755,size=1m")?;
    let file = format!("{FOLDER}/hosts");
    let named = fs::write(&file, names).and_then(|()| Ok(mount_bind(&file, HOSTS)?));
    unmount(FOLDER, UnmountFlags::DETACH)?;
    named
}

/// Shows the network devices of the calling thread's namespace in `/sys`, in place of the machine's. The thread has
/// mounts of its own.
///
/// # Errors
/// The mounts cannot be changed.
pub(crate) fn show_own_devices() -> io::Result<()> {
    // A file system of `/sys` has the devices of the namespace in which it is mounted.
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC | MountFlags::RDONLY;
    mount("sysfs", FOLDER, "sysfs", flags, None)?;
    let shown = DEVICES.iter().try_for_each(|place| mount_bind(format!("{FOLDER}{place}"), format!("/sys{place}")));
    unmount(FOLDER, UnmountFlags::DETACH)?;
    Ok(shown?)
}

/// `hosts` with the names of the ends before its own.
fn with_names(hosts: &str) -> String {
    format!("{NEAR} near\n{FAR} far server\n{hosts}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_have_names_beside_those_of_the_machine() {
        assert_eq!(with_names("127.0.0.1 localhost\n"), "10.0.0.1 near\n10.0.0.2 far server\n127.0.0.1 localhost\n");
    }
}
