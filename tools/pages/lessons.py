"""Writes lessons as pages, for ``make docs``: ``python -m pages.lessons`` runs their notebooks.

A page below ``docs/lessons`` holds a marker, ``<!-- lesson: NAME open=SCENARIO slide=KEY -->``, and includes
``target/lessons/NAME.md``: the notebook of that name with its outputs, and the playground to go on with. So
numbers and figures are of this version.
"""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from pages.measurements import ROOT
from pages.tables import PageError

LESSONS = ROOT / "docs" / "lessons"
WRITTEN = ROOT / "target" / "lessons"

MARKER = re.compile(r"^<!-- lesson: (?P<name>\S+) open=(?P<open>\S+) slide=(?P<key>\S+) -->$", re.MULTILINE)
"""The lesson, its scenario in the playground, and the key that the slider holds at first."""

PLAYGROUND = "../playground/app.html"
"""The playground, from the folder of its source, as Zensical resolves links of HTML."""


def executed(file: Path) -> Any:
    """The notebook with the outputs of its cells. Raises PageError."""
    try:
        nbformat = import_module("nbformat")
        client = import_module("nbclient")
    except ImportError as error:
        raise PageError(f"{file.name}: lessons need {error.name}: pip install nbclient ipykernel") from None
    notebook = nbformat.read(file, as_version=4)
    client.NotebookClient(notebook, timeout=900, kernel_name="python3").execute()
    return notebook


def markdown(notebook: Any, name: str, scenario: str, key: str) -> str:
    """An executed notebook as the body of a page."""
    cells = [part for cell in notebook.cells for part in _cell(cell)]
    title, *rest = cells
    figure = f"{PLAYGROUND}#open={scenario}&slide={key}"
    play = [
        "## Play",
        f"The path of this lesson, simulated in the page: slide `{key}`, or change anything. "
        f'<a href="{figure}">In a tab of its own</a>, or as a [notebook]({name}.ipynb) for a class.',
        f'<iframe class="playground" src="{figure}&embed" title="Playground: {name}" loading="lazy">'
        "</iframe>",
    ]
    return "\n\n".join([title, *rest, *play]) + "\n"


def _cell(cell: Any) -> Iterator[str]:
    """A cell, and each of its outputs."""
    if cell.cell_type == "markdown":
        yield cell.source.replace("<details>", '<details markdown="1">')
        return
    yield f"```python\n{cell.source}\n```"
    # The output of a cell may come in several pieces.
    if printed := "".join(output.text for output in cell.outputs if "text" in output):
        yield f"```text\n{printed.rstrip()}\n```"
    for output in cell.outputs:
        if "image/png" in output.get("data", {}):
            yield _picture(output.data)


def _picture(data: Any) -> str:
    """A figure, with the text of the output as its description."""
    words = html.escape(" ".join(str(data.get("text/plain", "")).split()))
    png = base64.b64encode(base64.b64decode(data["image/png"])).decode("ascii")
    image = f'<img class="figure" alt="{words}" src="data:image/png;base64,{png}">'
    return f'<div class="wide" tabindex="0">{image}</div>'


def main() -> None:
    """Writes the body of every lesson."""
    WRITTEN.mkdir(parents=True, exist_ok=True)
    for page in sorted(LESSONS.glob("*.md")):
        if marker := MARKER.search(page.read_text("utf-8")):
            notebook = executed(LESSONS / f"{marker['name']}.ipynb")
            body = markdown(notebook, *marker.groups())
            (WRITTEN / f"{marker['name']}.md").write_text(body, "utf-8")


if __name__ == "__main__":
    main()
