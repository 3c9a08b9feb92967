"""Mutants of Rust, all of a sample in one build by switches in the source files, and mutants of Python."""

import ast
import json
import sys
from collections import Counter
from types import SimpleNamespace

import pytest

import conftest
from mutants import __main__ as command
from mutants import package, pytests, recorded
from mutants.listed import ROOT, Mutant
from mutants.package import listed, naming
from mutants.places import places
from mutants.pytests import MISSING, TIMEOUT, Pytest, read
from mutants.reaching import CALL, noting
from mutants.recorded import rows_with
from mutants.switch import blamed, can_switch, switched
from pages import measure, measurements

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
    # The file is a part of a build script, which has no switch.
    (switch,) = (number for number, line in enumerate(lines, 1) if "mutants_switch::on()" in line)
    assert blamed(text, switch) == {3, 7}


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


def test_a_sample_stays_where_other_lines_of_the_sources_change():
    def drawn(text, seed=1, but=None):
        every = [Mutant(0, *rest) for rest in listed("half.py", text)]
        return [one.key() for one in package.drawn([one for one in every if one.key() != but], seed, 4)]

    found = drawn(PYTHON)
    assert drawn("# A line more.\n" + PYTHON) == found != drawn(PYTHON, seed=2)
    # Where one has gone, the next takes its place.
    assert drawn(PYTHON, but=found[1])[:3] == [found[0], *found[2:]]


def test_the_naming_a_module_name_it_or_what_is_in_it():
    tests = {
        "none.py": "x",
        "once.py": "errors",
        "most.py": "from ackclock.errors import InputError, lacks_memory",
    }
    assert naming("python/ackclock/errors.py", tests) == ["most.py", "once.py"]


BLOCKS = '''\
"""Limits."""
from dataclasses import dataclass

LEAST = 2
LEVELS = (LEAST, 5)


@dataclass(frozen=True)
class Bounds:
    """Two ends."""

    low: int = 3

    def inside(self, x, most=9):
        """In order."""
        if x > most:
            return False
        else:
            found = [lambda: x + 4, LEVELS]
        return self.low


def bounds():
    return Bounds()
'''


def test_blocks_note_that_they_run_and_lines_stay_where_they_are():
    ran = []
    names = {CALL: ran.append, "__name__": "bounds"}
    exec(compile(noting(BLOCKS, "b.py"), "b.py", "exec", dont_inherit=True), names)
    assert ran == []
    assert names["Bounds"]().inside(9) == 3
    assert ran == ["b.py:16", "b.py:19"]
    assert names["Bounds"].inside.__doc__ == "In order."
    assert names["bounds"].__code__.co_firstlineno == 23


@pytest.mark.parametrize(
    ("broken", "found"),
    [
        ("x > most", {"b.py:16"}),
        ("9", {"b.py:16"}),
        ("x + 4", {"b.py:19"}),
        ("False", {"b.py:17"}),
        # A constant is broken where it is read, by its own name or by another name made from it.
        ("2\nLEVELS", {"b.py:19"}),
        ("5)", {"b.py:19"}),
        ("3\n", {"b.py:16"}),
        ("True", {"b.py:24"}),
    ],
)
def test_a_mutant_breaks_the_block_around_it_or_those_that_read_it(broken, found):
    start = BLOCKS.index(broken)
    one = Mutant(1, "", "b.py", (start, start + 1), "", None, "")
    assert places(one, {"b.py": BLOCKS, "other.py": "def f():\n    pass\n"}) == found


def test_the_notes_of_a_run_are_the_tests_that_pass_and_their_blocks():
    lines = [
        "a.py:1",
        ["test", "t.py::one"],
        "a.py:2",
        ["fixture", "shared"],
        "a.py:3",
        ["made", "shared"],
        ["report", "t.py::one", "setup", "passed", 1.0],
        "a.py:4",
        ["report", "t.py::one", "call", "passed", 0.5],
        ["uses", "shared", "tmp_path"],
        ["report", "t.py::one", "teardown", "passed", 0.25],
        ["test", "t.py::two"],
        ["report", "t.py::two", "setup", "passed", 0.125],
        ["report", "t.py::two", "call", "passed", 0.0],
        ["uses", "shared"],
        ["test", "t.py::three"],
        "a.py:4",
        ["report", "t.py::three", "call", "failed", 0.0],
    ]
    found = read("".join(f"{one if isinstance(one, str) else json.dumps(one)}\n" for one in lines))
    assert found.tests == {"t.py::one": 1.75, "t.py::two": 0.125}
    one, both = ["t.py::one"], ["t.py::one", "t.py::two"]
    assert found.blocks == {"a.py:2": one, "a.py:3": both, "a.py:4": one}
    assert list(found.reaching({"a.py:3", "a.py:4"})) == ["t.py::two", "t.py::one"]


