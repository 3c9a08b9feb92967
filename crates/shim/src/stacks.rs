//! QUIC stacks in shared objects: quinn and quiche, noq and quinn with a controller of the user, any of them from
//! sources of the user, all of which Cargo builds, and a stack of the user in C.
#![allow(unsafe_code)]

mod side;

use std::collections::btree_map::{BTreeMap, Entry};
use std::ffi::CString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ::stack::{SYMBOL, Table, VERSION};
use control::ControllerRef;

use crate::cargo::{self, Recipe};
use crate::object::{Object, named};
use crate::{Error, c_stack, cache};

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
        // Never unloaded: threads that were in it may have destructors of it to run.
        std::mem::forget(object);
        Ok(Self { crash_name: named(&name), name, table })
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

#[cfg(test)]
mod tests {
    use std::fs;

    use scratch::Scratch;

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

    #[test]
    fn the_stack_of_a_controller_is_the_one_that_it_names_or_noq() {
        let of = |cc: &str| Released::of(&cc.parse().unwrap()).name;
        assert_eq!(
            (of("quinn:bbr"), of("quiche:cubic"), of("noq:cubic"), of("newreno")),
            ("quinn", "quiche", "noq", "noq")
        );
    }

    #[test]
    fn the_newest_version_of_the_nearest_lock_counts() {
        let scratch = Scratch::new().unwrap();
        let file = scratch.path("mine/src/lib.rs");
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        assert_eq!(versions("", "noq-proto"), []);
        let two = locked("1.3.0", "source = \"registry\"\n") + &locked("1.4.2", "");
        assert_eq!(versions(&two, "noq-proto"), [("1.3.0".to_owned(), true), ("1.4.2".to_owned(), false)]);
        fs::write(scratch.path("Cargo.lock"), locked("0.9.0", "")).unwrap();
        assert_eq!(locked_beside(&file, "noq-proto").as_deref(), Some("0.9.0"));
        fs::write(scratch.path("mine/Cargo.lock"), two).unwrap();
        assert_eq!(locked_beside(&file, "noq-proto").as_deref(), Some("1.4.2"));
        assert_eq!(locked_beside(&file, "quinn-proto"), None);
    }

    #[test]
    fn the_controller_of_a_file_is_its_only_factory_its_only_type_or_the_one_that_is_asked_for() {
        let of = |text, name| of_file(RELEASED[0], text, name, "mine.rs").map_err(|error| error.to_string());
        let both = "impl ControllerFactory for Makes {}\nimpl Controller for One {}\nimpl Controller for Two {}\n";
        let types = both.split_once('\n').unwrap().1;
        assert_eq!(of(both, None), Ok("Makes".to_owned()));
        assert_eq!((of(both, Some("Two")), of(both, Some("Makes"))), (Ok("Two".to_owned()), Ok("Makes".to_owned())));
        assert_eq!(of(both, Some("Three")), Err("`mine.rs` has no controller `Three`; it has One, Two".to_owned()));
        assert_eq!(of(types, None), Err("`mine.rs` has several controllers; write `noq:mine.rs:One`".to_owned()));
        let none = "`mine.rs` has no controller: it needs `impl noq_proto::congestion::Controller for …`";
        assert_eq!(of("fn main() {}", None), Err(none.to_owned()));
    }

    #[test]
    fn a_changed_stack_is_a_folder_with_its_crate_or_the_crate_itself() {
        let scratch = Scratch::new().unwrap();
        let crate_of = |folder: &Path, name: &str| {
            fs::create_dir_all(folder).unwrap();
            fs::write(folder.join("Cargo.toml"), format!("[package]\nname = {name:?}\n")).unwrap();
        };
        let (whole, own, other) = (scratch.path("whole"), scratch.path("own"), scratch.path("other"));
        crate_of(&whole.join("noq-proto"), "noq-proto");
        crate_of(&own, "noq-proto");
        crate_of(&other, "noq");
        let [noq, ..] = RELEASED;
        assert_eq!((fork(noq, &whole).unwrap(), fork(noq, &own).unwrap()), (whole.join("noq-proto"), own.clone()));
        let why = format!("noq={}: must be a folder with the crate `noq-proto`", other.display());
        assert_eq!(fork(noq, &other).unwrap_err().to_string(), why);
    }

    /// The package around the controller `cc`, and its name in errors.
    fn package(cc: &str, sources: Option<&Path>) -> Result<(Recipe, String), String> {
        let cc = cc.parse().unwrap();
        recipe(Released::of(&cc), &cc, sources).map_err(|error| error.to_string())
    }

