"""The command line: ``check``, ``cut`` and ``notes``, each with a version."""

from __future__ import annotations

import datetime
import subprocess
import sys
from pathlib import Path

from release.steps import ReleaseError, address, check, cut, notes

ROOT = Path(__file__).parents[2]


def git(*words: str) -> str:
    """The output of a command of git."""
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ReleaseError(f"git {words[0]}: {done.stderr.strip()}")
    return done.stdout.strip()


def commit(version: str) -> None:
    """Writes the version everywhere, and commits it."""
    if git("status", "--porcelain", "--untracked-files=no"):
        raise ReleaseError("the tree has changes that are not committed")
    url = address(git("remote", "get-url", "origin"))
    if url is None:
        sys.stderr.write("the remote `origin` is no web page: the packages name no repository\n")
    cut(ROOT, version, datetime.datetime.now(datetime.UTC).date(), url)
    subprocess.run(["cargo", "update", "--workspace", "--quiet"], cwd=ROOT, check=True)
    git("commit", "--all", "--message", f"release: {version}")
    sys.stdout.write(
        f"Now: git tag -a v{version} -m 'ackclock {version}' && git push origin HEAD v{version}\n"
    )


def main(words: list[str]) -> int:
    """Runs the command of the words. Returns status 1 with a sentence if it fails."""
    try:
        match words:
            case ["check", version]:
                check(ROOT, version)
            case ["cut", version]:
                commit(version)
            case ["notes", version]:
                sys.stdout.write(notes(ROOT, version))
            case _:
                raise ReleaseError("usage: python -m release check|cut|notes VERSION")
    except ReleaseError as fault:
        sys.stderr.write(f"{fault}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
