//! QUIC stacks in shared objects: quinn and quiche, noq and quinn with a controller of the user, any of them from
//! sources of the user, all of which Cargo builds, and a stack of the user in C.
#![allow(unsafe_code)]

use std::collections::btree_map::{BTreeMap, Entry};
use std::ffi::{CString, c_void};
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ::stack::{
    Answer, Call, Decisions, Event, Header, Ledger, Ledgers, Report, Reports, SYMBOL, Settings, Side, Slice, Stack,
    Table, VERSION, known,
};
use bytes::{Bytes, BytesMut};
use control::ControllerRef;

use crate::cargo::{self, Recipe};
use crate::object::{Object, named};
use crate::{Error, c_stack, cache, crash};

/// A stack as the registry has it.
#[derive(Clone, Copy)]
struct Released {
    name: &'static str,
    /// Its crate in the registry.
    proto: &'static str,
    /// The version for which its crate here is written.
    version: &'static str,
    /// Its crate here.
    ours: &'static [&'static str],
    /// See [`Recipe::wrapped`].
    wrapped: &'static [&'static str],
    /// It takes controllers from outside.
    is_open: bool,
}

/// The first one runs controllers of ackclock, too.
const RELEASED: [Released; 3] = [
    Released { name: "noq", proto: "noq-proto", version: "1.4.0", ours: &["noq"], wrapped: &[], is_open: true },
    Released { name: "quinn", proto: "quinn-proto", version: "0.11.19", ours: &["quinn"], wrapped: &[], is_open: true },
    Released {
        name: "quiche",
        proto: "quiche",
        version: "0.30.0",
        ours: &["quiche"],
        // `crates/quiche/src/session.rs` has them.
        wrapped: &["clock_gettime", "RAND_bytes", "EVP_AEAD_CTX_seal_scatter", "EVP_AEAD_CTX_open"],
        is_open: false,
    },
];

impl Released {
    fn of(cc: &ControllerRef) -> Self {
        let named = cc.stack().and_then(|(stack, _)| RELEASED.into_iter().find(|known| known.name == stack));
        named.unwrap_or(RELEASED[0])
    }

    /// Whether `version` is compatible with its own: alike up to the first number that is not 0.
    fn takes(self, version: &str) -> bool {
        let series = |version: &str| {
            let mut numbers = version.split('.').map(str::to_owned);
            let first = numbers.next().unwrap_or_default();
            let second = numbers.next().filter(|_| first == "0");
            (first, second)
        };
        series(version) == series(self.version)
    }
}

/// Objects by name and digest, each loaded once, as none is unloaded.
static LOADED: Mutex<BTreeMap<(String, String), Arc<Foreign>>> = Mutex::new(BTreeMap::new());

/// A loaded object with a stack.
#[derive(Debug)]
pub struct Foreign {
    /// Its name in errors.
    name: String,
    /// Its name in the message of a crash.
    crash_name: CString,
    table: &'static Table,
    /// Never unloaded: threads that were in it may have destructors of it to run.
    _object: ManuallyDrop<Object>,
}

impl Foreign {
    /// The stack of `cc`, with its controller if that is in a file of Rust or a crate. `sources` is the folder of the
    /// stack, if it is not the registry's. Its code runs from here on.
    ///
    /// # Errors
    /// One sentence: the code cannot be read, built or loaded, or is for another version of the stack.
    pub fn open(cc: &ControllerRef, sources: Option<&Path>) -> Result<Arc<Self>, Error> {
        if let Some((::stack::C, _)) = cc.stack() {
            let why =
                || Error::Source(format!("`{cc}` is of a stack in C, whose folder `--engine quic:c=FOLDER` names"));
            let folder = sources.ok_or_else(why)?;
            return Self::kept(folder.display().to_string(), &c_stack::object(folder)?);
        }
        let of = Released::of(cc);
        let (recipe, name) = recipe(of, cc, sources)?;
        let object = recipe.object();
        let wrong = if recipe.version.is_some() { None } else { other_version(of, &recipe.locked(), sources) };
        if let Some(why) = wrong {
            return Err(Error::Source(format!("`{}` {why}", recipe.shown)));
        }
        let object = object.map_err(|error| in_words(of, &recipe, error))?;
        Self::kept(name, &object)
    }

