"""A release: one version everywhere, and crates that are complete."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WORKSPACE = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]
MANIFESTS = {
    file.parent.name: tomllib.loads(file.read_text())["package"] for file in ROOT.glob("crates/*/Cargo.toml")
}
PUBLISHED = {name for name, package in MANIFESTS.items() if package.get("publish", True)}


def test_the_version_is_the_same_everywhere():
    dependencies = (one for one in WORKSPACE["dependencies"].values() if isinstance(one, dict))
    versions = {one["version"] for one in dependencies if "path" in one and "version" in one}
    cited = re.search(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert versions | {cited[1]} == {WORKSPACE["package"]["version"]}


def test_published_crates_depend_on_published_ones_and_name_the_version():
    dependencies = WORKSPACE["dependencies"]
    for name in PUBLISHED:
        manifest = tomllib.loads((ROOT / "crates" / name / "Cargo.toml").read_text())
        ours = {key for key in manifest["dependencies"] if "path" in dependencies.get(key, {})}
        assert ours <= PUBLISHED
        assert all("version" in dependencies[key] for key in ours)


def test_make_packs_exactly_the_published_crates():
    listed = re.search(r"^PUBLISHED := .*ackclock-%,(.*)\)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert set(listed[1].split()) == PUBLISHED


@pytest.mark.parametrize("name", sorted(PUBLISHED))
def test_a_published_crate_has_readme_licences_and_the_oldest_rust(name):
    folder = ROOT / "crates" / name
    assert MANIFESTS[name]["rust-version"] == "1.88"
    assert (folder / "README.md").read_text().startswith(f"# ackclock-{name}\n")
    for licence in ("LICENSE-MIT", "LICENSE-APACHE"):
        assert (folder / licence).read_text() == (ROOT / licence).read_text()


def test_a_packed_crate_holds_readme_licences_and_sources():
    if shutil.which("cargo") is None or not (ROOT / ".git").exists():
        pytest.skip("needs cargo and a checkout")
    command = ["cargo", "package", "--list", "--allow-dirty", "--package", "ackclock-units"]
    packed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    assert {"README.md", "LICENSE-MIT", "LICENSE-APACHE", "src/lib.rs", "Cargo.toml"} <= set(packed)
