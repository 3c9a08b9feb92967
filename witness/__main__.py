"""The front door: ``python -m witness modules`` and ``python -m witness disciplines``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import witness
from witness import disciplines, modules
from witness.survey import add_arguments, compare

WITNESSES = {"modules": modules, "disciplines": disciplines}


def parser() -> argparse.ArgumentParser:
    """The command line."""
    plain = argparse.RawDescriptionHelpFormatter
    made = argparse.ArgumentParser("python -m witness", description=witness.__doc__, formatter_class=plain)
    commands = made.add_subparsers(metavar="WITNESS", required=True)
    for name, module in WITNESSES.items():
        about = (module.__doc__ or "").partition("\n")[0]
        one = commands.add_parser(name, help=about, description=module.__doc__, formatter_class=plain)
        add_arguments(one)
        module.add_arguments(one)
        one.set_defaults(survey=module.survey, table=module.table)
    return made


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command."""
    chosen = parser().parse_args(arguments)
    compare(chosen, chosen.survey, chosen.table)


if __name__ == "__main__":
    main()
