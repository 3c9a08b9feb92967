"""Mistakes in experiment files: one sentence for each, never an error of ackclock."""

import math
from dataclasses import replace

import pytest

from ackclock.engines.simulator import Simulator
from ackclock.metrics import MetricError
from ackclock.papers import CaseError
from ackclock.papers.reproduction import ExperimentInProgress
from experiments import EXPERIMENT, read, value

CLAIM = (
    '[[claims]]\nid = "{}"\nkind = "ratio"\ntext = ""\nreported = {}\nlow = {}\nsource = ""\nmeasure = {}\n'
)
"""One more claim: its id, its reported value, the low end of its band, and its measure."""


def mistake(folder, text):
    """The sentence with which an experiment is refused before anything runs."""
    with pytest.raises(CaseError) as error:
        ExperimentInProgress(read(folder, text), None, Simulator())
    assert str(error.value).startswith("fig1.toml")
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("repetitions = 3", "repetitions = 1000000000", "from 1 to 100000 are allowed"),
        ("repetitions = 3", "repetitions = 0", "repetitions = 0: from 1 to 100000 are allowed"),
        ('id = "demo-fig1"', 'id = "demo-fig1"\nclaims = [5]', "claims.0: 5 must be a table"),
        ('id = "demo-fig1"', 'id = "demo-fig1"\nruns = [5]', "runs.0: 5 must be a table"),
        ('id = "demo-fig1"', 'id = "demo-fig1"\nfigures = [5]', "figures.0: 5 must be a table"),
        ('id = "demo-fig1"', 'id = "demo-fig1"\ntables = ["a"]', "tables.0: 'a' must be a table"),
        ('id = "demo-fig1"', f"x = {'[' * 60}{']' * 60}", "nested more than 50 deep"),
        ('id = "demo-fig1"', f"x = {'[' * 5000}{']' * 5000}", "nested more than 50 deep"),
    ],
)
def test_a_file_of_the_wrong_shape_gets_a_sentence(tmp_path, old, new, sentence):
    assert old in EXPERIMENT
    moved = {name: f"[[{name}]]" for name in ("claims", "runs", "figures") if f"\n{name} = " in new}
    text = EXPERIMENT.replace(old, new, 1)
    for name, opening in moved.items():
        # The tables of that name get another name.
        text = text.replace(opening, f"[[other-{name}]]").replace(f"[[{name}.", f"[[other-{name}.")
        text = text.replace(f"[{name}.", f"[other-{name}.")
    assert sentence in mistake(tmp_path, text)


