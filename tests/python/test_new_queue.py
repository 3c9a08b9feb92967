"""`ackclock new queue`, as CONTRIBUTING.md has it: lint and tests pass in a copy of the tree."""

import sys

from fresh_tree import FreshTree

SCHEMA = "crates/scenario/tests/snapshots/language__the_schema_is_as_reviewed.snap"
PROPERTIES = (
    "drops_do_not_depend_on_when_the_link_is_looked_at",
    "what_is_dropped_is_neither_served_nor_waiting",
)


def test_a_new_queue_passes_lint_and_tests():
    tree = FreshTree("queue")
    tree.run(sys.executable, "-m", "ackclock", "new", "queue", "patient")
    tree.run("cargo", "fmt", "--all", "--check")
    tree.run("cargo", "clippy", "-p", "ackclock-network", "--all-targets", "--quiet", "--", "-D", "warnings")
    targets = ("-p", "ackclock-network", "--lib", "--test", "properties")
    tested = tree.run("cargo", "test", *targets, "--", "queue::patient::", *PROPERTIES)
    assert "test queue::patient::tests::a_full_queue_drops_the_oldest ... ok" in tested
    assert all(f"test {name} ... ok" in tested for name in PROPERTIES)
    tree.run("cargo", "test", "-p", "ackclock-scenario", "--test", "language", INSTA_UPDATE="always")
    assert '"const": "patient"' in (tree.root / SCHEMA).read_text()
