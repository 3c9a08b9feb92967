//! From a file of Rust, or a crate, to a shared object: Cargo builds it against the crates of this ackclock, whose
//! sources are embedded. So the interface matches the program that loads it.
//!
//! A package around the controller shows its table. A file becomes the root of that package, a crate its dependency.
//! Both are in the user's cache, with the built crates.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::{Error, cache, compile};

/// The sources of `control`, `plugin` and `units` and of their workspace, by their paths in it.
const SOURCES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/sources.rs"));

const PROFILE: &str = "[profile.release]\nopt-level = 2\ndebug = false\nincremental = false\n";

/// A package around code of the user.
pub(crate) struct Recipe {
    /// The code as messages name it.
    pub(crate) shown: String,
    /// The absolute path of the code, and the rest by which the package differs from others of it.
    pub(crate) of: (PathBuf, String),
    /// The code has files that only Cargo knows.
    pub(crate) is_crate: bool,
    /// The source of its library.
    pub(crate) root: String,
    /// Lines of its manifest: dependencies besides the crates of ackclock.
    pub(crate) dependencies: String,
    /// Crates of ackclock that it depends on, by their names there.
    pub(crate) ours: &'static [&'static str],
    /// Crates of the registry that are others here: their lines.
    pub(crate) patches: String,
    /// Functions whose calls in the object the linker passes to `__wrap_…` in it.
    pub(crate) wrapped: &'static [&'static str],
    /// A crate whose version Cargo chooses anew.
    pub(crate) unlocked: Option<&'static str>,
    /// The version that this crate has instead of ackclock's.
    pub(crate) version: Option<String>,
}

/// The object of the controller in `file`, of Rust or the manifest of a crate. With a `name` in capitals it is that
/// entry, else that type. Without one it is the entry `ENTRY`, or the only type of the file that is a controller.
pub(crate) fn compile(file: &Path, name: Option<&str>) -> Result<Vec<u8>, Error> {
    let shown = shown(file);
    let (file, text) = read(file, &shown)?;
    let is_crate = file.ends_with("Cargo.toml");
    let (root, dependencies) = if is_crate {
        (of_dependency(name), dependency(&file, &text, &shown)?)
    } else {
        (of_file(&text, name, &shown)?, String::new())
    };
    let of = (file, name.unwrap_or_default().to_owned());
    let ours = &["control", "plugin", "units"];
    // A crate asks the registry for our crates, and gets this ackclock's.
    let crates = || workspace(None).map_err(|error| failed(&shown, "built", &error));
    let patches = if is_crate { path_lines(&["control", "units"], false, &crates()?) } else { String::new() };
    let recipe =
        Recipe { shown, of, is_crate, root, dependencies, ours, patches, wrapped: &[], unlocked: None, version: None };
    recipe.object()
}

/// The absolute path of `file`, and its text.
pub(crate) fn read(file: &Path, shown: &str) -> Result<(PathBuf, String), Error> {
    let text = fs::read_to_string(file).map_err(|error| failed(shown, "read", &error))?;
    Ok((std::path::absolute(file).map_err(|error| failed(shown, "read", &error))?, text))
}

impl Recipe {
    /// The object: built, unless it is in the cache.
    pub(crate) fn object(&self) -> Result<Vec<u8>, Error> {
        let failed = |error: io::Error| failed(&self.shown, "built", &error);
        let workspace = self.workspace().map_err(failed)?;
        let manifest = self.manifest(&workspace);
        let kept = cache::folder(compile::FOLDER).map(|folder| {
            let object = format!("{}.so", cache::digest(&(&workspace, &manifest, &self.root)));
            folder.join(object)
        });
        // Cargo knows whether a crate has changed.
        let known = kept.as_deref().filter(|_| !self.is_crate).and_then(|kept| fs::read(kept).ok());
        if let Some(object) = known {
            return Ok(object);
        }
        let built = self.build(&workspace, &self.package(&workspace), &manifest).map_err(failed)?;
        let object = object(&built, &self.shown, self.is_crate)?;
        if let Some(kept) = kept.filter(|_| !self.is_crate) {
            // Without the cache it is built again the next time: no more than that.
            let _ = cache::keep(&object, &kept);
        }
        Ok(object)
    }

