"""Writes a page in the place of the playground: ``python -m playground.absent FILE``.

Pages of the site link to the playground, and lessons show it in a frame, also if it could not be built.
"""

from __future__ import annotations

import sys
from pathlib import Path

PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Playground</title>
<style>:root { color-scheme: light dark } body { font-family: sans-serif; margin: 2rem }</style>
<main>
<p>This site was built without the playground, which needs a target of Rust:</p>
<pre>rustup target add wasm32-unknown-unknown
make docs</pre>
</main>
</html>
"""


def main(file: Path) -> None:
    """Writes the page."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(PAGE, "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
