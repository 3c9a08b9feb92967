"""Sources that a program writes are current, and stay readable."""

from typing import Any

import pytest

from written import docstrings, language, stub
from written.files import FILES, File


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.path.name)
def test_a_written_part_is_current(file: File) -> None:
    """`PYTHONPATH=tools .venv/bin/python -m written` writes it anew."""
    before, after = file.texts()
    assert before == after


def test_a_signal_becomes_a_class_of_the_stub() -> None:
    attribute = {"name": "min_rtt", "type": "float", "meaning": " The smallest RTT.", "none": ["at first"]}
    method = {"name": "as_loss", "type": "Loss", "meaning": " See [`Ack::newly_lost`]."}
    signal = {"name": "Marks", "about": " Marks.", "attributes": [attribute], "methods": [method]}
    above, below = stub.written(f"import os\n{stub.HEAD}class Old: ...\n", [signal]).split(stub.HEAD)
    assert above == "import os\n"
    assert below == (
        '\n@final\nclass Marks:\n    """Marks."""\n\n'
        "    @property\n    def min_rtt(self) -> float | None:\n"
        '        """The smallest RTT. None at first."""\n\n'
        '    def as_loss(self) -> Loss:\n        """See ``Ack.newly_lost``."""\n'
    )


def test_a_long_docstring_begins_with_a_sentence_on_a_line_of_its_own() -> None:
    lines = docstrings.docstring(f"Short. {'word ' * 30}end.", 4)
    assert (lines[0], lines[1], lines[-1]) == ('    """Short.', "", '    """')
    assert max(map(len, lines)) <= docstrings.WIDTH
    assert docstrings.docstring(f"Names: {'word ' * 30}end.", 4)[:2] == ['    """Names.', ""]
    with pytest.raises(ValueError, match=r"does not fit in the first line of a docstring: word word"):
        docstrings.docstring(f"{'word ' * 30}end. Short.", 4)


SPAN = {"type": "string"}
REVERSE = {"description": "Back.", "properties": {}}


def schema(**path: Any) -> dict[str, Any]:
    """A language whose path has these keys, and `rate` that must be given."""
    properties = {key: {"description": f"Its {key}."} | value for key, value in path.items()}
    described = {"description": "A path.", "properties": properties, "required": ["rate"]}
    objects = dict.fromkeys(language.CLASSES, REVERSE) | {"Path": described, "Span": SPAN}
    return {"description": "All.", "properties": {}, "$defs": objects}


def path_of(text: str) -> str:
    """The class of paths in a module."""
    return text.split("class Path:\n")[1].split("\n\n\n")[0]


def test_keys_become_fields_in_the_order_of_before_and_new_ones_come_last() -> None:
    either = {"anyOf": [{"$ref": "#/$defs/Span"}, {"type": "null"}]}
    known = schema(rate=SPAN, delay=either)
    before = language.written(language.HEAD, known)
    assert path_of(before) == (
        '    """A path."""\n\n    rate: str\n    """Its rate."""\n'
        '    delay: str | None = None\n    """Its delay."""'
    )
    more = language.written(before, schema(burst=SPAN, rate=SPAN, delay=either, **{"from": SPAN}))
    assert language.fields_of(more.split(language.HEAD)[1])["Path"] == ["rate", "delay", "burst", "from_"]
    assert '"""Its from. (``from`` in a file)"""' in path_of(more)


def test_types_of_the_schema_become_annotations() -> None:
    types = [
        ({"$ref": "#/$defs/LinkRate"}, "Rate"),
        ({"$ref": "#/$defs/Reverse"}, "Reverse"),
        ({"type": ["integer", "null"]}, "int"),
        ({"const": "all"}, "str"),
        (
            {"type": "array", "items": {"anyOf": [{"type": "integer"}, {"$ref": "#/$defs/Span"}]}},
            "Sequence[int | str]",
        ),
        ({"type": "array", "items": {"$ref": "#/$defs/Path"}}, "Sequence[Path]"),
        ({"type": "object"}, "Mapping[str, Any]"),
    ]
    assert [" | ".join(language.alternatives(schema(), value)) for value, _ in types] == [
        one for _, one in types
    ]
