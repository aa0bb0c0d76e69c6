"""One extractor a module: starting a child costs more than reading all these files."""

from collections.abc import AsyncGenerator

import pytest

from pecia.adapters.extraction.extractor import FileExtractor, open_extractor
from pecia.adapters.extraction.model import ExtractionLimits


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def extractor() -> AsyncGenerator[FileExtractor]:
    async with open_extractor(ExtractionLimits(children=1)) as found:
        yield found
