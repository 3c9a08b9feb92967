"""Sources that a program writes are current, and stay readable."""

import pytest

from written import docstrings, stub
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
