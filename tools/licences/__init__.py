"""Licences of what a wheel contains. ``PYTHONPATH=tools python -m licences FILE`` writes their texts.

``deny.toml`` lists the licences that a crate may have.
"""

from licences.crates import Crate, allowed, document, is_allowed, linked

__all__ = ["Crate", "allowed", "document", "is_allowed", "linked"]
