"""The suites: each runs quick, and gives the values that its page shows.

`UPDATE_DOCS=1 pytest tests/python/test_suites.py` writes these values. Look at the difference.
"""

import json
import os
from pathlib import Path

import pytest

from ackclock import papers
from ackclock.papers import published
from calling import run

MEASUREMENTS = Path(__file__).parents[2] / "measurements" / "suites"
UPDATE = os.environ.get("UPDATE_DOCS") == "1"

SUITES = [paper.id for paper in papers.catalogue(papers.SUITES)]


def of(suite):
    return papers.select(papers.catalogue(papers.SUITES), [suite])


def judgements(done):
    return [judgement for result in done.results for judgement in result.judgements]


@pytest.mark.parametrize("suite", SUITES)
def test_the_published_values_of_a_suite_come_out_again(suite):
    done = papers.reproduce([experiment.reduced() for experiment in of(suite)])
    file = MEASUREMENTS / f"{suite}.json"
    if UPDATE:
        published.write(file, done, ["--quick"])
    assert published.judgements(of(suite), published.read(file)) == judgements(done)
    # Nothing is left unmeasured: a run, a flow or a signal that a claim names is there.
    assert {one.claim.id: one.unmeasured for one in judgements(done) if one.unmeasured} == {}
    # A miss has its cause.
    assert [one.claim.id for one in judgements(done) if one.verdict == "miss" and not one.reason] == []


def test_ids_of_suites_begin_with_their_suite_and_are_unique():
    every = [(suite, e) for suite in SUITES for e in of(suite)]
    assert all(e.id.startswith(f"{suite}-") for suite, e in every)
    ids = [claim.id for _, e in every for claim in e.claims] + [e.id for _, e in every]
    assert len(set(ids)) == len(ids)


def test_suites_are_listed_and_run_by_name(capsys, tmp_path):
    status, out, _ = run(capsys, "reproduce", "--list", "--json")
    listed = [one["id"] for one in json.loads(out)["experiments"]]
    assert status == 0
    assert {"cdg2011-fig4", "l4s-fq-codel", "l4s-dualpi2"} <= set(listed)
    status, out, _ = run(capsys, "reproduce", "l4s-fq-codel", "--quick", "--json", "--out", tmp_path / "out")
    (done,) = json.loads(out)["experiments"]
    assert (status, done["id"], done["runs_done"]) == (0, "l4s-fq-codel", done["runs"])
    assert (tmp_path / "out" / "claims.md").exists()


def test_without_a_name_papers_alone_run():
    from ackclock.cli.reproduce import _chosen

    _, chosen = _chosen([], trust=False, listing=False)
    assert {experiment.paper for experiment in chosen}.isdisjoint(SUITES)
