"""The kernel's own settings: defaults that hold, names of the references, rules between two."""

from pathlib import Path

import pytest

from pecia.features.hub.settings import HubSettings
from pecia.features.memory.settings import MemorySettings
from pecia.features.wiki.settings import WikiSettings
from pecia.kernel.errors import InvalidInput
from pecia.kernel.settings.catalog import build_catalog
from pecia.kernel.settings.kernel import KernelSettings, is_loopback
from pecia.kernel.settings.load import load_settings
from pecia.kernel.settings.model import SettingsSection

EVERY_PART: tuple[type[SettingsSection], ...] = (
    KernelSettings,
    HubSettings,
    MemorySettings,
    WikiSettings,
)


def kernel(**environ: str) -> KernelSettings:
    return load_settings([], flags={}, environ=environ, project_file=None, user_file=None).kernel


@pytest.mark.parametrize("name", build_catalog(EVERY_PART).by_name)
def test_every_default_is_a_value_that_could_have_been_given(name: str) -> None:
    known = build_catalog(EVERY_PART).by_name[name]
    assert known.parse(known.default()) == known.default()


def test_the_defaults_agree_with_each_other() -> None:
    assert [*KernelSettings().clashes()] == []


@pytest.mark.parametrize(
    ("variable", "text", "field", "value"),
    [
        ("KDBL_MCP_ENABLED", "false", "mcp_enabled", False),
        ("KDBL_API_PUBLIC_URL", "https://k.example/", "public_url", "https://k.example"),
        ("MCP_LOG_LEVEL", "warn", "log_level", "warning"),
        ("MCP_LOG_LEVEL", "emergency", "log_level", "error"),
        ("CIPHER_LOG_LEVEL", "silly", "log_level", "debug"),
        ("DEBUG", "cipher:*", "log_level", "debug"),
        ("DEBUG", "express:*", "log_level", "info"),
        ("OK_LOG_FILE", "/var/log/x", "log_file", Path("/var/log/x")),
        ("PORT", "3000", "port", 3000),
        ("PECIA_OIDC_ALGORITHMS", "RS256,EdDSA", "oidc_algorithms", ("RS256", "EdDSA")),
        ("PECIA_QUOTA_FILES", "", "quota_files", None),
        ("PECIA_MCP_ROOT", "cipher", "mcp_root", "cipher"),
    ],
)
def test_a_variable_sets_its_field(variable: str, text: str, field: str, value: object) -> None:
    assert getattr(kernel(**{variable: text}), field) == value


@pytest.mark.parametrize(
    ("variable", "field"),
    [
        ("KDBL_DOWNLOAD_SIGNING_SECRET", "download_signing_secret"),
        ("KDBL_INTERNAL_FETCH_TOKEN", "internal_fetch_token"),
    ],
)
def test_the_secrets_of_download_links_have_the_reference_s_names(
    variable: str, field: str
) -> None:
    secret = getattr(kernel(**{variable: "s" * 40}), field)
    assert secret.get_secret_value() == "s" * 40


def test_an_issuer_keeps_its_last_slash_because_tokens_do() -> None:
    made = kernel(PECIA_OIDC_ISSUER="https://id.example/", PECIA_PUBLIC_URL="https://p.example/")
    assert (made.oidc_issuer, made.public_url) == ("https://id.example/", "https://p.example")


def test_a_proxy_is_an_address_or_a_network() -> None:
    proxies = kernel(PECIA_TRUSTED_PROXIES="10.0.0.0/8, ::1").trusted_proxies
    assert [str(it) for it in proxies] == ["10.0.0.0/8", "::1/128"]


def test_a_path_may_begin_at_the_user_s_home() -> None:
    assert kernel(PECIA_HOME="~/p").home == Path.home() / "p"


@pytest.mark.parametrize(
    ("variable", "text", "expected"),
    [
        ("PECIA_HOME", "here", "an absolute path"),
        ("PECIA_PUBLIC_URL", "ftp://x", "an http or https URL"),
        ("PECIA_PUBLIC_URL", "https://x/?a=1", "an http or https URL"),
        ("PECIA_TRUSTED_PROXIES", "10.0.0.1/8", "networks such as 10.0.0.0/8"),
        ("PECIA_OIDC_ALGORITHMS", "HS256", "'RS256'"),
        ("PECIA_PORT", "65536", "less than or equal to 65535"),
        ("PECIA_MCP_ENABLED", "perhaps", "a valid boolean"),
        ("PECIA_LOCAL_TENANT", "", "at least 1 character"),
        ("PECIA_MODE", "cloud", "'local' or 'server'"),
    ],
)
def test_a_value_of_the_wrong_shape_is_told_what_was_expected(
    variable: str, text: str, expected: str
) -> None:
    with pytest.raises(InvalidInput, match=variable) as error:
        kernel(**{variable: text})
    assert f"expected {expected}" in str(error.value)


@pytest.mark.parametrize(
    ("environ", "field"),
    [
        ({"PECIA_HOST": "0.0.0.0"}, "host"),
        ({"PECIA_REQUEST_TIMEOUT_S": "301"}, "request_timeout_s"),
        ({"PECIA_POOL_MIN_SIZE": "11"}, "pool_min_size"),
        ({"PECIA_DATABASE_OWNER_URL": "postgresql:///x"}, "database_owner_url"),
        ({"PECIA_PUBLIC_TOOLSETS": "ckf"}, "public_toolsets"),
        # The former name of the same setting.
        ({"PECIA_PUBLIC_ROOMS": "ckf"}, "public_toolsets"),
        ({"PECIA_OIDC_ISSUER": "https://id.example"}, "oidc_issuer"),
        ({"PECIA_OIDC_AUDIENCE": "us"}, "oidc_audience"),
        (
            {
                "PECIA_OIDC_ISSUER": "https://id.example",
                "PECIA_RESOURCE_URL": "https://p.example/mcp",
                "PECIA_OIDC_JWKS_URL": "https://id.example/keys",
                "PECIA_OIDC_JWKS_FILE": "/etc/keys.json",
            },
            "oidc_jwks_file",
        ),
    ],
)
def test_two_settings_that_cannot_both_hold_are_refused(
    environ: dict[str, str], field: str
) -> None:
    with pytest.raises(InvalidInput) as error:
        kernel(**environ)
    assert error.value.fields["field"] == field


def test_a_server_may_listen_anywhere() -> None:
    assert kernel(PECIA_HOST="0.0.0.0", PECIA_MODE="server").host == "0.0.0.0"


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.8.8.8", "::1", "[::1]"])
def test_loopback_is_this_machine_alone(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "example.org", "10.0.0.1", "", "localhost.x"])
def test_everything_else_is_not_loopback(host: str) -> None:
    assert not is_loopback(host)