HALF = "python/ackclock/half.py"
TESTED = "tests/python/test_half.py"
ALONE, OTHER = "tests/python/test_half.py::alone", "tests/python/test_half.py::other"

SMALL = """def half(x, up=False):
    if up and x != 1:
        return x / 2 + 1
    return x / 2
"""

TESTS = """
import pytest
from ackclock.half import half

@pytest.fixture(scope="module")
def whole():
    return half(4)

def test_of_another_thing():
    assert True

def test_that_fails_in_any_case():
    assert half(4) == 3

def test_the_half(whole):
    assert whole == 2
"""


@pytest.fixture
def copy(tmp_path):
    """A copy of a package of one file, with a file of tests."""
    folder = tmp_path / "tree"
    originals = {"python/ackclock/__init__.py": b"", HALF: SMALL.encode(), TESTED: TESTS.encode()}

    def write(name, content):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)

    for name, content in originals.items():
        write(name, content)
    (folder / "tools").symlink_to(ROOT / "tools")
    return SimpleNamespace(
        folder=folder, originals=originals, text=lambda name: originals[name].decode(), write=write
    )


@pytest.fixture
def trials(copy, monkeypatch):
    monkeypatch.setattr(package, "naming", lambda *_: [TESTED])
    return package.Trials(copy, Pytest(copy, copy.folder.parent))


def broken(old, new):
    start = SMALL.index(old)
    return Mutant(1, f"{HALF}: {old}", HALF, (start, start + len(old)), new, None, "")


def test_a_mutant_meets_the_tests_that_reach_it(copy, trials):
    mapped = trials.pytest.mapped(TESTED)
    assert [*mapped.tests] == [f"{TESTED}::{name}" for name in ("test_of_another_thing", "test_the_half")]
    assert mapped.blocks == {f"{HALF}:2": [f"{TESTED}::test_the_half"]}
    assert trials.outcome(broken("x / 2\n", "x / 3\n")) == f"{TESTED}::test_the_half"
    assert trials.outcome(broken("+ 1", "- 1")) == ""
    assert (copy.folder / HALF).read_text() == SMALL


def test_no_test_begins_when_those_before_it_cost_too_much(trials, monkeypatch):
    monkeypatch.setattr(pytests, "MAPPING_S", 0.0)
    assert [*trials.pytest.mapped(TESTED).tests] == [f"{TESTED}::test_of_another_thing"]


def test_tests_of_the_copy_keep_what_they_compile(trials, monkeypatch):
    # A process that keeps nothing compiles every library again, seconds each time.
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    trials.pytest.mapped(TESTED)
    assert [*trials.pytest.out.glob("compiled-blocks/**/half*.pyc")]


def test_tests_that_cost_too_much_are_left_out_and_counted(trials, monkeypatch):
    monkeypatch.setattr(package, "LIMIT_S", -1.0)
    assert trials.outcome(broken("x / 2\n", "x / 3\n")) == ""
    assert trials.left_out == 1


def test_no_mutant_meets_tests_on_the_kernels_tcp(trials, monkeypatch):
    live, asked = "tests/python/test_replay_live.py", []
    monkeypatch.setattr(package, "naming", lambda *_: [live, TESTED])
    monkeypatch.setattr(trials.pytest, "reaching", lambda file, _: asked.append(file) or {})
    assert any([*trials.rounds(broken("+ 1", "- 1"))])
    assert set(asked) == {TESTED}


def test_the_tests_on_the_kernels_tcp_are_those_that_run_alone():
    assert package.LIVE == conftest.LIVE