    fn workspace(&self) -> io::Result<PathBuf> {
        workspace(self.unlocked.zip(self.version.as_deref()))
    }

    fn package(&self, workspace: &Path) -> PathBuf {
        workspace.join("packages").join(cache::digest(&self.of))
    }

    /// The versions of the crates in the object, once Cargo has tried to build it.
    #[cfg(feature = "stacks")]
    pub(crate) fn locked(&self) -> String {
        let locked =
            self.workspace().and_then(|workspace| fs::read_to_string(self.package(&workspace).join("Cargo.lock")));
        locked.unwrap_or_default()
    }

    fn manifest(&self, workspace: &Path) -> String {
        let Self { of, dependencies, ours, patches, .. } = self;
        let ours = path_lines(ours, true, workspace);
        let patches = if patches.is_empty() { String::new() } else { format!("[patch.crates-io]\n{patches}\n") };
        format!(
            "[package]\nname = \"controller-{}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n[lib]\n\
             path = \"lib.rs\"\ncrate-type = [\"cdylib\"]\n\n[dependencies]\n{ours}{dependencies}\n{patches}{PROFILE}",
            cache::digest(&of.0),
        )
    }

    /// Runs Cargo on the package, one at a time.
    fn build(&self, workspace: &Path, package: &Path, manifest: &str) -> io::Result<Output> {
        fs::create_dir_all(package)?;
        // Crates of the registry are built once for all workspaces.
        let target = workspace.with_file_name("target");
        let lock = File::create(workspace.with_file_name("lock"))?;
        lock.lock()?;
        // Versions are this ackclock's. A crate may need more.
        let locked = fs::read_to_string(workspace.join("Cargo.lock"))?;
        fs::write(package.join("Cargo.lock"), self.unlocked.map_or(locked.clone(), |name| without(&locked, name)))?;
        for (name, text) in [("Cargo.toml", manifest), ("lib.rs", &self.root)] {
            // An old time would have Cargo build nothing, a new one all.
            if fs::read_to_string(package.join(name)).ok().as_deref() != Some(text) {
                fs::write(package.join(name), text)?;
            }
        }
        Command::new("cargo")
            .args(["rustc", "--release", "--quiet", "--color", "never", "--message-format", "json-diagnostic-short"])
            .arg("--target-dir")
            .arg(target)
            .arg("--")
            .args(self.wrapped.iter().map(|name| format!("-Clink-arg=-Wl,--wrap={name}")))
            .current_dir(package)
            .output()
            .map_err(|error| match error.kind() {
                io::ErrorKind::NotFound => io::Error::other("there is no `cargo` on the PATH; install Rust, by rustup"),
                _ => error,
            })
    }
}

/// The text of a lock without the crate `name`.
fn without(locked: &str, name: &str) -> String {
    let named = format!("\nname = \"{name}\"\n");
    let blocks: Vec<&str> = locked.split("\n\n").filter(|block| !block.contains(&named)).collect();
    blocks.join("\n\n")
}

/// Lines of a manifest with crates of ackclock in this workspace, by their names in it or those of the registry.
fn path_lines(names: &[&str], renamed: bool, workspace: &Path) -> String {
    let crates = workspace.join("crates");
    let line = |name: &&str| {
        let path = crates.join(name).display().to_string();
        match renamed {
            true => format!("{name} = {{ package = \"ackclock-{name}\", path = {path:?} }}\n"),
            false => format!("ackclock-{name} = {{ path = {path:?} }}\n"),
        }
    };
    names.iter().map(line).collect()
}

/// The file as messages name it: a crate is its folder.
pub(crate) fn shown(file: &Path) -> String {
    let folder = file.parent().filter(|folder| file.ends_with("Cargo.toml") && !folder.as_os_str().is_empty());
    folder.unwrap_or(file).display().to_string()
}

fn failed(shown: &str, what: &str, error: &io::Error) -> Error {
    Error::Source(format!("`{shown}` cannot be {what}: {error}"))
}

