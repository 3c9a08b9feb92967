"""What an experiment file may not say: one sentence for each mistake, never an error of ackclock."""

import pytest

from ackclock.engines.simulator import Simulator
from ackclock.papers import CatalogueError
from ackclock.papers.reproduction import Work
from experiments import EXPERIMENT, read

CLAIM = (
    '[[claims]]\nid = "{}"\nkind = "ratio"\ntext = ""\nreported = {}\nlow = {}\nsource = ""\nmeasure = {}\n'
)
"""One more claim: its id, what it reports, the low end of its band, and its measure."""


def mistake(folder, text):
    """The sentence with which an experiment is refused before anything runs."""
    with pytest.raises(CatalogueError) as error:
        Work(read(folder, text), None, Simulator())
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
        # The tables of that name become those of another.
        text = text.replace(opening, f"[[other-{name}]]").replace(f"[[{name}.", f"[[other-{name}.")
        text = text.replace(f"[{name}.", f"[other-{name}.")
    assert sentence in mistake(tmp_path, text)


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
