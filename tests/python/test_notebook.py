"""A notebook shows figures and tables by themselves, without a magic command."""

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

CELLS = [
    'import ackclock\npath = ackclock.Path("10mbit", rtt="40ms", queue="1bdp")\n'
    'run = ackclock.simulate(path, ["cdg", "newreno"], duration="2s")\nrun',
    "run.plot.window()",
    "run.plot()",
    'runs = ackclock.simulate(path, ["cdg"], duration="2s", repeat=2)\nruns',
    "runs.plot.delay_throughput()",
    'ackclock.sweep(path, ["cdg"], over={"queue": ["10p", "1bdp"]}, duration="1s").plot()',
]


@pytest.fixture(scope="module")
def outputs():
    """The data of the last output of each cell, by type."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    return [cell.outputs[-1]["data"] for cell in notebook.cells]


def test_runs_show_their_tables(outputs):
    for cell in (0, 3):
        assert "<table>" in outputs[cell]["text/html"]
    assert "newreno-1" in outputs[0]["text/html"]


@pytest.mark.parametrize("cell", [1, 2, 4, 5])
def test_figures_are_shown(outputs, cell):
    assert len(outputs[cell]["image/png"]) > 1000
