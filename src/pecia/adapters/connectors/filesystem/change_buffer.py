"""Buffers change notifications of a folder, for polling. It says where, not what."""

import threading
from pathlib import Path
from typing import Final

# The public face of watchfiles arms itself only once it is waiting, which is too late for a scan.
from watchfiles import _rust_notify as rust  # pyright: ignore[reportPrivateUsage]

from pecia.kernel.logs import Log

DEBOUNCE_MS: Final = 50
MAX_DELAY_MS: Final = 400
POLL_INTERVAL_MS: Final = 1_000
MAX_PATHS: Final = 5_000

_log = Log(__name__)


class FolderChangeBuffer:
    """The changed paths in a folder. Watches once constructed.

    A thread of its own collects them; it ends with `close`, or with the process.
    """

    def __init__(self, folder: Path) -> None:
        self._root = folder.resolve()
        self._seen: set[str] | None = set()
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        try:
            self._rust = rust.RustNotify([str(self._root)], False, False, 0, True, False)
        except rust.WatchfilesRustInternalError as error:
            raise OSError(str(error)) from None
        # Never joined: a process must be able to exit while it waits.
        threading.Thread(target=self._listen, name="folder-news", daemon=True).start()

    def take(self) -> frozenset[str] | None:
        """The paths since the last call; None: overflow, rescan everything."""
        with self._lock:
            seen, self._seen = self._seen, set()
        return None if seen is None else frozenset(seen)

    def close(self) -> None:
        self._stopped.set()

    def _listen(self) -> None:
        while not self._stopped.is_set():
            try:
                news = self._rust.watch(MAX_DELAY_MS, DEBOUNCE_MS, POLL_INTERVAL_MS, self._stopped)
            except rust.WatchfilesRustInternalError as error:
                _log.warning("folder_changes.broken", folder=str(self._root), reason=str(error))
                self._add(None)
                return
            if not isinstance(news, str):
                self._add({path for _, path in news})

    def _add(self, paths: set[str] | None) -> None:
        inside = len(str(self._root)) + 1
        with self._lock:
            if paths is None or self._seen is None or len(self._seen) + len(paths) > MAX_PATHS:
                self._seen = None
            else:
                self._seen |= {it[inside:] for it in paths}