    /// The object with these bytes, which is loaded once.
    fn kept(name: String, object: &[u8]) -> Result<Arc<Self>, Error> {
        let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
        match loaded.entry((name.clone(), cache::digest(&object))) {
            Entry::Occupied(known) => Ok(known.get().clone()),
            Entry::Vacant(place) => Ok(place.insert(Arc::new(Self::load(name, object)?)).clone()),
        }
    }

    fn load(name: String, bytes: &[u8]) -> Result<Self, Error> {
        let object = Object::open(&name, bytes)?;
        let refuse = |what: &str| Err(Error::Source(format!("`{name}` {what}")));
        let Some(table) = object.symbol::<Table>(SYMBOL) else { return refuse("has no stack") };
        // SAFETY: every version begins with these two numbers, and only one that is ours is read further.
        if unsafe { table.cast::<[u32; 2]>().read() } != [VERSION, Table::LAYOUT] {
            return refuse("was built for another interface of stacks: build it again");
        }
        // SAFETY: a table of this version, constant and as long-lived as the object, which stays.
        let table: &'static Table = unsafe { table.as_ref() };
        Ok(Self { crash_name: named(&name), name, table, _object: ManuallyDrop::new(object) })
    }
}

/// The package around the controller that `cc` names and the stack from `sources`, and its name in errors.
fn recipe(of: Released, cc: &ControllerRef, sources: Option<&Path>) -> Result<(Recipe, String), Error> {
    let Released { name: stack, proto, version, ours, wrapped, is_open } = of;
    let fork = sources.map(|folder| fork(of, folder)).transpose()?;
    let patch = |folder: &PathBuf| format!("{proto} = {{ path = {:?} }}\n", folder.display().to_string());
    let mut recipe = Recipe {
        shown: sources.map_or_else(|| stack.to_owned(), |folder| folder.display().to_string()),
        of: (fork.clone().unwrap_or_default(), stack.to_owned()),
        is_crate: fork.is_some(),
        root: format!("{stack}::export!();\n"),
        // Code of the user names it.
        dependencies: match is_open {
            true => format!("{proto} = {{ version = {version:?}, default-features = false }}\n"),
            false => String::new(),
        },
        ours,
        wrapped,
        patches: fork.as_ref().map(patch).unwrap_or_default(),
        unlocked: fork.as_ref().map(|_| proto),
        version: None,
    };
    let Some((file, name)) = cc.rust() else {
        let shown = recipe.shown.clone();
        return Ok((recipe, shown));
    };
    let shown = cargo::shown(&file);
    if !is_open {
        let why = format!(
            "`{stack}:{shown}`: {stack} takes no controller from outside; `--engine quic:{stack}=FOLDER` runs a \
             changed copy of it"
        );
        return Err(Error::Source(why));
    }
    let (file, text) = cargo::read(&file, &shown)?;
    let is_crate = file.ends_with("Cargo.toml");
    if let Some(version) = locked_beside(&file, proto).filter(|locked| locked != version && fork.is_none()) {
        recipe.dependencies = format!("{proto} = {{ version = \"={version}\", default-features = false }}\n");
        (recipe.unlocked, recipe.version) = (Some(proto), Some(version));
    }
    recipe.root = if is_crate {
        recipe.dependencies.push_str(&cargo::dependency(&file, &text, &shown)?);
        let Some(name) = &name else {
            let why = format!("`{shown}` is a crate: write `{stack}:{shown}:NAME`, with the controller in it");
            return Err(Error::Source(why));
        };
        format!("{stack}::export!(mine::{name});\n")
    } else {
        format!("{text}\n{stack}::export!(crate::{});\n", of_file(of, &text, name.as_deref(), &shown)?)
    };
    let rest = format!("{stack} {} {}", name.unwrap_or_default(), fork.unwrap_or_default().display());
    let called = format!("{stack}:{shown}");
    Ok((Recipe { shown, of: (file, rest), is_crate: is_crate || sources.is_some(), ..recipe }, called))
}

