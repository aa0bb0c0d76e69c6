"""The libraries that nearly every child needs, loaded before its walls go up."""

from importlib import import_module


def import_readers() -> None:
    for name in ("pypdfium2", "kreuzberg", "encodings.idna", "encodings.utf_16"):
        import_module(name)
