"""QUIC stacks that Cargo builds: quinn, controllers written for noq or quinn, and noq from a folder."""

import json
import shutil
import sys
from pathlib import Path

import pytest

import ackclock
from ackclock import _engine
from calling import SCENARIO, run

PROTO = next(Path.home().glob(".cargo/registry/src/*/noq-proto-1.4.0"), None)

pytestmark = [
    pytest.mark.skipif("quic" not in _engine.engines(), reason="built without QUIC"),
    pytest.mark.skipif(shutil.which("cargo") is None, reason="there is no cargo"),
    pytest.mark.skipif(sys.platform != "linux", reason="controllers in files need Linux"),
]

FACTORY = """
use std::sync::Arc;
use std::time::Instant;

use noq_proto::congestion::{Controller, ControllerFactory, NewRenoConfig};

#[derive(Default)]
pub struct Mine;

impl ControllerFactory for Mine {
    fn build(self: Arc<Self>, now: Instant, mtu: u16) -> Box<dyn Controller> {
        let mut config = NewRenoConfig::default();
        config.initial_window(10 * u64::from(mtu));
        Arc::new(config).build(now, mtu)
    }
}
"""
"""NewReno of noq with the initial window of scenarios."""

FIXED = """
use std::any::Any;
use std::time::Instant;

use noq_proto::congestion::Controller;

#[derive(Clone, Debug, Default)]
pub struct Fixed {
    losses: u64,
}

impl Controller for Fixed {
    fn on_congestion_event(&mut self, _: Instant, _: Instant, _: bool, _: bool, _: u64, _: u64) {
        self.losses += 1;
    }
    fn on_mtu_update(&mut self, _: u16) {}
    fn window(&self) -> u64 {
        30_000
    }
    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
    fn initial_window(&self) -> u64 {
        self.window()
    }
    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
"""
"""A window of 30 kB, whatever happens."""

