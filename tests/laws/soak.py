"""How much to try, and where to write down how much was tried. `make soak` sets PECIA_SOAK=1."""

import json
import os
import platform
from dataclasses import dataclass
from pathlib import Path

SOAK = os.environ.get("PECIA_SOAK") == "1"

RESULTS = Path(__file__).parents[2] / "bench" / "results"


@dataclass(frozen=True, slots=True)
class Shift:
    """Which worlds this process tries: `PECIA_SOAK_WORLDS` of them, from `PECIA_SOAK_FIRST` on."""

    first: int = int(os.environ.get("PECIA_SOAK_FIRST", "0"))
    worlds: int = int(os.environ.get("PECIA_SOAK_WORLDS", "50000"))

    @property
    def seeds(self) -> range:
        return range(self.first, self.first + self.worlds)


def record(name: str, figures: dict[str, object]) -> None:
    """Write the figures where they are committed, with the machine they come from."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    machine = {"cpus": os.cpu_count(), "machine": platform.machine(), "system": platform.system()}
    text = json.dumps({**figures, "machine": machine}, indent=2, sort_keys=True)
    (RESULTS / f"{name}.json").write_text(f"{text}\n", encoding="utf-8")