/// The folder of the crates in the cache, which is written once for each state of their sources, and for each version
/// of another crate that they are to have.
fn workspace(version: Option<(&str, &str)>) -> io::Result<PathBuf> {
    let none = || io::Error::other("there is no folder for it: HOME or XDG_CACHE_HOME must name one of your own");
    let folder = cache::folder("rust").ok_or_else(none)?.join(match version {
        None => cache::digest(&SOURCES),
        Some(_) => cache::digest(&(SOURCES, version)),
    });
    if folder.is_dir() {
        return Ok(folder);
    }
    let part = cache::beside(&folder);
    for (name, text) in SOURCES {
        let path = part.join(name);
        fs::create_dir_all(path.parent().unwrap_or(&part))?;
        fs::write(path, if *name == "Cargo.toml" { of_these(text, version) } else { (*text).to_owned() })?;
    }
    // The build of `control` looks at it, and would take it for changed each time if it were missing.
    fs::write(part.join("CONTRIBUTING.md"), "")?;
    if let Err(error) = fs::rename(&part, &folder) {
        let _ = fs::remove_dir_all(&part);
        // Another process was faster.
        if !folder.is_dir() {
            return Err(error);
        }
    }
    Ok(folder)
}

/// The manifest of the workspace with the embedded crates alone, and with this version of a crate. A source
/// distribution lists others by name.
fn of_these(text: &str, version: Option<(&str, &str)>) -> String {
    let mut manifest: toml::Table = text.parse().unwrap_or_default();
    if let Some(toml::Value::Table(workspace)) = manifest.get_mut("workspace") {
        workspace.insert("members".to_owned(), vec!["crates/*".to_owned()].into());
        workspace.remove("default-members");
        if let Some((name, version)) = version
            && let Some(dependency) = workspace.get_mut("dependencies").and_then(|all| all.get_mut(name))
        {
            dependency["version"] = format!("={version}").into();
        }
    }
    manifest.to_string()
}

/// The line of the crate at `file` among dependencies, under the name `mine`.
pub(crate) fn dependency(file: &Path, text: &str, shown: &str) -> Result<String, Error> {
    let refuse = |what: &str| Error::Source(format!("`{shown}` is no crate: {what}"));
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| refuse(error.message()))?;
    let name = table.get("package").and_then(|package| package.get("name")).and_then(toml::Value::as_str);
    let name = name.ok_or_else(|| refuse("its Cargo.toml has no `package.name`"))?;
    let folder = file.parent().unwrap_or(file).display().to_string();
    Ok(format!("mine = {{ package = {name:?}, path = {folder:?} }}\n"))
}

fn of_dependency(name: Option<&str>) -> String {
    match name {
        None => entry("mine::ENTRY"),
        Some(name) if is_entry(name) => entry(&format!("mine::{name}")),
        Some(name) => of_type(&format!("mine::{name}"), name),
    }
}

/// The text of a file, and behind it the table of the controller that is asked for.
fn of_file(text: &str, name: Option<&str>, shown: &str) -> Result<String, Error> {
    let refuse = |what: String| Err(Error::Source(format!("`{shown}` {what}")));
    let types = controllers(text);
    let has_entry = ["const ENTRY:", "static ENTRY:"].iter().any(|one| text.contains(one));
    let shows_table = text.contains("plugin::export!");
    let tail = match (name, types.as_slice()) {
        (None, _) if shows_table => String::new(),
        (None, _) if has_entry => entry("crate::ENTRY"),
        (None, [only]) => of_type(&format!("crate::{only}"), only),
        (None, []) => return refuse("has no controller: it needs `impl Controller for …`".to_owned()),
        (None, [first, ..]) => return refuse(format!("has several controllers; write `{shown}:{first}`")),
        (Some(name), _) if is_entry(name) => entry(&format!("crate::{name}")),
        // The entry of the only type has its parameters, too.
        (Some(name), [only]) if only == name && shows_table => String::new(),
        (Some(name), [only]) if only == name && has_entry => entry("crate::ENTRY"),
        (Some(name), _) if types.iter().any(|one| one == name) => of_type(&format!("crate::{name}"), name),
        (Some(name), _) => return refuse(format!("has no controller `{name}`; it has {}", listed(&types))),
    };
    Ok(format!("{text}\n{tail}"))
}

