"""Imports make no circle: not between modules, and not between the packages of ackclock.

Imports in functions and for type checkers count too: a circle that they hide is still one.
"""

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

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
    """The modules of the package that the imports of a file name, wherever they stand in it."""
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
