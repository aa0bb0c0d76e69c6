"""The kernel's settings for tokens, identity providers and public access. Only words."""

from pecia.kernel.settings.model import SettingsSection, setting
from pecia.kernel.settings.types import (
    AbsolutePath,
    Algorithm,
    IssuerUrl,
    NonEmptyStr,
    Seconds,
    SecretToken,
    SigningKey,
    WebUrl,
)


class OidcSettings(SettingsSection):
    """The identity provider whose access tokens are accepted. Tokens of our own need none."""

    oidc_issuer: IssuerUrl | None = setting(
        None, description="The identity provider, as its tokens name it."
    )
    oidc_audience: tuple[NonEmptyStr, ...] = setting(
        (),
        description="Audiences accepted in a token. Empty: the resource URL.",
    )
    oidc_client_id: NonEmptyStr | None = setting(
        None, description="The public client that people sign in with. Unset: tokens only."
    )
    oidc_jwks_url: WebUrl | None = setting(
        None, description="Where its keys are. Unset: asked of the issuer."
    )
    oidc_jwks_file: AbsolutePath | None = setting(
        None, description="Its keys as a file, where no network leads to it."
    )
    oidc_algorithms: tuple[Algorithm, ...] = setting(
        ("RS256", "ES256"), description="Signatures accepted."
    )
    oidc_leeway_s: Seconds = setting(
        30.0, description="How far its clock may differ from ours.", unit="s"
    )
    oidc_timeout_s: Seconds = setting(5.0, description="How long to wait for its keys.", unit="s")
    oidc_tenant: NonEmptyStr | None = setting(
        None, description="The tenant of every such caller. Unset: the tenant claim."
    )
    oidc_tenant_claim: NonEmptyStr = setting(
        "tenant", description="The claim that names the tenant."
    )
    oidc_user_claim: NonEmptyStr = setting(
        "sub", description="The claim that names the user for good."
    )
    oidc_email_claim: NonEmptyStr = setting(
        "email", description="The claim that holds the e-mail address."
    )
    oidc_groups_claim: NonEmptyStr = setting(
        "groups", description="The claim that lists the groups."
    )
    oidc_scope_claim: NonEmptyStr = setting("scope", description="The claim that lists the scopes.")


class PublicAccessSettings(SettingsSection):
    """Callers without a token."""

    public_toolsets: tuple[NonEmptyStr, ...] = setting(
        (),
        description="Toolsets whose read-only tools need no token. Off when empty.",
        # Its former names.
        env=("PECIA_PUBLIC_ROOMS",),
        keys=("public_rooms",),
    )
    public_tenant: NonEmptyStr | None = setting(
        None, description="The one tenant that callers without a token see."
    )


class DownloadSettings(SettingsSection):
    """Links to originals: on a server they are on when these and `public_url` are set; a local
    install makes its own."""

    download_signing_secret: SigningKey | None = setting(
        None,
        description="Signs the short-lived links to originals; 32 characters or more.",
        env=("KDBL_DOWNLOAD_SIGNING_SECRET",),
        secret=True,
    )
    internal_fetch_token: SecretToken | None = setting(
        None,
        description="Links to originals are off on a server until this is set; nothing else "
        "reads it. 16 characters or more.",
        env=("KDBL_INTERNAL_FETCH_TOKEN",),
        secret=True,
    )
    download_link_ttl_s: Seconds = setting(
        900.0, description="How long a link to an original works.", unit="s"
    )
