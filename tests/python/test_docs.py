"""The documentation: its examples run, and its lists are complete.

In every page the blocks run in order, in one folder and one namespace: Python blocks, and the lines of shell
blocks that start with `ackclock`. A TOML block is saved under the name in its first line, if it has one
(`# two-flows.toml`), and so is a controller in C or Rust (`// mimd.bpf.c`). A `text` block shows the output
of the block before it. After a change of behaviour, `UPDATE_DOCS=1 pytest tests/python/test_docs.py` writes
the new output in its place and renews the pictures in `docs/images`. Look at the difference.
"""

import contextlib
import io
import os
import re
import shlex
import shutil
import tomllib
from pathlib import Path

import pytest
from PIL import Image

import ackclock
from ackclock import _engine, papers
from ackclock.cli import main

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
UPDATE = os.environ.get("UPDATE_DOCS") == "1"

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
SOURCE = re.compile(r"`([\w./-]+\.(?:rs|py|c|h|js|toml))`")
TO_BE_WRITTEN = re.compile(r"NAME|mimd|patient")
"""Files that the reader of a page writes."""


def named(page):
    return page.relative_to(ROOT).as_posix()


def run_commands(block):
    # Reports go to this folder on every page, and each block is to be read alone.
    shutil.rmtree("results", ignore_errors=True)
    for line in block.splitlines():
        if line.startswith("ackclock "):
            assert main(shlex.split(line, comments=True)[1:]) == 0, line


def save(block):
    """Saves a TOML block under the name in its first line. One without a name must parse."""
    tomllib.loads(block)
    if name := re.match(r"# (\S+\.toml)\n", block):
        file = Path(name[1])
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(block)


def shown(printed):
    """An output as a page shows it: no trailing blanks, no CPU times, which differ from run to run."""
    lines = [line.rstrip() for line in printed.splitlines() if "CPU second" not in line]
    return "\n".join(lines).strip("\n") + "\n"


def play(page):
    """Executes the blocks of a page. Returns the texts that its `text` blocks should show, in order."""
    namespace = {"__name__": "__main__"}
    printed, expected = "", []
    for language, body in BLOCK.findall(page.read_text()):
        if language == "text":
            expected.append(shown(printed))
            continue
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            if language == "python":
                exec(compile(body, named(page), "exec"), namespace)
            elif language == "toml":
                save(body)
            elif name := re.match(r"// (\S+\.(?:bpf\.c|rs))\n", body):
                Path(name[1]).write_text(body)
            elif language in ("sh", ""):
                run_commands(body)
        printed = out.getvalue()
    return expected


def update(page, expected):
    outputs = iter(expected)
    text = BLOCK.sub(lambda b: f"```text\n{next(outputs)}```" if b[1] == "text" else b[0], page.read_text())
    page.write_text(text)
    for picture in Path().rglob("*.png"):
        # A picture goes by its name, or by its folder's name before it: home/overview.png is
        # home-overview.png.
        for name in (picture.name, f"{picture.parent.name}-{picture.name}"):
            if f"images/{name})" in text:
                with Image.open(picture) as drawn:
                    drawn.convert("RGB").save(DOCS / "images" / name, optimize=True)


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_what_a_page_shows_runs_and_prints_what_it_says(page, tmp_path, monkeypatch):
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    expected = play(page)
    if UPDATE:
        update(page, expected)
    assert [body for language, body in BLOCK.findall(page.read_text()) if language == "text"] == expected


@pytest.mark.parametrize("page", [*sorted(ROOT.glob("*.md")), *sorted(DOCS.rglob("*.md"))], ids=named)
def test_links_lead_to_files(page):
    targets = [t for t in LINK.findall(BLOCK.sub("", page.read_text())) if "://" not in t]
    assert [t for t in targets if not (page.parent / t).exists()] == []


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_a_page_about_the_code_names_files_that_exist(page):
    folders = ("crates", "kernel", "python", "tests", "tools", ".ci", "papers", "suites", "witness")
    files = {f"/{path.relative_to(ROOT)}" for folder in folders for path in (ROOT / folder).rglob("*.*")}
    files |= {f"/{path.name}" for path in ROOT.glob("*.*")}
    names = {name for name in SOURCE.findall((ROOT / page).read_text()) if not TO_BE_WRITTEN.search(name)}
    assert len(names) > 20
    assert {name for name in names if not any(file.endswith(f"/{name}") for file in files)} == set()


def test_the_experiment_of_its_page_passes_its_own_claims(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for language, body in BLOCK.findall((DOCS / "experiments.md").read_text()):
        if language == "toml":
            save(body)
    catalogue = papers.catalogue(Path("papers"))
    done = papers.reproduce(papers.select(catalogue, ["mathis1997"]))
    verdicts = [
        claim["verdict"] for experiment in done.as_json()["experiments"] for claim in experiment["claims"]
    ]
    assert verdicts == ["pass", "pass"]


def test_every_controller_has_a_page():
    pages = {page.stem for page in (DOCS / "controllers").glob("*.md")} - {"index"}
    media = {controller["name"] for controller in _engine.media_controllers()}
    # TFRC has flows of its own kind and is no controller of TCP.
    assert pages == {controller["name"] for controller in ackclock.controllers()} | media | {"tfrc"}


def test_pictures_are_small():
    sizes = {picture.name: picture.stat().st_size for picture in (DOCS / "images").glob("*.png")}
    assert sizes
    assert {name: size for name, size in sizes.items() if size > 200_000} == {}
