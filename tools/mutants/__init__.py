"""Breaks the code on purpose, a mutant at a time, and counts those that the crate's tests notice."""
