"""Regenerates the example packages after a change of the compiler: run it with `python -m`.

The model's package is made of a stored answer of a language model, by the stages of
`ckf.compile_llm`; no model is asked.
"""

import json
from pathlib import Path

import anyio

from pecia.features.ckf.examples.loader import (
    CREATED_AT,
    MODEL_ANSWER,
    MODEL_CREATED_AT,
    MODEL_PACKAGE,
    MODEL_TOPIC,
    SOURCE_TYPE_BY_TOPIC,
    load_example_source,
)
from pecia.features.ckf.heuristic.compile import compile_text
from pecia.features.ckf.llm.compile import compile_with_model
from pecia.features.ckf.llm.model import ExtractionReply, ExtractionRequest
from pecia.features.ckf.llm.prepare.prepare import CompileOrder, prepare_source
from pecia.features.ckf.model import CompileOptions
from pecia.features.ckf.package.codec.codec import PackageFormat, encode_package
from pecia.features.ckf.package.model import Package
from pecia.features.ckf.package.normalize import compact_package

TIMEOUT_S = 60.0


def main() -> None:
    for topic, source_type in SOURCE_TYPE_BY_TOPIC.items():
        options = CompileOptions(source_type=source_type, created_at=CREATED_AT)
        package = compile_text(load_example_source(topic), options)
        document = encode_package(Package(compact_package(package)), PackageFormat.JSON)
        path = Path(__file__).with_name(f"{topic}.ckf.json")
        path.write_text(document, encoding="utf-8")
    made = anyio.run(compile_stored_answer)
    document = encode_package(Package(compact_package(made)), PackageFormat.JSON)
    Path(__file__).with_name(MODEL_PACKAGE).write_text(document, encoding="utf-8")


class StoredAnswer:
    """A model that gives the stored answer, whatever it is asked."""

    provider = "stored"
    name = "a language model"

    async def fill(self, question: ExtractionRequest, key: str) -> ExtractionReply:
        text = Path(__file__).with_name(MODEL_ANSWER).read_text("utf-8")
        return ExtractionReply(json.loads(text))


async def compile_stored_answer() -> Package:
    """The package of the stored answer, as `ckf.compile_llm` makes it."""
    options = CompileOptions(SOURCE_TYPE_BY_TOPIC[MODEL_TOPIC], created_at=MODEL_CREATED_AT)
    order = CompileOrder(options, None, TIMEOUT_S, TIMEOUT_S)
    known = prepare_source(load_example_source(MODEL_TOPIC), order)

    async def report(done: int, total: int) -> None:
        """Nobody waits."""

    return (await compile_with_model(known, order, StoredAnswer(), "", report)).package


if __name__ == "__main__":
    main()