def test_outcomes_are_kept_as_they_come_and_an_interrupted_sample_goes_on(tmp_path, monkeypatch, capsys):
    sampled = [Mutant(number, f"m{number}", HALF, (0, 1), "", None, "") for number in (1, 2, 3, 4)]
    monkeypatch.setattr(package, "sample", lambda *_: sampled)
    tried, again = [], []

    def outcomes(mutants, _):
        for one in mutants:
            if len(tried) == 3 or (tried and again):
                tried.clear()
                raise KeyboardInterrupt
            tried.append(one.name)
            yield one, "" if one.name in ("m2", "m3") else ALONE

    monkeypatch.setattr(package, "outcomes", outcomes)
    monkeypatch.setattr(sys, "argv", ["mutants", "package", "--seed", "7", "--out", str(tmp_path), "--again"])
    with pytest.raises(KeyboardInterrupt):
        command.main()
    assert json.loads((tmp_path / "package-7.json").read_text()) == {"m1": ALONE, "m2": "", "m3": ""}
    again.append(True)
    with pytest.raises(KeyboardInterrupt):
        command.main()
    assert json.loads((tmp_path / "package-7.json").read_text()) == {"m1": ALONE, "m2": "", "m3": ""}
    again.clear()
    # Survivors are tried again, and those that were noticed are not.
    assert command.main() == 1
    assert tried == ["m2", "m3", "m4"]
    assert "package, seed 7: 50.0%: 2 survived, 2 killed" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("ends", "found"),
    [
        ([""], ""),
        ([ALONE, "", ALONE], ALONE),
        # It fails behind others alone, with the mutant only, and without it as well.
        ([ALONE, "", "", ""], ALONE),
        ([ALONE, "", "", ALONE, ""], ""),
        # It fails without the mutant, too: the others decide.
        ([ALONE, ALONE, OTHER, "", OTHER], OTHER),
        ([ALONE, ALONE, ""], ""),
        ([TESTED, "", TESTED], TESTED),
        ([MISSING, ""], ""),
        ([MISSING, OTHER, "", OTHER], OTHER),
        (["pytest ends with status -24", ""], "pytest ends with status -24"),
        ([TIMEOUT, ""], TIMEOUT),
    ],
)
def test_a_test_that_fails_without_a_mutant_notices_none(trials, monkeypatch, ends, found):
    asked, left = [], list(ends)
    monkeypatch.setattr(trials.pytest, "failing", lambda tests, _: asked.append(tests) or left.pop(0))
    assert trials.noticed(broken("+ 1", "- 1"), {ALONE: 1.0, OTHER: 2.0}) == found
    assert left == []
    assert asked[0] == [ALONE, OTHER]
    if MISSING in ends:
        assert asked[1] == [TESTED]


def test_a_pytest_that_ends_so_without_a_mutant_ends_the_trials(trials, monkeypatch):
    monkeypatch.setattr(trials.pytest, "failing", lambda *_: TIMEOUT)
    with pytest.raises(SystemExit, match=f"without a mutant, too: {TIMEOUT}"):
        trials.noticed(broken("+ 1", "- 1"), {ALONE: 1.0})


def test_a_sample_is_the_row_of_its_crate_and_seed():
    kinds = Counter({"killed": 30, "timeouts": 2, "equivalent": 1, "do not compile": 3})
    rows = rows_with([], "sim", 21, kinds, 4)
    counts = {"sample": "40", "do not compile": "3", "noticed": "32", "equivalent": "1", "survived": "4"}
    assert rows == [{"crate": "sim", "seed": "21", **counts}]
    rows = rows_with(rows_with(rows, "engine", 5, kinds, 0), "sim", 21, Counter({**kinds, "killed": 34}), 0)
    assert [(row["crate"], row["seed"], row["sample"], row["survived"]) for row in rows] == [
        ("engine", "5", "36", "0"),
        ("sim", "21", "40", "0"),
    ]


def test_each_sample_of_one_run_keeps_the_rows_of_those_before(tmp_path, monkeypatch):
    for module in (measure, measurements, recorded):
        monkeypatch.setattr(module, "MEASUREMENTS", tmp_path)
    (tmp_path / "tests").mkdir()
    # Its own asks git, which not every machine has.
    head = {"date": "2026-11-30", "commit": 40 * "0", "command": "python -m mutants"}
    monkeypatch.setattr(measure, "head", lambda _: head)
    measurements.forget()
    for crate, seed in [("sim", 21), ("engine", 5), ("sim", 22)]:
        recorded.record(crate, seed, Counter({"killed": 30}), 1, "a machine")
    rows = measurements.load_csv(recorded.FILE)[1]
    measurements.forget()
    assert [(row["crate"], row["seed"]) for row in rows] == [("engine", "5"), ("sim", "21"), ("sim", "22")]
