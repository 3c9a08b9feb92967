//! Which controller a flow has, wherever it comes from: the list of this crate, a file in C or Rust, a shared object, a
//! class in Python, or an engine.

use std::borrow::Cow;
use std::convert::Infallible;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{ParameterError, registry, tfrc};

/// The end of the name of a file that holds a controller in C.
const SOURCE: &str = ".c";
/// The end of the name of a shared object that holds one in Rust.
const OBJECT: &str = ".so";
/// The end of the name of a file in Rust.
const RUST: &str = ".rs";
/// The file that makes a folder a crate.
const CRATE: &str = "Cargo.toml";
/// The end of the name of a file in Python.
const PYTHON_FILE: &str = ".py";
/// The beginning of the spelling of a controller in Python.
const PYTHON: &str = "python:";

/// QUIC stacks, whose controllers are spelled `STACK:NAME`, or `STACK:FILE` with a file in Rust.
const STACKS: [&str; 4] = ["noq", "quinn", "quiche", "c"];

/// A controller by its origin. Displays as tables show it. Scenarios write [`ControllerRef::spelling`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ControllerRef {
    /// One of [`registry::CONTROLLERS`], by its name.
    Registered(&'static str),
    /// A file, by the end of its name: in C for the kernel (`.c`), a shared object (`.so`), or in Rust (`.rs`, or the
    /// `Cargo.toml` of a crate). Spelled as its path. In Rust, `:NAME` may follow. One of a QUIC stack begins with
    /// `STACK:`.
    Source(PathBuf),
    /// A class written in Python. Spelled `python:INDEX` or `python:INDEX:LABEL`.
    Python {
        /// Its place among the classes that the program hands to the engine.
        index: usize,
        /// The name of the class, or the name on the command line, if known.
        label: Option<String>,
    },
    /// Any other name: a controller that only some engine may have, such as the Linux kernel's.
    Engine(String),
}

impl ControllerRef {
    /// What scenarios write: [`ControllerRef::from_str`] reads it back.
    pub fn spelling(&self) -> Cow<'_, str> {
        match self {
            Self::Registered(name) => Cow::Borrowed(name),
            Self::Source(path) => path.to_string_lossy(),
            Self::Python { index, label: None } => Cow::Owned(format!("{PYTHON}{index}")),
            Self::Python { index, label: Some(label) } => Cow::Owned(format!("{PYTHON}{index}:{label}")),
            Self::Engine(name) => Cow::Borrowed(name),
        }
    }

    /// What tables and plots show: of a file its name without the folder, of a class its label, else the spelling.
    pub fn label(&self) -> Cow<'_, str> {
        match self {
            Self::Source(path) => {
                if let Some((stack, rest)) = self.stack() {
                    return Cow::Owned(format!("{stack}:{}", Self::Source(rest.into()).label()));
                }
                let of_crate = self.rust().filter(|(file, _)| file.ends_with(CRATE));
                let folder = of_crate.as_ref().and_then(|(file, name)| Some((file.parent()?.file_name()?, name)));
                match (folder, path.file_name()) {
                    (Some((folder, None)), _) => Cow::Owned(folder.to_string_lossy().into_owned()),
                    (Some((folder, Some(name))), _) => Cow::Owned(format!("{}:{name}", folder.to_string_lossy())),
                    (None, Some(file)) => file.to_string_lossy(),
                    (None, None) => self.spelling(),
                }
            }
            Self::Python { label: Some(label), .. } => Cow::Borrowed(label),
            _ => self.spelling(),
        }
    }

    /// Refuses a name that is not in the registry. Files and classes are taken as they are.
    ///
    /// # Errors
    /// A sentence with the nearest name.
    pub fn check_registered(&self) -> Result<(), ParameterError> {
        match self {
            Self::Engine(name) if name != tfrc::NAME => registry::find(name).map(|_| ()),
            Self::Source(_) if self.stack().is_some() => Err(ParameterError(format!(
                "`{self}` is a controller of a QUIC stack, which runs with `--engine quic`"
            ))),
            _ => Ok(()),
        }
    }

    /// Whether it is a shared object or becomes one, which only the simulator loads.
    pub fn is_object(&self) -> bool {
        let is_built = matches!(self, Self::Source(path) if path.to_string_lossy().ends_with(OBJECT));
        is_built || self.rust().is_some()
    }

    /// The file in Rust, or the `Cargo.toml` of the crate, and the name of the controller in it, if it has one.
    pub fn rust(&self) -> Option<(PathBuf, Option<String>)> {
        let Self::Source(path) = self else { return None };
        let text = path.to_string_lossy();
        let (file, name) = rust(stacked(&text).map_or(&text, |(_, file)| file))?;
        Some((PathBuf::from(file), name.map(str::to_owned)))
    }

    /// The QUIC stack whose controller it is, and its name or file there.
    pub fn stack(&self) -> Option<(&str, &str)> {
        match self {
            Self::Source(path) => stacked(path.to_str()?),
            Self::Engine(name) => stacked(name),
            Self::Registered(_) | Self::Python { .. } => None,
        }
    }

    /// The same with its file at another path, if it is in a file.
    #[must_use]
    pub fn at(&self, place: impl FnOnce(&Path) -> PathBuf) -> Self {
        match (self, self.stack()) {
            (Self::Source(_), Some((stack, file))) => {
                Self::Source(format!("{stack}:{}", place(file.as_ref()).display()).into())
            }
            (Self::Source(path), None) => Self::Source(place(path)),
            _ => self.clone(),
        }
    }

    /// The file that it is in, if it is in one.
    pub fn file(&self) -> Option<PathBuf> {
        let Self::Source(path) = self else { return None };
        Some(self.rust().map_or_else(|| path.clone(), |(file, _)| file))
    }

    /// The beginning of the names of its flows: the label without the end of a file's name, or the name in the file if
    /// it has one.
    pub fn stem(&self) -> Cow<'_, str> {
        match (self, self.label()) {
            (Self::Source(_) | Self::Python { label: Some(_), .. }, Cow::Borrowed(label)) => {
                Cow::Borrowed(without_end(label))
            }
            (Self::Source(_), Cow::Owned(label)) => Cow::Owned(without_end(&label).to_owned()),
            (_, label) => label,
        }
    }

    /// The file in Python, where the text of a scenario spells one. No scenario can name its classes.
    pub fn python_file(&self) -> Option<&str> {
        let Self::Engine(text) = self else { return None };
        let file = text.rsplit_once(':').map_or(text.as_str(), |(file, _)| file);
        [text, file].into_iter().find(|file| file.ends_with(PYTHON_FILE))
    }
}

