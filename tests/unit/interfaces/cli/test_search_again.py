"""When `pecia search` asks again by itself: while files are being read, and not otherwise."""

import pytest

from pecia.interfaces.cli.commands.verbs.search import may_find_more

CRAWLED = "the source 'a' is being crawled, so that files may be missing here: "


@pytest.mark.parametrize(
    ("hits", "said", "asks"),
    [
        ([], f"{CRAWLED}search again shortly", True),
        ([], "the keyword index is being built: search again shortly", True),
        ([{"title": "a"}], f"{CRAWLED}search again shortly", False),
        ([], f"{CRAWLED}no worker runs: pecia worker", False),
        (
            [],
            "lexical only for new files: embeddings are still being made; search again shortly",
            False,
        ),
        (
            [],
            "the source 'a' has not been crawled yet, files may be missing: search again shortly",
            True,
        ),
        (
            [],
            "the source 'a' has not been crawled yet, files may be missing: crawl with `pecia …`",
            False,
        ),
    ],
)
def test_it_asks_again_while_files_are_read(hits: list[object], said: str, asks: bool) -> None:
    assert may_find_more({"hits": hits, "degraded": [said]}) is asks
