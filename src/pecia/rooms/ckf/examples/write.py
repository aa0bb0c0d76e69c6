"""`python -m pecia.rooms.ckf.examples.write`: the packages anew, after the compiler changed."""

from pathlib import Path

from pecia.rooms.ckf.examples.shelf import (
    CREATED_AT,
    SOURCE_TYPE_BY_TOPIC,
    example_source,
)
from pecia.rooms.ckf.heuristic.compile import compile_text
from pecia.rooms.ckf.options import CompileOptions
from pecia.rooms.ckf.package.codec import Format, encode
from pecia.rooms.ckf.package.model import Package
from pecia.rooms.ckf.package.normal import compact


def main() -> None:
    for topic, source_type in SOURCE_TYPE_BY_TOPIC.items():
        options = CompileOptions(source_type=source_type, created_at=CREATED_AT)
        package = compile_text(example_source(topic), options)
        document = encode(Package(compact(package)), Format.JSON)
        path = Path(__file__).with_name(f"{topic}.ckf.json")
        path.write_text(document, encoding="utf-8")


if __name__ == "__main__":
    main()
