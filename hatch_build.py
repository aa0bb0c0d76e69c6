"""Builds the console into a wheel or an sdist. An editable install goes without."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ConsoleHook(BuildHookInterface[Any]):
    """Runs npm where there is a `web/` to build. An sdist carries the built pages already."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        root = Path(self.root)
        if version == "editable" or not (root / "web" / "package.json").exists():
            return
        npm = shutil.which("npm")
        if npm is None:
            built = (root / "src/pecia/interfaces/web/static/index.html").exists()
            state = "the pages found in the tree are used" if built else "there will be no console"
            self.app.display_warning(f"npm was not found; {state}")
            return
        # The caller's pip settings and Python paths mean nothing to npm, and must not confuse it.
        environ = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        # Not `npm ci`: it refuses a lock without the native builds of other platforms.
        for words in (["install", "--no-save", "--ignore-scripts"], ["run", "build"]):
            subprocess.run([npm, *words], cwd=root / "web", check=True, env=environ)
