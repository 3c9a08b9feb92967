"""Misuse from Python: exceptions that name the mistake."""

import json
import math
import pickle

import numpy as np
import pytest

from ackclock import Controller, Flow, ResultError, Run, ScenarioError, simulate
from ackclock import Path as NetworkPath
from ackclock.errors import InputError


class Fixed(Controller):
    """A window that never changes, as a beginning for controllers that go wrong."""

    answer: object = 10.0

    def on_start(self, cx):
        self.window = self.answer

    def on_ack(self, cx, ack):
        pass

    def on_loss(self, cx, loss):
        pass

    def on_timeout(self, cx, loss):
        pass


PATH = NetworkPath("5mbit", "20ms", "30p")


@pytest.mark.parametrize("answer", [math.nan, -1.0, math.inf, 1e300, None, "ten", []])
def test_a_controller_in_python_that_answers_nonsense_is_named(answer):
    kind = type("Odd", (Fixed,), {"answer": answer})
    with pytest.raises((ValueError, TypeError), match=r"^Odd\.window is "):
        simulate(PATH, [kind], duration="1s")


def test_a_controller_that_raises_stops_the_run_with_its_exception():
    class Raising(Fixed):
        def on_ack(self, cx, ack):
            raise ZeroDivisionError("of my own")

    with pytest.raises(ZeroDivisionError, match="of my own"):
        simulate(PATH, [Raising], duration="1s")
    with pytest.raises(NotImplementedError, match="on_ack"):
        simulate(PATH, [Controller], duration="1s")


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        ((PATH, [Flow("newrino")]), {}),
        ((PATH, []), {}),
        ((PATH, ["cdg"]), {"duration": 5}),
        ((PATH, ["cdg"]), {"seed": -1}),
        ((PATH, ["cdg"]), {"repeat": 0}),
        ((PATH, ["cdg"]), {"repeat": 10**12}),
        ((NetworkPath(5, "20ms", "30p"), ["cdg"]), {}),
        ((PATH, [Flow("cdg", parameters={"GG": 1})]), {}),
    ],
)
def test_simulate_refuses_in_one_sentence(arguments, options):
    with pytest.raises(ValueError, match=r"\w") as caught:
        simulate(*arguments, **options)
    assert "\n" not in str(caught.value)
    assert "repeat" in str(caught.value) or isinstance(caught.value, ScenarioError)


def test_runs_that_memory_cannot_hold_together_are_refused():
    with pytest.raises(InputError, match=r"100000 runs: they may take .* GB of memory together"):
        simulate(PATH, ["cdg"], duration="100s", repeat=100_000)
    # The estimate of each has no bound.
    path = NetworkPath("1gbit", "20ms", "infinite")
    flow = Flow("newreno", kind="datagram", source={"rate": "10tbit"})
    with pytest.raises(InputError, match=r"2 runs: they may take more than 1000000\.0 GB of memory together"):
        simulate(path, [flow], duration="31536000s", repeat=2)


def test_a_missing_controller_and_a_large_seed_are_named():
    for nothing in (None, 3, Fixed()):
        with pytest.raises(
            TypeError, match=r"flows\.0\.cc is .*: it must be the name of a controller, or a class"
        ):
            simulate(PATH, [nothing])
    with pytest.raises(ValueError, match="the last seed would be 9223372036854775808"):
        simulate(PATH, ["cdg"], seed=2**63 - 1, repeat=2)


def test_whole_numbers_of_any_type_are_taken_and_others_named():
    assert simulate(PATH, ["cdg"], duration="1s", seed=np.int64(3), repeat=np.int64(1)).seed == 3
    for key, value in (("seed", "1"), ("seed", 1.5), ("repeat", "2"), ("repeat", 2.5)):
        with pytest.raises(TypeError, match=f"^{key} is {value!r}: must be a whole number$"):
            simulate(PATH, ["cdg"], duration="1s", **{key: value})


def test_a_run_can_be_pickled():
    result = simulate(PATH, ["newreno"], duration="1s")
    again = pickle.loads(pickle.dumps(result))
    assert again.flows.equals(result.flows)
    assert again.summary() == result.summary()


def test_a_damaged_result_is_refused(tmp_path):
    folder = simulate(PATH, ["newreno"], duration="1s").save(tmp_path / "run")
    (folder / "flows.parquet").write_bytes(b"PAR1 no more")
    with pytest.raises(ResultError, match=r"flows\.parquet: is not a table of a run"):
        assert Run.load(folder).flows
    for text in ("", "[]", "{}", '{"schema_version": 9}', '{"schema_version": 1, "scenario": 3}', "\x00"):
        (folder / "run.json").write_text(text)
        with pytest.raises(ResultError):
            Run.load(folder)
    described = {"schema_version": 2, "seed": 1, "engine": {}}
    for scenario in ({}, {"name": "x", "duration": "1s"}, {"name": "x", "duration": 1, "warmup": "0s"}):
        (folder / "run.json").write_text(json.dumps(described | {"scenario": scenario}))
        with pytest.raises(ResultError, match=r"run\.json is not the description of a run"):
            Run.load(folder)
    (folder / "run.json").write_bytes(b"\xff\xfe")
    with pytest.raises(ResultError):
        Run.load(folder)
