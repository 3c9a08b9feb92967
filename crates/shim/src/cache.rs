//! The user's cache of compiled controllers. It may be deleted at any time.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A folder of the cache. `None` if there is none that only this user may write, because files found there are
/// executed.
pub(crate) fn folder(name: &str) -> Option<PathBuf> {
    let folder = of_user(|variable| std::env::var_os(variable))?.join("ackclock").join(name);
    DirBuilder::new().recursive(true).mode(0o700).create(&folder).ok()?;
    (is_ours(&folder) == Some(true)).then_some(folder)
}

/// Where the user's caches are, by the variables of the environment (XDG Base Directory Specification).
fn of_user(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let absolute = |name| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")))
}

/// Whether only this user may write the folder.
fn is_ours(folder: &Path) -> Option<bool> {
    let known = fs::symlink_metadata(folder).ok()?;
    Some(known.is_dir() && known.uid() == rustix::process::geteuid().as_raw() && known.mode() & 0o022 == 0)
}

/// Puts `object` at `path` in one step: others see all of it or nothing.
pub(crate) fn keep(object: &[u8], path: &Path) -> io::Result<()> {
    let part = beside(path);
    let written = File::create_new(&part).and_then(|mut file| {
        file.write_all(object)?;
        file.sync_all()?;
        fs::rename(&part, path)
    });
    if written.is_err() {
        let _ = fs::remove_file(&part);
    }
    written
}

/// A name beside `path` that nothing else has.
pub(crate) fn beside(path: &Path) -> PathBuf {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    path.with_extension(format!("{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed)))
}

/// 128 bits over `value`.
pub(crate) fn digest(value: &impl Hash) -> String {
    let mut hashers = [DefaultHasher::new(), DefaultHasher::new()];
    for (i, hasher) in hashers.iter_mut().enumerate() {
        (i, value).hash(hasher);
    }
    hashers.iter().map(|hasher| format!("{:016x}", hasher.finish())).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use scratch::Scratch;

    use super::*;

    #[test]
    fn caches_are_where_the_environment_says_by_an_absolute_path() {
        let of = |xdg: &str, home: &str| {
            let value = |name: &str| Some(OsString::from(if name == "HOME" { home } else { xdg }));
            of_user(value)
        };
        assert_eq!(of("/caches", "/home/me"), Some(PathBuf::from("/caches")));
        assert_eq!(of("caches", "/home/me"), Some(PathBuf::from("/home/me/.cache")));
        assert_eq!((of("", "me"), of_user(|_| None)), (None, None));
    }

    #[test]
    fn a_folder_is_ours_if_nobody_else_writes_it() {
        let scratch = Scratch::new().unwrap();
        let folder = scratch.path("cache");
        assert_eq!(is_ours(&folder), None);
        fs::create_dir(&folder).unwrap();
        for (mode, ours) in [(0o700, true), (0o755, true), (0o720, false), (0o702, false)] {
            fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(is_ours(&folder), Some(ours), "{mode:o}");
        }
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
        let (file, link) = (scratch.path("file"), scratch.path("link"));
        fs::write(&file, "").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        symlink(&folder, &link).unwrap();
        assert_eq!((is_ours(&file), is_ours(&link)), (Some(false), Some(false)));
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(&folder, Some(1), None).unwrap();
            assert_eq!(is_ours(&folder), Some(false));
        }
    }

    #[test]
    fn an_object_is_put_in_its_place_whole_and_nothing_stays_beside_it() {
        let scratch = Scratch::new().unwrap();
        let path = scratch.path("mine.so");
        keep(b"old", &path).unwrap();
        keep(b"object", &path).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"object");
        // A folder that is not empty takes no file's place.
        fs::create_dir_all(scratch.path("folder/within")).unwrap();
        assert!(keep(b"object", &scratch.path("folder")).is_err());
        assert_eq!(fs::read_dir(scratch.folder()).unwrap().count(), 2);
        assert_ne!(beside(&path), beside(&path));
    }

    #[test]
    fn digests_differ_where_values_do() {
        let (one, other) = (digest(&("noq", 1)), digest(&("noq", 2)));
        assert_eq!((one.len(), &one), (32, &digest(&("noq", 1))));
        // Both halves are of the value, each by another function.
        assert!(one[..16] != other[..16] && one[16..] != other[16..] && one[..16] != one[16..]);
    }
}
