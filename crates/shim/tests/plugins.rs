//! Controllers in Rust from shared objects: built by Cargo as a user builds them, offline, against the crates of this
//! workspace.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, LazyLock, Mutex};

use control::testing::World;
use control::{Controller, ControllerRef, Parameters, Probe};
use engine::{Engine as _, Job, Watch};
use plugin::VERSION;
use serde_json::json;
use shim::{Error, Plugin, Report};
use sim::Simulator;

/// NewReno as a user writes it. A test in Python builds the same file without an entry.
const NEWRENO: &str = concat!(
    include_str!("controllers/newreno.rs"),
    r#"
use control::{Aim, Entry};

const ENTRY: Entry = Entry {
    name: "mine",
    title: "Mine",
    summary: "NewReno",
    source: "RFC 5681",
    aim: Aim::General,
    parameters: &[],
    probes: &[],
    make: |_| Ok(Box::new(Mine::default())),
};
plugin::export!(ENTRY);
"#
);

/// Panics where a parameter says, and draws random numbers.
const PANICKING: &str = r#"
use control::range::from;
use control::{Ack, Aim, Context, Controller, Entry, Literal, Loss, Parameter, Probe, Range, Wants};

const ENTRY: Entry = Entry {
    name: "panicking",
    title: "Panicking",
    summary: "Panics at the n-th ACK",
    source: "mine",
    aim: Aim::General,
    parameters: &[Parameter {
        name: "at",
        default: Literal::Integer(3),
        unit: "",
        range: Range::Integer(from(0).up_to(100)),
        meaning: "The number of the ACK",
        source: "mine",
    }],
    probes: &[],
    make: |given| {
        let at = given.get("at").map_or(3, |at| at.as_u64().unwrap());
        assert!(at > 0, "there is no ACK before the first");
        Ok(Box::new(Panicking { left: at, drawn: 0.0 }))
    },
};
plugin::export!(ENTRY);

struct Panicking {
    left: u64,
    drawn: f64,
}

impl Drop for Panicking {
    fn drop(&mut self) {
        assert!(self.left != 99, "at the end");
    }
}