pub(crate) fn listed(types: &[String]) -> String {
    if types.is_empty() { "none".to_owned() } else { types.join(", ") }
}

/// Constants are in capitals.
fn is_entry(name: &str) -> bool {
    !name.chars().any(|letter| letter.is_ascii_lowercase())
}

/// The types of a file that are controllers, as their implementations name them.
fn controllers(text: &str) -> Vec<String> {
    implementations(text, "Controller")
}

/// The types of a file that implement a trait whose name ends so.
pub(crate) fn implementations(text: &str, of: &str) -> Vec<String> {
    let of_line = |line: &str| {
        let (_, of) = line.trim_start().strip_prefix("impl ")?.split_once(&format!("{of} for "))?;
        let name: String = of.chars().take_while(|letter| letter.is_alphanumeric() || *letter == '_').collect();
        Some(name).filter(|name| !name.is_empty())
    };
    text.lines().filter_map(of_line).collect()
}

fn entry(path: &str) -> String {
    format!("plugin::export!({path});\n")
}

/// The table of a type that has a default and no parameters.
fn of_type(path: &str, name: &str) -> String {
    format!(
        "const _: () = {{\n    const ENTRY: control::Entry = control::Entry {{\n        name: {name:?},\n        \
         title: {name:?},\n        summary: \"\",\n        source: \"\",\n        aim: control::Aim::General,\n        \
         parameters: &[],\n        probes: &[],\n        make: |_| Ok(Box::new(<{path} as Default>::default())),\n    \
         }};\n    plugin::export!(ENTRY);\n}};\n"
    )
}

/// The object that Cargo has built, or its first error.
fn object(built: &Output, shown: &str, of_crate: bool) -> Result<Vec<u8>, Error> {
    let text = String::from_utf8_lossy(&built.stdout);
    let messages: Vec<serde_json::Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    if built.status.success() {
        let files = messages.iter().rev().filter_map(|message| message["filenames"].as_array()).flatten();
        let object = files.filter_map(serde_json::Value::as_str).find(|file| file.ends_with(".so"));
        let object = object.ok_or_else(|| Error::Source(format!("`{shown}` gives no shared object")))?;
        return fs::read(object).map_err(|error| failed(shown, "built", &error));
    }
    let is_error = |message: &&serde_json::Value| message["message"]["level"] == "error";
    let rendered = messages.iter().find(is_error).and_then(|message| message["message"]["rendered"].as_str());
    let Some(rendered) = rendered else {
        return Err(Error::Source(format!("`{shown}` cannot be built: {}", said(&built.stderr))));
    };
    let first = rendered.lines().next().unwrap_or_default().trim();
    // The root of the package is the file, or a source of ours in front of the crate.
    Err(Error::Source(match first.strip_prefix("lib.rs:") {
        Some(rest) if of_crate => {
            let why = rest.split_once(' ').map_or(rest, |(_, why)| why);
            format!("`{shown}` does not show its controller: {why}")
        }
        Some(rest) => format!("`{shown}` does not compile: {shown}:{rest}"),
        None => format!("`{shown}` does not compile: {first}"),
    }))
}

