"""Writes the written parts anew: ``python -m written``."""

from __future__ import annotations

import sys

from written.files import FILES

for file in FILES:
    if file.write():
        sys.stdout.write(f"{file.path}\n")
