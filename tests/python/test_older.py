"""Measurements that are older than their rules: what an experiment runs, and runs of its controllers."""

import json
import subprocess

import pytest

from calling import needs_git
from experiments import EXPERIMENT
from pages.older import GOLDEN, older, rules

PAPER = """
id = "demo"
title = "A demonstration"
authors = "A. Uthor"
year = 2000
venue = "here"
experiments = ["fig1"]
"""


def git(root, *arguments):
    who = ("-c", "user.name=a", "-c", "user.email=a@b")
    done = subprocess.run(["git", "-C", root, *who, *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def commit(root):
    git(root, "add", "-A")
    git(root, "commit", "-qm", "a change")
    return git(root, "rev-parse", "--short", "HEAD")


@pytest.fixture
def tree(tmp_path):
    """A tree with an experiment of NewReno and CUBIC, measured in its only commit."""
    for folder in ("papers/demo", "suites", "measurements/papers", "crates/sim/tests/snapshots"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "papers/demo/fig1.toml").write_text(EXPERIMENT)
    (tmp_path / "papers/demo/paper.toml").write_text(PAPER)
    (tmp_path / GOLDEN.format("newreno")).write_text("10 20 40\n")
    (tmp_path / GOLDEN.format("siad")).write_text("10 20\n")
    git(tmp_path, "init", "-q")
    measured = {"demo-fig1": {"date": "2026-01-02", "commit": commit(tmp_path)}}
    (tmp_path / "measurements/papers/demo.json").write_text(json.dumps({"experiments": measured}))
    return tmp_path


def changed(tree):
    return [(one.file, one.changed) for one in older(tree)]


@needs_git
def test_a_golden_run_of_its_controllers_makes_a_measurement_old(tree):
    assert changed(tree) == []
    (tree / GOLDEN.format("siad")).write_text("10 15\n")
    assert changed(tree) == [], "another controller"
    (tree / GOLDEN.format("newreno")).write_text("10 20 30\n")
    assert changed(tree) == [("demo.json", (GOLDEN.format("newreno"),))]


@needs_git
def test_what_runs_and_what_is_measured_are_rules_and_words_are_not(tree):
    file = tree / "papers/demo/fig1.toml"
    file.write_text(EXPERIMENT.replace("a gets 4 Mbit/s", "it gets 4 Mbit/s"))
    assert changed(tree) == []
    file.write_text(EXPERIMENT.replace('from = "2s"', 'from = "3s"'))
    assert changed(tree) == [("demo.json", ("papers/demo/fig1.toml",))]


@needs_git
def test_a_commit_that_the_history_does_not_have_is_the_last_one_of_its_day(tree):
    measured = {"demo-fig1": {"date": "2090-01-01", "commit": "0000000"}}
    (tree / "measurements/papers/demo.json").write_text(json.dumps({"experiments": measured}))
    assert changed(tree) == []
    measured["demo-fig1"]["date"] = "1999-01-01"
    (tree / "measurements/papers/demo.json").write_text(json.dumps({"experiments": measured}))
    assert changed(tree) != [], "before the first commit"


def test_a_text_that_is_no_experiment_is_one_rule():
    assert rules("10 20 40\n") != rules("10 20 30\n")
