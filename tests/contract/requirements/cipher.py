"""What Cipher promises, kept by the memory and hub features and the interfaces. Data only.

Names of tools and variables are Cipher's; `cipher` the command is `pecia cipher` here.
"""

from tests.contract.requirement import Requirement

HTTP = "the MCP interface: Streamable HTTP"
SSE = "the MCP interface: SSE"
METHODS = "the MCP interface: optional methods"
LOGS = "the CLI: log level of a session"

COMPAT = "As `pecia cipher`, or as printed once the `pecia-compat` distribution adds `cipher`."
ONE_STORE = "Memories live in PostgreSQL; one line at start and in `doctor` names the store in use."
KEYLESS = "A local embedder is built in: memory works with no key at all."
ON_CONFLICT = "Only on conflict, and never built-ins; AGGREGATOR_PREFIX_ALWAYS=true prefixes all."
MODERN = "Clients of 2026-07-28 have no such method; they use what that revision put in its place."

REQUIREMENTS: dict[str, Requirement] = {
    # Setting up.
    "memory.server.any_mcp_client": Requirement(
        7, "A stock MCP client can list and call the memory and reasoning tools."
    ),
    "memory.server.shared_by_clients": Requirement(
        7, "A memory stored by one client is found by another, also after a restart."
    ),
    "memory.setup.basic_block": Requirement(
        15,
        "A client with the basic JSON block connects over stdio.",
        replaced=COMPAT,
    ),
    "memory.setup.block_env_reaches_session": Requirement(
        22, "Variables in a client's `env` are settings of that session and of no other."
    ),
    "memory.env.no_dotenv": Requirement(
        33, "A `.env` file in the folder changes no setting that `pecia config` shows."
    ),
    "memory.env.openai_key": Requirement(
        36, "`OPENAI_API_KEY` serves the OpenAI provider; no log, row or answer holds it."
    ),
    "memory.env.anthropic_key": Requirement(
        37, "`ANTHROPIC_API_KEY` serves the Anthropic provider; nothing shows it."
    ),
    "memory.env.vector_store_type": Requirement(
        38,
        "`VECTOR_STORE_TYPE` is accepted, `qdrant` and other kinds included.",
        replaced=ONE_STORE,
    ),
    "memory.env.vector_store_url": Requirement(
        39, "`VECTOR_STORE_URL` is accepted beside the type.", replaced=ONE_STORE
    ),
    "memory.env.vector_store_api_key": Requirement(
        40,
        "`VECTOR_STORE_API_KEY` is accepted as a secret and never shown.",
        replaced=ONE_STORE,
    ),
    # Transports.
    "memory.transport.stdio_default": Requirement(
        47, "`--mode mcp` without a transport speaks stdio."
    ),
    "memory.transport.stdio_block": Requirement(
        51, "The stdio block connects with one key in `env`.", replaced=COMPAT
    ),
    "memory.transport.sse_endpoint": Requirement(
        68, "`GET /sse` opens an event stream over which a client can list and call."
    ),
    "memory.transport.sse_flags": Requirement(
        72, "`--mcp-transport-type sse --mcp-port 4000` serves `/sse` on port 4000."
    ),
    "memory.transport.sse_block": Requirement(
        75, "A client configured with the URL that ends in `/sse` connects."
    ),
    "memory.transport.http_endpoint": Requirement(
        87, "`/mcp` answers requests as JSON or as a stream."
    ),
    "memory.transport.http_flags": Requirement(
        91, "`--mcp-transport-type streamable-http --mcp-port 4000` serves `/mcp` there."
    ),
    "memory.transport.http_block": Requirement(
        94, "A client configured with the URL that ends in `/mcp` connects."
    ),
    "memory.transport.get_accept": Requirement(
        105, "`GET /mcp` with `Accept: text/event-stream` opens the session's stream."
    ),
    "memory.transport.post_accept": Requirement(
        106,
        "`POST /mcp` that accepts JSON and event streams and sends JSON is answered.",
        replaced="A missing Accept header is tolerated too: simple clients send none.",
    ),
    # Server modes.
    "memory.mode.env_selects": Requirement(
        110, "`MCP_SERVER_MODE` alone decides which of two tool lists a session sees."
    ),
    "memory.mode.default_lists_only_ask": Requirement(
        114, "In default mode `tools/list` is exactly `ask_cipher`."
    ),
    "memory.mode.default_block": Requirement(
        116, "The block with `MCP_SERVER_MODE=default` shows one tool.", replaced=COMPAT
    ),
    "memory.ask.converses": Requirement(
        133,
        "`ask_cipher` with a message answers from memories, and remembers what it is told.",
    ),
    "memory.mode.aggregator_lists_all": Requirement(
        137, "In aggregator mode built-in tools and tools of upstream servers are listed."
    ),
    "memory.mode.aggregator_block": Requirement(
        139,
        "The aggregator block shows the memory tools, with prefix naming and 60 s calls.",
        replaced=COMPAT,
    ),
    "memory.mode.builtin_names": Requirement(
        158, "The built-in tools keep exactly the names of the reference, never prefixed."
    ),
    "memory.mode.aggregator_ask": Requirement(
        159,
        "Aggregator mode lists `ask_cipher`.",
        replaced="Only with USE_ASK_CIPHER=true: the table's default of false decides.",
    ),
    "memory.search.finds_stored": Requirement(
        160, "`cipher_memory_search` finds a stored memory by its meaning."
    ),
    "memory.learn.extracts_and_stores": Requirement(
        161, "`cipher_extract_and_operate_memory` stores what a search then finds."
    ),
    "memory.reasoning.stores": Requirement(
        162, "`cipher_store_reasoning_memory` stores a trace with its evaluation."
    ),
    "memory.reasoning.searches": Requirement(
        163, "`cipher_search_reasoning_patterns` finds a stored trace."
    ),
    "hub.upstream.from_agent_file": Requirement(
        164,
        "Servers under `mcpServers` in `cipher.yml` are connected; their tools work.",
        replaced="The operator names the file, by `hub.servers_file`; no folder is searched.",
    ),
    # Variables of the aggregator.
    "memory.env.server_mode": Requirement(
        172, "`MCP_SERVER_MODE` takes `default` or `aggregator`; unset, it is `default`."
    ),
    "memory.env.use_ask_cipher": Requirement(
        173,
        "`USE_ASK_CIPHER` takes `true` or `false`; unset, it is `false`.",
        replaced="Unset is a value of its own: listed in default mode, where it is the only tool.",
    ),
    "memory.ask.only_tool_with_a_model": Requirement(
        173,
        "With no model, every listed tool but `ask_cipher` and its twin answers.",
        replaced="`ask_cipher` answers too, from what search finds: a key only makes it better.",
    ),
    "memory.env.only_contact": Requirement(
        174,
        "`MCP_ONLY_CONTACT_CT_KNOWLEDGE_MANAGEMENT` takes `true` or `false`; unset, it is `false`.",
    ),
    "hub.env.conflict_resolution": Requirement(
        175, "`AGGREGATOR_CONFLICT_RESOLUTION` takes only `prefix`, `first-wins` or `error`."
    ),
    "hub.env.conflict_default": Requirement(
        175, "With nothing set, `pecia config` shows conflicts resolved by `prefix`, by default."
    ),
    "hub.env.timeout_milliseconds": Requirement(
        176, "`AGGREGATOR_TIMEOUT=300000` is 300 s in `pecia config`, which names the variable."
    ),
    "hub.env.timeout_default": Requirement(
        176, "With nothing set, `pecia config` shows 60 s for an upstream tool, by default."
    ),
    "hub.timeout.ends_the_call": Requirement(
        176, "A tool that hangs ends with a timeout error when that time is over."
    ),
    "memory.ask.disabled": Requirement(
        178, "With `USE_ASK_CIPHER=false` the tool is not listed and a call is refused."
    ),
    "memory.contact.alone": Requirement(
        178, "With the contact variable `true`, that tool is the only one, in both modes."
    ),
    "memory.contact.uses_the_model": Requirement(
        178, "`contact_ct_knowledge_management` answers a message through the model."
    ),
    "memory.embedding.needs_key": Requirement(
        178,
        "Memory and reasoning tools embed with the provider whose key is set.",
        replaced=KEYLESS,
    ),
    # Conflicts of names.
    "hub.conflict.prefix": Requirement(
        183,
        "With `prefix`, an upstream tool is `{server}__{tool}`.",
        replaced=ON_CONFLICT,
    ),
    "hub.conflict.prefixed_callable": Requirement(
        185, "`filesystem__read_file` reaches `read_file` of that server."
    ),
    "hub.conflict.first_wins": Requirement(
        191,
        "With `first-wins`, one `read_file` is listed: that of the first server.",
        replaced="First in the order of the configuration, so the speed of connecting is no race.",
    ),
    "hub.conflict.error": Requirement(
        197,
        "With `error`, two servers that share a tool name fail the start.",
        replaced="One wording, `Tool name conflict: <name>`: the reference has two.",
    ),
    # Optional methods.
    "hub.method.ping": Requirement(
        209, "Either side's `ping` is answered with an empty result.", replaced=MODERN
    ),
    "hub.method.set_logging_level": Requirement(
        210,
        "After `logging/setLevel` only messages at or above that level arrive.",
        replaced=MODERN,
    ),
    "hub.method.complete": Requirement(
        211, "`completion/complete` completes an argument of a prompt or template."
    ),
    "hub.method.subscribe": Requirement(
        212,
        "After `resources/subscribe`, a change of that resource is notified.",
        replaced=MODERN,
    ),
    "hub.method.unsubscribe": Requirement(
        212, "After `resources/unsubscribe` nothing is notified.", replaced=MODERN
    ),
    "hub.method.list_resource_templates": Requirement(
        213, "`resources/templates/list` gives our templates and those of upstreams.", METHODS
    ),
    "hub.method.list_roots": Requirement(
        214, "A tool can ask the client for its roots.", replaced=MODERN
    ),
    "hub.method.create_message": Requirement(
        215, "A tool can have the client's model write a message.", replaced=MODERN
    ),
    "hub.method.elicit_input": Requirement(
        216, "A tool can ask the person for input, and sees a refusal.", replaced=MODERN
    ),
    # Cancelling, progress, deadlines.
    "hub.cancel.stops_the_request": Requirement(
        222, "A cancelled call stops here and upstream, and gets no answer."
    ),
    "hub.progress.reaches_the_caller": Requirement(
        223, "Progress of an upstream tool reaches the caller under its own token."
    ),
    "hub.timeout.per_request": Requirement(
        224, "`timeout` of a server ends a request that is silent for so long."
    ),
    "hub.timeout.reset_on_progress": Requirement(
        224, "With `resetTimeoutOnProgress`, each progress message starts the time anew."
    ),
    "hub.timeout.max_total": Requirement(
        224, "`maxTotalTimeout` ends a request however much progress it makes."
    ),
    "hub.timeout.example": Requirement(
        228, "With 30 s, reset and 120 s in all, a call with steady progress ends at 120 s."
    ),
    # Capability checks.
    "hub.capability.of_the_upstream": Requirement(
        241, "A request that an upstream never said it serves is not sent to it."
    ),
    "hub.capability.of_the_client": Requirement(
        242, "A tool that needs a client's capability says so when the client lacks it."
    ),
    "hub.capability.of_ourselves": Requirement(
        243, "Every method that we answer is among the capabilities that we announce."
    ),
    "hub.capability.strict_off_by_default": Requirement(
        244, "Without `enforceStrictCapabilities`, such a request is logged and tried."
    ),
    "hub.capability.strict_refuses": Requirement(
        244, "With it, the request fails and names method and capability."
    ),
    "hub.options.every_method": Requirement(
        250, "Tool, prompt, resource and list requests all take the same options."
    ),
    "hub.options.aborted_request": Requirement(
        254, "A request aborted before its answer ends as CANCELLED and leaks nothing."
    ),
    # Gemini.
    "memory.gemini.converts_draft_07": Requirement(
        260, "A tool's Draft-07 schema becomes a Gemini function declaration."
    ),
    "memory.gemini.strips_meta_schema": Requirement(
        266, "`$schema`, `$id`, `$ref` and `$comment` are gone."
    ),
    "memory.gemini.strips_validation": Requirement(
        267, "`exclusiveMinimum`, `exclusiveMaximum`, `const`, `propertyNames` are gone."
    ),
    "memory.gemini.strips_array_validation": Requirement(
        268, "`additionalItems` and `contains` are gone."
    ),
    "memory.gemini.strips_object_validation": Requirement(
        269, "`patternProperties` and `dependencies` are gone."
    ),
    "memory.gemini.strips_conditionals": Requirement(270, "`if`, `then` and `else` are gone."),
    "memory.gemini.strips_composition": Requirement(
        271, "`allOf`, `anyOf`, `oneOf` and `not` are gone."
    ),
    "memory.gemini.strips_keywords_only": Requirement(
        264,
        "A property that is named `not` or `const` stays, and so does its place in `required`.",
    ),
    "memory.gemini.type_array": Requirement(
        275, "A list of types becomes its first that is not null."
    ),
    "memory.gemini.items_array": Requirement(277, "A list of item schemas becomes its first."),
    "memory.gemini.additional_boolean": Requirement(
        280, "A boolean `additionalProperties` is kept."
    ),
    "memory.gemini.additional_schema": Requirement(
        281, "A schema in `additionalProperties` is converted like any other."
    ),
    "memory.gemini.additional_other": Requirement(
        282, "Any other `additionalProperties` becomes `true`."
    ),
    "memory.gemini.depth_ten": Requirement(
        286, "A schema nested 10 deep is converted; what lies deeper is a bare object."
    ),
    "memory.gemini.failure_falls_back": Requirement(
        287, "A schema that cannot be converted goes out in OpenAI form; others convert."
    ),
    "memory.gemini.flat_schema_unchanged": Requirement(
        291, "A flat schema without listed keywords comes through unchanged."
    ),
    "memory.gemini.warnings_logged": Requirement(
        294, "Each fallback and each cut at the depth limit is a warning in the log."
    ),
    # Clients.
    "memory.client.claude_desktop_macos": Requirement(
        302, "`pecia init` knows Claude Desktop's file on macOS."
    ),
    "memory.client.claude_desktop_windows": Requirement(
        303,
        "`pecia init` knows Claude Desktop's file on Windows.",
        replaced="From WSL the guide names the file; Windows itself is not supported.",
    ),
    "memory.client.claude_desktop_block": Requirement(
        305, "The Claude Desktop block, store variables included, connects.", replaced=COMPAT
    ),
    "memory.client.cursor_url_is_sse": Requirement(
        326, "A client that speaks only SSE works from a URL entry."
    ),
    "memory.client.windsurf_block": Requirement(
        340, "The Windsurf block connects with workspace memory on.", replaced=COMPAT
    ),
    "memory.client.claude_code_block": Requirement(
        360, "The Claude Code block connects in aggregator mode.", replaced=COMPAT
    ),
    # Workspace memory and several instances.
    "memory.workspace.block": Requirement(
        382, "The workspace block connects, and team memory works in it.", replaced=COMPAT
    ),
    "memory.workspace.shared_by_team": Requirement(
        380, "What one team member stores in workspace memory, another finds."
    ),
    "memory.workspace.switched_on": Requirement(
        391, "With `USE_WORKSPACE_MEMORY=true` the workspace tools are listed; else not."
    ),
    "memory.workspace.own_collection": Requirement(
        392, "`WORKSPACE_VECTOR_STORE_COLLECTION` names where team memories are, apart."
    ),
    "memory.workspace.default_memory_kept": Requirement(
        393, "With `DISABLE_DEFAULT_MEMORY=false` both kinds of memory work."
    ),
    "memory.workspace.default_memory_off": Requirement(
        393, "With `DISABLE_DEFAULT_MEMORY=true` only workspace memory works."
    ),
    "memory.instances.agent_file": Requirement(
        410, "`--agent FILE` gives a session its own servers and model settings."
    ),
    "memory.instances.own_collection": Requirement(
        413, "Sessions with different `VECTOR_STORE_COLLECTION` never see each other's."
    ),
    "memory.instances.side_by_side": Requirement(
        404, "Two shims with different variables on one server each keep their own."
    ),
    "hub.timeout.flag": Requirement(
        439, "`--timeout 300000` gives the calls of that session 300 s."
    ),
    "hub.timeout.heavy_block": Requirement(
        433, "The block for long operations connects, with 300 s a call.", replaced=COMPAT
    ),
    # The hub example.
    "hub.example.tools_side_by_side": Requirement(
        453, "File tools of an upstream and memory tools are in one list."
    ),
    "hub.example.conflict_shown": Requirement(
        454, "The example has a conflict, and both tools can be called."
    ),
    "hub.example.namespaces": Requirement(
        455, "Each upstream's prefix is its name in the configuration."
    ),
    "hub.example.many_servers": Requirement(
        456, "One server that fails leaves the tools of the others in place."
    ),
    # Troubleshooting.
    "memory.trouble.tool_not_found": Requirement(
        465, "In default mode a memory tool gives `Tool 'cipher_memory_search' not found`."
    ),
    "memory.trouble.hint_aggregator": Requirement(
        468, "That error says to set `MCP_SERVER_MODE=aggregator`; doing so helps."
    ),
    "memory.trouble.connection_refused": Requirement(
        473,
        "A shim that reaches no server says so on stderr and exits 1.",
        replaced="`Failed to connect to Pecia MCP server: <reason>`: our name, and the reason.",
    ),
    "memory.trouble.install_command": Requirement(
        477,
        "The guide's install command gives a working command.",
        replaced="It is a Python package: no npm.",
    ),
    "memory.trouble.variables_checked": Requirement(
        478, "`pecia config` in the shell of the client shows which variables arrived."
    ),
    "memory.trouble.command_path": Requirement(
        479, "The guide says how to find the path that a client's `command` needs."
    ),
    "memory.trouble.key_not_found": Requirement(
        483,
        "A configured provider without its key fails with `OPENAI_API_KEY not found`.",
        replaced="Only when that provider is used: the server starts without any key.",
    ),
    "memory.trouble.key_exported": Requirement(
        487, "With the variable exported before the client starts, the call works."
    ),
    "hub.trouble.conflict_message": Requirement(
        494, "The error is `Tool name conflict: read_file` and names both servers."
    ),
    "hub.trouble.conflict_solved": Requirement(
        497, "The same servers start with `prefix` and with `first-wins`."
    ),
    # Debugging.
    "memory.debug.block": Requirement(
        503, "The debug block connects and logs at debug level.", replaced=COMPAT
    ),
    "memory.debug.debug_variable": Requirement(
        512, "`DEBUG=cipher:*` is debug level in `pecia config`; another program's is ignored."
    ),
    "memory.debug.log_level_variable": Requirement(
        513, "`MCP_LOG_LEVEL=debug` is debug level in `pecia config`, which names it."
    ),
    "memory.debug.stderr_only": Requirement(
        513, "At debug level stdout of a stdio session still carries protocol only."
    ),
    "memory.debug.manual_start": Requirement(
        527, "`pecia cipher --mode mcp` in a terminal waits for frames on stdin."
    ),
    "memory.debug.inspector": Requirement(
        530, "The MCP inspector lists and calls through that command."
    ),
    # Known servers, related pages.
    "hub.upstream.sse_url": Requirement(
        535,
        "An upstream given as an SSE URL with a path is connected.",
        replaced="The addresses are somebody's private network: none of them is built in.",
    ),
    "hub.upstream.nested_prefix": Requirement(
        536, "A tool that an upstream hub already prefixed keeps its name below ours."
    ),
    "hub.upstream.authentication": Requirement(
        542, "An upstream that wants a bearer token gets its own, never the caller's."
    ),
    "memory.docs.related_pages": Requirement(
        546, "The docs have pages on commands, settings, examples and workspace memory."
    ),
}
