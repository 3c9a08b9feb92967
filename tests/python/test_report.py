"""Reports: folders, pages and numbers."""

import io
import re

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

from ackclock.figure import Axis, Panel, Series
from ackclock.plots.draw import page_looks
from ackclock.report import (
    FolderError,
    Page,
    charts,
    check_folder,
    new_folder,
    number,
    page_of,
    png,
    resumable_folder,
)


def test_a_folder_appears_whole(tmp_path):
    with new_folder(tmp_path / "deep" / "out") as work:
        (work / "a").write_text("1")
        assert not (tmp_path / "deep" / "out").exists()
    assert (tmp_path / "deep" / "out" / "a").read_text() == "1"
    assert [p.name for p in (tmp_path / "deep").iterdir()] == ["out"]


def test_nothing_is_left_of_a_folder_that_failed(tmp_path):
    def fail():
        with new_folder(tmp_path / "out") as work:
            (work / "a").write_text("1")
            raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        fail()
    assert not list(tmp_path.iterdir())


def test_runs_stay_where_their_page_fails(tmp_path):
    def fail():
        with new_folder(tmp_path / "out") as work:
            (work / "runs").write_text("1")
            with page_of(work, "title"):
                raise ValueError("no <number>")

    with pytest.raises(ValueError, match="no <number>"):
        fail()
    assert (tmp_path / "out" / "runs").read_text() == "1"
    page = (tmp_path / "out" / "index.html").read_text("utf-8")
    assert "The page cannot be written, please report it: ValueError: no &lt;number&gt;." in page


def test_a_folder_that_holds_something_is_refused_unless_forced(tmp_path):
    (tmp_path / "old").write_text("")
    with pytest.raises(FolderError, match="not empty; --force replaces it"):
        check_folder(tmp_path, force=False)
    with pytest.raises(FolderError, match="is no report of ackclock"):
        check_folder(tmp_path, force=True)


def test_a_report_gives_way_to_another_when_forced(tmp_path):
    for name in ("old", "new"):
        with new_folder(tmp_path / "out", force=True) as work:
            Page(name).write(work / "index.html")
            (work / name).write_text("")
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["index.html", "new"]
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_work_that_was_interrupted_before_its_page_gives_way_when_forced(tmp_path):
    for name in ("old", "new"):
        with resumable_folder(tmp_path / "out", {"name": name}, force=True) as folder:
            (folder / name).write_text("")
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["new", "settings.json"]
    (tmp_path / "out/settings.json").write_text('{"name": "foreign"}')
    with pytest.raises(FolderError, match="is no report of ackclock"):
        check_folder(tmp_path / "out", force=True)


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(FolderError, match="is a file, but must be a folder"):
        check_folder(tmp_path / "file", force=True)
    with pytest.raises(FolderError, match="cannot be written to"):
        check_folder(tmp_path / "file" / "out", force=False)


def test_a_page_needs_no_other_file_and_escapes_text(tmp_path):
    page = Page("a < b")
    page.figure(png(Figure()), "a figure")
    page.table(("claim", "verdict"), [["<script>", "pass"]], css_column=1)
    page.details("scenario", "{}")
    page.write(tmp_path / "index.html")
    text = (tmp_path / "index.html").read_text()
    assert "<script>" not in text
    assert '<td class="pass" data-label="verdict">pass</td>' in text
    assert all(source.startswith("data:image/png;base64,") for source in re.findall(r'src="([^"]*)"', text))


@pytest.mark.parametrize("layout", ["constrained", None])
def test_a_figure_is_drawn_once_and_looks_as_when_it_is_saved(layout, monkeypatch):
    def figure():
        made = Figure(layout=layout)
        axes = made.subplots()
        axes.plot([1.0, 2000.0], label="a curve")
        axes.set_ylabel("goodput (Mbit/s)")
        made.legend(loc="outside right upper" if layout else "upper right")
        return made

    saved = io.BytesIO()
    figure().savefig(saved, format="png", dpi=200, metadata={"Software": "ackclock"})
    draws = []
    draw = Figure.draw
    monkeypatch.setattr(
        Figure, "draw", lambda self, renderer: (draws.append(renderer), draw(self, renderer))[1]
    )
    made = figure()
    before = made.dpi, made.get_layout_engine()
    pictures = [np.asarray(Image.open(io.BytesIO(file))) for file in (png(made), saved.getvalue())]
    assert np.array_equal(*pictures)
    assert len(draws) == 1
    assert (made.dpi, made.get_layout_engine()) == before


