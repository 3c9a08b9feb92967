"""``python -m ackclock``: the command line."""

import sys

from ackclock.cli import main

sys.exit(main())
