"""How much to try. `make soak` sets PECIA_SOAK=1, which is read here and nowhere else."""

import os

SOAK = os.environ.get("PECIA_SOAK") == "1"

# The worlds are those of these seeds. Two soaks that begin elsewhere can share the work.
FIRST = int(os.environ.get("PECIA_SOAK_FIRST", "0"))
WORLDS = int(os.environ.get("PECIA_SOAK_WORLDS", "50000" if SOAK else "100"))
