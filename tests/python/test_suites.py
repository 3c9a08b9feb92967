"""The suites: each runs quick, and its page has the table of claims as they come out.

`UPDATE_DOCS=1 pytest tests/python/test_suites.py` writes these tables; look at the difference.
"""

import json
import os
from pathlib import Path

import pytest

from ackclock import papers
from ackclock.papers import page
from calling import run

DOCS = Path(__file__).parents[2] / "docs" / "suites"
UPDATE = os.environ.get("UPDATE_DOCS") == "1"
BEGIN = "<!-- From runs: UPDATE_DOCS=1 pytest tests/python/test_suites.py -->\n"
END = "<!-- End of what is from runs. -->\n"

SUITES = [paper.id for paper in papers.catalogue(papers.SUITES)]


def of(suite):
    return papers.select(papers.catalogue(papers.SUITES), [suite])


def reported(done):
    judged = [judgement for result in done.results for judgement in result.judgements]
    verdicts = [judgement.verdict for judgement in judged]
    counted = ", ".join(f"{verdicts.count(one)} {one}" for one in dict.fromkeys(sorted(verdicts)))
    return f"{BEGIN}\n{len(judged)} claims: {counted}.\n\n{page.markdown(done).rstrip()}\n\n{END}"


@pytest.mark.parametrize("suite", SUITES)
def test_the_page_of_a_suite_has_the_claims_as_they_come_out(suite):
    done = papers.reproduce([experiment.reduced() for experiment in of(suite)])
    file, written = DOCS / f"{suite}.md", reported(done)
    text = file.read_text()
    if UPDATE:
        text = text[: text.index(BEGIN)] + written + text[text.index(END) + len(END) :]
        file.write_text(text)
    assert written in text
    # Nothing is left unmeasured: a run, a flow or a signal that a claim names is there.
    why = {j.claim.id: j.why for result in done.results for j in result.judgements if j.why}
    assert why == {}


def test_ids_of_suites_begin_with_their_suite_and_are_unique():
    every = [(suite, e) for suite in SUITES for e in of(suite)]
    assert all(e.id.startswith(f"{suite}-") for suite, e in every)
    ids = [claim.id for _, e in every for claim in e.claims] + [e.id for _, e in every]
    assert len(set(ids)) == len(ids)


def test_a_miss_has_its_reason():
    page_of = {suite: (DOCS / f"{suite}.md").read_text() for suite in SUITES}
    misses = [line for text in page_of.values() for line in text.splitlines() if line.endswith("| miss |")]
    assert [line for line in misses if "why it misses" not in line] == []


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

    _, chosen = _chosen([])
    assert {experiment.paper for experiment in chosen}.isdisjoint(SUITES)
