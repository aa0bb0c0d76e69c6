"""What the OKF cascade reference promises: layers resolved into one graph, served over stdio."""

from tests.contract.requirement import Requirement

REQUIREMENTS: dict[str, Requirement] = {
    "cascade.server.stdio": Requirement(
        5,
        "A stdio MCP client that starts the server lists and calls the cascade's tools.",
        replaced="The program is `pecia cascade serve`, not mcp-server.mjs.",
    ),
    "cascade.server.one_graph": Requirement(
        5,
        "The tools show one effective concept per id, however many layers define it.",
    ),
    "cascade.server.same_as_cli": Requirement(
        5, "read_file and the command line give the same resolution of a concept."
    ),
    "cascade.server.every_source": Requirement(
        5,
        "Every layer of the manifest, of whatever kind, contributes to each answer.",
    ),
    "cascade.server.read_time": Requirement(
        5,
        "An edit in a layer's file shows in the next read, with nothing to rebuild.",
    ),
    "cascade.tools.all_four": Requirement(
        7,
        "The cascade endpoint lists search, read_file, list_concepts and get_links.",
    ),
    "cascade.search.all_layers": Requirement(
        8,
        "A word that only one layer of a concept holds finds the concept, whichever layer it is.",
    ),
    "cascade.search.one_per_concept": Requirement(
        13, "A concept that matches in several layers is one result."
    ),
    "cascade.search.scored": Requirement(13, "Results carry a score and come highest first."),
    "cascade.search.query_required": Requirement(
        15, "search without `query` is refused, and so is one that is empty."
    ),
    "cascade.search.limit": Requirement(
        15,
        "Without `limit` at most 10 results come back; a given limit is kept.",
        replaced="A limit outside 1 to 100 is OUT_OF_RANGE rather than silently 10.",
    ),
    "cascade.search.fields": Requirement(
        17, "Each result has id, title, score, layers and snippet."
    ),
    "cascade.search.layers_ordered": Requirement(
        17,
        "layers of a result names all contributing layers, highest level first.",
    ),
    "cascade.search.effective_title": Requirement(
        17, "title of a result is the one that resolving the concept gives."
    ),
    "cascade.read.resolves": Requirement(
        19,
        "read_file with an id alone gives the concept merged across all layers.",
    ),
    "cascade.read.concept_id_required": Requirement(
        21, "read_file without concept_id is MISSING_FIELD naming it."
    ),
    "cascade.read.unknown_concept": Requirement(
        21, "read_file of an id that no layer has is NOT_FOUND."
    ),
    "cascade.read.unknown_layer": Requirement(
        21,
        "read_file with a layer that the manifest does not name is refused, naming it.",
    ),
    "cascade.read.stays_inside": Requirement(
        21,
        "An id that climbs out of a layer is refused, and no file outside is read.",
    ),
    "cascade.read.documented_example": Requirement(
        25,
        "The documented layers resolve to the documented answer, field for field.",
        replaced=(
            "The page leaves out frontmatter `updated`, which dated documents have and we return."
        ),
    ),
    "cascade.read.id": Requirement(
        60, "id is the resolved concept's id, whichever way the caller wrote it."
    ),
    "cascade.contributors.all": Requirement(
        61,
        "contributors lists every layer that defines the concept, overridden ones included.",
    ),
    "cascade.contributors.fields": Requirement(
        61, "Each contributor has layer, level and updated."
    ),
    "cascade.contributors.order": Requirement(61, "contributors come highest precedence first."),
    "cascade.contributors.undated": Requirement(
        61, "A contributor with no date has updated null, and still contributes."
    ),
    "cascade.frontmatter.highest_wins": Requirement(
        62, "Each key has the value of the highest layer that sets it, whole."
    ),
    "cascade.frontmatter.inherited": Requirement(
        62, "A key that only a lower layer sets is in the merged frontmatter."
    ),
    "cascade.frontmatter.provenance": Requirement(
        63,
        "frontmatterProvenance names, for every merged key and no other, the layer that gave its "
        "value.",
    ),
    "cascade.sections.merged": Requirement(
        64, "sections has each section key once, whichever layers define it."
    ),
    "cascade.sections.order": Requirement(
        64,
        "Sections come in one effective order that does not depend on the order of the manifest.",
        replaced=(
            "Suppressed sections come after visible ones, as the page's example shows and the "
            "public engine does not. Of two layers of one level and one date, the earlier in the "
            "manifest wins."
        ),
    ),
    "cascade.markdown.reassembled": Requirement(
        65,
        "markdown is the effective concept with frontmatter and sections, and reads back as OKF.",
    ),
    "cascade.markdown.conflicts_inline": Requirement(
        65,
        "markdown shows each dissent under its section as a blockquote with layer and date.",
    ),
    "cascade.markdown.suppressed_left_out": Requirement(65, "markdown has no suppressed section."),
    "cascade.section.key": Requirement(
        70,
        "A section's key is its heading's anchor, else it is made from the heading's words.",
    ),
    "cascade.section.heading": Requirement(
        71,
        "A section's heading is its Markdown line with the anchor.",
        replaced=(
            "The attributes updated= and override= are taken out, as in the page's example; raw "
            "reads keep the line."
        ),
    ),
    "cascade.section.content": Requirement(
        72, "A section's content is the body in the winning layer."
    ),
    "cascade.section.content_suppressed": Requirement(
        72, "A suppressed section's content is the empty string."
    ),
    "cascade.section.source_layer": Requirement(
        73, "sourceLayer names the layer whose section won."
    ),
    "cascade.section.source_updated": Requirement(
        74,
        "sourceUpdated is the date of the winning section, else that of its document.",
    ),
    "cascade.conflicts.fields": Requirement(
        75, "Each conflict has the dissenting layer, its date and its content."
    ),
    "cascade.conflicts.only_when_different": Requirement(
        75,
        "conflicts is absent when every other layer's text of the section is the same.",
        replaced="Differences of blanks, line ends or bullet marks alone are no dissent.",
    ),
    "cascade.conflicts.surfaced": Requirement(
        78,
        "Where layers disagree the higher one's text is the content and each dissenter is in "
        "conflicts.",
    ),
    "cascade.tombstone.suppresses": Requirement(
        76,
        "A heading with override=none hides the section that lower layers define.",
    ),
    "cascade.tombstone.kept_for_audit": Requirement(
        76,
        "A hidden section stays in sections with suppressed true and the layer that hid it.",
    ),
    "cascade.tombstone.silences_conflicts": Requirement(
        76, "A suppressed section has no conflicts."
    ),
    "cascade.tombstone.flag_absent": Requirement(
        76, "suppressed is absent on sections that are not hidden."
    ),
    "cascade.raw.one_layer": Requirement(
        80,
        "With `layer`, read_file gives that layer's concept as written, with nothing merged.",
    ),
    "cascade.raw.shape": Requirement(
        82,
        "A raw read has id, layer, raw true, frontmatter and sections, and no provenance or "
        "conflicts.",
    ),
    "cascade.raw.not_in_layer": Requirement(
        80,
        "A raw read of a concept that this layer lacks is NOT_FOUND, though another layer has it.",
    ),
    "cascade.list.all_ids": Requirement(
        84, "list_concepts lists every id that any layer defines, once."
    ),
    "cascade.list.type_filter": Requirement(
        86, "With `type` only concepts whose resolved type is that one are listed."
    ),
    "cascade.list.type_optional": Requirement(86, "Without `type` all concepts are listed."),
    "cascade.list.fields": Requirement(
        88, "Each entry has id, type, title and layers, type and title as resolved."
    ),
    "cascade.list.sorted": Requirement(88, "Entries are sorted by id."),
    "cascade.list.layers_ordered": Requirement(88, "layers of an entry come highest level first."),
    "cascade.links.concept_id_required": Requirement(
        92, "get_links without concept_id is MISSING_FIELD naming it."
    ),
    "cascade.links.documented_example": Requirement(
        94,
        "The documented link example gives the documented outgoing and incoming links.",
        replaced="The page shortens outgoing `layers`; we list every layer that holds the target.",
    ),
    "cascade.links.source": Requirement(95, "source gives the concept's id and its contributors."),
    "cascade.links.outgoing_fields": Requirement(
        97,
        "Each outgoing link has raw, target, id and the layers that hold the target.",
    ),
    "cascade.links.relative_target": Requirement(
        97,
        "A relative target is resolved from the folder of the concept that holds it.",
    ),
    "cascade.links.incoming_fields": Requirement(
        100, "Each incoming link has the id and layer it is in, and raw."
    ),
    "cascade.links.wiki_link": Requirement(
        100, "A double-bracket link by full id counts as a link to that concept."
    ),
    "cascade.links.from_resolved_body": Requirement(
        104,
        "Outgoing links are those of the winning sections; one in an overridden section is not "
        "listed.",
    ),
    "cascade.links.broken": Requirement(
        104, "An outgoing link to no concept is listed with no layers."
    ),
    "cascade.links.incoming_from_anywhere": Requirement(
        104, "Incoming links are found in every layer of every other concept."
    ),
    "cascade.start.manifest": Requirement(
        109,
        "Started with --manifest, the server serves the layers that the file names.",
        replaced="The flag belongs to `pecia cascade serve`; the file may be YAML too.",
    ),
    "cascade.start.two_folders": Requirement(
        111,
        "Started with --personal and --shared, it serves two layers and personal wins.",
    ),
    "cascade.start.one_folder_missing": Requirement(
        111,
        "Started with only one of the two folders, or nothing, it exits with usage and serves "
        "nothing.",
    ),
    "cascade.server.stdout_is_protocol": Requirement(
        113, "Nothing but protocol messages is written to stdout."
    ),
    "cascade.client.claude_config": Requirement(
        113,
        "The guide's Claude config for the cascade, started as written, connects.",
    ),
    "cascade.trust.command_layer": Requirement(
        113,
        "A layer of kind mcp runs the manifest's command, with no shell, and its nodes become "
        "concepts.",
    ),
    "cascade.trust.untrusted_manifest": Requirement(
        113,
        "A manifest that was not declared trusted starts no program.",
        replaced=(
            "The layer is left out and `degraded` says so, until `pecia cascade trust` has noted "
            "the manifest's hash."
        ),
    ),
}
