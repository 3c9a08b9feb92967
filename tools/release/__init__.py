"""Cuts a release: ``python -m release cut VERSION`` (with ``PYTHONPATH=tools``).

The version stands in ``Cargo.toml``, ``CITATION.cff`` and ``CHANGELOG.md``. The Python package takes that of
Cargo.
"""

from release.steps import ReleaseError, address, check, cut, notes

__all__ = ["ReleaseError", "address", "check", "cut", "notes"]
