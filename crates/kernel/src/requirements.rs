//! The requirements on the machine, checked before libbpf fails on it with an error number.

use std::path::Path;

use rustix::system::uname;

use crate::error::LoadError;

/// Capabilities by their numbers (include/uapi/linux/capability.h).
const CAPABILITIES: [(u32, &str); 3] = [(12, "CAP_NET_ADMIN"), (38, "CAP_PERFMON"), (39, "CAP_BPF")];

/// `struct_ops` links, by which a controller goes with its process, are there since this version.
const OLDEST: (u32, u32) = (6, 4);

/// `Ok` if this process may load controllers into this kernel.
///
/// # Errors
/// [`LoadError::Unavailable`] names the first thing that is missing.
pub fn check() -> Result<(), LoadError> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let release = uname().release().to_string_lossy().into_owned();
    check_kernel(&release, Path::new("/sys/kernel/btf/vmlinux").exists(), &status)
}

fn check_kernel(release: &str, has_types: bool, status: &str) -> Result<(), LoadError> {
    let unavailable = |sentence: String| Err(LoadError::Unavailable(sentence));
    if version(release).is_none_or(|version| version < OLDEST) {
        return unavailable(format!(
            "loading a controller into the kernel needs Linux {}.{} or newer, this is {release}",
            OLDEST.0, OLDEST.1
        ));
    }
    if !has_types {
        return unavailable(format!(
            "loading a controller into the kernel needs its types in /sys/kernel/btf/vmlinux: kernel {release} was \
             built without \
             CONFIG_DEBUG_INFO_BTF"
        ));
    }
    let held = status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(0);
    // CAP_SYS_ADMIN (21) includes the two that were once part of it, but not CAP_NET_ADMIN.
    let holds = |bit: u32| held >> bit & 1 == 1 || (bit > 21 && held >> 21 & 1 == 1);
    match CAPABILITIES.iter().find(|(bit, _)| !holds(*bit)) {
        Some((_, name)) => unavailable(format!(
            "loading a controller into the kernel needs the capability {name}, which this process does not have: run \
             it as root"
        )),
        None => Ok(()),
    }
}

fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: &str = "Name:\tx\nCapEff:\t000001ffffffffff\n";

    #[test]
    fn what_is_missing_is_named() {
        let said = |release, types, status| check_kernel(release, types, status).unwrap_err().to_string();
        assert_eq!(
            said("6.1.0-13-amd64", true, ROOT),
            "loading a controller into the kernel needs Linux 6.4 or newer, this is 6.1.0-13-amd64"
        );
        assert_eq!(
            said("6.18.44-x", false, ROOT),
            "loading a controller into the kernel needs its types in /sys/kernel/btf/vmlinux: kernel 6.18.44-x was \
             built without \
             CONFIG_DEBUG_INFO_BTF"
        );
        assert_eq!(
            said("6.18.44-x", true, "CapEff:\t0000000000000000\n"),
            "loading a controller into the kernel needs the capability CAP_NET_ADMIN, which this process does not \
             have: run it as root"
        );
        // NET_ADMIN alone: bit 12.
        assert!(said("6.18.44-x", true, "CapEff:\t0000000000001000\n").contains("CAP_PERFMON"));
        assert!(said("6.18.44-x", true, "").contains("CAP_NET_ADMIN"));
    }

    #[test]
    fn root_and_net_admin_with_sys_admin_may_load() {
        assert_eq!(check_kernel("6.4.0", true, ROOT), Ok(()));
        // Bits 12 and 21.
        assert_eq!(check_kernel("7.0.0", true, "CapEff:\t0000000000201000\n"), Ok(()));
    }
}
