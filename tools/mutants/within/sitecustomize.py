"""Python imports a module of this name as it starts: every process that a test starts notes its blocks."""

from mutants.reaching import begin

NOTES = begin()
