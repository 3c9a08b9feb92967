"""Cuts a release: ``python -m release cut VERSION`` (with ``PYTHONPATH=tools``).

The version is in ``Cargo.toml``, ``CITATION.cff`` and ``CHANGELOG.md``. The Python package takes Cargo's.
"""

from release.steps import ReleaseError, address, check, cut, notes

__all__ = ["ReleaseError", "address", "check", "cut", "notes"]