def test_the_encoder_of_a_figure_takes_the_fastest_way():
    # RFC 1950: the two highest bits of the second byte are 0 for the fastest algorithm, 2 for the default.
    file = png(Figure())
    assert file[file.index(b"IDAT") + 5] >> 6 == 0


@pytest.mark.parametrize(
    ("cell", "right"),
    [
        *((cell, True) for cell in ("94.2", "-", "-3", "1e+13", "1.4 … ∞", "-∞ … 5", "30 (31)", "1.5 %")),
        *((cell, False) for cell in ("601 x web", "4a", "2-web", "-x", "cdg", "1 - x", "")),
    ],
)
def test_only_numbers_are_set_right(tmp_path, cell, right):
    page = Page("numbers")
    page.table(("cell",), [[cell]])
    page.write(tmp_path / "index.html")
    assert ('<td class="number">' in (tmp_path / "index.html").read_text()) == right


def test_names_are_not_broken_at_their_hyphens(tmp_path):
    page = Page("names")
    page.table(("name",), [["cubic-0"], ["a sentence of words"], ["-".join(["long"] * 10)]])
    page.write(tmp_path / "index.html")
    assert re.findall(r'<td class="name">([^<]*)<', (tmp_path / "index.html").read_text()) == ["cubic-0"]


def test_numbers_have_four_digits():
    assert [number(x) for x in (0.123456, 1234.56, 12345.6, 0.0, None, float("inf"))] == [
        "0.1235",
        "1235",
        "12346",
        "0",
        "-",
        "∞",
    ]


def test_a_long_curve_of_a_page_keeps_its_extremes():
    values = np.zeros(10_000)
    values[[1234, 7777]] = 5.0, -3.0
    curve = Series("window", "cubic", np.arange(10_000.0), values)
    panels = [Panel("", [curve])]
    (panel,) = charts.panels_as_json(panels, Axis("time (s)"), Axis("packets"), page_looks(panels))
    (shown,) = panel["curves"]
    assert len(shown["y"]) <= charts.MOST_POINTS + 2
    assert (shown["x"][shown["y"].index(5.0)], shown["x"][shown["y"].index(-3.0)]) == (1234.0, 7777.0)
    assert panel["y"]["ends"] == pytest.approx([-3.4, 5.4]), "with a twentieth of room"


def test_a_long_curve_of_a_page_keeps_a_break_and_the_value_behind_it():
    values = np.full(10_000, 9.0)
    values[5000:5002] = np.nan, 3.0
    panels = [Panel("", [Series("window", "cubic", np.arange(10_000.0), values)])]
    (panel,) = charts.panels_as_json(panels, Axis("time (s)"), Axis("packets"), page_looks(panels))
    (shown,) = panel["curves"]
    at = shown["y"].index(None)
    assert (shown["x"][at], shown["y"][at + 1]) == (5000.0, 3.0)


def test_a_bar_aside_counts_for_the_axis_along_which_it_lies():
    ends = np.array([1.0]), np.array([100.0])
    curve = Series("reported", "", np.array([10.0]), np.array([2.0]), *ends, look="across")
    x, y = Axis("rate", scale="log"), Axis("share", low=0.0)
    panels = [Panel("", [curve])]
    (panel,) = charts.panels_as_json(panels, x, y, page_looks(panels))
    assert panel["x"]["ends"] == pytest.approx([1 / 1.1, 110.0], rel=1e-4)
    assert panel["y"]["ends"] == [0.0, 3.0]