/// The name of a file without what says that it is one.
fn without_end(label: &str) -> &str {
    if let Some((_, name)) = stacked(label).map_or(label, |(_, file)| file).split_once(':') {
        return name;
    }
    [".bpf.c", SOURCE, OBJECT, RUST, PYTHON_FILE].iter().find_map(|end| label.strip_suffix(end)).unwrap_or(label)
}

/// The stack and the rest of `text`, where it spells a controller of a QUIC stack.
fn stacked(text: &str) -> Option<(&str, &str)> {
    text.split_once(':').filter(|(stack, _)| STACKS.contains(stack))
}

/// The file and the name in it, where `text` spells a controller in Rust: `mine.rs`, `mine.rs:Mine`.
fn rust(text: &str) -> Option<(&str, Option<&str>)> {
    let is_rust = |file: &str| file.ends_with(RUST) || Path::new(file).ends_with(CRATE);
    if is_rust(text) {
        return Some((text, None));
    }
    let (file, name) = text.rsplit_once(':')?;
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    (is_rust(file) && is_name).then_some((file, Some(name)))
}

/// The longest name that the kernel takes for a controller (`TCP_CA_NAME_MAX` without its final zero).
pub const LONGEST_NAME: usize = 15;

/// `bytes` as the name that a controller in C gives itself (`CONTROLLER("name", …)`). Settings of the machine list such
/// names with blanks between, and folders are called by them.
///
/// # Errors
/// It is no such name: a sentence, to follow the name of the file and a colon.
pub fn declared_name(bytes: &[u8]) -> Result<String, String> {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    let name = String::from_utf8_lossy(bytes).into_owned();
    if (1..=LONGEST_NAME).contains(&name.len()) && name.bytes().all(allowed) {
        return Ok(name);
    }
    Err(format!(
        "the name in CONTROLLER(\"{name}\", ...) is not allowed (allowed: 1 to {LONGEST_NAME} letters, digits and \
         underscores)"
    ))
}

impl fmt::Display for ControllerRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.label())
    }
}

impl From<&str> for ControllerRef {
    fn from(text: &str) -> Self {
        if text.ends_with(SOURCE) || text.ends_with(OBJECT) || rust(text).is_some() {
            return Self::Source(PathBuf::from(text));
        }
        if let Some((index, label)) = python(text) {
            return Self::Python { index, label };
        }
        match registry::find(text) {
            Ok(entry) => Self::Registered(entry.name),
            Err(_) => Self::Engine(text.to_owned()),
        }
    }
}

impl FromStr for ControllerRef {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(text.into())
    }
}

/// The parts of `python:INDEX` and `python:INDEX:LABEL`.
fn python(text: &str) -> Option<(usize, Option<String>)> {
    let rest = text.strip_prefix(PYTHON)?;
    let (index, label) = match rest.split_once(':') {
        Some((index, label)) => (index, Some(label.to_owned())),
        None => (rest, None),
    };
    index.parse().ok().map(|index| (index, label))
}

impl Serialize for ControllerRef {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(&self.spelling())
    }
}

