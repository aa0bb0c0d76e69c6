"""One extractor a module: starting a child costs more than reading all these files."""

from collections.abc import AsyncGenerator

import pytest

from pecia.adapters.extract.extractor import Extractor, open_extractor
from pecia.adapters.extract.model import Limits


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def extractor() -> AsyncGenerator[Extractor]:
    async with open_extractor(Limits(children=1)) as found:
        yield found
