"""Claims against the ledgers of the papers, where the variable ACKCLOCK_LEDGERS names their folder.

A ledger is a TOML file for each paper. It was written before any result: its ids, kinds and bands are not
the project's to change. Where it has a test in words, the project's band is that test as numbers.
"""

import os
import tomllib
from pathlib import Path

import pytest

from ackclock import papers

LEDGERS = os.environ.get("ACKCLOCK_LEDGERS")
PAPERS = {paper.id: paper for paper in papers.catalogue()}

pytestmark = pytest.mark.skipif(not LEDGERS, reason="ACKCLOCK_LEDGERS names no folder of ledgers")


def ledger(paper):
    return tomllib.loads(Path(LEDGERS, f"{paper}.toml").read_text("utf-8"))["experiment"]


def informative(claim):
    """Not judged: the tolerance says so, or the paper gives nothing at all."""
    return "informative" in claim["tolerance"] or claim["value"] == "no data"


@pytest.mark.parametrize("paper", PAPERS)
def test_experiments_and_claims_are_those_of_the_ledger(paper):
    theirs = {one["id"]: [claim["id"] for claim in one.get("claim", [])] for one in ledger(paper)}
    ours = {one.id: [claim.id for claim in one.claims] for one in PAPERS[paper].experiments}
    assert {name: sorted(claims) for name, claims in ours.items()} == {
        name: sorted(claims) for name, claims in theirs.items()
    }


@pytest.mark.parametrize("paper", PAPERS)
def test_kinds_bands_and_verdicts_are_those_of_the_ledger(paper):
    ours = {claim.id: claim for one in PAPERS[paper].experiments for claim in one.claims}
    differ = []
    for claim in (claim for one in ledger(paper) for claim in one.get("claim", [])):
        mine = ours[claim["id"]]
        wanted = {"kind": claim["kind"], "informative": informative(claim)}
        wanted |= {key: claim.get(key, False) for key in ("trivial", "cited", "hard", "derived", "fragile")}
        wanted |= {key: claim[key] for key in ("low", "high", "judged_over") if key in claim}
        if isinstance(claim["value"], int | float):
            wanted["reported"] = claim["value"]
        found = {key: getattr(mine, key) for key in wanted}
        if found != wanted:
            differ.append(
                (mine.id, {key: (found[key], wanted[key]) for key in wanted if found[key] != wanted[key]})
            )
    assert differ == []
