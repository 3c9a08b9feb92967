"""Writes the playground: ``python -m playground WASM FILE``."""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
import sys
import tomllib
from importlib import resources
from pathlib import Path
from typing import Any

from ackclock import _engine
from ackclock.networks import NAMES
from ackclock.plots.style import ON_DARK, are_apart, looks, on_dark, shade, spares
from ackclock.report.page import UPLOT
from ackclock.report.page import _asset as of_reports
from ackclock.report.page import _in_script as in_script
from playground import papers

ROOT = Path(__file__).resolve().parents[2]
SCENARIOS = Path(__file__).parent / "scenarios"
"""Questions of the cookbook and the lessons."""
TURNS = 8
"""Curves of one controller that differ."""
OTHERS = 6
"""Looks for names that are no controllers."""

SCRIPT = """class Mine extends Controller {
  on_ack(cx, ack) {
    if (!ack.window_limited) return;
    if (this.window < this.slow_start_threshold) this.window += ack.slow_start_credit();
    else this.window += ack.avoidance_credit() / this.window;
  }

  on_loss(cx, loss) {
    this.window = this.slow_start_threshold = Math.max(this.window / 2, 2);
  }

  on_timeout(cx, loss) {
    if (!loss.again) this.slow_start_threshold = Math.max(loss.in_flight / 2, 2);
    this.window = 1;
  }
}
"""


def own(name: str) -> str:
    """A file from the folder of this module."""
    return (resources.files(__package__) / "assets" / name).read_text("utf-8")


def lean(script: str) -> str:
    """A script without indentation and comments on lines of their own."""
    lines = (line.strip() for line in script.splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("//"))


def scenario(path: Path, title: str, **more: Any) -> dict[str, Any]:
    """A scenario of a file as the page opens it, with the files that it names."""
    text = path.read_text("utf-8")
    described = tomllib.loads(text)
    files = {}
    for link in (described.get("path", {}), *described.get("links", ())):
        rate = link.get("rate")
        if isinstance(rate, dict) and "trace" in rate:
            files[rate["trace"]] = (path.parent / rate["trace"]).read_text("utf-8")
    found = {"id": path.stem, "title": title, "file": path.name, "text": text, "files": files}
    return found | more


def groups() -> list[dict[str, Any]]:
    """The scenarios that the page can open."""
    examples = sorted((ROOT / "examples").glob("*.toml"), key=lambda path: path.stem != "quickstart")
    networks = [ROOT / f"python/ackclock/networks/{name}.toml" for name in sorted(NAMES)]
    return [
        {"name": "Examples", "scenarios": [scenario(path, _title(path)) for path in examples]},
        {"name": "Cookbook", "scenarios": of_folder("cookbook")},
        {"name": "Lessons", "scenarios": of_folder("lessons")},
        {"name": "Exercises", "scenarios": of_folder("exercises")},
        {"name": "Networks of compare", "scenarios": [_network(path) for path in networks]},
        *papers.groups(ROOT / "papers"),
    ]


def of_folder(name: str) -> list[dict[str, Any]]:
    """The scenarios of a folder beside this module, with their runs."""
    files = sorted((SCENARIOS / name).glob("*.toml"))
    return [
        scenario(path, _title(path), variants=_runs(path.with_suffix(".runs")), **_exercise(path))
        for path in files
    ]


def _exercise(path: Path) -> dict[str, Any]:
    """The task, hint and tests of a scenario that is an exercise: its file ``.tests``."""
    tests = path.with_suffix(".tests")
    return {"exercise": tomllib.loads(tests.read_text("utf-8"))} if tests.exists() else {}


def _runs(path: Path) -> str:
    """Runs side by side, a line for each."""
    return path.read_text("utf-8") if path.exists() else ""


def _title(path: Path) -> str:
    return str(tomllib.loads(path.read_text("utf-8")).get("name", path.stem))


def _network(path: Path) -> dict[str, Any]:
    found = scenario(path, _title(path), id=f"network-{path.stem}", controllers=["cubic", "bbr1", "cdg"])
    if "[[flows]]" not in found["text"]:
        found["text"] += '\n[[flows]]\ncc = "cubic"\n'
    return found


