"""The libraries that models need, and their errors."""

import subprocess
import sys

import pytest

from ackclock.arguments import positive
from ackclock.errors import InputError
from ackclock.papers.data.edwan2010.models import responses
from ackclock.papers.data.edwan2010.models.vectors import vector


def test_importing_ackclock_does_not_import_scipy():
    code = "import sys, ackclock, ackclock.metrics; print({'scipy', 'clarabel'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_models_without_roots_work_without_scipy():
    imports = "from ackclock.papers.data.edwan2010.models import figures"
    code = f"import sys; sys.modules['scipy'] = None; {imports}; figures.beta_over_delay()"
    subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)


def test_a_missing_library_is_named_with_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    with pytest.raises(InputError, match=r"this model needs scipy: python -m pip install scipy"):
        responses.crossing(lambda p: 0.15 / p**0.82)


def test_one_number_stands_for_equal_ones():
    assert vector("weights", 2.0, 3).tolist() == [2.0, 2.0, 2.0]
    with pytest.raises(InputError, match="weights has nan: each must be above 0"):
        vector("weights", [1.0, float("nan")])
    with pytest.raises(InputError, match=r"rates has the shape \(1, 2\): must be a list of numbers"):
        vector("rates", [[1.0, 2.0]])
    with pytest.raises(InputError, match="rtt = inf: must be above 0"):
        positive("rtt", float("inf"))
