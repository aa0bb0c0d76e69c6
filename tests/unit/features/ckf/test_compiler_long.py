"""A text longer than one call is compiled in pieces, and the pieces make one package."""

from bench.ckf import long_text
from bench.ckf_retention import measure_retention
from pecia.features.ckf.heuristic.long_text import compile_long_text, split_at_blocks
from pecia.features.ckf.model import CompileOptions, SourceText
from pecia.features.ckf.package.checks.validate import validate_package
from pecia.features.ckf.package.model import Package

TEXT = long_text(30_000)


def compiled(level: str = "standard", heard: list[int] | None = None) -> Package:
    def report(done: int, total: int) -> None:
        assert total == len(TEXT)
        if heard is not None:
            heard.append(done)

    options = CompileOptions(compression_level=level)
    return compile_long_text(
        SourceText(TEXT), options, report, piece_chars=8_000, whole_chars=8_000
    )


def test_pieces_are_the_text_and_end_at_blank_lines() -> None:
    spans = list(split_at_blocks(TEXT, 8_000))
    assert "".join(it.of(TEXT) for it in spans) == TEXT
    assert all(it.of(TEXT).endswith("\n\n") for it in spans[:-1])


def test_a_package_of_pieces_is_valid_and_quotes_the_whole_text() -> None:
    for level in ("standard", "dense"):
        package = compiled(level)
        assert validate_package(package.body, source=TEXT).valid
        kept = measure_retention(package, TEXT)
        assert kept.items_with_trace.share == kept.excerpts_verbatim.share == 1
        assert kept.numbers.share == kept.sentences.share == 1


def test_lines_are_counted_from_the_start_of_the_text() -> None:
    row = compiled().trace[-1]
    start = row["source_char_start"]
    assert isinstance(start, int)
    line = TEXT.count("\n", 0, start) + 1
    first, last = str(row["source_location"]).split("#L")[1].split("-L")
    assert int(first) <= line <= int(last)


def test_progress_is_told_in_characters() -> None:
    heard: list[int] = []
    compiled(heard=heard)
    assert heard == sorted(heard)
    assert heard[-1] == len(TEXT)
    assert len(heard) > 3


def test_two_runs_give_the_same_package() -> None:
    assert compiled() == compiled()