def all_looks() -> dict[str, Any]:
    """Colours and dashes for the charts, as ``style.looks`` chooses them.

    ``of`` has the looks of each controller curve by curve, and of other names. ``near`` has the places there
    of names whose colours no figure may have beside each other, ``spare`` the looks that the later one takes.
    """
    spare = {f"spare {number}": colour for number, colour in enumerate(spares())}
    names = [one["name"] for one in _engine.controllers()]
    others = [f"other {number}" for number in range(OTHERS)]
    found = {
        name: [*looks([(str(turn), name) for turn in range(TURNS)]).values()] for name in [*names, *others]
    }
    for name, colour in spare.items():
        shades = (shade(colour, turn) for turn in range(TURNS))
        found[name] = [{"colour": one, "dark": on_dark(one), "dash": []} for one in shades]
    first = {name: curves[0]["colour"] for name, curves in found.items()}
    near = {
        name: [
            place
            for place, (other, theirs) in enumerate(first.items())
            if other != name and not are_apart(colour, theirs)
        ]
        for name, colour in first.items()
    }
    grey = [*looks([("", "")]).values()]
    return {"of": found | {"": grey}, "near": near, "spare": list(spare), "first": list(ON_DARK)}


# Inlining makes the module smaller, but not after compression.
OPTIMISE = ("wasm-opt", "-Oz", "-aimfs", "0", "-fimfs", "0", "-ocimfs", "0")
FEATURES = (
    "bulk-memory",
    "nontrapping-float-to-int",
    "sign-ext",
    "mutable-globals",
    "reference-types",
    "multivalue",
)


def packed(wasm: bytes) -> bytes:
    """The module ``wasm``, made smaller by wasm-opt where that is installed, and compressed."""
    import zopfli.gzip

    if shutil.which(OPTIMISE[0]):
        command = [*OPTIMISE, *(f"--enable-{feature}" for feature in FEATURES), "-", "-o", "-"]
        wasm = subprocess.run(command, input=wasm, stdout=subprocess.PIPE, check=True).stdout
    compressed: bytes = zopfli.gzip.compress(wasm, numiterations=5)
    return compressed


def completed(schema: dict[str, Any]) -> dict[str, Any]:
    """The part of the JSON schema from which the editor completes: names, words, kinds, first sentences."""

    def inner(one: Any) -> Any:
        return [completed(each) for each in one] if isinstance(one, list) else completed(one)

    kept: dict[str, Any] = {key: schema[key] for key in ("$ref", "enum", "const") if key in schema}
    if "boolean" in schema.get("type", ""):
        kept["type"] = "boolean"
    kept |= {key: inner(schema[key]) for key in ("anyOf", "oneOf", "allOf", "items") if key in schema}
    for key in ("properties", "$defs"):
        if key in schema:
            kept[key] = {name: completed(one) for name, one in schema[key].items()}
    if (about := schema.get("title", schema.get("description"))) is not None:
        kept["title"] = re.split(r"[.\n]", about)[0][:60]
    return kept


def page(wasm: bytes) -> str:
    """The page with the module ``wasm`` in it."""
    from jinja2 import Environment, StrictUndefined

    data = {
        "schema": completed(json.loads(_engine.schema())),
        "controllers": [{"name": one["name"], "title": one["title"]} for one in _engine.controllers()],
        "looks": all_looks(),
        "columns": _engine.first_page_columns(),
        "groups": groups(),
        "script": SCRIPT,
    }
    scripts = [of_reports(f"{UPLOT}.iife.min.js"), lean(of_reports("charts.js"))]
    environment = Environment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(own("page.html.j2")).render(
        version=_engine.version(),
        styles="\n".join([of_reports(f"{UPLOT}.min.css"), of_reports("page.css"), own("playground.css")]),
        data=in_script(json.dumps(data, separators=(",", ":"))),
        wasm=base64.b64encode(packed(wasm)).decode("ascii"),
        worker=lean(own("engine.js")),
        scripts=[
            *scripts,
            *(lean(own(name)) for name in ("looks.js", "editor.js", "exercises.js", "app.js")),
        ],
    )


def main() -> int:
    """Writes the page."""
    wasm, target = Path(sys.argv[1]), Path(sys.argv[2])
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(page(wasm.read_bytes()), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
