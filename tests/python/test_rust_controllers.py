"""Controllers in a file of Rust, and in a crate: Cargo builds them when a command names them."""

import re
import shutil
import sys
from pathlib import Path

import pytest

import ackclock
from ackclock import _engine
from calling import SCENARIO, run

pytestmark = [
    pytest.mark.skipif(shutil.which("cargo") is None, reason="there is no cargo"),
    pytest.mark.skipif(sys.platform != "linux", reason="controllers in files need Linux"),
]

NEWRENO = (Path(__file__).parents[2] / "crates/shim/tests/controllers/newreno.rs").read_text()

ENTRY = """
use control::range::above;
use control::{Aim, Entry, Literal, Parameter, Range};

pub const ENTRY: Entry = Entry {
    name: "mine",
    title: "Mine",
    summary: "NewReno",
    source: "RFC 5681",
    aim: Aim::General,
    parameters: &[Parameter {
        name: "beta",
        default: Literal::Number(0.5),
        unit: "",
        range: Range::Number(above(0.0).below(1.0)),
        meaning: "No more than a name",
        source: "mine",
    }],
    probes: &[],
    make: |_| Ok(Box::new(Mine::default())),
};
"""

PATH = ackclock.Path("10mbit", "40ms", "20p", loss=0.005)
SERIES = _engine.version().rpartition(".")[0]
"""The versions of the interface that this program takes, as Cargo asks for them."""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A current folder with the file and the crate."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.rs").write_text(NEWRENO)
    (tmp_path / "mine" / "src").mkdir(parents=True)
    (tmp_path / "mine" / "src" / "lib.rs").write_text(NEWRENO + ENTRY)
    (tmp_path / "mine" / "Cargo.toml").write_text(
        '[package]\nname = "mine"\nversion = "0.1.0"\nedition = "2024"\n\n'
        f'[dependencies]\nackclock-control = "{SERIES}"\n'
    )
    return tmp_path


def sentence(capsys, *arguments):
    """The sentence with which a command is refused. A slow machine shows its progress before."""
    status, out, err = run(capsys, *arguments)
    assert (status, out) == (2, ""), err
    return err.splitlines()[-1]


def rows(cc):
    return ackclock.simulate(PATH, [ackclock.Flow(cc=cc, name="flow")], duration="5s").flow_series


def test_a_file_a_type_and_a_crate_give_the_rows_of_the_simulators_own(folder):
    own = rows("newreno")
    for cc in ("mine.rs", "mine.rs:Mine", f"{folder}/mine/Cargo.toml", f"{folder}/mine/Cargo.toml:Mine"):
        assert rows(cc).equals(own), cc


def test_commands_take_it(capsys, folder):
    status, out, _ = run(capsys, "compare", "./mine.rs:Mine", "./mine", "--duration", "1s", "--json")
    assert (status, '"mine.rs:Mine"' in out, '"mine"' in out) == (0, True, True)
    status, _, err = run(capsys, "check", "./mine.rs:Mine", "--only", "idle-path")
    assert status == 0, err
    (folder / "small.toml").write_text(SCENARIO.replace('"newreno"', '"mine.rs:Mine"'))
    assert "it is code" in sentence(capsys, "run", "small.toml")
    assert run(capsys, "run", "small.toml", "--trust")[0] == 0


def test_a_change_of_the_file_or_the_crate_is_built(folder):
    before = rows("mine.rs")
    slower = NEWRENO.replace("multiplicative_decrease(0.5)", "multiplicative_decrease(0.25)")
    (folder / "mine.rs").write_text(slower)
    (folder / "mine" / "src" / "lib.rs").write_text(slower + ENTRY)
    after = rows("mine.rs")
    assert not after.equals(before)
    assert rows(f"{folder}/mine/Cargo.toml").equals(after)


def test_what_does_not_compile_is_said_in_one_sentence(capsys, folder):
    def refused(target, text, file=folder / "mine.rs"):
        file.write_text(text)
        return sentence(capsys, "compare", target, "--duration", "1s").partition("cc: ")[2]

    wrong = NEWRENO.replace("self.reno.window\n", '"wide"\n')
    line = wrong.splitlines().index('        "wide"') + 1
    why = "error[E0308]: mismatched types: expected `f64`, found `&str`"
    assert refused("./mine.rs", wrong).endswith(f"/mine.rs:{line}:9: {why}")
    assert f"src/lib.rs:{line}:9: {why}" in refused("./mine", wrong, folder / "mine" / "src" / "lib.rs")
    assert refused("./mine.rs:Other", NEWRENO).endswith("mine.rs` has no controller `Other`; it has Mine")
    nothing = refused("./mine", NEWRENO, folder / "mine" / "src" / "lib.rs")
    assert "mine` does not show its controller: error[E0425]" in nothing


MISTAKES = {
    "nothing": ("", "mine.rs` has no controller: it needs `impl Controller for …`"),
    "no controller": ("fn main() {}\n", "mine.rs` has no controller: it needs `impl Controller for …`"),
    "several": (
        NEWRENO + "struct Other;\nimpl Controller for Other {}\n",
        "has several controllers; write `",
    ),
    "syntax": (NEWRENO + "fn f( {}\n", r"mine\.rs:\d+:\d+: error"),
    "a crate": (
        NEWRENO.replace("use control", "use rand::Rng;\nuse control", 1),
        r"mine\.rs:2:5: error\[E0432\]: unresolved import `rand`",
    ),
    "a module": (
        NEWRENO.replace("use control", "mod helper;\nuse control", 1),
        r"mine\.rs:2:1: error\[E0583\]: file not found for module `helper`",
    ),
    "no default": (NEWRENO.replace("#[derive(Default)]\n", "", 1), "the trait bound `Mine: Default` is not"),
}
"""Files with a mistake, and a pattern of the sentence about each."""


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_one_sentence_with_the_file(capsys, folder, name):
    text, pattern = MISTAKES[name]
    (folder / "mine.rs").write_text(text)
    said = sentence(capsys, "compare", "./mine.rs", "--duration", "1s")
    assert re.search(pattern, said), said
    assert "mine.rs" in said
    assert "fault of ackclock" not in said


def test_a_crate_for_another_version_of_the_interface_is_refused(capsys, folder):
    manifest = folder / "mine" / "Cargo.toml"
    manifest.write_text(manifest.read_text().replace(f'"{SERIES}"', '"99"'))
    said = sentence(capsys, "compare", "./mine", "--duration", "1s")
    assert "mine` cannot be built: " in said
    assert "ackclock-control" in said


def test_parameters_are_those_of_the_entry(capsys):
    assert run(capsys, "compare", "./mine(beta=0.7)", "--duration", "1s")[0] == 0
    said = sentence(capsys, "compare", "./mine(beta=2)", "--duration", "1s")
    assert "parameter `beta`: 2 is out of range" in said
    assert "has no parameters" in sentence(capsys, "compare", "./mine.rs(beta=2)", "--duration", "1s")
