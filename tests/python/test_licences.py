"""Licences of what is pinned: those of crates as ``deny.toml`` allows them, and their texts."""

import importlib.metadata
import re
from pathlib import Path

import pytest

from licences import Crate, allowed, document, is_allowed, linked

ROOT = Path(__file__).resolve().parents[2]
PERMISSIVE = re.compile(r"\b(MIT|BSD|Apache|Python Software Foundation|PSF)\b")
"""In the words of wheels that name no licence of SPDX."""


@pytest.fixture(scope="module")
def crates():
    return linked(ROOT)


def test_every_crate_of_the_wheel_has_an_allowed_licence(crates):
    assert len(crates) > 50
    listed = allowed(ROOT)
    assert [crate for crate in crates if not is_allowed(crate.licence, listed)] == []


def test_the_workflow_checks_every_lock_of_crates():
    # Examples and builds of users have locks that are not the project's.
    places = (Path(), Path("fuzz"), *(folder.relative_to(ROOT) for folder in (ROOT / "witness").iterdir()))
    locked = {place / "Cargo.toml" for place in places if (ROOT / place / "Cargo.lock").is_file()}
    steps = (ROOT / ".github/workflows/tests.yml").read_text().split("cargo-deny-action@")[1:]
    given = [re.match(r"v\d+\n +with:\n +manifest-path: \./(\S+)", step) for step in steps]
    checked = {Path(one[1] if one else "Cargo.toml") for one in given}
    assert checked == locked


def test_every_wheel_of_the_lock_has_a_permissive_licence():
    names = [line.partition("==")[0] for line in (ROOT / "requirements.lock").read_text().splitlines()]
    assert "numpy" in names
    assert [name for name in names if PERMISSIVE.search(licence(name)) is None] == []


def licence(name):
    found = importlib.metadata.metadata(name)
    kinds = [kind for kind in found.get_all("Classifier") or [] if kind.startswith("License ::")]
    first = (found["License"] or "").partition("\n")[0]
    return found["License-Expression"] or " ".join([*kinds, first])


@pytest.mark.parametrize(
    ("expression", "holds"),
    [
        ("MIT", True),
        ("MIT/Apache-2.0", True),
        ("GPL-3.0-only", False),
        ("GPL-2.0-only OR MIT", True),
        ("MIT AND GPL-2.0-only", False),
        ("(MIT OR Apache-2.0) AND Unicode-3.0", False),
        ("Apache-2.0 WITH LLVM-exception", False),
        ("", False),
        ("my own", False),
    ],
)
def test_an_expression_holds_if_one_of_its_choices_does(expression, holds):
    assert is_allowed(expression, ["MIT", "Apache-2.0"]) is holds


def test_a_text_that_two_crates_share_appears_once_and_sources_are_no_texts(tmp_path):
    crates = []
    for name in ("a", "b"):
        (tmp_path / name / "inner").mkdir(parents=True)
        (tmp_path / name / "LICENSE-MIT").write_text("Permission is granted\n")
        (tmp_path / name / "license.rs").write_text("fn main() {}")
        crates.append(Crate(name, "1.0.0", "MIT", tmp_path / name))
    (tmp_path / "b/inner/COPYING").write_text("Other words")
    text = document(crates)
    assert text.count("Permission is granted") == 1
    assert "a 1.0.0, LICENSE-MIT\nb 1.0.0, LICENSE-MIT\n" in text
    assert "b 1.0.0, inner/COPYING\n" in text
    assert "fn main" not in text