/// The crate of the stack's state machine in a folder: the folder itself, or one in it.
fn fork(Released { name, proto, .. }: Released, folder: &Path) -> Result<PathBuf, Error> {
    let absolute = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    let is_proto = |folder: &PathBuf| {
        let text = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap_or_default();
        let table: toml::Table = text.parse().unwrap_or_default();
        table.get("package").and_then(|package| package.get("name")).and_then(toml::Value::as_str) == Some(proto)
    };
    let found = [absolute.join(proto), absolute].into_iter().find(is_proto);
    let why = || format!("{name}={}: must be a folder with the crate `{proto}`", folder.display());
    found.ok_or_else(|| Error::Source(why()))
}

/// The type of a file that makes its controllers: a factory, or else a controller.
fn of_file(of: Released, text: &str, name: Option<&str>, shown: &str) -> Result<String, Error> {
    let [factories, types] = ["ControllerFactory", "Controller"].map(|of| cargo::implementations(text, of));
    let refuse = |what: String| Err(Error::Source(format!("`{shown}` {what}")));
    let makers = if factories.is_empty() { &types } else { &factories };
    match (name, makers.as_slice()) {
        (Some(name), _) if factories.iter().chain(&types).any(|one| one == name) => Ok(name.to_owned()),
        (Some(name), _) => refuse(format!("has no controller `{name}`; it has {}", cargo::listed(&types))),
        (None, [only]) => Ok(only.clone()),
        (None, []) => refuse(format!(
            "has no controller: it needs `impl {}::congestion::Controller for …`",
            of.proto.replace('-', "_")
        )),
        (None, [first, ..]) => refuse(format!("has several controllers; write `{}:{shown}:{first}`", of.name)),
    }
}

/// The error about a type that cannot be made, in words of the user's: the compiler speaks of a line behind the file.
fn in_words(of: Released, recipe: &Recipe, error: Error) -> Error {
    let text = error.to_string();
    let Released { name, proto, version, .. } = of;
    // The user's own code may be wrong with any version.
    let is_ours =
        [format!("crates/{name}/src"), format!("requirement `{proto} = ")].iter().any(|ours| text.contains(ours));
    if let Some(other) = recipe.version.as_ref().filter(|_| is_ours) {
        let why = text.split_once("error").map_or(&*text, |(_, why)| why.trim_start_matches(": "));
        return Error::Source(format!(
            "`{}` has {proto} {other} in its Cargo.lock, with which ackclock's crate for {name} does not compile: \
             `{proto} = {version:?}` is needed (error{why})",
            recipe.shown
        ));
    }
    if text.contains("boring-sys") {
        return Error::Source(format!(
            "`{}` cannot be built: it brings BoringSSL, which needs cmake, a compiler for C++ and libclang ({text})",
            recipe.shown
        ));
    }
    if !text.contains("`make` exists for") {
        return error;
    }
    Error::Source(format!(
        "`{}` has a controller that cannot be made: it needs `Default`, and {}'s `Controller` or `ControllerFactory`",
        recipe.shown, of.proto
    ))
}

/// The versions of the crate `proto` in the text of a lock, and whether each is the registry's.
fn versions(locked: &str, proto: &str) -> Vec<(String, bool)> {
    let name = format!("\nname = {proto:?}\n");
    let version = |block: &str| {
        let (_, rest) = block.split_once("\nversion = \"")?;
        rest.split('"').next().map(str::to_owned)
    };
    let blocks = locked.split("\n\n").filter(|block| block.contains(&name));
    blocks.filter_map(|block| Some((version(block)?, block.contains("\nsource = ")))).collect()
}

