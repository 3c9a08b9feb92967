"""A release: one version everywhere, and crates that are complete."""

from __future__ import annotations

import datetime
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

import release

ROOT = Path(__file__).resolve().parents[2]
WORKSPACE = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]
MANIFESTS = {
    file.parent.name: tomllib.loads(file.read_text())["package"] for file in ROOT.glob("crates/*/Cargo.toml")
}
PUBLISHED = {name for name, package in MANIFESTS.items() if package.get("publish", True)}


def test_the_version_is_the_same_everywhere():
    dependencies = (one for one in WORKSPACE["dependencies"].values() if isinstance(one, dict))
    versions = {one["version"] for one in dependencies if "path" in one and "version" in one}
    headings = re.findall(r"^## \[(.*)\] - (.*)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert versions | {WORKSPACE["package"]["version"]} == {headings[0][0]}
    locked = {
        one["name"]: one["version"] for one in tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]
    }
    assert {locked[one["name"]] for one in MANIFESTS.values()} == {headings[0][0]}
    # A publication cites the version that was released last.
    cited = re.search(
        r"^version: (.*)\ndate-released: (.*)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE
    )
    assert cited.groups() == next(one for one in headings if one[1] != "unreleased")


def test_examples_and_pages_ask_for_the_crates_of_this_version():
    files = [*ROOT.glob("examples/*/Cargo.toml"), *ROOT.glob("docs/**/*.md")]
    asked = {version for file in files for version in re.findall(r'ackclock-\w+ = "(.*?)"', file.read_text())}
    assert asked == {WORKSPACE["package"]["version"].rpartition(".")[0]}


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


@pytest.fixture
def tree(tmp_path):
    """The files that a release changes."""
    for file in ("Cargo.toml", "CITATION.cff", "CHANGELOG.md", "pyproject.toml"):
        shutil.copy(ROOT / file, tmp_path)
    for file in ROOT.glob("crates/*/Cargo.toml"):
        (tmp_path / "crates" / file.parent.name).mkdir(parents=True)
        shutil.copy(file, tmp_path / "crates" / file.parent.name)
    (tmp_path / "CHANGELOG.md").write_text(
        "# Changes\n\n## [9.8.7] - unreleased\n\n- A.\n\n## [0.1.0] - 2026-01-02\n\n- B.\n"
    )
    return tmp_path


DAY = datetime.date(2031, 2, 3)


def test_a_release_writes_version_date_and_address_everywhere(tree):
    release.cut(tree, "9.8.7", DAY, "https://host/us/ackclock")
    release.check(tree, "9.8.7")
    workspace = tomllib.loads((tree / "Cargo.toml").read_text())["workspace"]
    assert workspace["package"]["repository"] == "https://host/us/ackclock"
    assert {
        one["version"] for one in workspace["dependencies"].values() if "path" in one and "version" in one
    } == {"9.8.7"}
    for name in PUBLISHED:
        package = tomllib.loads((tree / "crates" / name / "Cargo.toml").read_text())["package"]
        assert package["repository"] == {"workspace": True}
    urls = tomllib.loads((tree / "pyproject.toml").read_text())["project"]["urls"]
    assert urls["Issues"] == "https://host/us/ackclock/issues"
    cited = (tree / "CITATION.cff").read_text()
    assert "version: 9.8.7\ndate-released: 2031-02-03\n" in cited
    assert 'repository-code: "https://host/us/ackclock"\n' in cited
    assert release.notes(tree, "9.8.7") == "- A.\n"


@pytest.mark.parametrize(
    ("version", "sentence"),
    [
        ("9.8", "'9.8' is no version"),
        ("9.9.9", "CHANGELOG.md: has no heading for 9.9.9"),
        ("0.1.0", "CHANGELOG.md: 0.1.0 is released already"),
    ],
)
def test_a_release_that_cannot_be_is_refused(tree, version, sentence):
    with pytest.raises(release.ReleaseError, match=sentence):
        release.cut(tree, version, DAY, "https://host/us/ackclock")


def test_a_tag_of_another_version_is_refused(tree):
    with pytest.raises(release.ReleaseError, match=r"Cargo.toml: the version is .*, not 9.8.7"):
        release.check(tree, "9.8.7")


@pytest.mark.parametrize(
    "remote", ["git@host:us/ackclock.git", "https://host/us/ackclock", "ssh://git@host/us/ackclock.git"]
)
def test_the_page_of_the_repository_comes_from_its_remote(remote):
    assert release.address(remote) == "https://host/us/ackclock"


def test_a_folder_has_no_page(tree):
    assert release.address("/srv/ackclock") is None
    release.cut(tree, "9.8.7", DAY, None)
    release.check(tree, "9.8.7")
    assert "\nrepository = " not in (tree / "Cargo.toml").read_text()
