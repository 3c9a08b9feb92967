"""Mutants of Rust, all of a sample in one build by switches in the source files, and mutants of Python."""

import ast
from types import SimpleNamespace

import pytest

from mutants import package
from mutants.listed import Mutant
from mutants.package import listed, naming
from mutants.switch import blamed, can_switch, switched

SOURCE = """\
/// Half, of `{`.
fn half(x: u32) -> u32 {
    let _brace = ['{', '\\'', '}'];
    x / 2
}

const fn one() -> u32 { 1 + 0 }
"""


def mutant(number, found, replacement, function):
    """A mutant that replaces the first `found` within the function that begins with `function`."""
    start = SOURCE.index(function)
    end = SOURCE.index("\n}", start) + 2 if function.startswith("fn") else SOURCE.rindex("}") + 1
    first = SOURCE.index(found, start)
    return Mutant(number, "", "half.rs", (first, first + len(found)), replacement, (start, end), found)


def test_a_function_becomes_a_switch_between_its_body_and_broken_ones():
    mutants = [mutant(3, "/", "*", "fn half"), mutant(7, "2\n", "3\n", "fn half")]
    text = switched(SOURCE, mutants)
    assert text.count("match crate::mutants_switch::on()") == 1
    arms = text[text.index("3 =>") :].split("_ =>")
    assert arms[0].count("x  *  2") == 1
    assert arms[0].count("x /  3\n") == 1
    assert arms[1].count("x / 2") == 1
    lines = text.split("\n")
    numbers = [blamed(text, number) for number, line in enumerate(lines, 1) if line.strip().startswith("x ")]
    assert numbers == [{3}, {7}, {3, 7}]
    assert blamed(text, len(lines)) == set()


def test_a_const_function_cannot_ask_which_mutant_is_on():
    assert can_switch(SOURCE, mutant(1, "/", "*", "fn half"))
    assert not can_switch(SOURCE, mutant(1, "+", "-", "const fn one"))


PYTHON = '''\
def half(x: int | None = 3, *, ö: bool = True) -> float:
    """1 + 1."""
    if not ö and (x) is not None:  # <
        return "ü" in x or x / 2 <= 1.5
'''


def test_operators_and_constants_of_python_are_broken_one_at_a_time_and_types_are_not():
    mutants = [Mutant(number, *rest) for number, rest in enumerate(listed("half.py", PYTHON), 1)]
    broken = [PYTHON[: one.span[0]] + one.replacement + PYTHON[one.span[1] :] for one in mutants]
    changed = {text.split("\n")[line] for text in broken for line in (0, 2, 3)} - set(PYTHON.split("\n"))
    assert changed == {
        "def half(x: int | None = 4, *, ö: bool = True) -> float:",
        "def half(x: int | None = 3, *, ö: bool = False) -> float:",
        "    if  ö and (x) is not None:  # <",
        "    if not ö or (x) is not None:  # <",
        "    if not ö and (x) is None:  # <",
        '        return "ü" not in x or x / 2 <= 1.5',
        '        return "ü" in x and x / 2 <= 1.5',
        '        return "ü" in x or x * 2 <= 1.5',
        '        return "ü" in x or x / 3 <= 1.5',
        '        return "ü" in x or x / 2 < 1.5',
        '        return "ü" in x or x / 2 <= 2.5',
    }
    assert len(broken) == len(set(broken)) == len(changed)
    assert all(ast.parse(text) for text in broken)


def test_the_naming_a_module_name_it_or_what_is_in_it():
    tests = {
        "none.py": "x",
        "once.py": "errors",
        "most.py": "from ackclock.errors import InputError, lacks_memory",
    }
    assert naming("python/ackclock/errors.py", tests) == ["most.py", "once.py"]


@pytest.mark.parametrize(
    "ends", [["pytest ends with status 1"] * 2, ["pytest ends with status -24", ""], ["", ""]]
)
def test_a_pytest_that_fails_without_a_mutant_notices_none(monkeypatch, tmp_path, ends):
    written = []
    copy = SimpleNamespace(
        folder=tmp_path,
        originals={"half.py": PYTHON.encode()},
        text=lambda _: PYTHON,
        write=lambda _, content: written.append(content),
    )
    left = list(ends)
    monkeypatch.setattr(package, "trial", lambda *_: left.pop(0))
    one = Mutant(1, *next(listed("half.py", PYTHON)))
    if ends[1]:
        with pytest.raises(SystemExit, match=f"without a mutant, too: {ends[1]}"):
            package.outcome(copy, one, ["test_half.py"])
    else:
        assert package.outcome(copy, one, ["test_half.py"]) == ends[0]
    assert [len(content) - len(PYTHON.encode()) for content in written] == [1, 0]
