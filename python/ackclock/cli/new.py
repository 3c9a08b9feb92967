"""``ackclock new``: an example, or a scenario, controller, queue, engine, stack or paper from a template."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from ackclock.cli import output
from ackclock.cli.command import FILE, Argument, Option, command, flag, group
from ackclock.cli.examples import example
from ackclock.errors import InputError

NAME = re.compile(r"[a-z][a-z0-9]*([-_][a-z0-9]+)*")
LONGEST = 15
"""The longest name of a controller in the kernel, in letters."""

LANGUAGES = {"python": ".py", "c": ".bpf.c", "rust": ".rs"}
TEMPLATES = {"python": "controller.py", "c": "controller.bpf.c", "rust": "controller_file.rs"}
CONTROLLERS = Path("crates/control/src/controllers")
QUEUES = Path("crates/network/src/queue")
PAGES = Path("docs/controllers")
NAVIGATION = Path("mkdocs.yml")
CRATES = Path("crates")
RULE_OF_TEMPLATE = """\
    /// First in, first out: drops a packet that waited too long. A full queue drops the oldest.
"""
"""The description of the queue of the template: the documentation and the schema show it."""

WRITTEN = Argument("name", metavar="NAME", help="A word of small letters, digits, `-` and `_`.")
REPLACE = flag("--force", help="Replace files of those names.")


@dataclass(frozen=True)
class _Adapter:
    """An adapter of a stack in C."""

    header: str
    """The header by which a checkout is known."""
    files: tuple[str, ...]
    """Its files, beside those of every stack in C."""
    controllers: str


ADAPTERS = {
    "ngtcp2": _Adapter(
        "lib/includes/ngtcp2/ngtcp2.h",
        ("stack.c", "side.h", "reports.h", "handshake.h", "Makefile"),
        "`c:reno`, `c:cubic` and `c:bbr`",
    ),
    "picoquic": _Adapter(
        "picoquic/picoquic_internal.h",
        ("stack.c", "side.h", "reports.c", "ciphers.c", "Makefile"),
        "`c:newreno`, `c:cubic`, `c:bbr` and four more",
    ),
}


@dataclass(frozen=True)
class _Name:
    """A name in the spellings of the languages: ``my-queue``, ``my_queue``, ``MyQueue``."""

    text: str

    @property
    def snake(self) -> str:
        return self.text.replace("-", "_")

    @property
    def camel(self) -> str:
        return "".join(word.capitalize() for word in re.split("[-_]", self.text))

    def fill(self, text: str) -> str:
        """A template with this name in place of its own."""
        text = re.sub(r"\bTemplate", self.camel, text)
        text = re.sub(r"\btemplate_", f"{self.snake}_", text)
        return re.sub(r"\btemplate\b", self.text, text)


@command(WRITTEN, REPLACE)
def scenario(name: str, force: bool) -> None:
    """Write NAME.toml, one bottleneck with two flows.

    Example: `ackclock new scenario home-link`
    """
    file = Path(f"{_checked(name).text}.toml")
    _write({file: "scenario.toml"}, name, force)
    _next(f"{file}: run it with `ackclock run {file} --out results`")


@command(
    WRITTEN,
    Option(
        "--in",
        "language",
        default="python",
        metavar="LANGUAGE",
        help="python; c, for the kernel too; or rust.",
    ),
    REPLACE,
)
def controller(name: str, language: str, force: bool) -> None:
    """Write a congestion controller in Python, in C (for the simulator and the kernel), or in Rust.

    At the top of the source tree, one in Rust also gets its page and its place in the lists.
    Example: `ackclock new controller gentle`
    """
    if language not in LANGUAGES:
        raise InputError(f"--in {language}: must be one of {', '.join(LANGUAGES)}")
    spelled = _checked(name)
    if language == "rust" and CONTROLLERS.is_dir():
        _controller_of_tree(spelled, force)
        return
    if language == "c" and len(spelled.snake) > LONGEST:
        raise InputError(f"{name}: the kernel takes names of at most {LONGEST} letters")
    # Modules of Python and names in the kernel have no hyphens.
    file = Path(f"{spelled.snake}{LANGUAGES[language]}")
    _write({file: TEMPLATES[language]}, spelled.snake, force)
    called = f"./{file}" if language == "c" else f"./{file}:{spelled.camel}"
    _next(f"{file}: try it with `ackclock compare newreno {called}`")


@command(WRITTEN, REPLACE)
def queue(name: str, force: bool) -> None:
    """Write a queue discipline in Rust and list it, at the top of the source tree.

    Example: `ackclock new queue patient`
    """
    spelled = _checked(name)
    module = QUEUES / "mod.rs"
    if not module.is_file():
        raise InputError(f"queue {name}: is part of the source tree; run this at its top, where {QUEUES} is")
    file = QUEUES / f"{spelled.snake}.rs"
    _write({file: "queue.rs"}, name, force)
    _insert(module, f"mod {spelled.snake};", "mod ")
    _insert(module, f"pub use self::{spelled.snake}::{spelled.camel}Settings;", "pub use self::")
    entry = f'{RULE_OF_TEMPLATE}    "{name}" => {spelled.camel}({spelled.camel}Settings),\n'
    text = module.read_text("utf-8")
    if entry not in text:
        module.write_text(text.replace("disciplines! {\n", f"disciplines! {{\n{entry}", 1), "utf-8")
    _next(
        f"{file}: `INSTA_UPDATE=always cargo test -p ackclock-scenario --test language` adds it to the "
        f"schema; `make build`, then `ackclock compare cubic --queue 1bdp --set path.queue.discipline={name}`"
    )


@command(
    WRITTEN,
    Option(
        "--tree", type=FILE, metavar="DIR", help="The source tree, where the current folder is outside of it."
    ),
    REPLACE,
)
def engine(name: str, tree: Path | None, force: bool) -> None:
    """Write an engine in Rust: a crate that runs scenarios over the network that all engines share.

    At the top of the source tree it goes to crates/, elsewhere into a folder of its own.
    Example: `ackclock new engine patient`
    """
    spelled = _checked(name)
    inside = tree is None
    root = (tree or Path()).resolve()
    if not (root / CRATES / "engine" / "Cargo.toml").is_file():
        raise InputError(
            f"engine {name}: {root} is not the source tree of ackclock; --tree DIR says where that is"
        )
    folder = (CRATES if inside else Path()) / spelled.text
    sources = ("Cargo.toml", "src/lib.rs", "src/ends.rs", "examples/run.rs", "demo.toml")
    _write({folder / file: f"engine/{Path(file).name}" for file in sources}, name, force)
    manifest = folder / "Cargo.toml"
    text = manifest.read_text("utf-8").replace("CRATES", ".." if inside else str(root / CRATES))
    # Outside it is a workspace of its own.
    manifest.write_text(text if inside else f"{text}\n[workspace]\n", "utf-8")
    _next(
        f"{folder}/src/lib.rs: the clock of the engine; {folder}/src/ends.rs: the ends of its flows",
        f"{folder}/demo.toml: run it with `cargo run --example run demo.toml` in {folder}",
        f"test it with `cargo test` in {folder}",
        f"for `--engine {name}`: a file and a line in crates/python/src/engines/ and "
        "python/ackclock/engines/; see CONTRIBUTING.md, Add an engine",
    )


@command(
    WRITTEN,
    Option(
        "--from",
        "checkout",
        type=FILE,
        metavar="DIR",
        help="A checkout of ngtcp2 or picoquic: writes an adapter that compiles it as it is.",
    ),
    REPLACE,
)
def stack(name: str, checkout: Path | None, force: bool) -> None:
    """Write a transport in C, or an adapter of ngtcp2 or picoquic, for `--engine quic`.

    Example: `ackclock new stack mine`
    """
    folder = Path(_checked(name).text)
    shared = {folder / file: f"stack/{file}" for file in ("parts.h", "ackclock_stack.h")}
    if checkout is None:
        files = {folder / file: f"stack/{file}" for file in ("stack.c", "Makefile")}
        _write(files | shared, name, force)
        _next(
            f"{folder}/ackclock_stack.h: the functions of a stack",
            f"{folder}/stack.c: a transport with New Reno; make it yours, or an adapter of a stack elsewhere",
            f"{folder}/Makefile: how it is built; ackclock runs it",
            f"try it with `ackclock compare c:newreno newreno --engine quic:c={folder}`",
        )
        return
    project, sources = _sources_of(checkout)
    files = {folder / file: f"stack/{project}/{file}" for file in ADAPTERS[project].files}
    _write(files | shared, name, force)
    makefile = folder / "Makefile"
    makefile.write_text(makefile.read_text("utf-8").replace("CHECKOUT", sources), "utf-8")
    _next(
        f"{folder}/stack.c: the adapter, with the controllers {ADAPTERS[project].controllers}",
        f"{folder}/Makefile: compiles {sources}, again after each change there",
        f"try it with `ackclock compare c:cubic cubic --engine quic:c={folder}`",
    )


@command(WRITTEN, REPLACE)
def paper(name: str, force: bool) -> None:
    """Write a folder with a paper and one experiment, its figure and its claim.

    Example: `ackclock new paper mathis1997`
    """
    folder = Path(_checked(name).text)
    files = {folder / file: f"paper/{file}" for file in ("paper.toml", "fig1.toml")}
    _write(files, name, force)
    _next(
        f"{folder}/paper.toml: the paper, and the list of its experiments",
        f"{folder}/fig1.toml: scenario, figure and claim of one; docs/experiments.md has the keys",
        f"functions of your own for claims and figures go into {folder}/measures.py",
        f"repeat it with `ackclock reproduce ./{folder}`",
        f"to ship it: move {folder} into papers/, write docs/papers/{name}.md, and list it in mkdocs.yml",
    )


def _controller_of_tree(name: _Name, force: bool) -> None:
    """Writes the controller in Rust and its page, and lists both."""
    module = CONTROLLERS / "mod.rs"
    file, page = CONTROLLERS / f"{name.snake}.rs", PAGES / f"{name.text}.md"
    _write({file: "controller.rs", page: "controller.md"}, name.text, force)
    _insert(module, f"pub mod {name.snake};", "pub mod ")
    index = PAGES / "index.md"
    text = index.read_text("utf-8")
    group = next(line for line in text.splitlines() if line.startswith("<!-- table: controllers "))
    if name.text not in text.split():
        listed = group.removesuffix(" -->") + f" {name.text} -->"
        index.write_text(text.replace(group, listed, 1), "utf-8")
    entry = f"          - {name.camel}: controllers/{name.text}.md\n"
    navigation = NAVIGATION.read_text("utf-8")
    if entry not in navigation:
        first, rest = navigation.split("          - ", 1)
        NAVIGATION.write_text(f"{first}{entry}          - {rest}", "utf-8")
    _next(
        f"{file}: the rule and its tests; {module} lists it",
        f"{page}: its page; {index} and {NAVIGATION} list it in their first group",
        "`make snapshots` writes its trajectories, the schema and its shares beside others: review them",
        f"try it with `make build` and `ackclock compare newreno {name.text}`",
    )


def _sources_of(checkout: Path) -> tuple[str, str]:
    """The project of a checkout, and its folder as ``make`` takes it."""
    project = next((name for name, one in ADAPTERS.items() if (checkout / one.header).is_file()), None)
    if project is None:
        listed = " or ".join(f"{one.header} of {name}" for name, one in ADAPTERS.items())
        raise InputError(f"--from {checkout}: is no checkout of ngtcp2 or picoquic: there is no {listed}")
    path = checkout.resolve()
    if re.search(r"[\s#$:%\\]", str(path)):
        raise InputError(f"--from {path}: `make` takes no path with spaces or one of # $ : % \\")
    if project == "picoquic" and not (beside := path.parent / "picotls" / "lib" / "picotls.c").is_file():
        raise InputError(f"--from {path}: needs a checkout of picotls beside it: there is no {beside}")
    return project, str(path)


def _checked(name: str) -> _Name:
    if not NAME.fullmatch(name):
        raise InputError(f"{name}: must be a word of small letters, digits, `-` and `_`, like my-name")
    return _Name(name)


def _write(files: Mapping[Path, str], name: str, force: bool) -> None:
    """Writes each file from its template, or none if one exists already."""
    templates = resources.files("ackclock.cli") / "templates"
    for file in files:
        if file.exists() and not force:
            raise InputError(f"{file}: is there already; --force replaces it")
    for file, template in files.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(_Name(name).fill((templates / template).read_text("utf-8")), "utf-8")


def _insert(file: Path, line: str, kind: str) -> None:
    """Puts a line once into the list of lines that begin with ``kind``, in alphabetical order."""
    lines = file.read_text("utf-8").splitlines(keepends=True)
    if f"{line}\n" in lines:
        return
    listed = [number for number, one in enumerate(lines) if one.startswith(kind)]
    after = [number for number in listed if lines[number] > f"{line}\n"]
    lines.insert(after[0] if after else listed[-1] + 1, f"{line}\n")
    file.write_text("".join(lines), "utf-8")


def _next(*sentences: str) -> None:
    """Prints what to do next: every file to touch, and the commands."""
    for sentence in sentences:
        output.say(sentence)


new = group(
    "new",
    "Write an example, a scenario, a controller, a queue, an engine, a stack or a paper; each runs as it is.",
    example,
    scenario,
    controller,
    queue,
    engine,
    stack,
    paper,
)
