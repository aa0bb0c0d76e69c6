"""What an install brings: read from the metadata that a build of this checkout writes."""

import subprocess
import sys
from email.parser import Parser
from pathlib import Path

from pecia.adapters.models.pydantic_ai_client import REQUIREMENT

ROOT = Path(__file__).parents[2]
BUILD = "import sys; from hatchling.build import prepare_metadata_for_build_wheel as write"


def requirements(folder: Path) -> list[str]:
    """Every `Requires-Dist` of a plain install, without what an extra would add."""
    made = subprocess.run(
        [sys.executable, "-c", f"{BUILD}; print(write(sys.argv[1]))", str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    path = folder / made.stdout.split()[-1] / "METADATA"
    found = Parser().parsestr(path.read_text("utf-8")).get_all("Requires-Dist", [])
    return [it for it in found if "extra ==" not in it]


def test_a_plain_install_can_ask_a_model(tmp_path: Path) -> None:
    wanted = [it for it in requirements(tmp_path) if it.startswith("pydantic-ai-slim")]
    assert [parts(it) for it in wanted] == [parts(REQUIREMENT)]


def parts(requirement: str) -> tuple[set[str], set[str]]:
    """Extras and bounds, in no order."""
    extras, _, bounds = requirement.partition("[")[2].partition("]")
    return {*extras.split(",")}, {*bounds.strip(" ()").split(",")}