impl Controller for Panicking {
    fn wants(&self) -> Wants {
        Wants { timer: true, exact_rtt: true, ..Wants::default() }
    }
    fn on_ack(&mut self, cx: &mut Context<'_>, _ack: &Ack) {
        self.drawn = cx.random.uniform();
        self.left -= 1;
        let none: [f64; 0] = [];
        if self.left == 0 {
            self.drawn = none[self.left as usize];
        }
    }
    fn on_loss(&mut self, _cx: &mut Context<'_>, _loss: &Loss) {}
    fn on_timeout(&mut self, _cx: &mut Context<'_>, _loss: &Loss) {}
    fn on_idle_restart(&mut self, _cx: &mut Context<'_>) {}
    fn window(&self) -> f64 {
        10.0
    }
    fn slow_start_threshold(&self) -> f64 {
        f64::INFINITY
    }
    fn probe(&self, out: &mut dyn Probe) {
        out.value("drawn", self.drawn);
    }
}
"#;

/// The folder of the objects, built once.
static BUILT: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("plugins");
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().display().to_string();
    fs::create_dir_all(&folder).unwrap();
    // The versions of this workspace: nothing is looked up.
    fs::copy(format!("{crates}/../Cargo.lock"), folder.join("Cargo.lock")).unwrap();
    fs::write(folder.join("Cargo.toml"), "[workspace]\nresolver = \"3\"\nmembers = [\"mine\", \"panicking\"]\n")
        .unwrap();
    for (name, text) in [("mine", NEWRENO), ("panicking", PANICKING)] {
        fs::create_dir_all(folder.join(name)).unwrap();
        let manifest = format!(
            "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n\
             [lib]\npath = \"{name}.rs\"\ncrate-type = [\"cdylib\"]\n\n[dependencies]\n\
             control = {{ package = \"ackclock-control\", path = \"{crates}/control\" }}\n\
             plugin = {{ package = \"ackclock-plugin\", path = \"{crates}/plugin\" }}\n"
        );
        fs::write(folder.join(name).join("Cargo.toml"), manifest).unwrap();
        fs::write(folder.join(name).join(format!("{name}.rs")), text).unwrap();
    }
    let target = folder.join("target");
    let cargo = Command::new(env!("CARGO"))
        .args(["build", "--offline", "--quiet", "--target-dir"])
        .arg(&target)
        .current_dir(&folder)
        .output()
        .unwrap();
    assert!(cargo.status.success(), "{}", String::from_utf8_lossy(&cargo.stderr));
    target.join("debug")
});

fn plugin(name: &str) -> Arc<Plugin> {
    Plugin::open(&BUILT.join(format!("lib{name}.so"))).unwrap()
}

fn parameters(json: serde_json::Value) -> Parameters {
    serde_json::from_value(json).unwrap()
}

/// The reports so far, and the function that adds to them.
fn reports() -> (Arc<Mutex<Vec<String>>>, Report) {
    let kept = Arc::new(Mutex::new(Vec::new()));
    let keeping = kept.clone();
    (kept, Arc::new(move |sentence| keeping.lock().unwrap().push(sentence)))
}

/// Why `plugin` is not built with these parameters.
fn refused(plugin: &Arc<Plugin>, given: serde_json::Value) -> Error {
    match plugin.build(&parameters(given), reports().1) {
        Ok(_) => panic!("is taken"),
        Err(error) => error,
    }
}

fn plan(cc: &str) -> scenario::Plan {
    let text = format!(
        "name = \"plugin\"\nduration = \"20s\"\n[path]\nrate = \"10mbit\"\nrtt = \"40ms\"\nqueue = \"20p\"\nloss = \
         \"0.5%\"\n[[flows]]\nname = \"flow\"\ncc = \"{cc}\"\n[record]\nflow_series = \"1ack\"\nevents = true\n"
    );
    scenario::from_toml(&text, "plugin.toml").unwrap().plan(&|path: &Path| fs::read(path)).unwrap()
}

fn run(cc: &str, made: impl Fn(&Parameters) -> Option<Box<dyn Controller>> + Send + Sync + 'static) -> String {
    let factory = move |_: &ControllerRef, given: &Parameters| made(given);
    let simulator = Simulator { controllers: Some(Arc::new(factory)), ..Simulator::default() };
    let outcome = simulator.run(&Job { plan: Arc::new(plan(cc)), seed: 1 }, &Watch::default()).unwrap();
    format!("{:?}", outcome.tables)
}

#[test]
fn newreno_from_an_object_gives_the_rows_of_the_simulators_own() {
    let (kept, report) = reports();
    let plugin = plugin("mine");
    let from_object = run("newreno", move |given| Some(plugin.build(given, report.clone()).unwrap()));
    let own = run("newreno", |_| None);
    assert!(own.len() > 100_000, "{}", own.len());
    assert!(from_object == own);
    assert!(kept.lock().unwrap().is_empty());
}

/// The place in a sentence about a panic at the line of [`PANICKING`] with `code`.
fn place(code: &str) -> String {
    let before = PANICKING.lines().position(|line| line.contains(code)).unwrap();
    format!(" (panicking/panicking.rs, line {})", before + 1)
}

#[test]
fn a_panic_is_reported_once_and_stays_in_the_object() {
    let (kept, report) = reports();
    let plugin = plugin("panicking");
    let mut controller = plugin.build(&parameters(json!({"at": 2})), report).unwrap();
    let mut world = World::new();
    for _ in 0..4 {
        controller.on_ack(&mut world.context(), &control::testing::ack());
    }
    assert_eq!(controller.window(), 10.0);
    let kept = kept.lock().unwrap();
    assert_eq!(kept.len(), 1, "{kept:?}");
    assert!(kept[0].contains("libpanicking.so` panicked in on_ack: index out of bounds: "), "{}", kept[0]);
    assert!(kept[0].ends_with(&place("none[self.left")), "{}", kept[0]);
}

#[test]
fn a_panic_of_its_destructor_is_reported() {
    let (kept, report) = reports();
    let controller = plugin("panicking").build(&parameters(json!({"at": 99})), report).unwrap();
    drop(controller);
    let kept = kept.lock().unwrap();
    assert_eq!(kept.len(), 1, "{kept:?}");
    let why = format!("libpanicking.so` panicked in drop: at the end{}", place("self.left != 99"));
    assert!(kept[0].ends_with(&why), "{}", kept[0]);
}

#[test]
fn a_panic_while_it_is_made_is_the_answer() {
    let error = refused(&plugin("panicking"), json!({"at": 0})).to_string();
    let why = "libpanicking.so` panicked while it was made: there is no ACK before the first";
    assert!(error.ends_with(&format!("{why}{}", place("assert!(at"))), "{error}");
}

#[test]
fn parameters_are_checked_by_its_entry() {
    let Error::Parameter(error) = refused(&plugin("panicking"), json!({"at": 101})) else { panic!() };
    assert!(error.ends_with("libpanicking.so`, parameter `at`: 101 is out of range (allowed: 0 to 100)"), "{error}");
    let Error::Parameter(error) = refused(&plugin("mine"), json!({"at": 1})) else { panic!() };
    assert!(error.ends_with("libmine.so` has no parameters, so `at` cannot be set"), "{error}");
}

#[test]
fn wishes_probes_and_random_numbers_cross() {
    struct Taken(Vec<(&'static str, f64)>);
    impl Probe for Taken {
        fn value(&mut self, name: &'static str, value: f64) {
            self.0.push((name, value));
        }
    }
    let mut controller = plugin("panicking").build(&parameters(json!({"at": 100})), reports().1).unwrap();
    assert!(controller.wants().timer && controller.wants().exact_rtt && !controller.wants().sent);
    let (mut world, mut same) = (World::new(), World::new());
    for _ in 0..3 {
        controller.on_ack(&mut world.context(), &control::testing::ack());
        let expected = same.context().random.uniform();
        let mut taken = Taken(Vec::new());
        controller.probe(&mut taken);
        assert_eq!(taken.0, [("drawn", expected)]);
    }
}

/// The object of a file of Rust that needs no crate.
fn object(name: &str, text: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("objects");
    fs::create_dir_all(&folder).unwrap();
    let (file, object) = (folder.join(format!("{name}.rs")), folder.join(format!("{name}.so")));
    fs::write(&file, text).unwrap();
    let mut rustc = Command::new("rustc");
    let done =
        rustc.args(["--edition", "2024", "--crate-type", "cdylib", "-o"]).arg(&object).arg(&file).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    object
}

fn sentence(path: &Path) -> String {
    Plugin::open(path).unwrap_err().to_string().replace(&path.display().to_string(), "mine.so")
}

#[test]
fn an_object_of_another_version_or_without_a_controller_is_refused() {
    let table =
        |numbers: &str| format!("#[unsafe(no_mangle)] pub static ACKCLOCK_CONTROLLER: [u32; 64] = {numbers};\n");
    let end = format!(
        "this ackclock has version {VERSION}: build it again with the crate `ackclock-plugin` of this ackclock"
    );
    assert_eq!(
        sentence(&object("other", &table("[9; 64]"))),
        format!("`mine.so` was built for version 9 of the interface of controllers, {end}")
    );
    assert_eq!(
        sentence(&object("layout", &table(&format!("[{VERSION}; 64]")))),
        format!("`mine.so` was built for another layout of the interface of controllers, {end}")
    );
    assert_eq!(sentence(&object("empty", "")), "`mine.so` has no controller: it needs `plugin::export!(ENTRY);`");
    let text = Path::new(env!("CARGO_TARGET_TMPDIR")).join("text.so");
    fs::write(&text, "no object").unwrap();
    assert!(sentence(&text).starts_with("`mine.so` cannot be loaded: "));
    assert!(sentence(Path::new("/there/is/none.so")).starts_with("`mine.so` cannot be read: No such file"));
}
