"""`ackclock new controller --in rust` as CONTRIBUTING.md has it: a copy of the tree passes lint and tests."""

import sys

from fresh_tree import FreshTree

TRAJECTORY = "crates/control/tests/snapshots/trajectories__patient.snap"


def test_a_new_controller_passes_lint_and_tests():
    tree = FreshTree("controller")
    tree.run(sys.executable, "-m", "ackclock", "new", "controller", "patient", "--in", "rust")
    tree.run("cargo", "fmt", "--all", "--check")
    tree.run("cargo", "clippy", "-p", "ackclock-control", "--all-targets", "--quiet", "--", "-D", "warnings")
    targets = ("-p", "ackclock-control", "--test", "trajectories")
    tree.run("cargo", "test", *targets, INSTA_UPDATE="always")
    assert "path 40, buffer 40" in (tree.root / TRAJECTORY).read_text()
    targets = ("-p", "ackclock-control", "--lib", "--test", "pages", "--test", "registry")
    tested = tree.run("cargo", "test", *targets, "--", "patient", "every_")
    assert "controllers::patient::tests::a_window_of_acknowledgements_adds_a_segment" in tested
    assert "test every_page_is_listed_and_in_the_navigation ... ok" in tested
