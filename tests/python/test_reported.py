"""Reported values in figures: each number at its place, worked out by hand from the claims."""

import re

import numpy as np
import pytest

from ackclock import papers
from ackclock.cases.document import CaseError
from ackclock.cases.measure import Samples
from ackclock.figure import Series
from ackclock.papers import reported
from ackclock.papers.figures import figures
from ackclock.plots.draw import _colours


def shown(identity, number=0, panel=0):
    """The reported values in a panel of a figure, before anything has run."""
    [experiment] = papers.select(papers.catalogue(), [identity])
    drawn = figures(experiment)[number].panels(Samples())[panel].series
    return [one for one in drawn if one.look in ("reported", "across", "band")]


def values(series):
    return [np.asarray(one).tolist() for one in (series.x, series.y, series.low, series.high)]


def test_a_share_of_the_link_stands_at_its_loss_probability():
    newreno, cdg = shown("cdg2011-fig4")
    assert [one.cc for one in (newreno, cdg)] == ["newreno", "cdg"]
    np.testing.assert_allclose(np.ravel(values(newreno))[:2], [1.0, 3.5])
    np.testing.assert_allclose(np.ravel(values(cdg)), [1.0, 6.5, 5.5, 7.8])
    # The legend says it once.
    assert [newreno.label, cdg.label] == [reported.REPORTED, ""]


def test_a_percentile_stands_on_its_share_with_a_horizontal_band():
    cdg, newreno, _ = shown("cdg2013-fig4", panel=1)
    assert (cdg.look, cdg.x.tolist(), cdg.y.tolist()) == ("across", [60.0], [90.0])
    assert newreno.x.tolist() == [600.0]


def test_a_claim_about_an_interval_is_a_line_over_it():
    highest, lowest = shown("da1992-fig3")
    # 5 % of it both ways, all along the line.
    assert [highest.low.size, highest.high.size, lowest.low.size, lowest.high.size] == [2, 2, 2, 2]
    for line in (highest, lowest):
        assert (line.low[0], line.high[0]) == (line.low[1], line.high[1])
        assert line.low[0] < line.y[0] < line.high[0]
    assert (highest.look, highest.x.tolist(), highest.y.tolist()) == ("band", [20.0, 100.0], [37.0, 37.0])
    assert lowest.y.tolist() == [18.0, 18.0]
    # Given in percent, on an axis that multiplies shares by a hundred.
    [half] = shown("siad2016-fig4a")
    assert half.y.tolist() == [50.0, 50.0]


def test_words_are_not_drawn():
    assert shown("cdg2011-fig1") == []


@pytest.mark.parametrize(
    ("entry", "sentence"),
    [
        ("cdg2011-fig4-cdg", "there is no claim `cdg2011-fig4-cdg`"),
        ({"id": "cdg2011-fig4-cdg-share"}, "it needs x, y, or from and to"),
        ({"id": "cdg2011-fig4-cdg-share", "at": 1}, "an id, or a table with the keys"),
        ({"x": 1.0}, "an id, or a table with the keys"),
    ],
)
def test_what_cannot_be_placed_is_refused(entry, sentence):
    [experiment] = papers.select(papers.catalogue(), ["cdg2011-fig4"])
    with pytest.raises(CaseError, match=re.escape(sentence)):
        reported.series([entry], experiment, "here", 1.0)


def test_what_is_reported_has_the_colour_of_its_controller():
    one = np.ones(1)
    curves = [Series("CDG", "cdg", one, one), Series("NewReno", "newreno", one, one)]
    points = [Series("", cc, one, one, one, one, "reported") for cc in ("newreno", "cdg", "")]
    colours = _colours(curves + points, ["cdg", "newreno"])
    assert colours[2:4] == [colours[1], colours[0]]
    assert colours[4] not in colours[:2]
