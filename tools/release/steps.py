"""The files that name a version, and how a release changes them."""

from __future__ import annotations

import datetime
import re
import tomllib
from pathlib import Path

VERSION = re.compile(r"\d+\.\d+\.\d+")


class ReleaseError(ValueError):
    """A release that cannot be cut. One sentence gives the reason."""


def check(root: Path, version: str) -> None:
    """Refuses a tree that is no release of ``version``."""
    found = {
        "Cargo.toml": tomllib.loads((root / "Cargo.toml").read_text())["workspace"]["package"]["version"],
        "CITATION.cff": _search(r"^version: (.*)$", (root / "CITATION.cff").read_text()),
    }
    for file, named in found.items():
        if named != version:
            raise ReleaseError(f"{file}: the version is {named}, not {version}")
    if re.fullmatch(r"\d{4}-\d\d-\d\d", _heading(root, version)) is None:
        raise ReleaseError(f"CHANGELOG.md: {version} has no date")


def cut(root: Path, version: str, date: datetime.date, url: str | None) -> None:
    """Writes version, date and the address of the repository, if it has one, wherever they belong."""
    if VERSION.fullmatch(version) is None:
        raise ReleaseError(f"{version!r} is no version such as 0.1.0")
    if _heading(root, version) != "unreleased":
        raise ReleaseError(f"CHANGELOG.md: {version} is released already")
    before = tomllib.loads((root / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    _rewrite(root / "Cargo.toml", [(rf'version = "{re.escape(before)}"', f'version = "{version}"')])
    _rewrite(
        root / "CHANGELOG.md", [(rf"^## \[{re.escape(version)}\] - unreleased$", f"## [{version}] - {date}")]
    )
    lines = f"version: {version}\ndate-released: {date}"
    _rewrite(root / "CITATION.cff", [(r"^version: .*(\ndate-released: .*)?$", lines)])
    if url is not None:
        _name_repository(root, url)


def _name_repository(root: Path, url: str) -> None:
    """Writes the address into the metadata of all packages, once."""
    if "\nrepository = " in (root / "Cargo.toml").read_text():
        return
    _rewrite(root / "Cargo.toml", [(r"^(\[workspace\.package\])$", rf'\1\nrepository = "{url}"')])
    for manifest in sorted(root.glob("crates/*/Cargo.toml")):
        if "publish = false" not in manifest.read_text():
            _rewrite(manifest, [(r"^(readme = .*)$", r"\1\nrepository.workspace = true")])
    pages = {"Repository": url, "Issues": f"{url}/issues", "Changes": f"{url}/blob/main/CHANGELOG.md"}
    urls = "\n".join(["[project.urls]", *(f'{name} = "{page}"' for name, page in pages.items())])
    _rewrite(root / "pyproject.toml", [(r"^(\[project\.scripts\])$", rf"{urls}\n\n\1")])
    _rewrite(root / "CITATION.cff", [(r"^(type: .*)$", rf'\1\nrepository-code: "{url}"')])


def notes(root: Path, version: str) -> str:
    """The changes of a version, without its heading."""
    text = (root / "CHANGELOG.md").read_text()
    _heading(root, version)
    _, _, rest = text.partition(f"\n## [{version}]")
    body, _, _ = rest.partition("\n## [")
    return body.partition("\n")[2].strip() + "\n"


def address(remote: str) -> str | None:
    """The web page of a repository, from its remote in git. A folder has none."""
    found = re.fullmatch(r"(?:https://|ssh://git@|git@)([\w.-]+)[:/](.+?)(?:\.git)?/?", remote)
    return None if found is None else f"https://{found[1]}/{found[2]}"


def _heading(root: Path, version: str) -> str:
    """The text behind the version in its heading: a date, or `unreleased`."""
    return _search(rf"^## \[{re.escape(version)}\] - (.*)$", (root / "CHANGELOG.md").read_text(), version)


def _search(pattern: str, text: str, version: str = "") -> str:
    found = re.search(pattern, text, re.MULTILINE)
    if found is None:
        raise ReleaseError(f"CHANGELOG.md: has no heading for {version}" if version else f"no {pattern}")
    return found[1]


def _rewrite(file: Path, changes: list[tuple[str, str]]) -> None:
    text = file.read_text("utf-8")
    for pattern, after in changes:
        text, count = re.subn(pattern, after, text, flags=re.MULTILINE)
        if count == 0:
            raise ReleaseError(f"{file.name}: has no {pattern}")
    file.write_text(text, "utf-8")
