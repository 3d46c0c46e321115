"""`python -m personae`, the same as the `personae` command."""

import sys

from personae.cli import main

sys.exit(main())
