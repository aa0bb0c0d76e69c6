"""Signing in at the organisation's issuer, in a real browser: code, PKCE, and what may go wrong."""

from collections.abc import Iterator

import httpx
import pytest
from playwright.sync_api import Page, expect

from tests.issuer import LoopbackIssuer, SigningKey
from tests.issuer import serve as serve_issuer
from tests.web.conftest import Installed, free_port
from tests.web.test_console import serve

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]


@pytest.fixture(scope="module")
def issuer() -> Iterator[LoopbackIssuer]:
    with serve_issuer(SigningKey.new("k1", "ES256")) as found:
        yield found


@pytest.fixture(scope="module")
def server(
    installed: Installed, issuer: LoopbackIssuer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """A Pecia whose people sign in at the issuer."""
    home, port = tmp_path_factory.mktemp("oidc"), free_port()
    config = home / "pecia.yml"
    lines = {
        "mode": "server",
        "public_url": f"http://127.0.0.1:{port}",
        "oidc_issuer": issuer.url,
        "oidc_client_id": "console",
    }
    config.write_text("".join(f"{name}: {value}\n" for name, value in lines.items()))
    made = installed.run(home, "--config", str(config), "tenant", "add", "acme")
    assert made.returncode == 0, made.stderr
    yield from serve(installed, home, ["serve", "--config", str(config)], port)


@pytest.fixture
def person(issuer: LoopbackIssuer) -> dict[str, object]:
    """What the issuer knows of whoever signs in next."""
    issuer.sign_in.claims = {"tenant": "acme", "email": "ana@example.com"}
    return issuer.sign_in.claims


def at_the_issuer(page: Page, server: str, issuer: LoopbackIssuer) -> None:
    page.goto(f"{server}/console/")
    page.get_by_role("button", name="Continue at").click()
    page.wait_for_url(f"{issuer.url}/authorize**")


def test_who_signs_in_at_the_issuer_comes_home(
    server: str, page: Page, issuer: LoopbackIssuer, person: dict[str, object]
) -> None:
    at_the_issuer(page, server, issuer)
    assert "code_challenge=" in page.url
    page.get_by_role("link", name="allow").click()
    ana = page.get_by_role("button", name="Signed in as ana@example.com")
    expect(ana).to_be_visible()
    expect(page.get_by_role("heading", name="Connect an agent")).to_be_visible()
    # Neither the code nor the token may stay where a history or a neighbour finds them.
    assert page.url == f"{server}/console/"
    (cookie,) = page.context.cookies()
    assert cookie.get("httpOnly")
    assert cookie.get("sameSite") == "Strict"
    assert page.evaluate("document.cookie") == ""
    assert page.evaluate("localStorage.length + sessionStorage.length") == 0
    page.reload()
    expect(ana).to_be_visible()
    # One sign-in is enough for all tabs, and so is one sign-out.
    other = page.context.new_page()
    other.goto(f"{server}/console/#/tokens")
    expect(other.get_by_role("heading", name="Tokens")).to_be_visible()
    other.get_by_role("button", name="Signed in as").click()
    other.get_by_role("button", name="Sign out").click()
    for tab in (page, other):
        expect(tab.get_by_role("heading", name="Sign in to Pecia")).to_be_visible()
    assert page.context.cookies() == []


def test_who_says_no_is_asked_again(
    server: str, page: Page, issuer: LoopbackIssuer, person: dict[str, object]
) -> None:
    at_the_issuer(page, server, issuer)
    page.get_by_role("link", name="deny").click()
    expect(page.get_by_role("alert")).to_contain_text("You said no.")
    expect(page.get_by_role("heading", name="Sign in to Pecia")).to_be_visible()


def test_a_sign_in_that_another_page_began_is_refused(server: str, page: Page) -> None:
    page.goto(f"{server}/console/?code=stolen&state=elsewhere")
    expect(page.get_by_role("alert")).to_contain_text("not begun in this tab")
    assert page.evaluate("sessionStorage.length") == 0


def test_a_code_is_worth_nothing_to_who_did_not_begin(
    server: str, page: Page, issuer: LoopbackIssuer, person: dict[str, object]
) -> None:
    at_the_issuer(page, server, issuer)
    link = page.get_by_role("link", name="allow").get_attribute("href")
    sent_back = httpx.get(f"{issuer.url}{link}", trust_env=False)
    code = httpx.URL(sent_back.headers["location"]).params["code"]
    given = {"code": code, "client_id": "console", "redirect_uri": f"{server}/console/"}
    stolen = httpx.post(f"{issuer.url}/token", data=given, trust_env=False)
    assert stolen.json()["error"] == "invalid_grant"


def test_who_may_do_nothing_here_is_told_so(
    server: str, page: Page, issuer: LoopbackIssuer, person: dict[str, object]
) -> None:
    person["scope"] = "openid"
    at_the_issuer(page, server, issuer)
    page.get_by_role("link", name="allow").click()
    expect(page.get_by_role("heading", name="have no access")).to_be_visible()
    expect(page.get_by_text("FORBIDDEN")).to_be_visible()
    page.get_by_role("button", name="Use another token").click()
    expect(page.get_by_role("heading", name="Sign in to Pecia")).to_be_visible()
    assert page.evaluate("sessionStorage.length") == 0


def test_who_is_of_a_tenant_that_is_not_here_is_told_so(
    server: str, page: Page, issuer: LoopbackIssuer, person: dict[str, object]
) -> None:
    person["tenant"] = "elsewhere"
    at_the_issuer(page, server, issuer)
    page.get_by_role("link", name="allow").click()
    expect(page.get_by_role("heading", name="have no access")).to_be_visible()
    expect(page.get_by_text("does not exist here")).to_be_visible()