    #[test]
    fn a_stack_alone_is_a_package_that_shows_it() {
        let (noq, name) = package("noq:cubic", None).unwrap();
        assert_eq!((noq.root.as_str(), name.as_str(), noq.is_crate), ("noq::export!();\n", "noq", false));
        assert_eq!(noq.dependencies, "noq-proto = { version = \"1.4.0\", default-features = false }\n");
        assert_eq!((noq.patches.as_str(), noq.unlocked, noq.version), ("", None, None));
        let (quiche, _) = package("quiche:cubic", None).unwrap();
        assert_eq!((quiche.dependencies.as_str(), quiche.wrapped.len()), ("", 4));
        let scratch = Scratch::new().unwrap();
        fs::write(scratch.path("Cargo.toml"), "[package]\nname = \"noq-proto\"\n").unwrap();
        let (fork, name) = package("noq:cubic", Some(scratch.folder())).unwrap();
        assert_eq!(fork.patches, format!("noq-proto = {{ path = {:?} }}\n", scratch.folder().display().to_string()));
        assert!(fork.is_crate && fork.unlocked == Some("noq-proto") && name == scratch.folder().display().to_string());
    }

    #[test]
    fn a_controller_of_the_user_is_in_the_package_of_its_stack() {
        let scratch = Scratch::new().unwrap();
        let file = scratch.path("mine.rs");
        fs::write(&file, "impl Controller for Mine {}\n").unwrap();
        let cc = format!("quinn:{}", file.display());
        let (of_file, name) = package(&cc, None).unwrap();
        assert_eq!(of_file.root, "impl Controller for Mine {}\n\nquinn::export!(crate::Mine);\n");
        assert_eq!((name.as_str(), of_file.is_crate, of_file.version), (cc.as_str(), false, None));
        // With the version that is locked beside it.
        let beside = "\n[[package]]\nname = \"quinn-proto\"\nversion = \"0.11.12\"\n";
        fs::write(scratch.path("Cargo.lock"), beside).unwrap();
        let (of_file, _) = package(&cc, None).unwrap();
        assert_eq!(of_file.dependencies, "quinn-proto = { version = \"=0.11.12\", default-features = false }\n");
        assert_eq!((of_file.version.as_deref(), of_file.unlocked), (Some("0.11.12"), Some("quinn-proto")));
        fs::write(scratch.path("Cargo.lock"), beside.replace("0.11.12", "0.11.19")).unwrap();
        assert_eq!(package(&cc, None).unwrap().0.version, None);
        let refused = package(&format!("quiche:{}", file.display()), None).err().unwrap();
        assert!(refused.contains("quiche takes no controller from outside"), "{refused}");
        // A crate names it.
        let manifest = scratch.path("Cargo.toml");
        fs::write(&manifest, "[package]\nname = \"my-cc\"\n").unwrap();
        let cc = format!("noq:{}", manifest.display());
        let refused = package(&cc, None).err().unwrap();
        assert!(refused.ends_with(":NAME`, with the controller in it"), "{refused}");
        let (of_crate, _) = package(&format!("{cc}:Mine"), None).unwrap();
        assert!(of_crate.is_crate && of_crate.root == "noq::export!(mine::Mine);\n");
        assert!(of_crate.dependencies.contains("mine = { package = \"my-cc\", path = "), "{}", of_crate.dependencies);
    }

    #[test]
    fn errors_about_a_stack_are_told_in_words_of_the_user() {
        let told = |version: Option<&str>, why: &str| {
            let (recipe, _) = package("noq:cubic", None).unwrap();
            let recipe = Recipe { shown: "mine.rs".to_owned(), version: version.map(str::to_owned), ..recipe };
            in_words(RELEASED[0], &recipe, Error::Source(why.to_owned())).to_string()
        };
        let ours = "crates/noq/src/lib.rs:1: error: no field `rtt`";
        assert_eq!(told(None, ours), ours);
        assert_eq!(
            told(Some("1.2.0"), ours),
            "`mine.rs` has noq-proto 1.2.0 in its Cargo.lock, with which ackclock's crate for noq does not compile: \
             `noq-proto = \"1.4.0\"` is needed (errorno field `rtt`)"
        );
        assert_eq!(told(Some("1.2.0"), "mine.rs:1: error: no type"), "mine.rs:1: error: no type");
        assert!(told(None, "boring-sys failed").contains("needs cmake, a compiler for C++ and libclang"));
        let unmade = told(None, "no method named `make` exists for struct Mine");
        assert!(unmade.starts_with("`mine.rs` has a controller that cannot be made: it needs `Default`"), "{unmade}");
    }
}