def test_a_controller_lies_beside_the_experiment(tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    text = EXPERIMENT.replace('cc = "newreno", name = "a"', 'cc = "./mine.rs", name = "a"')
    (tmp_path / "mine.rs").write_text("")
    experiment = replace(read(tmp_path, text), trusted=False)
    with pytest.raises(CaseError, match=r"flows.0.cc: `./mine.rs` cannot be read: it is code .* --trust"):
        ExperimentInProgress(experiment, None, Simulator())
    (tmp_path / "mine.rs").unlink()
    with pytest.raises(CaseError, match=r"^fig1\.toml, run one: flows\.0\.cc: `\./mine\.rs` cannot be"):
        ExperimentInProgress(experiment, None, Simulator())


def test_a_sweep_of_countless_points_is_refused(tmp_path):
    # Ten keys of ten values each: ten thousand million points.
    values = ", ".join(f'"{number}%"' for number in range(10))
    keys = "\n".join(f'"flows.0.x{number}" = [{values}]' for number in range(10))
    text = EXPERIMENT.replace("[sweep]", f"[sweep]\n{keys}", 1)
    assert "30000000000 points; at most 10000 are allowed" in mistake(tmp_path, text)


@pytest.mark.parametrize(
    ("claim", "sentence"),
    [
        (("demo-c1", 1, 0, "{ value = 1 }"), "two claims have the id `demo-c1`"),
        (("c2", "nan", 0, "{ value = 1 }"), "reported = nan must be a number"),
        (("c2", "inf", 0, "{ value = 1 }"), "reported = inf must be a number"),
        (("c2", 1, "nan", "{ value = 1 }"), "low = nan must be a number"),
    ],
)
def test_a_claim_without_a_number_or_id_of_its_own(tmp_path, claim, sentence):
    assert sentence in mistake(tmp_path, EXPERIMENT + CLAIM.format(*claim))


@pytest.mark.parametrize("blank", ["{a.nope}", "{a[0]}", "{a:>3000000000}", "{a!r}", "{}", "{b}"])
def test_a_blank_is_a_name_alone(tmp_path, blank):
    rows = 'columns = ["id", "a"]\nrows = [["c2", "x"]]\n'
    family = CLAIM.replace("id = {}\n", "").replace('id = "{}"\n', rows).format(1, 0, "{ value = 1 }")
    text = EXPERIMENT + family.replace('text = ""', f'text = "{blank}"')
    assert "has a blank that is none of id, a" in mistake(tmp_path, text)


def test_columns_are_names(tmp_path):
    family = CLAIM.format("c2", 1, 0, "{ value = 1 }") + "columns = [{ a = 1 }]\nrows = [[1]]\n"
    assert "`columns` must be names" in mistake(tmp_path, EXPERIMENT + family)


AT = 'run = "one", flow = "a", where = { "path.loss" = "1%" }'


@pytest.mark.parametrize(
    ("measure", "sentence"),
    [
        (f'{{ metric = "rtt_percentile", percentile = 101, {AT} }}', "percentile = 101: must be from"),
        (f'{{ metric = ["goodput"], {AT} }}', "metric = ['goodput'] must be text"),
        (f'{{ metric = "goodput", statistic = ["mean"], {AT} }}', "statistic = ['mean'] must be text"),
        (f'{{ metric = "goodput", relative_to = ["total"], {AT} }}', "relative_to = ['total'] must be text"),
        ('{ metric = "goodput", run = "one", flow = { a = 1 } }', "flow = {'a': 1}: must be text"),
        ('{ metric = "goodput", run = "one", where = 5 }', "where = 5 must be a table"),
        ('{ metric = "goodput", run = 5, where = { "path.loss" = "1%" } }', "run = 5 must be the name"),
        (
            '{ metric = "goodput", run = "one", where = { "path.loss" = 0.01 } }',
            "path.loss = 0.01 must be text as in the sweep (0%, 1%, 4%)",
        ),
        ('{ model = ["mathis"] }', "model = ['mathis'] must be text"),
        ('{ function = ["median"] }', "function = ['median'] must be text"),
        ('{ sum = { each = { value = 1 }, runs = 5 } }', "runs = 5 must be a list of names"),
        ('{ sum = { each = { value = 1 }, runs = [5] } }', "runs = [5] must be a list of names"),
        (
            '{ sum = { each = { value = 1 }, along = "path.loss", points = 5 } }',
            "path.loss = 5 must be text as in the sweep",
        ),
        (
            '{ slope_of = { value = 1 }, along = "path.loss", points = ["1%"] }',
            "a slope needs two points of `path.loss`, and here is only 1%",
        ),
    ],
)  # fmt: skip
def test_a_measure_of_the_wrong_shape_gets_a_sentence(tmp_path, measure, sentence):
    said = mistake(tmp_path, EXPERIMENT + CLAIM.format("c2", 1, 0, measure))
    assert said.startswith("fig1.toml, claim c2")
    assert sentence in said


def test_a_slope_over_a_sweep_of_one_point_is_refused(tmp_path):
    measure = '{ slope_of = { value = 1 }, along = "path.loss" }'
    text = EXPERIMENT.replace('["0%", "1%", "4%"]', '["1%"]') + CLAIM.format("c2", 1, 0, measure)
    assert "a slope needs two points of `path.loss`, and here is only 1%" in mistake(tmp_path, text)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("[[figures.panels]]\ncurves = [", "[[figures.panels]]\ncurves = [5, "),
        ('curves = [{ label = "a", cc = "newreno", measure =', 'curves = [{ label = "a", metre ='),
        ('model = "mathis"', 'model = "matthis"'),
        ('x = { label = "loss (%)", times = 100 }', "x = 5"),
        ('[[figures.panels]]\nrun = "one"', "[[figures.panels]]\nrun = 5"),
    ],
)
def test_a_figure_of_the_wrong_shape_gets_a_sentence(tmp_path, old, new):
    assert old in EXPERIMENT
    mistake(tmp_path, EXPERIMENT.replace(old, new, 1))


@pytest.mark.parametrize("column", ['"a"', '{ label = "x", measure = 5 }', '{ label = "x", claim = 5 }'])
def test_a_table_of_the_wrong_shape_gets_a_sentence(tmp_path, column):
    mistake(
        tmp_path, f'{EXPERIMENT}[[tables]]\nname = "t"\ncolumns = [{column}]\nrows = [{{ label = "r" }}]\n'
    )
    mistake(tmp_path, f'{EXPERIMENT}[[tables]]\nname = "t"\ncolumns = [{{ label = "x" }}]\nrows = ["a"]\n')


@pytest.mark.parametrize("head", ["largest", "farthest"])
def test_a_combination_with_a_missing_value_has_none(experiment, head):
    tree = {head: [{"value": 1.0}, {"value": math.nan}]} | ({"reference": 0} if head == "farthest" else {})
    with pytest.raises(MetricError, match="one of the combined measures has no value"):
        value(experiment, tree)