MANIFEST = """
[package]
name = "mine"
version = "0.1.0"
edition = "2024"

[dependencies]
noq-proto = { version = "VERSION", default-features = false }
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A current folder with files and a crate."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.rs").write_text(FACTORY)
    (tmp_path / "fixed.rs").write_text(FIXED)
    (tmp_path / "mine" / "src").mkdir(parents=True)
    (tmp_path / "mine" / "src" / "lib.rs").write_text(FACTORY)
    (tmp_path / "mine" / "Cargo.toml").write_text(MANIFEST.replace("VERSION", "1.4"))
    return tmp_path


def rows(cc, **options):
    path = ackclock.Path("10mbit", "40ms", "20p", loss=0.005)
    flow = ackclock.Flow(cc=cc, name="flow")
    return ackclock.simulate(path, [flow], duration="5s", engine="quic", **options).flow_series


def sentence(capsys, *arguments):
    """The sentence with which a command is refused. A slow machine shows its progress before."""
    status, out, err = run(capsys, *arguments)
    assert (status, out) == (2, ""), err
    return err.splitlines()[-1]


def test_a_factory_in_a_file_and_in_a_crate_give_the_rows_of_noqs_own(folder):
    own = rows("noq:newreno")
    for cc in ("noq:mine.rs", "noq:mine.rs:Mine", f"noq:{folder}/mine/Cargo.toml:Mine"):
        assert rows(cc).equals(own), cc


def test_each_path_of_a_connection_has_a_controller_of_the_file():
    link = {"rate": "10mbit", "queue": "40p", "reverse": {}}
    ends = [{"from": "a", "to": "b"}, {"from": "c", "to": "d"}]

    def series(cc):
        document = {"duration": "4s", "links": [{**end, **link, "delay": "20ms"} for end in ends]}
        document["flows"] = [{"name": "both", "cc": cc, "subflows": ends}]
        return ackclock.simulate(document, engine="quic").flow_series

    own = series("noq:newreno")
    assert set(own.column("flow").to_pylist()) == {0, 1}
    assert series("noq:mine.rs").equals(own)


def test_commands_take_it(capsys, folder):
    both = ("noq:./fixed.rs:Fixed", "noq:./mine:Mine")
    status, out, err = run(capsys, "compare", *both, "--engine", "quic", "--duration", "2s", "--json")
    assert status == 0, err
    assert '"noq:fixed.rs:Fixed"' in out
    assert '"noq:mine:Mine"' in out
    status, _, err = run(capsys, "check", "noq:./mine.rs:Mine", "--only", "after-slow-link")
    assert status == 0, err
    (folder / "small.toml").write_text(SCENARIO.replace('"newreno"', '"noq:mine.rs:Mine"'))
    assert "it is code" in sentence(capsys, "run", "small.toml", "--engine", "quic")
    assert run(capsys, "run", "small.toml", "--engine", "quic", "--trust")[0] == 0


def test_a_window_is_that_of_the_file():
    windows = set(rows("noq:fixed.rs").column("window_segments").to_pylist())
    assert len(windows) == 1


def test_what_does_not_build_is_said_in_one_sentence(capsys, folder):
    def refused(target, text=None, file="mine.rs"):
        if text is not None:
            (folder / file).write_text(text)
        command = ("compare", target, "--engine", "quic", "--duration", "1s")
        return sentence(capsys, *command).partition("cc: ")[2]

    wrong = FIXED.replace("        30_000\n", '        "wide"\n')
    line = wrong.splitlines().index('        "wide"') + 1
    why = "error[E0308]: mismatched types: expected `u64`, found `&str`"
    assert refused("noq:./mine.rs", wrong).endswith(f"/mine.rs:{line}:9: {why}")
    without = refused("noq:./mine.rs:Fixed", FIXED.replace("Clone, Debug, Default", "Clone, Debug"))
    assert without.endswith(
        "cannot be made: it needs `Default`, and noq-proto's `Controller` or `ControllerFactory`"
    )
    assert refused("noq:./fixed.rs:Mine").endswith("fixed.rs` has no controller `Mine`; it has Fixed")
    assert refused("noq:./mine").endswith("mine:NAME`, with the controller in it")
    old = refused(
        "noq:./mine:Mine", MANIFEST.replace("VERSION", "1.3.99").replace('"1', '"=1'), "mine/Cargo.toml"
    )
    assert "noq-proto" in old


def test_a_panic_ends_the_run_with_a_sentence(capsys, folder):
    (folder / "fixed.rs").write_text(FIXED.replace("self.losses += 1;", 'panic!("too many");'))
    command = ("compare", "noq:./fixed.rs", "--engine", "quic", "--loss", "5%", "--duration", "2s")
    status, _, err = run(capsys, *command)
    assert status != 0
    assert "fixed.rs` panicked: too many" in err.splitlines()[-1]


def test_a_destructor_that_panics_ends_the_run_with_a_sentence(capsys, folder):
    text = FIXED + 'impl Drop for Fixed { fn drop(&mut self) { panic!("gone") } }\n'
    (folder / "fixed.rs").write_text(text)
    status, _, err = run(capsys, "compare", "noq:./fixed.rs", "--engine", "quic", "--duration", "1s")
    assert status == 2
    assert err.splitlines()[-1].endswith(f"fixed.rs` panicked: gone (line {text.count(chr(10))})")


def test_the_simulator_names_the_engine(capsys):
    said = sentence(capsys, "compare", "noq:./mine.rs", "--duration", "1s")
    assert said.endswith("`noq:mine.rs` is a controller of a QUIC stack, which runs with `--engine quic`")


def test_quinn_runs_its_own_controllers_beside_noqs(capsys, tmp_path):
    for cc in ("quinn:newreno", "quinn:cubic", "quinn:bbr"):
        first = rows(cc)
        assert (cc, first.num_rows > 10) == (cc, True)
    assert rows("quinn:cubic").equals(rows("quinn:cubic"))
    (tmp_path / "both.toml").write_text(
        'duration = "20s"\npath = { rate = "10mbit", rtt = "40ms", queue = "1bdp" }\n'
        'flows = [{ cc = "quinn:cubic" }, { cc = "noq:cubic" }]\n'
    )
    status, out, err = run(capsys, "run", "both.toml", "--engine", "quic", "--json")
    assert status == 0, err
    [found] = json.loads(out)["runs"]
    quinn, noq = found["flows"]
    assert (quinn["profile"], noq["profile"]) == ("quinn", "noq")
    # Both fill the link together, and neither starves.
    assert quinn["goodput_bps"] + noq["goodput_bps"] > 9e6
    assert min(quinn["goodput_bps"], noq["goodput_bps"]) > 2.5e6
    # A packet is sent again for each one that the queue dropped, and few besides.
    [link] = found["links"]
    again = quinn["retransmitted_packets"] + noq["retransmitted_packets"]
    assert link["dropped_packets"] <= again + 5
    assert again <= 1.2 * link["dropped_packets"] + 5


def test_a_controller_written_for_quinn_gives_the_rows_of_quinns_own(folder):
    (folder / "mine.rs").write_text(FACTORY.replace("noq_proto", "quinn_proto"))
    assert rows("quinn:mine.rs:Mine").equals(rows("quinn:newreno"))


@pytest.mark.skipif(PROTO is None, reason="the sources of noq-proto are not in Cargo's registry")
def test_noq_from_a_folder_runs_all_flows(capsys, folder):
    shutil.copytree(PROTO, folder / "noq" / "noq-proto")
    reno = folder / "noq" / "noq-proto" / "src" / "congestion" / "new_reno.rs"
    text = reno.read_text()
    assert "loss_reduction_factor: 0.5" in text
    reno.write_text(text.replace("loss_reduction_factor: 0.5", "loss_reduction_factor: 0.98"))
    # Our controllers decide as before. Those of the stack are the folder's.
    assert rows("newreno", noq="noq").equals(rows("newreno"))
    planted = rows("noq:newreno", noq="noq")
    assert not planted.equals(rows("noq:newreno"))
    assert rows("noq:mine.rs", noq="noq").equals(planted)
    said = sentence(capsys, "compare", "noq:cubic", "--engine", "quic:noq=mine", "--duration", "1s")
    assert said.endswith("noq=mine: must be a folder with the crate `noq-proto`")


def test_a_controller_is_built_with_the_version_beside_it(capsys, folder):
    def lock(crate, version):
        package = f'[[package]]\nname = "{crate}"\nversion = "{version}"\n'
        source = 'source = "registry+https://github.com/rust-lang/crates.io-index"\n'
        (folder / "Cargo.lock").write_text(f"version = 4\n\n{package}{source}")

    (folder / "mine.rs").write_text(FACTORY.replace("noq_proto", "quinn_proto"))
    lock("quinn-proto", "0.11.18")
    assert rows("quinn:mine.rs").num_rows > 10
    cache = Path.home() / ".cache" / "ackclock" / "rust"
    locks = [one.read_text() for one in cache.glob("*/packages/*/Cargo.lock")]
    assert any('name = "quinn-proto"\nversion = "0.11.18"' in one for one in locks)
    (folder / "mine.rs").write_text(FACTORY)
    lock("noq-proto", "1.3.0")
    said = sentence(capsys, "compare", "noq:./mine.rs", "--engine", "quic", "--duration", "1s")
    assert (
        "has noq-proto 1.3.0 in its Cargo.lock, with which ackclock's crate for noq does not compile" in said
    )
    assert '`noq-proto = "1.4.0"` is needed' in said