impl<'de> Deserialize<'de> for ControllerRef {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        String::deserialize(d).map(|text| text.as_str().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_declared_name_is_a_word_that_fits() {
        assert_eq!(declared_name(b"ack_fifteen_cha"), Ok("ack_fifteen_cha".to_owned()));
        for wrong in ["", "ack_sixteen_char", "..", "../mine", "a b", "ack_\u{e4}"] {
            assert_eq!(
                declared_name(wrong.as_bytes()),
                Err(format!(
                    "the name in CONTROLLER(\"{wrong}\", ...) is not allowed (allowed: 1 to 15 letters, digits and \
                     underscores)"
                ))
            );
        }
        assert!(declared_name(&[b'a', 0xff]).unwrap_err().contains("(\"a\u{fffd}\", ...)"));
    }

    #[test]
    fn a_spelling_says_where_a_controller_comes_from() {
        let python = |index, label: Option<&str>| ControllerRef::Python { index, label: label.map(str::to_owned) };
        for (text, expected) in [
            ("cubic", ControllerRef::Registered("cubic")),
            ("mine/fast.bpf.c", ControllerRef::Source("mine/fast.bpf.c".into())),
            ("bpf_cubic.c", ControllerRef::Source("bpf_cubic.c".into())),
            ("python:3", python(3, None)),
            ("python:0:Fixed", python(0, Some("Fixed"))),
            ("python:first", ControllerRef::Engine("python:first".to_owned())),
            ("bbr", ControllerRef::Engine("bbr".to_owned())),
        ] {
            let read = ControllerRef::from(text);
            assert_eq!(read, expected);
            assert_eq!(read.spelling(), text);
        }
    }

    #[test]
    fn a_controller_of_a_quic_stack_may_be_in_a_file() {
        let mine = ControllerRef::from("noq:try/mine.rs:Mine");
        assert_eq!(mine.stack(), Some(("noq", "try/mine.rs:Mine")));
        assert_eq!(mine.rust(), Some(("try/mine.rs".into(), Some("Mine".to_owned()))));
        assert_eq!(
            (&*mine.label(), &*mine.stem(), &*mine.spelling()),
            ("noq:mine.rs:Mine", "Mine", "noq:try/mine.rs:Mine")
        );
        assert_eq!(mine.at(|file| Path::new("/home").join(file)), ControllerRef::from("noq:/home/try/mine.rs:Mine"));
        assert_eq!(ControllerRef::from("noq:mine/Cargo.toml").label(), "noq:mine");
        let sentence = "`noq:mine.rs:Mine` is a controller of a QUIC stack, which runs with `--engine quic`";
        assert_eq!(mine.check_registered().unwrap_err().to_string(), sentence);
        assert_eq!(ControllerRef::from("noq:cubic").stack(), Some(("noq", "cubic")));
        assert_eq!(ControllerRef::from("mine.rs:noq").stack(), None);
    }

    #[test]
    fn tables_show_a_file_without_its_folder() {
        let source = ControllerRef::from("/home/me/mine.bpf.c");
        assert_eq!(source.to_string(), "mine.bpf.c");
        assert_eq!(source.stem(), "mine");
        let object = ControllerRef::from("target/release/libmine.so");
        assert_eq!((object.is_object(), source.is_object()), (true, false));
        assert_eq!((object.to_string(), object.stem().into_owned()), ("libmine.so".to_owned(), "libmine".to_owned()));
        for (text, label, stem) in [
            ("try/mine.rs", "mine.rs", "mine"),
            ("try/mine.rs:Mine", "mine.rs:Mine", "Mine"),
            ("try/mine/Cargo.toml", "mine", "mine"),
            ("try/mine/Cargo.toml:ENTRY", "mine:ENTRY", "ENTRY"),
        ] {
            let rust = ControllerRef::from(text);
            assert_eq!((rust.to_string().as_str(), &*rust.stem(), rust.is_object()), (label, stem, true));
            assert_eq!(rust.file(), Some(PathBuf::from(text.split(':').next().unwrap())));
            assert_eq!(rust.spelling(), text);
        }
        let named = |text: &str| ControllerRef::from(text).rust().map(|(_, name)| name);
        assert_eq!(named("mine.rs:_My_2nd"), Some(Some("_My_2nd".to_owned())));
        assert_eq!(["mine.rs:", "mine.rs:my-2nd", "mine.rs:a b", "mine.py:Mine"].map(named), [const { None }; 4]);
        for (text, label, stem) in [
            ("python:0", "python:0", "python:0"),
            ("python:0:Fixed", "Fixed", "Fixed"),
            ("python:0:mine.py:Fixed", "mine.py:Fixed", "Fixed"),
            ("python:0:mine.py", "mine.py", "mine"),
        ] {
            let python = ControllerRef::from(text);
            assert_eq!((&*python.label(), &*python.stem(), &*python.spelling()), (label, stem, text));
        }
        assert_eq!(ControllerRef::from("bbr").stem(), "bbr");
    }
}
