//! A folder for temporary files that goes with its process, however that ends.

use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A folder of our own in the machine's folder for temporary files, which no other user may enter. It is removed when
/// this is dropped, and when the process is killed.
#[derive(Debug)]
pub struct Scratch {
    folder: PathBuf,
    guard: Option<Child>,
}

/// Waits for the end of an input that nobody writes to: the process that holds the other end of it has ended. Then
/// removes the folder.
const GUARD: &str = r#"read -r _; rm -rf -- "$1""#;

impl Scratch {
    /// An empty folder.
    ///
    /// # Errors
    /// The error of the file system, with the path.
    pub fn new() -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix("ackclock-").tempdir()?;
        let mut guard = Command::new("sh");
        guard.args(["-c", GUARD, "ackclock-guard"]).arg(folder.path());
        guard.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        // In a group of its own, Ctrl-C or the end of the terminal's session does not end it with those whom it
        // watches.
        guard.process_group(0);
        // Without a shell on the machine the folder still goes when this is dropped.
        let guard = guard.spawn().ok();
        Ok(Self { folder: folder.keep(), guard })
    }

    /// Its path.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The path of the file `name` in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A folder that cannot be removed stays in the folder for temporary files.
        let _ = fs::remove_dir_all(&self.folder);
        if let Some(mut guard) = self.guard.take() {
            // A child that another thread forked may hold its input open.
            let _ = guard.kill();
            let _ = guard.wait();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Read};
    use std::time::Duration;

    use super::*;

    #[test]
    fn it_goes_when_it_is_dropped_with_what_it_holds() {
        let scratch = Scratch::new().unwrap();
        let folder = scratch.folder().to_owned();
        fs::create_dir(scratch.path("inner")).unwrap();
        fs::write(scratch.path("inner/file"), "text").unwrap();
        assert_ne!(folder, Scratch::new().unwrap().folder());
        drop(scratch);
        assert!(!folder.exists());
    }

    #[test]
    #[ignore = "run by the next test, which kills it"]
    fn a_folder_for_a_minute() {
        let scratch = Scratch::new().unwrap();
        fs::write(scratch.path("file"), "text").unwrap();
        println!("folder: {}", scratch.folder().display());
        let _ = io::stdin().read_to_end(&mut Vec::new());
    }

    #[test]
    fn it_goes_when_its_process_is_killed() {
        let arguments = ["tests::a_folder_for_a_minute", "--exact", "--ignored", "--nocapture"];
        let mut myself = Command::new(std::env::current_exe().unwrap());
        let mut child = myself.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let folder = lines.find_map(|line| Some(PathBuf::from(line.unwrap().split_once("folder: ")?.1))).unwrap();
        assert!(folder.join("file").exists());
        child.kill().unwrap();
        child.wait().unwrap();
        let gone = (0..4000).any(|_| {
            std::thread::park_timeout(Duration::from_millis(5));
            !folder.exists()
        });
        assert!(gone);
    }
}
