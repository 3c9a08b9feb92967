"""Breaks the code on purpose, a mutant at a time, and counts what the tests of the crate notice."""
