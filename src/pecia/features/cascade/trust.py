"""Which manifests may start programs: those whose exact bytes were declared trusted."""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from pecia.features.cascade.manifest import CascadeManifest


@dataclass(frozen=True, slots=True)
class TrustFile:
    """A file of hashes, readable by its owner alone. Without it nothing is trusted."""

    path: Path | None = None

    def is_trusted(self, manifest: CascadeManifest) -> bool:
        """Whether this content, and not only this name, was declared trusted. Blocking."""
        return bool(manifest.sha256) and manifest.sha256 in self._hashes()

    def add(self, manifest: CascadeManifest) -> None:
        """Trust a manifest's current content. A changed one must be trusted again. Blocking."""
        assert self.path is not None
        known = {**self._hashes(), manifest.sha256: str(manifest.file)}
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        beside = self.path.with_name(f".{self.path.name}.{os.getpid()}")
        beside.touch(mode=0o600)
        beside.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
        beside.replace(self.path)

    def _hashes(self) -> dict[str, str]:
        if self.path is None:
            return {}
        try:
            found: object = json.loads(self.path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return cast(dict[str, str], found) if isinstance(found, dict) else {}
