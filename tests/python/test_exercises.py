"""The exercises of the playground: points for what they ask, and marks that a teacher reads."""

import csv
import io
import tomllib

import pytest

from exercises import MINE, SOLUTIONS
from playground import __main__ as playground
from test_playground import browser, opened, pytestmark, show, wait_for_runs, written

__all__ = ["browser", "opened", "pytestmark", "written"]


def exercise(page, name):
    """Opens an exercise, and waits for its first run."""
    page.evaluate("delete document.documentElement.dataset.runs")
    page.locator("#open").select_option(name)
    wait_for_runs(page, 1)


def solve(page, change, source):
    """Runs a solution, and gives the line of its points."""
    page.evaluate("delete document.documentElement.dataset.runs")
    page.locator("#scenario").evaluate(
        "(area, [from, to]) => { area.value = area.value.replaceAll(from, to); }", change
    )
    if source:
        page.locator("#script").fill(source)
    page.locator("#run").click()
    wait_for_runs(page, 1)
    return page.locator("#points").inner_text()


@pytest.mark.parametrize(
    ("name", "change", "source", "points"),
    [(name, *of) for name, solutions in SOLUTIONS.items() for of in solutions],
)
def test_an_exercise_gives_points_for_what_it_asks(opened, name, change, source, points):
    tests = tomllib.loads((playground.SCENARIOS / f"exercises/{name}.tests").read_text())["tests"]
    exercise(opened, name)
    whole = sum(one["points"] for one in tests)
    assert solve(opened, change, source) == f"{points} of {whole} points"
    assert opened.locator("#tests li.passed").count() < len(tests) or points == whole
    assert opened.complaints == []


def test_each_exercise_has_a_solution_that_earns_all():
    exercises = {path.stem for path in (playground.SCENARIOS / "exercises").glob("*.tests")}
    assert exercises == SOLUTIONS.keys()
    for name, solutions in SOLUTIONS.items():
        described = tomllib.loads((playground.SCENARIOS / f"exercises/{name}.tests").read_text())
        whole = sum(one["points"] for one in described["tests"])
        assert solutions[-1][2] == whole, name


def test_an_exercise_counts_only_on_its_own_scenario_and_controller(opened):
    exercise(opened, "1-enough-queue")
    refused = solve(opened, ('rate = "10mbit"', 'rate = "1mbit"'), "")
    assert refused == "Only path.queue may change. Open the exercise again for its scenario."
    exercise(opened, "3-first-controller")
    assert solve(opened, ("x", "x"), "") == 'Each flow needs a controller of yours: cc = "Mine".'
    # Other scenarios have no exercise.
    exercise(opened, "quickstart")
    assert opened.locator("#exercise").is_hidden()


def test_marks_are_rows_that_open_the_solution(browser, written, opened):
    exercise(opened, "5-short-queue")
    change, source, _ = SOLUTIONS["5-short-queue"][-1]
    solve(opened, change, source)
    # A worse run afterwards takes nothing away.
    solve(opened, ("Mine", "Mine"), MINE)
    opened.locator("#student").fill("=cmd, Ada")
    rows = list(csv.DictReader(io.StringIO(opened.evaluate("playground.marked()"))))
    mine = [row for row in rows if row["exercise"].startswith("5:")]
    assert [(row["student"], row["passed"], row["points"], row["of"]) for row in mine] == [
        ("cmd, Ada", "yes", "3", "3"),
        ("cmd, Ada", "yes", "2", "2"),
    ]
    with opened.expect_download() as download:
        opened.locator("#marks").click()
    assert download.value.suggested_filename == "marks.csv"
    teacher = show(browser, written, mine[0]["solution"].removeprefix("app.html"))
    teacher.wait_for_function("document.getElementById('said').textContent.includes('press Run')")
    assert teacher.locator("#points").inner_text() == ""
    teacher.locator("#run").click()
    wait_for_runs(teacher, 1)
    assert teacher.locator("#points").inner_text() == "5 of 5 points"
    teacher.close()
