"""Links to originals are on where all three settings are, and always on one's own machine."""

import pytest

from pecia.app.app import SETTINGS
from pecia.app.composition.lake import build_download_links
from pecia.kernel.secrets.keyring import Keyring
from pecia.kernel.settings.load import Settings, load_settings

REFERENCE = {
    "KDBL_DOWNLOAD_SIGNING_SECRET": "a secret of thirty-two characters",
    "KDBL_API_PUBLIC_URL": "https://files.example.org",
    "KDBL_INTERNAL_FETCH_TOKEN": "sixteen characters",
}


def settled(environ: dict[str, str], mode: str) -> Settings:
    flags = {"mode": mode, "database_url": "postgresql://localhost/pecia"}
    return load_settings(SETTINGS, flags=flags, environ=environ, project_file=None, user_file=None)


@pytest.mark.requirement("lake.download.three_settings")
def test_the_variables_of_the_reference_switch_links_on() -> None:
    links = build_download_links(settled(REFERENCE, "server"), Keyring.fresh())
    assert links is not None
    assert (links.public_url, links.ttl_s) == ("https://files.example.org", 900)
    assert links.secret() == b"a secret of thirty-two characters"


@pytest.mark.requirement("lake.download.one_missing")
@pytest.mark.parametrize("missing", [*REFERENCE])
def test_without_one_of_them_a_server_makes_no_links(missing: str) -> None:
    environ = {name: value for name, value in REFERENCE.items() if name != missing}
    assert build_download_links(settled(environ, "server"), Keyring.fresh()) is None


@pytest.mark.requirement("lake.download.three_settings")
def test_a_local_install_makes_its_own_and_keeps_them_with_its_keys() -> None:
    keyring = Keyring.fresh()
    first = build_download_links(settled({}, "local"), keyring)
    again = build_download_links(settled({}, "local"), keyring)
    other = build_download_links(settled({}, "local"), Keyring.fresh())
    assert first is not None
    assert again is not None
    assert other is not None
    assert len(first.secret()) == 32
    assert first.secret() == again.secret() != other.secret()
