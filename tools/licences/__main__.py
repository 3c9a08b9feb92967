"""The command line: the file to write."""

from __future__ import annotations

import sys
from pathlib import Path

from licences.crates import document, linked

ROOT = Path(__file__).parents[2]

if len(sys.argv) != 2:
    sys.exit("usage: python -m licences FILE")
Path(sys.argv[1]).write_text(document(linked(ROOT)))
