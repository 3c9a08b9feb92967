"""Controllers from shared objects: how commands take and refuse them. crates/shim tests their behaviour."""

import subprocess

import pytest

import ackclock
from ackclock import _engine
from calling import refused

PATH = ackclock.Path("10mbit", "40ms", "84p")


@pytest.fixture
def empty(tmp_path):
    """A shared object without a controller."""
    (tmp_path / "empty.c").write_text("int nothing;\n")
    file = tmp_path / "empty.so"
    subprocess.run(["cc", "-shared", "-o", file, tmp_path / "empty.c"], check=True)
    return file


def test_an_object_without_a_controller_is_refused(capsys, empty):
    sentence = refused(capsys, "compare", empty, "--duration", "1s")
    assert sentence.endswith("empty.so` has no controller: it needs `plugin::export!(ENTRY);`")
    with pytest.raises(ackclock.ScenarioError, match=r"flow `empty-0`: cc: `.*empty\.so` has no controller"):
        ackclock.simulate(PATH, [str(empty)], duration="1s")


def test_an_object_that_is_missing_or_none_is_refused(tmp_path):
    with pytest.raises(ackclock.ScenarioError, match=r"none\.so` cannot be read"):
        ackclock.simulate(PATH, [str(tmp_path / "none.so")], duration="1s")
    (tmp_path / "text.so").write_text("no object")
    with pytest.raises(ackclock.ScenarioError, match=r"text\.so` cannot be loaded: "):
        ackclock.simulate(PATH, [str(tmp_path / "text.so")], duration="1s")


@pytest.mark.skipif("live" not in _engine.engines(), reason="built without live runs")
def test_the_kernel_takes_no_object(empty):
    with pytest.raises(ackclock.ScenarioError, match=r"empty\.so` is for the simulator"):
        ackclock.live(PATH, [str(empty)], duration="1s")
