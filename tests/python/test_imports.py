"""Imports make no circle, neither between modules nor between the packages of ackclock. None comes too early.

Imports in functions and for type checkers count too: a circle that they hide is still one.
"""

import ast
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from importlib.util import find_spec
from pathlib import Path

import pytest

import ackclock
from ackclock.cli import app

ROOT = Path(__file__).parents[2]
NO_MODULES = {"templates", "scenarios", "data", "suites"}
"""Folders of files that the package carries and does not import."""


def modules(root):
    """The file of each module below a folder, by its dotted name."""
    found = {}
    for file in sorted(root.rglob("*.py")):
        below = file.relative_to(root)
        if not NO_MODULES & set(below.parts):
            package = (root.name,) if (root / "__init__.py").exists() else ()
            found[".".join((*package, *below.with_suffix("").parts)).removesuffix(".__init__")] = file
    return found


def imported(tree, files):
    """The modules of the package that the imports of a file name, anywhere in it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in files)
        elif isinstance(node, ast.ImportFrom) and node.module in files:
            assert not node.level, "imports are absolute"
            for alias in node.names:
                # The extension is no module of Python, and imports none.
                if alias.name != "_engine":
                    below = f"{node.module}.{alias.name}"
                    yield below if below in files else node.module


def graph(root):
    files = modules(root)
    return {
        name: set(imported(ast.parse(file.read_text("utf-8")), files)) - {name}
        for name, file in files.items()
    }


def between_packages(of_modules):
    """The same graph with one node for each package or module at the top."""
    found = {}
    for name, others in of_modules.items():
        top, *tops = (".".join(one.split(".")[:2]) for one in (name, *others))
        found.setdefault(top, set()).update(set(tops) - {top})
    return found


def circle(of_modules):
    """A circle in a graph, or nothing."""
    try:
        TopologicalSorter(of_modules).prepare()
    except CycleError as error:
        return " <- ".join(error.args[1])
    return ""


@pytest.mark.parametrize("root", ["python/ackclock", "witness", "tools", ".ci"])
def test_imports_make_no_circle(root):
    found = graph(ROOT / root)
    assert found
    assert circle(found) == ""


def test_packages_make_no_circle():
    assert circle(between_packages(graph(ROOT / "python/ackclock"))) == ""


@pytest.mark.parametrize(
    "hidden",
    [
        "def f():\n    from lab.low import x",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import lab.low",
        "from lab import low",
    ],
)
def test_a_hidden_circle_is_found(tmp_path, hidden):
    root = tmp_path / "lab"
    (root / "high").mkdir(parents=True)
    (root / "__init__.py").touch()
    (root / "low.py").write_text("from lab.high import one")
    (root / "high" / "__init__.py").touch()
    (root / "high" / "one.py").write_text(hidden)
    assert "lab.low" in circle(graph(root))
    (root / "high" / "one.py").write_text("from lab import _engine")
    (root / "high" / "two.py").write_text(hidden)
    assert circle(graph(root)) == ""
    assert "lab.low" in circle(between_packages(graph(root)))


def loaded(program):
    """The modules outside the standard library that a program of one line imports."""
    show = "print(*(m for m in set(sys.modules) - before if m.split('.')[0] not in sys.stdlib_module_names))"
    code = f"import sys; before = set(sys.modules); {program}; {show}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split())


def test_the_package_imports_a_module_with_the_first_of_its_names():
    assert loaded("import ackclock") == {"ackclock"}
    assert loaded("import ackclock; ackclock.__version__") == {"ackclock", "ackclock._engine"}
    simulation = loaded("import ackclock; ackclock.simulate, ackclock.Path, ackclock.Controller")
    assert not {name for name in simulation if not name.startswith("ackclock")}
    assert not {"ackclock.sweeps", "ackclock.plots", "ackclock.report", "ackclock.cli"} & simulation


def test_every_public_name_is_found_and_listed():
    for name in ackclock.__all__:
        assert getattr(ackclock, name) is not None
        assert name in dir(ackclock)
    assert ackclock.__version__ == ackclock._engine.version()
    assert "metrics" in dir(ackclock)
    with pytest.raises(AttributeError, match="module 'ackclock' has no attribute 'simulat'"):
        _ = ackclock.simulat


def test_a_module_is_imported_when_it_is_first_named():
    named = loaded("import ackclock; ackclock.metrics.goodput")
    assert "ackclock.metrics" in named
    assert not {"ackclock.papers", "ackclock.plots"} & named
    for module in ("exports", "gym", "papers", "plots", "report", "sweeps"):
        if module != "gym" or find_spec("gymnasium"):
            assert getattr(ackclock, module).__name__ == f"ackclock.{module}"


@pytest.mark.parametrize("argument", ["--version", "-V"])
def test_the_version_imports_neither_commands_nor_tables(argument):
    modules = loaded(f"from ackclock.cli import main; main(['{argument}'])")
    own = {name for name in modules if name.split(".")[0] == "ackclock"}
    assert own == {
        "ackclock",
        "ackclock._engine",
        "ackclock.cli",
        "ackclock.cli.app",
        "ackclock.cli.command",
        "ackclock.cli.former",
        "ackclock.cli.status",
        "ackclock.errors",
    }
    assert {name.split(".")[0] for name in modules - own} <= {"click"}


def test_the_command_line_handles_signals_before_it_imports_anything_slow():
    program = "import sys; before = set(sys.modules); import ackclock.cli; print(*set(sys.modules) - before)"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert set(ran.stdout.split()) == {"__future__", "ackclock", "ackclock.cli", "ackclock.cli.status"}


def test_a_command_imports_its_own_module_alone():
    modules = loaded("from ackclock.cli import main; main(['reproduce', '--help'])")
    commands = {f"ackclock.cli.{name.replace('-', '_')}" for name in (*app.NAMES, *app.HIDDEN)}
    assert commands & modules == {"ackclock.cli.reproduce"}


NUMBERS = {"numpy", "pyarrow", "matplotlib", "scipy", "jinja2"}
"""Libraries of tables and figures: they take longer to load than most runs."""


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["run", "--help"],
        ["compare", "--help"],
        ["run", str(ROOT / "examples" / "quickstart.toml")],
        ["run", str(ROOT / "examples" / "quickstart.toml"), "--json"],
        ["compare", "newreno", "cubic", "--duration", "1s"],
        ["compare", "newreno", "cubic", "--duration", "1s", "--repeat", "2", "--flows", "2", "--json"],
    ],
)
def test_an_answer_without_figures_loads_no_library_of_numbers(arguments):
    modules = loaded(f"from ackclock.cli import main; assert main({arguments!r}) == 0")
    assert not NUMBERS & {name.split(".")[0] for name in modules}
    if arguments != ["--help"]:
        # Help on all commands imports them all.
        assert not {"ackclock.report", "ackclock.plots", "ackclock.metrics", "rich.progress"} & modules


@pytest.mark.parametrize(
    "arguments", [["check", "newreno", "--only", "answers-loss"], ["evaluate", "cubic", "--only", "7.4"]]
)
def test_a_verdict_without_a_report_loads_no_library_of_figures(arguments):
    modules = loaded(f"from ackclock.cli import main; assert main({arguments!r}) == 0")
    assert "matplotlib" not in {name.split(".")[0] for name in modules}
