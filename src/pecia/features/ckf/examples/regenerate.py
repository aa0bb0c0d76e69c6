"""Regenerates the example packages after a change of the compiler: run it with `python -m`."""

from pathlib import Path

from pecia.features.ckf.examples.loader import CREATED_AT, SOURCE_TYPE_BY_TOPIC, load_example_source
from pecia.features.ckf.heuristic.compile import compile_text
from pecia.features.ckf.model import CompileOptions
from pecia.features.ckf.package.codec.codec import PackageFormat, encode_package
from pecia.features.ckf.package.model import Package
from pecia.features.ckf.package.normalize import compact_package


def main() -> None:
    for topic, source_type in SOURCE_TYPE_BY_TOPIC.items():
        options = CompileOptions(source_type=source_type, created_at=CREATED_AT)
        package = compile_text(load_example_source(topic), options)
        document = encode_package(Package(compact_package(package)), PackageFormat.JSON)
        path = Path(__file__).with_name(f"{topic}.ckf.json")
        path.write_text(document, encoding="utf-8")


if __name__ == "__main__":
    main()
