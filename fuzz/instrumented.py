"""Coverage-guided fuzzers of the readers in Python (``make fuzz``).

``instrumented.py TARGET [libFuzzer's options and corpora]``
"""

from __future__ import annotations

import io
import sys
from contextlib import redirect_stderr
from functools import partial

import atheris

# It says for each module that it instruments it.
with redirect_stderr(io.StringIO()), atheris.instrument_imports(include=["ackclock"]):
    from readers import hold

if __name__ == "__main__":
    name, *options = sys.argv[1:]
    atheris.Setup([sys.argv[0], *options], partial(hold, name))
    atheris.Fuzz()
