"""Every file in the corpora of the readers in Python satisfies their property, and no corpus is left out."""

from pathlib import Path

import pytest

from fuzz import readers

FUZZ = Path(__file__).parents[2] / "fuzz"


@pytest.mark.parametrize("target", readers.TARGETS)
def test_a_reader_answers_or_refuses_every_file_of_its_corpus(target):
    files = sorted((FUZZ / "corpora" / target).iterdir())
    assert len(files) > 1
    for file in files:
        readers.hold(target, file.read_bytes())


def test_a_refusal_that_is_no_sentence_is_a_fault(monkeypatch):
    def refusing(content):
        raise readers.InputError(content.decode())

    monkeypatch.setitem(readers.TARGETS, "refusing", refusing)
    readers.hold("refusing", b"a sentence")
    for none in (b"", b"two\nlines"):
        with pytest.raises(AssertionError, match="no sentence"):
            readers.hold("refusing", none)


def test_every_corpus_has_its_fuzzer():
    # crates/fuzzed/tests/corpora.rs replays the corpora of fuzzers in Rust.
    fuzzers = {file.stem for file in (FUZZ / "targets").iterdir()} | set(readers.TARGETS)
    assert {folder.name for folder in (FUZZ / "corpora").iterdir()} == fuzzers
