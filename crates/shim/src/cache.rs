//! The user's cache of compiled controllers. It may be deleted at any time.

use std::fs::{self, DirBuilder, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A folder of the cache. `None` if there is none that only this user may write, because files found there are
/// executed.
pub(crate) fn folder(name: &str) -> Option<PathBuf> {
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")))?;
    let folder = base.join("ackclock").join(name);
    DirBuilder::new().recursive(true).mode(0o700).create(&folder).ok()?;
    let is_ours = |folder: &Path| {
        let known = fs::symlink_metadata(folder).ok()?;
        Some(known.is_dir() && known.uid() == rustix::process::geteuid().as_raw() && known.mode() & 0o022 == 0)
    };
    (is_ours(&folder) == Some(true)).then_some(folder)
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
