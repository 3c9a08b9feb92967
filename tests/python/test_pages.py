"""Tables of the documentation: pages hold what their makers write, and every measurement is on a page."""

import functools
import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

import pages
from ackclock import metrics
from calling import needs_git
from pages import __main__ as command
from pages import markers, measure, measurements, speed
from pages.makers.scenario import keys
from pages.measurements import MeasurementError
from pages.tables import MAKERS

DOCS = Path(__file__).parents[2] / "docs"
MARKED = [page for page in sorted(DOCS.rglob("*.md")) if pages.MARKER.search(page.read_text())]


@functools.cache
def rendered(page):
    return pages.render(page.read_text(), page.relative_to(DOCS).as_posix())


def test_a_list_of_lists_has_plurals():
    rows = keys("Path").rows
    assert next(row[1] for row in rows if row[0] == "`queue`").endswith("list of lists of tables")


@pytest.mark.parametrize("page", MARKED, ids=lambda page: page.relative_to(DOCS).as_posix())
def test_a_page_holds_the_tables_of_today(page):
    text, used = rendered(page)
    assert page.read_text() == text, "`make tables` writes them anew"
    for measurement in used:
        assert measurement.line() in text


def test_every_measurement_is_on_a_page():
    files = {
        file.relative_to(pages.MEASUREMENTS).as_posix()
        for file in pages.MEASUREMENTS.rglob("*")
        # Causes that people gave to findings are in TOML.
        if file.is_file() and file.suffix != ".toml"
    }
    assert files == {measurement.name for page in MARKED for measurement in rendered(page)[1]}


@pytest.fixture
def made(monkeypatch, tmp_path):
    """A maker of one table from a measurement, which a test writes into the folder."""
    monkeypatch.setattr(measurements, "MEASUREMENTS", tmp_path)
    measurements.forget()

    @pages.maker("made")
    def made(file, cells="1"):
        measured, loaded = pages.load(file)
        return pages.Table(("a | b",), [[cells]] * len(loaded["result"]), [measured])

    yield tmp_path
    del MAKERS["made"]
    measurements.forget()


HEAD = {"date": "2026-11-24", "commit": "773027bcc94e", "machine": "Linux 7.2", "command": "ackclock bench"}


def test_a_table_is_followed_by_how_it_was_measured(made):
    (made / "one.json").write_text(json.dumps(HEAD | {"result": [1, 2]}))
    marker = "<!-- table: made one.json cells=2|`3|4` -->\n"
    text, used = pages.render(f"Before.\n\n{marker}\nAfter.\n")
    assert text == (
        f"Before.\n\n{marker}\n| a \\| b |\n| --- |\n| 2\\|`3|4` |\n| 2\\|`3|4` |\n\n"
        '<small markdown="span">Measured 2026-11-24, commit `773027b`, Linux 7.2: `ackclock bench`</small>\n'
        "\n<!-- /table -->\n\nAfter.\n"
    )
    assert [one.name for one in used] == ["one.json"]


def test_an_older_table_is_replaced_and_nothing_else(made):
    for name, rows in (("one", [1]), ("two", [1, 2])):
        (made / f"{name}.json").write_text(json.dumps(HEAD | {"result": rows}))
    page = "<!-- table: made one.json -->\nText.\n<!-- table: made two.json -->\n\nEnd.\n"
    text, _ = pages.render(page)
    assert text.count("| 1 |") == 3
    assert "<!-- /table -->\nText.\n<!-- table: made two.json -->" in text
    assert pages.render(text)[0] == text
    older = text.replace("| 1 |", "| 7 |\n| 8 |")
    assert older != text
    assert pages.render(older)[0] == text


@pytest.mark.parametrize(
    ("marker", "sentence"),
    [
        ("unknown", "p.md:2: there is no table `unknown`; there are"),
        ("made", "missing a required argument: 'file'"),
        ("made one.json rows=2", "unexpected keyword argument 'rows'"),
        ("made empty.json", "table `made empty.json` is empty"),
        ("made none.json", "measurements/none.json: No such file"),
        ("made headless.json", "measurements/headless.json: the head has no machine, command"),
        ("made undated.json", "measurements/undated.json: date 'today' is no date"),
        ("made uncommitted.json", "commit 'main' is no commit"),
        ("made silent.json", "`machine` says nothing"),
        ("parameters nosuch", "there is no controller `nosuch`"),
    ],
)
def test_a_marker_that_cannot_become_a_table_is_refused(made, marker, sentence):
    heads = {
        "one": HEAD,
        "empty": HEAD,
        "headless": {"date": "2026-11-24", "commit": "773027bcc94e"},
        "undated": HEAD | {"date": "today"},
        "uncommitted": HEAD | {"commit": "main"},
        "silent": HEAD | {"machine": " "},
    }
    for name, head in heads.items():
        (made / f"{name}.json").write_text(json.dumps(head | {"result": []}))
    with pytest.raises((pages.PageError, MeasurementError)) as refused:
        pages.render(f"Text.\n<!-- table: {marker} -->\n", "p.md")
    assert sentence in str(refused.value)


