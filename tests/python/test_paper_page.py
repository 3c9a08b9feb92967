"""The page of reproduced experiments: columns, cells, remarks and readings, from verdicts made by hand."""

import dataclasses
import json

import pytest

from ackclock.cases.model import Count, Judgement
from ackclock.papers import page
from ackclock.papers.reproduction import Reproduction, Result
from ackclock.verdict import NOT_JUDGED
from experiments import EXPERIMENT, read


@pytest.fixture
def claim(tmp_path):
    """A claim of 4 Mbit/s, of which 3 to 5 are allowed."""
    return read(tmp_path, EXPERIMENT).claims[0]


def reproduced(tmp_path, *judgements, **fields):
    """One experiment of three runs with these verdicts."""
    experiment = dataclasses.replace(read(tmp_path, EXPERIMENT), assumed=("queue", "RTT"))
    return Reproduction([Result(experiment, list(judgements), [], [], 3, 4, 1.5)], 1, False, **fields)


def written(tmp_path, done):
    """The text of the page."""
    folder = tmp_path / "report"
    folder.mkdir()
    assert page.write(done, (), folder) == []
    return (folder / "index.html").read_text("utf-8")


def test_verdicts_on_the_page_have_their_colours(tmp_path, claim):
    judgements = [Judgement(claim, 4.5e6, "pass"), Judgement(claim, 9e6, "miss")]
    text = written(tmp_path, reproduced(tmp_path, *judgements))
    for word in ("pass", "miss"):
        assert f'<td class="{word}" data-label="verdict">{word}</td>' in text
    assert "1 pass, 1 miss" in text
    assert "Section 1, simulation, own result. Shows goodput. 3 of 4 runs, 1.5 s." in text
    assert "Not given by the paper, chosen here: queue, RTT." in text
    # One experiment needs no contents.
    assert "1 of 2 claims miss" not in text


def test_a_page_without_verdicts_says_so(tmp_path):
    text = written(tmp_path, reproduced(tmp_path))
    assert "No claim was judged." in text
    assert "Interrupted" not in text


def test_rows_have_a_column_for_each_engine_and_for_counts(tmp_path, claim):
    one = Judgement(claim, 4.5e6, "pass")
    done = reproduced(tmp_path, one)
    plain = ["claim", "what the paper says", "reported", "measured", "band", "unit", "verdict"]
    assert page.headings(done) == plain
    cells = page.rows(done.results[0], done)[0][2:]
    assert cells == ["4000000", "4500000", "3000000 … 5000000", "-", "pass"]
    done.others["live"] = reproduced(tmp_path, dataclasses.replace(one, measured=3.5e6))
    assert page.headings(done)[3:5] == ["simulated", "live"]
    assert page.rows(done.results[0], done)[0][3:5] == ["4500000", "3500000"]
    # In two of three repetitions with other seeds it holds, and in seven of nine runs.
    done.results[0].judgements[0] = dataclasses.replace(one, holds=Count(7, 9))
    done.perturbed.extend([done, done, reproduced(tmp_path, dataclasses.replace(one, verdict="miss"))])
    assert page.headings(done)[-3:] == ["holds in", "shaken", "verdict"]
    assert page.rows(done.results[0], done)[0][-3:] == ["7 of 9", "2 of 3", "pass"]
    # Without counts of runs the column of steadiness stays.
    done.results[0].judgements[0] = one
    assert page.headings(done)[-3:] == ["unit", "shaken", "verdict"]
    assert page.rows(done.results[0], done)[0][-2:] == ["2 of 3", "pass"]


@pytest.mark.parametrize(
    ("claim_fields", "fields", "remarks"),
    [
        ({}, {}, []),
        ({"measured_as": "a share"}, {}, ["measured: a share"]),
        ({"judged_over": "losses: 90 %"}, {}, ["judged over losses"]),
        ({"judged_over": "losses"}, {}, ["judged over losses"]),
        ({"fragile": True}, {}, ["fragile: holds only in some realisations"]),
        ({}, {"counted": Count(2, 3)}, ["2 of 3 repetitions have a value"]),
        ({"why": "noise"}, {"verdict": "miss"}, ["why it misses: noise"]),
        ({"why": "noise"}, {}, []),
        ({"why": "noise"}, {"measured": None, "unmeasured": "no loss"}, ["not measured: no loss"]),
    ],
)
def test_remarks_stand_behind_the_text_of_a_claim(claim, claim_fields, fields, remarks):
    fields = {"measured": 4e6, "verdict": "pass"} | fields
    row = page.row(Judgement(dataclasses.replace(claim, **claim_fields), **fields))
    assert row[1].split("; ") == ["a gets 4 Mbit/s (section 1)", *remarks]


def test_the_words_of_a_paper_are_reported_as_they_are(claim):
    row = page.row(Judgement(dataclasses.replace(claim, reported="less"), None, NOT_JUDGED))
    assert (row[0], row[2], row[3], row[-1]) == ("demo-c1", "less", "-", "not judged")


def test_readings_with_another_verdict_are_rows_of_equal_length(tmp_path, claim):
    other = dataclasses.replace(claim, id="demo-c2")
    default = [Judgement(claim, 4e6, "pass"), Judgement(other, 4e6, "pass")]
    readings = {
        "half": {"demo-c1": Judgement(claim, 9e6, "miss"), "demo-c2": Judgement(other, 8e6, "miss")},
        "whole": {"demo-c1": Judgement(claim, 10e6, "miss")},
    }
    done = reproduced(tmp_path, *default, readings=readings)
    text = written(tmp_path, done)
    for cell in ("half: 9000000 (miss)", "half: 8000000 (miss)", "whole: 10000000 (miss)"):
        assert cell in text
    table = text.partition("the verdict depends on the reading")[2].partition("</table>")[0]
    assert [row.count("<td") for row in table.split("<tr")[1:]] == [4, 4]


def test_an_interrupted_run_is_said_and_kept(tmp_path, claim):
    done = dataclasses.replace(reproduced(tmp_path, Judgement(claim, 4e6, "pass")), interrupted=True)
    assert "Interrupted: claims rest on the repetitions that had finished" in written(tmp_path, done)
    assert json.loads((tmp_path / "report/run.json").read_text())["interrupted"] is True


def test_contents_count_the_claims_that_miss(tmp_path, claim):
    missed = reproduced(tmp_path, Judgement(claim, 9e6, "miss"), Judgement(claim, 4e6, "pass"))
    whole = reproduced(tmp_path, Judgement(claim, 4e6, "pass"))
    assert page._entry(missed.results[0])[1:] == ("demo-fig1", "1 of 2 claims miss")
    assert page._entry(whole.results[0])[0::2] == ("demo-fig1: A demonstration", "")
    both = dataclasses.replace(missed, results=[*missed.results, *whole.results])
    assert "1 of 2 claims miss" in written(tmp_path, both)