/// The lines in which Cargo says why it builds nothing, as one.
fn said(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).take(4).collect();
    if lines.is_empty() { "Cargo does not say why".to_owned() } else { lines.join(" ").replacen("error: ", "", 1) }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;

    use scratch::Scratch;

    use super::*;

    const TWO: &str = "impl Controller for One {}\n    impl control::Controller for Two {}\nimpl Clone for One {}\n";

    fn tail(text: &str, name: Option<&str>) -> String {
        let whole = of_file(text, name, "mine.rs").unwrap();
        whole.strip_prefix(text).unwrap().trim().to_owned()
    }

    fn refused(text: &str, name: Option<&str>) -> String {
        of_file(text, name, "mine.rs").unwrap_err().to_string()
    }

    #[test]
    fn a_file_shows_the_controller_that_is_asked_for() {
        let one = "impl Controller for One {}\n";
        let with_entry = format!("{one}pub const ENTRY: Entry = Entry {{}};\n");
        let shown = format!("{with_entry}plugin::export!(ENTRY);\n");
        assert!(tail(one, None).contains("<crate::One as Default>"));
        assert_eq!(tail(&with_entry, None), "plugin::export!(crate::ENTRY);");
        assert_eq!(tail(&with_entry, Some("One")), "plugin::export!(crate::ENTRY);");
        assert_eq!(tail(&with_entry, Some("OTHER")), "plugin::export!(crate::OTHER);");
        assert_eq!((tail(&shown, None), tail(&shown, Some("One"))), (String::new(), String::new()));
        assert!(tail(TWO, Some("Two")).contains("<crate::Two as Default>"));
    }

    #[test]
    fn a_file_without_it_is_refused() {
        assert_eq!(refused("fn main() {}", None), "`mine.rs` has no controller: it needs `impl Controller for …`");
        assert_eq!(refused(TWO, None), "`mine.rs` has several controllers; write `mine.rs:One`");
        assert_eq!(refused(TWO, Some("Three")), "`mine.rs` has no controller `Three`; it has One, Two");
    }

    #[test]
    fn the_workspace_in_the_cache_has_no_other_members() {
        let text = "[workspace]\nresolver = \"3\"\nmembers = [\"crates/control\", \"crates/python\"]\n\
                    [profile.test]\nopt-level = 2\n";
        let manifest: toml::Table = of_these(text, None).parse().unwrap();
        assert_eq!(manifest["workspace"]["members"].as_array().unwrap(), &["crates/*".into()]);
        assert_eq!(manifest["workspace"]["resolver"].as_str(), Some("3"));
        assert_eq!(manifest["profile"]["test"]["opt-level"].as_integer(), Some(2));
    }

    #[test]
    fn the_workspace_in_the_cache_may_have_another_version_of_a_crate() {
        let text = "[workspace]\n[workspace.dependencies]\nnoq-proto = { version = \"1.4.0\", features = [] }\n";
        let manifest: toml::Table = of_these(text, Some(("noq-proto", "1.3.2"))).parse().unwrap();
        assert_eq!(manifest["workspace"]["dependencies"]["noq-proto"]["version"].as_str(), Some("=1.3.2"));
        let manifest: toml::Table = of_these(text, Some(("other", "1.3.2"))).parse().unwrap();
        assert_eq!(manifest["workspace"]["dependencies"]["noq-proto"]["version"].as_str(), Some("1.4.0"));
    }

    /// What Cargo says: its status, its messages and its errors.
    fn said_by_cargo(status: i32, messages: &str, errors: &str) -> Output {
        Output { status: std::process::ExitStatus::from_raw(status), stdout: messages.into(), stderr: errors.into() }
    }

    #[test]
    fn the_object_is_the_last_file_that_cargo_names() {
        let scratch = Scratch::new().unwrap();
        let named = |names: &[&str]| {
            let files: Vec<String> = names.iter().map(|name| scratch.path(name).display().to_string()).collect();
            serde_json::json!({ "filenames": files }).to_string()
        };
        fs::write(scratch.path("of.so"), "a dependency").unwrap();
        fs::write(scratch.path("mine.so"), "object").unwrap();
        let lines = [named(&["of.so"]), "no JSON".to_owned(), named(&["mine.d", "mine.so"])].join("\n");
        let built = said_by_cargo(0, &lines, "");
        assert_eq!(object(&built, "mine.rs", false).unwrap(), b"object");
        let none = object(&said_by_cargo(0, &named(&["mine.d"]), ""), "mine.rs", false).unwrap_err();
        assert_eq!(none.to_string(), "`mine.rs` gives no shared object");
    }

    #[test]
    fn the_first_error_of_cargo_is_told_with_its_place() {
        let refused = |rendered: &str, of_crate| {
            let message = |level, rendered| serde_json::json!({ "message": { "level": level, "rendered": rendered } });
            let lines = format!("{}\n{}", message("warning", "lib.rs:1:1: unused"), message("error", rendered));
            object(&said_by_cargo(256, &lines, ""), "mine.rs", of_crate).unwrap_err().to_string()
        };
        let here = "lib.rs:3:5: error: no type\nmore";
        assert_eq!(refused(here, false), "`mine.rs` does not compile: mine.rs:3:5: error: no type");
        assert_eq!(refused(here, true), "`mine.rs` does not show its controller: error: no type");
        assert_eq!(refused("src/a.rs:1: error", true), "`mine.rs` does not compile: src/a.rs:1: error");
        let without = |errors| object(&said_by_cargo(256, "", errors), "mine.rs", false).unwrap_err().to_string();
        assert_eq!(without("error: no network\n\n  at all\n"), "`mine.rs` cannot be built: no network at all");
        assert_eq!(without(""), "`mine.rs` cannot be built: Cargo does not say why");
    }

    #[test]
    fn a_lock_loses_the_crate_that_is_chosen_anew() {
        let lock = "version = 4\n\n[[package]]\nname = \"a\"\nversion = \"1.0.0\"\n\n[[package]]\nname = \"b\"\n";
        assert_eq!(without(lock, "a"), "version = 4\n\n[[package]]\nname = \"b\"\n");
        assert_eq!(without(lock, "c"), lock);
    }

    #[test]
    fn a_manifest_has_the_crates_the_users_lines_and_patches() {
        let recipe = Recipe {
            shown: "mine.rs".to_owned(),
            of: (PathBuf::from("/home/me/mine.rs"), String::new()),
            is_crate: false,
            root: String::new(),
            dependencies: "mine = { path = \"/home/me\" }\n".to_owned(),
            ours: &["control"],
            patches: path_lines(&["units"], false, Path::new("/cache")),
            wrapped: &[],
            unlocked: None,
            version: None,
        };
        let manifest: toml::Table = recipe.manifest(Path::new("/cache")).parse().unwrap();
        let control = &manifest["dependencies"]["control"];
        assert_eq!(control["package"].as_str(), Some("ackclock-control"));
        assert_eq!(control["path"].as_str(), Some("/cache/crates/control"));
        assert_eq!(manifest["dependencies"]["mine"]["path"].as_str(), Some("/home/me"));
        assert_eq!(manifest["patch"]["crates-io"]["ackclock-units"]["path"].as_str(), Some("/cache/crates/units"));
        assert_eq!(manifest["lib"]["crate-type"].as_array().unwrap(), &["cdylib".into()]);
        // One package for each code and rest.
        let other =
            Recipe { of: (PathBuf::from("/home/me/mine.rs"), "Two".to_owned()), patches: String::new(), ..recipe };
        assert!(!other.manifest(Path::new("/cache")).contains("patch"));
        let package = other.package(Path::new("/cache"));
        assert!(package.starts_with("/cache/packages") && package.file_name().unwrap().len() == 32);
        assert_ne!(
            package,
            Recipe { of: (PathBuf::from("/home/me/mine.rs"), String::new()), ..other }.package(Path::new("/cache"))
        );
    }

    #[test]
    fn a_crate_shows_an_entry_in_capitals_or_a_type() {
        assert_eq!(of_dependency(None), "plugin::export!(mine::ENTRY);\n");
        assert_eq!(of_dependency(Some("OTHER_2")), "plugin::export!(mine::OTHER_2);\n");
        assert!(of_dependency(Some("Mine")).contains("<mine::Mine as Default>"));
        assert_eq!(shown(Path::new("mine/Cargo.toml")), "mine");
        assert_eq!(
            (shown(Path::new("Cargo.toml")), shown(Path::new("a/b.rs"))),
            ("Cargo.toml".into(), "a/b.rs".into())
        );
    }

    #[test]
    fn a_folder_is_a_crate_by_the_name_of_its_package() {
        let of = |text| dependency(Path::new("/home/me/mine/Cargo.toml"), text, "mine");
        let line = "mine = { package = \"my-cc\", path = \"/home/me/mine\" }\n";
        assert_eq!(of("[package]\nname = \"my-cc\"\n").unwrap(), line);
        let refused = |text| of(text).unwrap_err().to_string();
        assert_eq!(refused("[workspace]\n"), "`mine` is no crate: its Cargo.toml has no `package.name`");
        assert!(refused("[").starts_with("`mine` is no crate: "));
    }
}
