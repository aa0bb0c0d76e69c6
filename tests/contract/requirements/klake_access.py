"""What the K-Lake reference promises of access: connecting, tokens, trimming, audit, downloads."""

from tests.contract.requirement import Requirement

REQUIREMENTS: dict[str, Requirement] = {
    "lake.server.mcp_path": Requirement(
        5,
        "POST /mcp reaches the lake's tools.",
        replaced=(
            "/mcp is the front desk unless PECIA_MCP_ROOT=lake; /mcp/lake always serves the six."
        ),
    ),
    "lake.server.json_rpc": Requirement(
        6,
        "A JSON-RPC 2.0 request POSTed to the lake endpoint is answered over Streamable HTTP.",
    ),
    "lake.server.get_refused": Requirement(
        6,
        "GET on the lake endpoint is answered with 405.",
        replaced=(
            "So it is on /mcp/lake; the other endpoints open the stream that old clients "
            "subscribe by."
        ),
    ),
    "lake.server.revision": Requirement(
        7, "initialize with revision 2025-11-25 is answered with that revision."
    ),
    "lake.auth.bearer_required": Requirement(
        8, "A tool call without a bearer token is refused with 401."
    ),
    "lake.auth.pat": Requirement(
        8, "A personal access token in the Authorization header calls a tool as its user."
    ),
    "lake.auth.pat_prefix": Requirement(
        8,
        "Personal access tokens are known by their prefix.",
        replaced="Ours begin peciapat_, after our name, and hold a checksum.",
    ),
    "lake.auth.pat_hashed": Requirement(
        8, "The database holds a hash of each personal access token and never the token."
    ),
    "lake.auth.oidc": Requirement(
        8, "An access token of the configured identity provider calls a tool as its subject."
    ),
    "lake.auth.oidc_audience": Requirement(
        8, "An access token made for another audience, or by another issuer, is refused with 401."
    ),
    "lake.auth.cluster_admin_refused": Requirement(
        8,
        "A cluster administrator's token is refused a tool call with 403: tools belong to a "
        "tenant.",
    ),
    "lake.discovery.metadata": Requirement(
        9,
        "/.well-known/oauth-protected-resource names the resource, its authorization servers and "
        "scopes.",
    ),
    "lake.discovery.public": Requirement(
        9, "The protected-resource metadata is served to callers without a token."
    ),
    "lake.settings.mcp_enabled": Requirement(
        10, "KDBL_MCP_ENABLED switches the MCP endpoints on and off."
    ),
    "lake.scopes.names": Requirement(
        10,
        "A token with the scopes kdbl.search and kdbl.read may search and read.",
        replaced="Ours are pecia.search and pecia.read; the two names are accepted for them.",
    ),
    "lake.scopes.enforced": Requirement(
        10, "A token without the scope of a tool is refused with 403 before the tool runs."
    ),
    "lake.scopes.search": Requirement(10, "search_content needs the search scope and no other."),
    "lake.scopes.read": Requirement(
        10,
        "The three reading and two browsing tools need the read scope and no other.",
    ),
    "lake.smoke.three_steps": Requirement(
        11,
        "The smoke command runs initialize, tools/list and one tools/call, and exits 0 when all "
        "pass.",
        replaced="The program is `pecia`, not kdbl-control.",
    ),
    "lake.smoke.reports_failure": Requirement(
        11, "The smoke command exits non-zero and names the step that failed."
    ),
    "lake.smoke.options": Requirement(
        11,
        "The smoke command takes the server's URL and a token.",
        replaced=(
            "The token comes by environment or stdin, never by a flag that the process list shows."
        ),
    ),
    "lake.server.behind_proxy": Requirement(
        12,
        "Behind a proxy that forwards only /api/, the HTTP API works and the guide says how MCP "
        "is reached.",
    ),
    "lake.server.internal_name": Requirement(
        13,
        "A client that comes by an internal host name which the operator allows is served.",
    ),
    "lake.trim.tenant": Requirement(
        3, "No source or file row of another tenant is visible, even to a query without a filter."
    ),
    "lake.trim.source": Requirement(
        3, "A source that the caller has no right to shows no row of itself or of its files."
    ),
    "lake.trim.file": Requirement(
        3, "A file whose grants miss the caller shows no row, though its source is visible."
    ),
    "lake.trim.scoped_transaction": Requirement(
        103, "A transaction that names no caller sees no row of any tenant."
    ),
    "lake.trim.cannot_bypass": Requirement(
        103,
        "The login that serves calls owns no table, cannot bypass policies, and they are forced "
        "on every one.",
    ),
    "lake.trim.tenant_filter": Requirement(
        103,
        "Each query of the feature also names the tenant: a policy is never the only protection.",
    ),
    "lake.trim.every_tool": Requirement(
        103,
        "For any rights and any arguments, no tool returns a text, key or count of what is hidden.",
    ),
    "lake.trim.hidden_is_absent": Requirement(
        103,
        "Asking for a hidden file or source fails exactly as asking for one that does not exist.",
    ),
    "lake.audit.every_call": Requirement(3, "Every tool call leaves one audit row."),
    "lake.audit.row": Requirement(
        104, "The row says principal, tool, arguments, status, client address and time."
    ),
    "lake.audit.results": Requirement(
        105, "The row says which sources and keys were returned, and how many rows."
    ),
    "lake.audit.failures": Requirement(
        105, "A call that is refused or fails leaves its row too, with the error's code as status."
    ),
    "lake.audit.review": Requirement(
        106,
        "The audit command lists rows and filters them by tool.",
        replaced="The program is `pecia`, not kdbl-control.",
    ),
    "lake.auth.pat_offline": Requirement(
        106, "A personal access token is checked without any network request."
    ),
    "lake.auth.air_gapped": Requirement(
        106,
        "With no network at all, every lake tool answers a caller with a personal access token.",
    ),
    "lake.download.url": Requirement(38, "A hit's url opens the original file, byte for byte."),
    "lake.download.null_when_off": Requirement(
        40, "A hit's url is null while downloads are not configured."
    ),
    "lake.download.signed": Requirement(
        92,
        "A link is an HS256-signed token; one whose token was changed or signed otherwise opens "
        "nothing.",
    ),
    "lake.download.originals_not_kept": Requirement(
        93,
        "The original of a crawled file is fetched from its source on demand and is in no table "
        "or cache.",
        replaced="Uploads are the one exception: no source could give them again.",
    ),
    "lake.download.short_lived": Requirement(
        95, "A link stops working about 15 minutes after it was made."
    ),
    "lake.download.carries_principal": Requirement(
        95, "A link acts for the principal it was made for, whoever opens it."
    ),
    "lake.download.rechecks_rights": Requirement(
        96,
        "A link whose principal has since lost the file answers 404 before the first byte.",
    ),
    "lake.download.delegated": Requirement(
        97,
        "The process that serves links can read no source credential; the worker fetches the "
        "bytes.",
    ),
    "lake.download.audited": Requirement(
        98, "Every download leaves an audit row with the tool files/download."
    ),
    "lake.download.three_settings": Requirement(
        99,
        "Links appear when KDBL_DOWNLOAD_SIGNING_SECRET, KDBL_API_PUBLIC_URL and "
        "KDBL_INTERNAL_FETCH_TOKEN are set.",
        replaced="In local mode the three are made at first start.",
    ),
    "lake.download.one_missing": Requirement(
        100,
        "With any one of the three settings missing, url is null and the route answers 404.",
    ),
}
