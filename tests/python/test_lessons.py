"""The lessons run, show figures, and compute what their answers say."""

import subprocess
from pathlib import Path

import pytest

from pages import lessons
from playground import __main__ as playground
from playground import absent

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

ROOT = Path(__file__).resolve().parents[2]
LESSONS = ROOT / "docs" / "lessons"

ANSWERS = {
    # With a quarter of a BDP 0.893 of the link is used, as the answer to question 3 derives. With four times
    # the loss a flow has half the goodput (Mathis 1997).
    "saw-tooth": """
assert abs(utilizations["0.25bdp"] - 0.893) < 0.02, utilizations
assert utilizations["1bdp"] > 0.99 and utilizations["2bdp"] > 0.99 and delays["2bdp"] > 2 * delays["1bdp"]
assert 1.7 < goodputs["0.1%"] / goodputs["0.4%"] < 2.4 and 1.7 < goodputs["0.4%"] / goodputs["1.6%"] < 2.4
""",
    # A full buffer of a second. Then 40 ms of path and at most 40 ms in a buffer of one BDP. The call waits
    # little with FQ-CoDel.
    "bufferbloat": """
assert 800 < rtts["one second"] < 1040 and rtts["1 BDP"] < 85, rtts
assert abs(goodputs["one second"] - goodputs["1 BDP"]) < 0.1 and goodputs["FQ-CoDel"] < goodputs["1 BDP"]
assert waits["one second"] > 300 > 85 > waits["1 BDP"] > waits["FQ-CoDel"], waits
""",
    # From equal windows (the ratio of the RTTs, 2) to windows in proportion too (its square).
    "rtt-unfairness": """
assert 2 < medians["newreno"] < 3 and 1.5 < medians["cubic"] < 2.5, medians
assert medians["hybla"] < 1.2, medians
""",
    "delay-against-loss": """
assert shares["cdg", "4bdp"] < 0.1 and shares["vegas", "4bdp"] < 0.15 < shares["vegas", "0.5bdp"], shares
assert round(lossy["cdg"] / max(lossy[cc] for cc in ["newreno", "cubic", "vegas"]), 1) == 1.8, lossy
""",
}
"""Conditions on the variables of each lesson after its last cell."""


@pytest.mark.parametrize("lesson", sorted(ANSWERS))
def test_a_lesson_runs_and_its_answers_hold(lesson):
    notebook = nbformat.read(LESSONS / f"{lesson}.ipynb", as_version=4)
    assert all(not cell.get("outputs") for cell in notebook.cells)
    notebook.cells.append(nbformat.v4.new_code_cell(ANSWERS[lesson]))
    nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3").execute()
    shown = [output.get("data", {}) for cell in notebook.cells for output in cell.get("outputs", [])]
    assert any("image/png" in data for data in shown)
    page = lessons.markdown(notebook, lesson, "a-scenario", "queue")
    assert page.startswith("# Lesson ")
    assert page.count("```text\n") >= 2
    # A figure has its numbers in words, too.
    assert '<img class="figure" alt="' in page
    assert " against time (s): " in page
    assert '<details markdown="1"><summary>Answer' in page
    assert 'playground/app.html#open=a-scenario&slide=queue&embed"' in page


def test_the_pages_of_lessons_include_what_is_written(tmp_path, monkeypatch):
    title = nbformat.v4.new_markdown_cell("# Lesson")
    monkeypatch.setattr(lessons, "executed", lambda _: nbformat.v4.new_notebook(cells=[title]))
    monkeypatch.setattr(lessons, "WRITTEN", tmp_path)
    lessons.main()
    assert {file.stem for file in tmp_path.iterdir()} == set(ANSWERS)
    for lesson in ANSWERS:
        assert (tmp_path / f"{lesson}.md").read_text().startswith("# Lesson\n\n## Play\n")
        assert f'\n--8<-- "target/lessons/{lesson}.md"\n' in (LESSONS / f"{lesson}.md").read_text()


def test_every_lesson_is_listed_and_has_questions_with_answers():
    index = (LESSONS / "index.md").read_text()
    assert {path.stem for path in LESSONS.glob("*.ipynb")} == set(ANSWERS)
    for lesson in ANSWERS:
        assert f"({lesson}.ipynb)" in index
        assert f"({lesson}.md)" in index
        marker = lessons.MARKER.search((LESSONS / f"{lesson}.md").read_text())
        assert marker["name"] == lesson
        (scenario,) = (playground.SCENARIOS / "lessons").glob(f"{marker['open']}.toml")
        assert f"\n{marker['key']} = " in scenario.read_text()
        text = "".join(cell.source for cell in nbformat.read(LESSONS / f"{lesson}.ipynb", as_version=4).cells)
        assert text.count("**Question") >= 4
        assert "<details><summary>Answer" in text


def test_a_site_without_the_playground_says_how_to_build_it(tmp_path):
    # `make docs` without the target of Rust: links of lessons and their frames lead to this page.
    site = ROOT / "site"
    # Zensical resolves links of HTML from the folder of the source.
    target = (site / "lessons" / lessons.PLAYGROUND).resolve()
    assert f"PLAYGROUND := {target.relative_to(ROOT)}\n" in (ROOT / "Makefile").read_text("utf-8")
    written = tmp_path / "playground" / "app.html"
    absent.main(written)
    text = written.read_text("utf-8")
    assert "rustup target add wasm32-unknown-unknown" in text
    assert "<main>" in text
    dry = subprocess.run(["make", "-n", "docs"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert dry.index("playground.absent") > dry.index("zensical build")
