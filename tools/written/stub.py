"""The classes of the signals in the stub of the engine, from the declaration of the signals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from written.docstrings import docstring, of_rust

HEAD = "# Below: written by tools/written from crates/control/src/signals/declared.rs.\n"
"""The line above the written part."""


def written(stub: str, signals: Sequence[Mapping[str, Any]]) -> str:
    """The stub with the classes of ``signals`` below the line :data:`HEAD`."""
    above, _, _ = stub.partition(HEAD)
    return above + HEAD + "".join(f"\n{one_class(signal)}" for signal in signals)


def one_class(signal: Mapping[str, Any]) -> str:
    """The class of a signal, with its attributes and methods."""
    lines = ["@final", f"class {signal['name']}:", *docstring(of_rust(signal["about"]), 4)]
    for attribute in signal["attributes"]:
        annotation, meaning = attribute["type"], attribute["meaning"]
        for when in attribute["none"]:
            annotation, meaning = f"{annotation} | None", f"{meaning} None {when}."
        lines += ["", "    @property", *_function(attribute["name"], annotation, meaning)]
    for method in signal["methods"]:
        lines += ["", *_function(method["name"], method["type"], method["meaning"])]
    return "\n".join(lines) + "\n"


def _function(name: str, annotation: str, meaning: str) -> Iterator[str]:
    yield f"    def {name}(self) -> {annotation}:"
    yield from docstring(of_rust(meaning), 8)
