"""What Open Knowledge promises, kept by the wiki feature and the interfaces. Data only.

`.ok/` in the reference is `.pecia/` here, and `ok` is `pecia`.
"""

from tests.contract.requirement import Requirement

PANES = "the web interface: editor"

NO_APP = (
    "There is no desktop app: the first `pecia start` on a terminal, or the first-run page, asks."
)
OWN_HISTORY = (
    "History is a git repository under `.pecia/`, so the user's own `.git` is never touched."
)

REQUIREMENTS: dict[str, Requirement] = {
    # Startup and connection.
    "wiki.server.mcp_endpoint": Requirement(
        8,
        "The running server answers MCP over HTTP with the wiki tools.",
        replaced="`/mcp/wiki` serves them; `/mcp` is the front desk unless PECIA_MCP_ROOT=wiki.",
    ),
    "wiki.shim.speaks_stdio": Requirement(
        8, "An editor that launches `pecia mcp` can initialize, list and call over stdio."
    ),
    "wiki.lock.read_at_startup": Requirement(
        12, "`pecia mcp` finds the port of the running server in `.pecia/server.lock`."
    ),
    "wiki.spawn.absent_lock": Requirement(
        12, "With no lock file, `pecia mcp` starts a server as a process of its own."
    ),
    "wiki.spawn.stale_lock": Requirement(
        12, "A lock whose owner is dead counts as absent: a new server is started."
    ),
    "wiki.spawn.five_second_deadline": Requirement(
        12, "The shim gives up when the lock shows no port above 0 within 5 s."
    ),
    "wiki.shim.proxies_to_lock_port": Requirement(
        16, "With a live lock, frames go to `http://localhost:PORT/mcp` of that port."
    ),
    "wiki.server.owns_the_runtime": Requirement(
        17, "Two shims on one server see one registry, one identity table and one document."
    ),
    "wiki.live.agents_and_people_coedit": Requirement(
        18, "An agent's edit and a person's typing in one document at one time both survive."
    ),
    "wiki.spawn.stderr_to_log": Requirement(
        20, "The started server's stderr is in `.pecia/last-spawn-error.log`."
    ),
    "wiki.spawn.proxies_when_port_known": Requirement(
        20, "Frames sent before the port is known are forwarded once it is, in order."
    ),
    "wiki.spawn.first_call_answers": Requirement(
        22, "With nothing running, the first tool call of an editor is answered."
    ),
    "wiki.spawn.server_outlives_shim": Requirement(
        23, "Closing the shim that started the server leaves other editors' calls working."
    ),
    "wiki.spawn.failure_shows_stderr": Requirement(
        24, "A failed start answers the editor with the captured text, such as EADDRINUSE."
    ),
    "wiki.git.auto_init": Requirement(
        25,
        "A project under no git repository gets one when its server starts.",
        replaced="Only with `git.autoInit: true`; the default is false, since it is a surprise.",
    ),
    "wiki.git.default_branch_main": Requirement(
        25, "The repository made for a project has `main` as its branch."
    ),
    "wiki.git.before_binding": Requirement(
        25, "The repository exists before the server's port is in the lock."
    ),
    "wiki.git.parent_kept": Requirement(
        25, "A project inside an existing repository gets no second one."
    ),
    "wiki.git.through_the_shim": Requirement(
        25,
        "`pecia mcp` in a folder without a repository makes one through the server it starts.",
        replaced="Outside a project it serves the home space. Without one, calls at a running "
        "server name their space; with no server it exits 1 and says how to begin.",
    ),
    "wiki.git.disclosure_line": Requirement(
        25, "Making a repository prints one line that says so in the server's stderr log."
    ),
    "wiki.autostart.env_zero_is_off": Requirement(
        25, "`OK_MCP_AUTOSTART=0` turns auto-start off, and `pecia config` names it as the reason."
    ),
    "wiki.autostart.config_is_off": Requirement(
        25, "`mcp.autoStart: false` in the project file is auto-start off in `pecia config`."
    ),
    "wiki.autostart.off_suppresses_both": Requirement(
        25, "With auto-start off, `pecia mcp` starts no server and makes no repository."
    ),
    "wiki.autostart.off_exits_with_diagnostic": Requirement(
        29, "Off, and nothing running: stderr says that the server is not running."
    ),
    "wiki.autostart.diagnostic_names_ways_out": Requirement(
        30, "The diagnostic names `pecia start` and how to turn auto-start on again."
    ),
    "wiki.server.single_implementation": Requirement(
        31,
        "`pecia mcp` never answers a tool call itself: without a server it exits.",
        replaced="`pecia call wiki.TOOL` answers the tools marked Both or Always from disk.",
    ),
    # Which endpoint.
    "wiki.endpoint.port_flag": Requirement(
        37, "`pecia mcp --port N --host H` proxies to `http://H:N/mcp`, whatever the lock."
    ),
    "wiki.endpoint.port_flag_zero": Requirement(
        37, "`--port 0` overrides nothing: the lock decides."
    ),
    "wiki.endpoint.live_lock_beats_opt_out": Requirement(
        38, "A live lock is used even when auto-start is off."
    ),
    "wiki.endpoint.lock_port_zero": Requirement(
        38, "A live lock with port 0 is a server still starting: the shim waits for it."
    ),
    "wiki.autostart.on_by_default": Requirement(
        39, "With nothing set, `pecia config` shows auto-start on, by default."
    ),
    "wiki.endpoint.opt_out_exits_one": Requirement(
        40, "No live lock and auto-start off: `pecia mcp` exits with status 1."
    ),
    "wiki.lock.dead_pid_cleaned": Requirement(
        42, "Reading a lock of this host whose process is gone removes the file."
    ),
    "wiki.lock.corrupt_cleaned": Requirement(42, "Reading a lock that is no JSON removes it."),
    "wiki.autostart.env_beats_config": Requirement(
        42, "`OK_MCP_AUTOSTART=0` beats auto-start on in the project file; `pecia config` says so."
    ),
    # Tools.
    "wiki.tools.full_set": Requirement(
        46, "`tools/list` on `/mcp/wiki` gives exactly the 25 names of the reference."
    ),
    "wiki.mode.both_without_server": Requirement(
        48, "A tool marked Both answers through `pecia call` with no server running."
    ),
    "wiki.mode.connected_needs_server": Requirement(
        48, "A tool marked Connected exits 1 with the diagnostic when no server runs."
    ),
    "wiki.init_content.guides_bootstrap": Requirement(
        49, "`init-content` returns steps from reading a codebase to linked articles."
    ),
    "wiki.ingest.takes_url_or_file": Requirement(
        50, "`ingest` with a URL or a path returns steps that keep it as raw reference."
    ),
    "wiki.research.provisional_findings": Requirement(
        51, "`research` returns steps that gather sources and end in a provisional article."
    ),
    "wiki.consolidate.canonical_article": Requirement(
        52, "`consolidate` returns steps that turn research into a canonical article."
    ),
    "wiki.read.enriched_frontmatter": Requirement(
        53, "`read_document` gives title, description and tags with folder rules applied."
    ),
    "wiki.read.history": Requirement(
        53,
        "`read_document` gives the document's latest versions with their writers.",
        replaced=OWN_HISTORY,
    ),
    "wiki.search.document_contents": Requirement(
        54, "`search` finds a literal phrase in any document and gives file, line and text."
    ),
    "wiki.exec.ten_commands": Requirement(
        55, "`exec` runs cat, ls, grep, find, head, tail, wc, sort, uniq and cut, piped."
    ),
    "wiki.exec.refuses_other_commands": Requirement(
        55, "`exec` refuses any command outside the ten, by category."
    ),
    "wiki.exec.read_only": Requirement(
        55,
        "`exec` refuses redirections, writing flags and shell constructs; no byte changes.",
    ),
    "wiki.list.all_documents": Requirement(
        56, "`list_documents` lists every document that the caller may see."
    ),
    "wiki.graph.backlinks": Requirement(
        57, "`get_backlinks` lists every document that links to the one named."
    ),
    "wiki.graph.forward_links": Requirement(
        57, "`get_forward_links` lists every document and URL that the one named links to."
    ),
    "wiki.graph.hubs": Requirement(
        58, "`get_hubs` ranks documents by the number of documents that link to them."
    ),
    "wiki.graph.orphans": Requirement(
        58, "`get_orphans` lists the documents that nothing links to and that link nowhere."
    ),
    "wiki.graph.dead_links": Requirement(
        58, "`get_dead_links` lists link targets that no document answers, with sources."
    ),
    "wiki.graph.suggest_links": Requirement(
        59, "`suggest_links` lists unlinked mentions of a page's title in other pages."
    ),
    "wiki.mode.always_without_server": Requirement(
        72, "The three config tools read and write the YAML files with no server running."
    ),
    "wiki.config.reaches_open_panes": Requirement(
        72, "A config write reaches an open settings pane within about 500 ms.", PANES
    ),
    "wiki.preview.every_document_tool": Requirement(
        74, "Each of the 23 tools that name a document gives a preview URL in its result."
    ),
    "wiki.preview.list_rows": Requirement(
        74, "Lists give `previewUrl` per row and one top-level `ui: {baseUrl, port}`."
    ),
    "wiki.preview.folder_rename_map": Requirement(
        74, "`rename_folder` gives `previewUrls`, keyed by the new name of every document."
    ),
    "wiki.preview.deleted_document": Requirement(
        74, "`delete_document` gives `previousPreviewUrl` and no `previewUrl`."
    ),
    "wiki.flow.instructions_only": Requirement(
        76, "The four workflow tools return text and change no file, document or history."
    ),
    # Writing.
    "wiki.write.whole_document": Requirement(
        63, "`write_document` replaces a whole document, frontmatter included."
    ),
    "wiki.write.through_the_live_document": Requirement(
        63, "A written text reaches open editors as an edit, keeping their cursors."
    ),
    "wiki.edit.find_and_replace": Requirement(
        64, "`edit_document` replaces an exact text in the body through the live document."
    ),
    "wiki.delete.closes_sessions": Requirement(
        65, "`delete_document` ends agent sessions and sockets open on the document."
    ),
    "wiki.delete.unloads": Requirement(
        65,
        "A deleted document is no longer live: a late edit cannot bring it back.",
        replaced="The live document is ours; there is no Hocuspocus to unload it from.",
    ),
    "wiki.delete.removes_file": Requirement(65, "The file is gone from disk."),
    "wiki.rename.document": Requirement(
        66, "`rename_document` moves the file and rewrites every link to it."
    ),
    "wiki.rename.folder": Requirement(
        67, "`rename_folder` moves every document below and rewrites all links in one call."
    ),
    "wiki.history.rollback": Requirement(
        68, "`rollback_to_version` gives a document the bytes it had at a version."
    ),
    "wiki.history.timeline": Requirement(
        69, "`get_history` lists a document's versions, newest first."
    ),
    "wiki.history.save_version": Requirement(
        70,
        "`save_version` makes a checkpoint of the whole space that can be named.",
        replaced="In our history alone; the user's repository only with `commit: true`.",
    ),
    "wiki.frontmatter.one_text": Requirement(
        80, 'Frontmatter is part of `Y.Text("source")`: its text is the file, byte for byte.'
    ),
    "wiki.frontmatter.by_write_document": Requirement(
        80, "An agent changes frontmatter by writing the document with its `---` block."
    ),
    "wiki.frontmatter.property_panel": Requirement(
        80, "A change in the property panel is an edit of the same frontmatter text.", PANES
    ),
    "wiki.frontmatter.edits_merge": Requirement(
        80, "Frontmatter edits of an agent and a person merge character by character."
    ),
    "wiki.edit.frontmatter_rejected": Requirement(
        82, "A find that touches the frontmatter is refused (HTTP 400); nothing changes."
    ),
    "wiki.edit.hint_names_write_document": Requirement(
        82, "That refusal carries a hint that names `write_document`."
    ),
    "wiki.edit.body_and_frontmatter_in_turn": Requirement(
        82, "A body edit, then a write of new frontmatter: the document holds both."
    ),
    # Summaries.
    "wiki.summary.five_tools": Requirement(
        86, "Write, edit, both renames and rollback take an optional `summary` string."
    ),
    "wiki.summary.kept_per_contributor": Requirement(
        86, "A summary is in the history under its contributor."
    ),
    "wiki.summary.timeline_bullets": Requirement(
        86, "The document's timeline shows each summary as a bullet on its row.", PANES
    ),
    "wiki.summary.cut_at_80": Requirement(
        88,
        "A summary over 80 characters is stored cut, with a suffix that shows it.",
        replaced="79 characters and `…`: the 49 of the reference contradicts its own cap of 80.",
    ),
    "wiki.summary.input_bound_200": Requirement(
        88, "A summary over 200 characters is refused by the schema."
    ),
    "wiki.summary.truncated_from": Requirement(
        88, "A cut summary is answered with `truncatedFrom`, the length that came."
    ),
    "wiki.summary.blank_is_absent": Requirement(89, "A blank summary counts as none."),
    "wiki.summary.rename_default": Requirement(
        89, "Without one, `rename_document` records `Renamed <from> → <to>`."
    ),
    "wiki.summary.rollback_default": Requirement(
        89, "Without one, `rollback_to_version` records `Restored to <short sha>`."
    ),
    "wiki.summary.no_default_elsewhere": Requirement(
        89, "Without one, write, edit and `rename_folder` leave a row with no bullet."
    ),
    "wiki.summary.folder_shares_one": Requirement(
        89, "A summary of `rename_folder` is on the entry of every document it moved."
    ),
    "wiki.attribution.agent": Requirement(
        90, "A call with an agent's identity is recorded as `agent-<id>`."
    ),
    "wiki.attribution.person": Requirement(
        90, "A rename or rollback from the editor is recorded as `principal-<uuid>`."
    ),
    "wiki.summary.warns_of_secrets": Requirement(
        91, "The description of `summary` says that it is kept in history: no secrets."
    ),
    # Config tools.
    "wiki.config.two_files": Requirement(
        95,
        "Config tools work on `.pecia/config.yml` and, for the user, `~/.pecia/config.yml`.",
        replaced="On a server of many users, the user's scope is a record per principal.",
    ),
    "wiki.config.cwd_picks_project": Requirement(
        95, "`cwd` picks the project; one that is not a known project is refused."
    ),
    "wiki.config.round_trip": Requirement(
        95, "A config write keeps the file's comments, blank lines and anchors."
    ),
    "wiki.config.precedence": Requirement(
        60, "The project file beats the user file beats the default; `pecia config` names each."
    ),
    "wiki.get_config.merged": Requirement(
        99, "`get_config` without a path gives the whole config as merged."
    ),
    "wiki.get_config.sub_path": Requirement(
        102, '`get_config` with `["folders"]` or `["mcp", "tools"]` gives that part.'
    ),
    "wiki.get_config.read_only": Requirement(
        105, "`get_config` is marked read-only and idempotent."
    ),
    "wiki.get_config.every_field": Requirement(
        105, "`get_config` reads any field, settable by an agent or not."
    ),
    "wiki.get_config.value": Requirement(
        105,
        "`get_config` answers `structuredContent: {value}`.",
        replaced="A superset: `{value, exists, path}`, read anew on every call.",
    ),
    "wiki.set_config.deep_partial": Requirement(
        109, "`set_config` changes the named leaves and leaves their siblings alone."
    ),
    "wiki.set_config.null_clears": Requirement(
        109, "`null` at a leaf removes the key from the file."
    ),
    "wiki.set_config.arrays_replace": Requirement(
        109, "An array in the patch replaces the whole array."
    ),
    "wiki.set_config.allows_folders": Requirement(113, "An agent may replace `folders`."),
    "wiki.set_config.allows_max_results": Requirement(
        114, "An agent may set `mcp.tools.search.maxResults`, and `search` then obeys."
    ),
    "wiki.set_config.allows_history_depth": Requirement(
        115, "An agent may set `mcp.tools.read_document.historyDepth`; reads then obey."
    ),
    "wiki.set_config.refuses_the_rest": Requirement(
        117, "`set_config` on any other leaf changes nothing and says NOT_AGENT_SETTABLE."
    ),
    "wiki.config.not_agent_settable_code": Requirement(
        117, "NOT_AGENT_SETTABLE is in the error table; every interface renders it with `field`."
    ),
    "wiki.config.content_scope_by_okignore": Requirement(
        117, "`.okignore` decides which files are documents; `set_config` cannot."
    ),
    "wiki.set_config.no_scope_argument": Requirement(
        119, "`set_config` takes no scope: an argument of that name is refused."
    ),
    "wiki.set_config.scope_ladder": Requirement(
        119,
        "A leaf lands in the file that has it, project first, else in its default scope.",
    ),
    "wiki.set_config.mixed_scope": Requirement(
        119, "A patch whose leaves land in both files changes none and says MIXED_SCOPE."
    ),
    "wiki.config.mixed_scope_code": Requirement(
        119, "MIXED_SCOPE is in the error table; every interface renders it with `field`."
    ),
    "wiki.set_config.validates_first": Requirement(
        121, "A patch that makes the merged config invalid leaves both files as they were."
    ),
    "wiki.set_config.error_shape": Requirement(
        121, "A refused patch answers `{ok: false, error: {code}}`."
    ),
    "wiki.set_config.error_codes": Requirement(
        121,
        "`code` is YAML_PARSE, SCHEMA_INVALID, SCOPE_VIOLATION, NOT_AGENT_SETTABLE, MIXED_SCOPE, "
        "WRITE_ERROR or UNKNOWN, each reachable.",
        replaced="REMOVED_KEY is added, for keys that older files may still hold.",
    ),
    "wiki.set_config.error_text": Requirement(
        121, "The text block of a refusal says what was wrong and how to retry."
    ),
    "wiki.set_config.success_shape": Requirement(
        121,
        "An applied patch answers `{applied, scope, current}`, `current` being the merged config.",
        replaced="The same fields also under `result`, where clients of the product look.",
    ),
    # Folder rules.
    "wiki.rules.upsert": Requirement(
        125, "`set_folder_rule` adds or replaces rules by `match` and keeps all others."
    ),
    "wiki.rules.example": Requirement(
        127, "The reference's call with two rules leaves both, with their tags, in force."
    ),
    "wiki.rules.always_an_array": Requirement(
        134, "`rules` that is one object instead of an array is refused."
    ),
    "wiki.rules.entry_shape": Requirement(
        134, "An entry takes `match`, `frontmatter` and optional `new_match`, nothing else."
    ),
    "wiki.rules.new_match_renames": Requirement(
        134, "`new_match` renames the rule that has `match`, in its place."
    ),
    "wiki.rules.all_or_nothing": Requirement(
        134, "One bad rule in the array and the file is unchanged."
    ),
    "wiki.rules.removal_by_set_config": Requirement(
        134, "A rule is removed by `set_config` with the array without it."
    ),
    # Preview links.
    "wiki.preview.opens_the_document": Requirement(
        138, "Opening `previewUrl` shows the document that the tool touched."
    ),
    "wiki.preview.single_top_level": Requirement(
        138, "A tool on one document gives `previewUrl` at the top of its result."
    ),
    "wiki.preview.null_when_unreachable": Requirement(
        138, "With no page to point at, `previewUrl` is null and the rest is complete."
    ),
    "wiki.preview.desktop_scheme_first": Requirement(
        142,
        "`OK_ELECTRON_PROTOCOL_HOST=1` gives `openknowledge://open?project=…&doc=…` links.",
    ),
    "wiki.preview.env_second": Requirement(
        143,
        "Else `OPEN_KNOWLEDGE_PREVIEW_BASE_URL` is the base, before any lock or config.",
    ),
    "wiki.preview.ui_lock_third": Requirement(144, "Else the port in `.pecia/ui.lock` is used."),
    "wiki.preview.config_last": Requirement(
        145, "Else `preview.baseUrl` of the space's config is used."
    ),
    "wiki.preview.not_server_lock": Requirement(
        147, "A `server.lock` without a `ui.lock` gives no preview URL."
    ),
    # Wiring the editors.
    "wiki.wiring.lists_detected_editors": Requirement(
        149, "The first run lists those of the six editors found here.", replaced=NO_APP
    ),
    "wiki.wiring.preselected": Requirement(
        149, "Every editor found is preselected.", replaced=NO_APP
    ),
    "wiki.wiring.add_writes_user_entries": Requirement(
        149, "Add writes an entry in the user-level file of each chosen editor."
    ),
    "wiki.wiring.skip_writes_nothing": Requirement(149, "Skip changes no editor's file."),
    "wiki.wiring.once_per_user": Requirement(
        151, "The question is asked once per user of a machine, not per project."
    ),
    "wiki.wiring.entry_shape": Requirement(
        155, 'An entry is `{command: <cliPath>, args: ["mcp"]}`.'
    ),
    "wiki.wiring.owned_symlink_first": Requirement(
        157, "`cliPath` is a symlink on the path when it leads into this installation."
    ),
    "wiki.wiring.absolute_path_else": Requirement(
        158, "Otherwise `cliPath` is the absolute path of our own script."
    ),
    "wiki.wiring.cli_origin_shape": Requirement(
        160,
        "An entry written from the terminal starts the server with the package's own runner.",
        replaced="One shape for both origins, `cliPath`: there is no npx in a Python install.",
    ),
    "wiki.wiring.marker_configured": Requirement(
        164, "`mcp-status.json` then holds `configured`, `configuredAt`, `editors`, `cliPath`."
    ),
    "wiki.wiring.marker_skipped": Requirement(
        173, "After Skip the marker holds `configured: false` and `skippedAt`."
    ),
    "wiki.wiring.marker_stops_the_question": Requirement(
        173, "Either marker keeps every later start from asking."
    ),
    "wiki.wiring.deleting_marker_asks_again": Requirement(
        177, "Without the marker the next start asks, with editors detected anew."
    ),
    "wiki.wiring.custom_entry_kept": Requirement(
        181, "An entry that is not a shape of ours is kept and reported as custom."
    ),
    "wiki.wiring.reset_by_hand": Requirement(
        181,
        "With the custom entry and the marker removed, the next run writes ours.",
        replaced="`pecia init --force` does it in one step; `open-knowledge` keys stay untouched.",
    ),
    "wiki.wiring.both_paths_coexist": Requirement(
        185, "After `pecia init` and the first-run question an editor has one entry of ours."
    ),
    # Transport.
    "wiki.shim.launch_command": Requirement(
        191,
        "The command of the reference starts the shim.",
        replaced="`pecia mcp --toolset wiki`, or `ok mcp` from the `pecia-compat` distribution.",
    ),
    "wiki.shim.stdout_is_protocol": Requirement(
        193, "The shim's stdout carries JSON-RPC and nothing else."
    ),
    "wiki.shim.stderr_is_diagnostics": Requirement(193, "Diagnostics are on stderr."),
    "wiki.shim.each_frame_forwarded": Requirement(
        193, "Each frame, notifications included, reaches the server's Streamable HTTP."
    ),
    "wiki.shim.registers_no_tools": Requirement(
        193, "A tool added to the running server is listed by a shim that was there before."
    ),
    # Catalogs and clients.
    "wiki.catalog.mirrors_folders": Requirement(
        197,
        "`.pecia/catalogs/` has an INDEX.md for every folder that holds documents.",
        replaced="On disk only where all readers may see all; else made for each caller.",
    ),
    "wiki.catalog.rebuilt_after_change": Requirement(
        197, "A content change is in the catalog after 500 ms of quiet, 2 s at most."
    ),
    "wiki.catalog.named_in_instructions": Requirement(
        199, "The instructions of `initialize` say to begin at the root INDEX.md."
    ),
    "wiki.clients.claude_code": Requirement(
        205, "`pecia init` wires Claude Code in `~/.claude.json`."
    ),
    "wiki.clients.claude_desktop": Requirement(
        206, "`pecia init` wires Claude Desktop in its desktop config file."
    ),
    "wiki.clients.cursor": Requirement(207, "`pecia init` wires Cursor in its `mcp.json`."),
    "wiki.clients.windsurf": Requirement(208, "`pecia init` wires Windsurf in its config."),
    "wiki.clients.vscode": Requirement(
        209, "`pecia init` wires VS Code under `servers`, with `type: stdio`."
    ),
    "wiki.clients.codex": Requirement(210, "`pecia init` wires Codex in its `config.toml`."),
    "wiki.clients.any_mcp_client": Requirement(
        211, "A stock MCP client lists and calls the wiki tools over stdio and HTTP."
    ),
}