/// The version of the crate `proto` in the nearest Cargo.lock of the folders above `file`: the newest, if there are
/// several.
fn locked_beside(file: &Path, proto: &str) -> Option<String> {
    let locked = file.ancestors().skip(1).find_map(|folder| std::fs::read_to_string(folder.join("Cargo.lock")).ok())?;
    versions(&locked, proto).pop().map(|(version, _)| version)
}

/// A sentence about the versions of the stack that `locked` has, unless it is one, from `sources` if they are given.
fn other_version(of: Released, locked: &str, sources: Option<&Path>) -> Option<String> {
    let Released { proto, version: ours, .. } = of;
    let found = versions(locked, proto);
    if let Some((other, _)) = found.iter().find(|(version, _)| !of.takes(version)) {
        return Some(format!("asks for {proto} {other}, and ackclock runs {ours}: `{proto} = {ours:?}` is needed"));
    }
    let unused = sources.is_some() && found.iter().any(|&(_, from_registry)| from_registry);
    unused.then(|| format!("is not used: its {proto} must be of a version that is compatible with {ours}"))
}

/// A side of a connection in an object.
struct ForeignSide {
    stack: &'static Table,
    name: String,
    crash_name: CString,
    instance: *mut c_void,
    /// Whom the object reports to: it has their addresses.
    _reports: Vec<Box<dyn Reports>>,
}

// SAFETY: a `Side`, which is `Send`, and has one owner.
unsafe impl Send for ForeignSide {}

/// Takes a report for the `Reports` at `at`.
unsafe extern "C" fn report(at: *const c_void, report: &Report, decisions: &Decisions) {
    // SAFETY: of `connect` below, and kept as long as the side.
    unsafe { &*at.cast::<Box<dyn Reports>>() }.report(report, decisions);
}

/// The decisions of the `Reports` at `at`.
unsafe extern "C" fn decisions(at: *const c_void) -> Decisions {
    // SAFETY: as above.
    unsafe { &*at.cast::<Box<dyn Reports>>() }.decisions()
}

impl Stack for Foreign {
    fn connect(
        &self,
        settings: &Settings,
        controller: Option<&str>,
        reports: Vec<Box<dyn Reports>>,
    ) -> Result<Box<dyn Side>, String> {
        let ledger = |reports| Ledger { at: std::ptr::from_ref::<Box<dyn Reports>>(reports).cast(), report, decisions };
        let ledgers: Vec<Ledger> = reports.iter().map(ledger).collect();
        let controller = Slice::new(controller.unwrap_or_default().as_bytes());
        let connect = || (self.table.connect)(settings, controller, Ledgers::new(&ledgers));
        let instance = crash::naming(&self.crash_name, "", connect);
        let side = ForeignSide {
            stack: self.table,
            name: self.name.clone(),
            crash_name: self.crash_name.clone(),
            instance,
            _reports: reports,
        };
        match side.call(&Call::Deadline) {
            Answer::Failed(why) => Err(format!("`{}` {}", self.name, why.text())),
            _ => Ok(Box::new(side)),
        }
    }
}

impl ForeignSide {
    fn call(&self, call: &Call<'_>) -> Answer<'_> {
        let mut answer = Answer::Nothing;
        // SAFETY: an instance of the table with one owner, and the borrowed values stay for the call.
        crash::naming(&self.crash_name, "", || unsafe { (self.stack.call)(self.instance, call, &mut answer) });
        answer
    }

    fn number(&self, call: &Call<'_>) -> Option<u64> {
        if let Answer::Number(number) = self.call(call) { known(number) } else { None }
    }
}

impl Drop for ForeignSide {
    fn drop(&mut self) {
        // SAFETY: an instance of the table, of which this is the only owner.
        crash::naming(&self.crash_name, "", || unsafe { (self.stack.end)(self.instance) });
    }
}

impl Side for ForeignSide {
    fn receive(&mut self, now: u64, header: Header, datagram: BytesMut) {
        self.call(&Call::Receive(now, header, Slice::new(&datagram)));
    }

