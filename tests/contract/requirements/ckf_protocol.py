"""What the CKF reference promises of its endpoint: transport, clients, error codes and versions."""

from tests.contract.requirement import Requirement

REQUIREMENTS: dict[str, Requirement] = {
    "ckf.server.one_endpoint": Requirement(
        3,
        "Compiler, parser, validator, post search and viewer answer on one and the same URL.",
    ),
    "ckf.server.post_json_rpc": Requirement(
        5,
        "A JSON-RPC 2.0 request POSTed to the endpoint is answered with the same id.",
    ),
    "ckf.server.no_handshake": Requirement(
        5, "A bare POST, with no initialize, session or SDK before it, is answered."
    ),
    "ckf.server.api_mcp_path": Requirement(
        6, "POST /api/mcp lists and runs the same tools as /mcp/ckf."
    ),
    "ckf.server.public_toolsets": Requirement(
        6,
        "A caller without a token lists the tools and runs ckf.compile.",
        replaced=(
            "A server is closed until its operator sets PECIA_PUBLIC_ROOMS=ckf; a local install "
            "needs no token."
        ),
    ),
    "ckf.server.curl_tools_list": Requirement(
        11,
        "The documented curl line for tools/list, sent with curl's own headers, lists the ten "
        "tools.",
    ),
    "ckf.server.curl_compile": Requirement(
        14,
        "The documented curl line for ckf.compile gives a Markdown package of its two sentences.",
    ),
    "ckf.server.anonymous_read_tools": Requirement(
        56,
        "Each read tool and ckf.compile run without a token where the feature is public.",
    ),
    "ckf.server.limited_per_address": Requirement(
        56,
        "Anonymous callers are counted by address: past the hourly limit RATE_LIMITED, others go "
        "on.",
    ),
    "ckf.tools.all_ten": Requirement(
        57,
        "tools/list of the ckf endpoint names the ten documented tools, as they are documented.",
    ),
    "ckf.client.openai_agents": Requirement(
        3, "The OpenAI Agents SDK lists the ckf tools and runs one from the URL alone."
    ),
    "ckf.client.claude_desktop_paths": Requirement(
        27, "The guide gives the place of Claude Desktop's config file on macOS and on Windows."
    ),
    "ckf.client.claude_desktop": Requirement(
        28,
        "The documented Claude Desktop entry, with our URL, is all that a client needs to list "
        "the tools.",
    ),
    "ckf.client.search_then_fetch": Requirement(
        34,
        'Searching for "agentic AI", fetching the top post and reading its rules works in three '
        "calls.",
    ),
    "ckf.client.windsurf": Requirement(
        36,
        "The documented entry in Windsurf's settings file, with our URL, connects and lists the "
        "tools.",
    ),
    "ckf.client.cursor": Requirement(
        37,
        "The documented entry in ~/.cursor/mcp.json, with our URL, connects and lists the tools.",
    ),
    "ckf.client.ai_sdk_connects": Requirement(
        43, "createMCPClient with transport http and our URL connects."
    ),
    "ckf.client.ai_sdk_tools": Requirement(
        48, "tools() of the AI SDK client returns every ckf tool in a form that streamText takes."
    ),
    "ckf.client.ai_sdk_runs_tools": Requirement(
        49, "A streamText run whose model calls search, then fetch, receives both results."
    ),
    "ckf.client.ai_sdk_closes": Requirement(
        55, "close() of the AI SDK client ends without an error on either side."
    ),
    "ckf.client.custom_gpt": Requirement(
        146,
        "A custom GPT can call ckf.search_posts and ckf.fetch_post by the published OpenAPI "
        "document.",
    ),
    "ckf.errors.envelope": Requirement(
        88,
        "A protocol failure is a JSON-RPC error with a number in error.code and the name in "
        "error.data.code.",
    ),
    "ckf.errors.tool_result": Requirement(
        88,
        "A failure inside a tool is a result with isError true and structuredContent.error.",
    ),
    "ckf.errors.same_fields": Requirement(
        88,
        "Both shapes carry code, retryable and the same facts, so one reader serves both.",
    ),
    "ckf.errors.unknown_tool_example": Requirement(
        89,
        "A call of ckf.unknown gives the documented envelope: message, tool and available names.",
        replaced=(
            "Clients of the 2026-07-28 revision get -32602, as it demands; error.data is the same."
        ),
    ),
    "ckf.errors.too_short_example": Requirement(
        104,
        "ckf.compile with five characters gives the documented result, word for word and field "
        "for field.",
    ),
    "ckf.errors.text_block": Requirement(
        110,
        "The text block of a failed call is the code in brackets, then the message.",
    ),
    "ckf.errors.numbers_on_the_wire": Requirement(
        123,
        "Each code reaches the client with its documented JSON-RPC number.",
        replaced=(
            "So it is for the older revisions; that of 2026-07-28 reserves the range, so ours "
            "move by a thousand."
        ),
    ),
    "ckf.errors.parse_error": Requirement(
        125, "A body that is not JSON is PARSE_ERROR (-32700), not retryable."
    ),
    "ckf.errors.invalid_request": Requirement(
        126,
        "A body without jsonrpc or method is INVALID_REQUEST (-32600), not retryable.",
    ),
    "ckf.errors.method_not_found": Requirement(
        127, "An unknown RPC method is METHOD_NOT_FOUND (-32601), not retryable."
    ),
    "ckf.errors.tool_not_found": Requirement(
        128, "A call of a tool that does not exist is TOOL_NOT_FOUND (-32601), not retryable."
    ),
    "ckf.errors.missing_field": Requirement(
        129,
        "An absent required argument is MISSING_FIELD (-32602), not retryable, and `field` names "
        "it.",
    ),
    "ckf.errors.invalid_input": Requirement(
        130,
        "A value of the wrong type is INVALID_INPUT (-32602), not retryable, with expected and "
        "got.",
    ),
    "ckf.errors.invalid_enum": Requirement(
        131,
        "A value outside a closed set is INVALID_ENUM (-32602), not retryable, and `allowed` "
        "lists the set.",
    ),
    "ckf.errors.invalid_format": Requirement(
        132, "A string that misses its pattern is INVALID_FORMAT (-32602), not retryable."
    ),
    "ckf.errors.out_of_range": Requirement(
        133,
        "A string that is too short is OUT_OF_RANGE (-32602), not retryable, with min and length.",
    ),
    "ckf.errors.payload_too_large": Requirement(
        134, "A string over its maximum is PAYLOAD_TOO_LARGE (-32005), not retryable, with max."
    ),
    "ckf.errors.auth_required": Requirement(
        135, "A call that needs a token and has none is AUTH_REQUIRED (-32001), not retryable."
    ),
    "ckf.errors.forbidden": Requirement(
        136, "A known caller without the right is FORBIDDEN (-32002), not retryable."
    ),
    "ckf.errors.rate_limited": Requirement(
        137,
        "A call over the limit is RATE_LIMITED (-32003), retryable, and passes after "
        "retry_after_seconds.",
    ),
    "ckf.errors.not_found": Requirement(
        138, "What does not exist, or not for this caller, is NOT_FOUND (-32004), not retryable."
    ),
    "ckf.errors.upstream_error": Requirement(
        139, "A failing database or provider is UPSTREAM_ERROR (-32006), retryable."
    ),
    "ckf.errors.unprocessable": Requirement(
        140,
        "Well-formed arguments that cannot be used as a whole are UNPROCESSABLE (-32007), not "
        "retryable.",
    ),
    "ckf.errors.internal_error": Requirement(
        141,
        "An unexpected fault is INTERNAL_ERROR (-32603), retryable, and its message tells nothing "
        "of the inside.",
    ),
    "ckf.errors.says_what_to_mend": Requirement(
        142, "Every error that is not retryable carries a field or a hint that says what to change."
    ),
    "ckf.version.protocol": Requirement(
        151, "initialize with revision 2025-03-26 is answered with that revision."
    ),
    "ckf.version.batch": Requirement(
        151,
        "A batch of requests, as that revision allows, is answered with a batch.",
    ),
    "ckf.version.post_only": Requirement(151, "GET on the ckf endpoint is answered with 405."),
    "ckf.version.server_name": Requirement(
        151,
        "initialize on the ckf endpoint names ckf-mcp-server 0.2.0.",
        replaced="Our own name and version stand in _meta.",
    ),
    "ckf.version.schema": Requirement(
        151,
        "Packages follow CKF v0.2, and a package of an older protocol string is still read.",
    ),
    "ckf.version.namespace": Requirement(
        151, 'Every tool that the ckf endpoint lists begins with "ckf.".'
    ),
    "ckf.version.stable_contract": Requirement(
        151,
        "No argument or output field of the ten tools disappears or changes type between releases.",
    ),
}
