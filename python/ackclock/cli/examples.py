"""``ackclock show examples`` and ``ackclock new example``: scenarios to begin with."""

from __future__ import annotations

import shutil
from importlib import resources
from pathlib import Path

from rich.table import Table
from rich.text import Text

from ackclock.cli import completing, output
from ackclock.cli.command import Argument, command, flag
from ackclock.errors import InputError


@command()
def examples() -> None:
    """List scenarios to begin with. `ackclock new example` writes one.

    Example: `ackclock show examples`
    """
    table = Table("name", "shows")
    for stem, file in _found().items():
        table.add_row(Text(stem), Text(_about(file)))
    output.show(table, as_json=False)


@command(
    Argument("name", metavar="NAME", help="One of `ackclock show examples`.", completes=completing.examples),
    flag("--force", help="Replace a file of that name."),
)
def example(name: str, force: bool) -> None:
    """Write a scenario to begin with into the current folder.

    Example: `ackclock new example quickstart`
    """
    folder, found = _folder(), _found()
    chosen = found.get(name.removesuffix(".toml"))
    if chosen is None:
        raise InputError(f"example {name}: there is none of that name; there are {', '.join(found)}")
    # A trace is in the folder of the scenario that names it.
    files = [Path(chosen.name), *(one for one in _traces(folder) if str(one) in chosen.read_text("utf-8"))]
    for target in files:
        if target.exists() and not force:
            raise InputError(f"{target}: is there already; --force replaces it")
    for target in files:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(folder / target, target)
    output.say(f"{files[0]}: run it with `ackclock run {files[0]}`")


def _found() -> dict[str, Path]:
    """The scenarios by name."""
    return {file.stem: file for file in sorted(_folder().glob("*.toml"))}


def _folder() -> Path:
    """The folder of the examples: a link from the package to the top of the repository."""
    return Path(str(resources.files("ackclock.cli") / "scenarios"))


def _traces(folder: Path) -> list[Path]:
    return [file.relative_to(folder) for file in (folder / "traces").glob("*")]


def _about(file: Path) -> str:
    """The comment at the head of a scenario, up to the end of its first sentence."""
    words = []
    for line in file.read_text("utf-8").splitlines():
        if not line.startswith("#"):
            break
        words.append(line.removeprefix("#").strip())
    return " ".join(words).split(". ")[0].rstrip(".")
