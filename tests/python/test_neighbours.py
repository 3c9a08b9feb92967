"""The page of each controller shows its row of the matrix: what it has and does beside the common ones.

`UPDATE_DOCS=1 pytest tests/python/test_neighbours.py` writes these tables; look at the difference.
"""

import os
from pathlib import Path

import pytest

import ackclock
from ackclock import repetitions
from ackclock.contenders import contenders
from ackclock.matrix import Setting, matrix, plan
from ackclock.sweeps import executors
from ackclock.sweeps.run import execute, finish

PAGES = Path(__file__).parents[2] / "docs" / "controllers"
UPDATE = os.environ.get("UPDATE_DOCS") == "1"

BEGIN = "<!-- From runs: UPDATE_DOCS=1 pytest tests/python/test_neighbours.py -->\n"
END = "<!-- End of what is from runs. -->\n"
REGISTRY = "<!-- From the registry"

COMMON = ("newreno", "cubic", "bbr1")
"""Beside these, and beside itself, a page shows its controller."""

SETTING = Setting({"rate": "10mbit", "rtt": "40ms", "queue": "1bdp"}, "60s", "10s", "linux")
"""The defaults of `ackclock matrix`."""

SEEDS = repetitions.seeds(1, 3)

INTRODUCTION = """
## Beside others

One flow of it and one of another over 10 Mbit/s, 40 ms and a queue of one BDP, a minute without its first
10 s: medians of 3 seeds. [Harm](../command-line.md#matrix) is the share that a flow loses against running
alone; what a controller does to another is to be no more than what that does to its own kind.

| beside | share | mean RTT | harm to its goodput | to its RTT | harm to the other | its own kind's |
| --- | --- | --- | --- | --- | --- | --- |
"""


def neighbours(name):
    return [*COMMON, *([] if name in COMMON else [name])]


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    names = sorted({one["name"] for one in ackclock.controllers()})
    pairs = {(one,): None for one in names}
    for one in names:
        for beside in neighbours(one):
            pairs |= {} if (beside, one) in pairs else {(one, beside): None}
    planned, runs = plan(contenders(names, live=False), SETTING, SEEDS, {}, wanted=pairs)
    folder = tmp_path_factory.mktemp("matrix")
    for _ in execute(planned, folder, executors.workers("local", None), None):
        pass
    return matrix(finish(planned, folder), runs, names)


def table(found, name):
    rows = ""
    for beside in neighbours(name):
        cells = (
            f"[{beside}]({beside}.md)" if beside != name else "itself",
            f"{found.shown('share', name, beside)} %",
            f"{found.shown('rtt_mean_ms', name, beside)} ms",
            found.shown("harm_goodput", name, beside),
            found.shown("harm_rtt", name, beside),
            found.shown("harm_goodput", beside, name),
            found.shown("harm_goodput", beside, beside),
        )
        rows += f"| {' | '.join(cells)} |\n"
    return f"{BEGIN}{INTRODUCTION}{rows}\n{END}"


def with_table(page, written):
    if BEGIN in page:
        return page[: page.index(BEGIN)] + written + page[page.index(END) + len(END) :]
    before, registry, after = page.partition(REGISTRY)
    return f"{before.rstrip()}\n\n{written}\n{registry}{after}"


@pytest.mark.parametrize("name", sorted(one["name"] for one in ackclock.controllers()))
def test_the_page_of_a_controller_shows_its_row(found, name):
    file, written = PAGES / f"{name}.md", table(found, name)
    if UPDATE:
        file.write_text(with_table(file.read_text(), written))
    assert written in file.read_text()
