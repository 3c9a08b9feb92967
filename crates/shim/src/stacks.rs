//! QUIC stacks in shared objects, which Cargo builds: noq with a controller of the user, or from sources of the user.
#![allow(unsafe_code)]

use std::collections::btree_map::{BTreeMap, Entry};
use std::ffi::{CString, c_void};
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ::stack::{
    Answer, Call, Decisions, Event, Ledger, Report, Reports, SYMBOL, Settings, Side, Slice, Stack, Table, VERSION,
    known,
};
use bytes::{Bytes, BytesMut};
use control::ControllerRef;

use crate::cargo::{self, Recipe};
use crate::object::{Object, named};
use crate::{Error, cache, crash};

/// The crate of the registry that noq's state machine is.
const PROTO: &str = "noq-proto";

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
    /// The stack with the controller in the file of Rust or the crate that `cc` names, or with its own controllers
    /// alone. `sources` is the folder of the stack, if it is not the registry's. Its code runs from here on.
    ///
    /// # Errors
    /// One sentence: the code cannot be read, built or loaded, or is for another version of the stack.
    pub fn open(cc: Option<&ControllerRef>, sources: Option<&Path>) -> Result<Arc<Self>, Error> {
        let (recipe, name) = recipe(cc, sources)?;
        let object = recipe.object();
        if let Some(why) = other_version(&recipe.locked(), sources) {
            return Err(Error::Source(format!("`{}` {why}", recipe.shown)));
        }
        let object = object.map_err(|error| in_words(&recipe, error))?;
        let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
        match loaded.entry((name.clone(), cache::digest(&object))) {
            Entry::Occupied(known) => Ok(known.get().clone()),
            Entry::Vacant(place) => Ok(place.insert(Arc::new(Self::load(name, &object)?)).clone()),
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

/// The package around the controller that `cc` names and noq from `sources`, and its name in errors.
fn recipe(cc: Option<&ControllerRef>, sources: Option<&Path>) -> Result<(Recipe, String), Error> {
    let (patches, fork) = match sources {
        None => (String::new(), None),
        Some(folder) => {
            let folder = fork(folder)?;
            (format!("{PROTO} = {{ path = {:?} }}\n", folder.display().to_string()), Some(folder))
        }
    };
    let mut recipe = Recipe {
        shown: sources.map_or_else(String::new, |folder| folder.display().to_string()),
        of: (fork.clone().unwrap_or_default(), "noq".to_owned()),
        is_crate: true,
        root: "noq::export!();\n".to_owned(),
        dependencies: format!("{PROTO} = {{ version = \"1.4.0\", default-features = false }}\n"),
        ours: &["noq"],
        patches,
        unlocked: fork.as_ref().map(|_| PROTO),
    };
    let Some((file, name)) = cc.and_then(ControllerRef::rust) else {
        let shown = recipe.shown.clone();
        return Ok((recipe, shown));
    };
    let shown = cargo::shown(&file);
    let (file, text) = cargo::read(&file, &shown)?;
    let is_crate = file.ends_with("Cargo.toml");
    recipe.root = if is_crate {
        recipe.dependencies.push_str(&cargo::dependency(&file, &text, &shown)?);
        let Some(name) = &name else {
            return Err(Error::Source(format!(
                "`{shown}` is a crate: write `noq:{shown}:NAME`, with the controller in it"
            )));
        };
        format!("noq::export!(mine::{name});\n")
    } else {
        format!("{text}\nnoq::export!(crate::{});\n", of_file(&text, name.as_deref(), &shown)?)
    };
    let rest = format!("noq {} {}", name.unwrap_or_default(), fork.unwrap_or_default().display());
    let called = format!("noq:{shown}");
    Ok((Recipe { shown, of: (file, rest), is_crate: is_crate || sources.is_some(), ..recipe }, called))
}

/// The crate of noq's state machine in a folder: the folder itself, or one in it.
fn fork(folder: &Path) -> Result<PathBuf, Error> {
    let absolute = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    let is_proto = |folder: &PathBuf| {
        let text = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap_or_default();
        let table: toml::Table = text.parse().unwrap_or_default();
        table.get("package").and_then(|package| package.get("name")).and_then(toml::Value::as_str) == Some(PROTO)
    };
    let found = [absolute.join(PROTO), absolute].into_iter().find(is_proto);
    found.ok_or_else(|| Error::Source(format!("noq={}: must be a folder with the crate `{PROTO}`", folder.display())))
}

/// The type of a file that makes its controllers: a factory, or else a controller.
fn of_file(text: &str, name: Option<&str>, shown: &str) -> Result<String, Error> {
    let [factories, types] = ["ControllerFactory", "Controller"].map(|of| cargo::implementations(text, of));
    let refuse = |what: String| Err(Error::Source(format!("`{shown}` {what}")));
    let makers = if factories.is_empty() { &types } else { &factories };
    match (name, makers.as_slice()) {
        (Some(name), _) if factories.iter().chain(&types).any(|one| one == name) => Ok(name.to_owned()),
        (Some(name), _) => refuse(format!("has no controller `{name}`; it has {}", cargo::listed(&types))),
        (None, [only]) => Ok(only.clone()),
        (None, []) => refuse("has no controller: it needs `impl noq_proto::congestion::Controller for …`".to_owned()),
        (None, [first, ..]) => refuse(format!("has several controllers; write `noq:{shown}:{first}`")),
    }
}

/// The error about a type that cannot be made, in words of the user's: the compiler speaks of a line behind the file.
fn in_words(recipe: &Recipe, error: Error) -> Error {
    let sentence = error.to_string();
    if !sentence.contains("`make` exists for") {
        return error;
    }
    Error::Source(format!(
        "`{}` has a controller that cannot be made: it needs `Default`, and noq-proto's `Controller` or \
         `ControllerFactory`",
        recipe.shown
    ))
}

/// A sentence about the versions of noq that `locked` has, unless it is one, from `sources` if they are given.
fn other_version(locked: &str, sources: Option<&Path>) -> Option<String> {
    let blocks: Vec<&str> =
        locked.split("\n\n").filter(|block| block.contains(&format!("\nname = \"{PROTO}\"\n"))).collect();
    let from_registry = |block: &&&str| block.contains("\nsource = ");
    let version =
        |block: &str| block.split("\nversion = \"").nth(1).and_then(|rest| rest.split('"').next().map(str::to_owned));
    let (ours, others): (Vec<&&str>, Vec<&&str>) =
        blocks.iter().partition(|block| version(block).is_some_and(|version| version.starts_with("1.")));
    if let Some(other) = others.first() {
        let version = version(other).unwrap_or_default();
        return Some(format!("asks for {PROTO} {version}, and ackclock runs 1.4: `{PROTO} = \"1.4\"` is needed"));
    }
    let unused = sources.is_some() && ours.iter().any(from_registry);
    unused.then(|| format!("is not used: its {PROTO} must be of a version that is compatible with 1.4.0"))
}

/// A side of a connection in an object.
struct ForeignSide {
    stack: &'static Table,
    name: String,
    crash_name: CString,
    instance: *mut c_void,
    /// Whom the object reports to: it has the address.
    _reports: Option<Box<Box<dyn Reports>>>,
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
        reports: Option<Box<dyn Reports>>,
    ) -> Result<Box<dyn Side>, String> {
        let reports = reports.map(Box::new);
        let at = reports.as_deref().map_or(std::ptr::null(), |reports| std::ptr::from_ref(reports).cast());
        let ledger = Ledger { at, report, decisions };
        let controller = Slice::new(controller.unwrap_or_default().as_bytes());
        let connect = || (self.table.connect)(settings, controller, ledger);
        let instance = crash::naming(&self.crash_name, connect);
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
        crash::naming(&self.crash_name, || unsafe { (self.stack.call)(self.instance, call, &mut answer) });
        answer
    }

    fn number(&self, call: &Call<'_>) -> Option<u64> {
        if let Answer::Number(number) = self.call(call) { known(number) } else { None }
    }
}

impl Drop for ForeignSide {
    fn drop(&mut self) {
        // SAFETY: an instance of the table, of which this is the only owner.
        crash::naming(&self.crash_name, || unsafe { (self.stack.end)(self.instance) });
    }
}

impl Side for ForeignSide {
    fn receive(&mut self, now: u64, ecn: u8, datagram: BytesMut) {
        self.call(&Call::Receive(now, ecn, Slice::new(&datagram)));
    }

    fn transmit(&mut self, now: u64) -> Option<(u8, &[u8])> {
        match self.call(&Call::Transmit(now)) {
            Answer::Leaves(ecn, datagram) => Some((ecn, datagram.get())),
            _ => None,
        }
    }

    fn expire(&mut self, now: u64) {
        self.call(&Call::Expire(now));
    }

    fn deadline(&self) -> Option<u64> {
        match self.call(&Call::Deadline) {
            Answer::Number(at) => known(at),
            // At once: `poll` says why.
            _ => Some(0),
        }
    }

    fn poll(&mut self) -> Option<Event> {
        match self.call(&Call::Poll) {
            Answer::Connected => Some(Event::Connected),
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
}
