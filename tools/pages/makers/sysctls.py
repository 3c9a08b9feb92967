"""The sysctls that packet scripts may set and live runs set, from the declarations of the options."""

from __future__ import annotations

from ackclock import _engine
from pages.tables import Table, maker

FOLDER = "net.ipv4."


@maker("sysctls")
def sysctls() -> Table:
    """A row for each option, and for each reason why a sysctl sets none."""
    rows: dict[tuple[str, str], list[str]] = {}
    live: dict[str, str] = {}
    for sysctl in _engine.sysctls():
        name = sysctl["name"].removeprefix(FOLDER)
        meaning = f"`{sysctl['option']}`" if sysctl["option"] is not None else sysctl["why"]
        rows.setdefault((sysctl["takes"], meaning), []).append(name)
        if sysctl["live"] is not None:
            live[name] = f"`{sysctl['live']}`"
    return Table(
        ("`net.ipv4.`", "values in scripts", "option, or reason", "in live runs"),
        [
            [
                ", ".join(f"`{name}`" for name in names),
                takes,
                meaning,
                ", ".join(live[name] for name in names if name in live),
            ]
            for (takes, meaning), names in rows.items()
        ],
    )