def test_rows_of_a_csv_file_are_chosen_by_their_columns(made):
    head = "".join(f"# {key}: {value}\n" for key, value in HEAD.items())
    (made / "two.csv").write_text(f"{head}cc,loss,goodput\ncubic,0,9.6\nreno,0,9.5\nreno,1,3.1\n")
    text, _ = pages.render("<!-- table: rows two.csv loss=0 -->\n")
    assert "-->\n\n| cc | goodput |\n| --- | --- |\n| cubic | 9.6 |\n| reno | 9.5 |\n\n<small" in text
    with pytest.raises(pages.PageError, match="there is no column rtt"):
        pages.render("<!-- table: rows two.csv rtt=1 -->\n")


def test_the_parameters_of_a_controller_are_those_of_the_registry():
    text, used = pages.render("<!-- table: parameters htcp -->\n<!-- table: probes copa -->\n")
    assert "| parameter | default | unit | allowed | meaning | source |" in text
    assert "| probe | unit | meaning |" in text
    assert used == []


OBJECTS = ("run", "Path", "Link", "Reverse", "Wlan", "Station", "ConventionsSpec", "Flow", "Record")


def test_the_reference_has_every_object_of_the_language():
    page = (DOCS / "scenario.md").read_text()
    assert [name for name in OBJECTS if f"<!-- table: keys {name} -->" not in page] == []
    link = pages.render("<!-- table: keys Link -->\n")[0].splitlines()
    assert "| `from` | text | **required** | The node that sends into it. |" in link
    settings = pages.render("<!-- table: settings -->\n")[0].splitlines()
    quantum = "What a flow may send more at each turn. From `1B` to `1048576B`."
    assert f'| `drr` | `quantum` | `"1500B"` | {quantum} |' in settings


def test_every_metric_and_model_has_a_row():
    names = {row[0].strip("`") for row in markers.made("metrics").rows}
    assert names == {*metrics.METRICS, *metrics.MODELS}


def test_the_command_rewrites_what_has_changed(made, monkeypatch):
    docs = made / "docs"
    (docs / "below").mkdir(parents=True)
    (made / "one.json").write_text(json.dumps(HEAD | {"result": [1]}))
    page, plain = docs / "below" / "page.md", docs / "plain.md"
    page.write_text("# Title\n\n<!-- table: made one.json -->\n")
    plain.write_text("`<!-- table: made nosuch.json -->` is a marker.\n")
    monkeypatch.setattr(command, "DOCS", docs)
    monkeypatch.setattr(command, "ROOT", made)
    command.main()
    assert page.read_text() == pages.render(page.read_text())[0]
    assert "| 1 |" in page.read_text()
    assert plain.read_text() == "`<!-- table: made nosuch.json -->` is a marker.\n"


@needs_git
def test_a_command_is_measured_with_its_head(made, monkeypatch):
    monkeypatch.setattr(measure, "MEASUREMENTS", made)
    measure.write("deep/new.json", ["python3", "-c", "print([1])"])
    measured, loaded = pages.load("deep/new.json")
    assert measured.command == "python3 -c 'print([1])'"
    assert loaded["result"] == [1]


def test_a_measurement_has_a_line_for_each_item_and_eight_digits():
    value = measure.rounded(
        {"cells": [{"mean": 1 / 3, "seeds": [1, 2]}, {}], "near": 2, "none": [], "empty": {}}
    )
    assert measure.text(value).splitlines() == [
        "{",
        ' "cells": [',
        '  {"mean": 0.33333333, "seeds": [1, 2]},',
        "  {}",
        " ],",
        ' "near": 2,',
        ' "none": [],',
        ' "empty": {}',
        "}",
    ]


@needs_git
def test_speed_is_measured_into_the_tables_of_pages(made, monkeypatch):
    assert [name for name in speed.TABLES if not (measure.MEASUREMENTS / f"{name}.csv").exists()] == []
    monkeypatch.setattr(measure, "MEASUREMENTS", made)
    (made / "performance").mkdir()
    monkeypatch.setattr(speed, "CASES", [replace(speed.CASES[0], duration="1s")])
    monkeypatch.setattr("ackclock.bench._instructions", lambda *_: 1640.4)
    monkeypatch.setattr("sys.argv", ["speed", "performance/bench", "performance/instructions"])
    speed.main()
    _, [row] = pages.load_csv("performance/bench.csv")
    assert (row["flows"], row["link"]) == ("1 NewReno", "100 Mbit/s")
    assert float(row["million packets/CPU s"]) > 0.0
    assert float(row["memory"].removesuffix(" MB")) > 5
    measured, [row] = pages.load_csv("performance/instructions.csv")
    assert row == {"flows": "1 NewReno", "link": "100 Mbit/s", "instructions a packet": "1,640"}
    assert measured.command.endswith("pages.speed performance/instructions")


def test_the_time_of_the_thesis_is_added_up_by_figures(monkeypatch):
    experiments = [("fig7.6b", 2, 6.0), ("fig6.7", 3, 4.5), ("fig6.8", 1, 0.5), ("fig2.4", 0, 0.0)]
    named = [{"id": f"edwan2010-{of}", "runs_done": n, "seconds": s} for of, n, s in experiments]
    answer = json.dumps({"experiments": named})
    done = subprocess.CompletedProcess([], 1, stdout=answer)
    monkeypatch.setattr("subprocess.run", lambda *_, **__: done)
    assert [list(row.values()) for row in speed.thesis()] == [
        ["figures 6.7 and 6.8", "4", "1.2", "5"],
        ["figure 7.6b", "2", "3.0", "6"],
    ]
