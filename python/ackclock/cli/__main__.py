"""``python -m ackclock.cli``."""

import sys

from ackclock.cli import main

sys.exit(main())
