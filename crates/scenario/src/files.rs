//! The files that a scenario names, handed in: this crate reads none itself.

use std::io;
use std::path::Path;

/// Reads files. Programs on a disk hand in `&|path: &Path| std::fs::read(path)`.
pub trait Files {
    /// The bytes of the file at `path`.
    ///
    /// # Errors
    /// Why it cannot be read.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;
}

impl<F: Fn(&Path) -> io::Result<Vec<u8>>> Files for F {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self(path)
    }
}

/// There are no files, as in a web page.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoFiles;

impl Files for NoFiles {
    fn read(&self, _path: &Path) -> io::Result<Vec<u8>> {
        Err(io::Error::new(io::ErrorKind::NotFound, "there are no files here"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_come_from_a_function_or_there_are_none() {
        let path = Path::new("a/b.csv");
        let names = |path: &Path| Ok(path.display().to_string().into_bytes());
        assert_eq!(Files::read(&names, path).unwrap(), b"a/b.csv");
        assert_eq!(NoFiles.read(path).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