    fn transmit(&mut self, now: u64) -> Option<(Header, &[u8])> {
        match self.call(&Call::Transmit(now)) {
            Answer::Leaves(header, datagram) => Some((header, datagram.get())),
            _ => None,
        }
    }

    fn expire(&mut self, now: u64) {
        self.call(&Call::Expire(now));
    }

    fn deadline(&mut self) -> Option<u64> {
        match self.call(&Call::Deadline) {
            Answer::Number(at) => known(at),
            // At once: `poll` says why.
            _ => Some(0),
        }
    }

    fn poll(&mut self) -> Option<Event> {
        match self.call(&Call::Poll) {
            Answer::Connected => Some(Event::Connected),
            Answer::Opened(path) => Some(Event::Opened(path)),
            Answer::Acknowledged => Some(Event::Acknowledged),
            Answer::Arrived(stream, from, to) => Some(Event::Arrived { stream, from, to }),
            Answer::Complete(stream) => Some(Event::Complete(stream)),
            Answer::Datagram(datagram) => Some(Event::Datagram(Bytes::copy_from_slice(datagram.get()))),
            Answer::Lost(why) => Some(Event::Lost(why.text().to_owned())),
            Answer::Failed(why) => Some(Event::Lost(format!("`{}` {}", self.name, why.text()))),
            Answer::Nothing | Answer::Number(_) | Answer::Room(..) | Answer::Leaves(..) => None,
        }
    }

    fn open_stream(&mut self) -> Option<u64> {
        self.number(&Call::OpenStream)
    }

    fn write(&mut self, stream: u64, bytes: usize) -> usize {
        self.number(&Call::Write(stream, bytes)).unwrap_or(0) as usize
    }

    fn finish(&mut self, stream: u64) -> bool {
        self.number(&Call::Finish(stream)) == Some(1)
    }

    fn send_datagram(&mut self, datagram: Bytes) {
        self.call(&Call::SendDatagram(Slice::new(&datagram)));
    }

    fn datagram_room(&mut self) -> (usize, usize) {
        if let Answer::Room(most, around) = self.call(&Call::DatagramRoom) { (most, around) } else { (0, 0) }
    }

    fn end(&mut self) -> Result<(), String> {
        match self.call(&Call::End) {
            Answer::Failed(why) => Err(format!("`{}` {}", self.name, why.text())),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn locked(version: &str, source: &str) -> String {
        format!(
            "# made\n\n[[package]]\nname = \"noq-proto\"\nversion = \"{version}\"\n{source}\n\n[[package]]\n\
             name = \"a\"\n"
        )
    }

    #[test]
    fn another_version_of_a_stack_is_named() {
        let [noq, quinn, quiche] = RELEASED;
        let registry = "source = \"registry\"\n";
        assert_eq!(other_version(noq, &locked("1.5.2", registry), None), None);
        assert_eq!(
            other_version(noq, &locked("0.17.0", registry), None).as_deref(),
            Some("asks for noq-proto 0.17.0, and ackclock runs 1.4.0: `noq-proto = \"1.4.0\"` is needed")
        );
        let folder = Some(Path::new("noq"));
        assert_eq!(other_version(noq, &locked("1.4.0", ""), folder), None);
        assert_eq!(
            other_version(noq, &locked("1.4.0", registry), folder).as_deref(),
            Some("is not used: its noq-proto must be of a version that is compatible with 1.4.0")
        );
        assert!(quinn.takes("0.11.3") && !quinn.takes("0.12.0") && !noq.takes("2.4.0"));
        assert!(quiche.takes("0.30.4") && !quiche.takes("0.29.0"));
    }
}
