"""The command line: ``ackclock run``, ``compare``, ``reproduce``, ``controllers``, ``bench``."""

from ackclock.cli.app import main

__all__ = ["main"]
