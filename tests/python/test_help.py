"""Help on a terminal of 80 columns: no word is broken, and flags have no type."""

import re

import pytest

from ackclock.cli.app import HIDDEN, NAMES
from calling import run


def words(capsys, monkeypatch, command, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    code, out, _ = run(capsys, command, "--help")
    assert code == 0
    assert "<bool>" not in out
    assert columns > 80 or max(map(len, out.splitlines())) <= 80
    return set(re.findall("[A-Za-z]{2,}", out))


@pytest.mark.parametrize("command", [*NAMES, *HIDDEN])
def test_help_breaks_no_word_at_80_columns(capsys, monkeypatch, command):
    narrow, wide = (words(capsys, monkeypatch, command, columns) for columns in (80, 220))
    assert narrow <= wide
