"""What the K-Lake reference promises of finding and reading: search, windows, browsing, limits."""

from tests.contract.requirement import Requirement

BENCH = "an agent on the public filings: a real model, which needs a key and a network"

REQUIREMENTS: dict[str, Requirement] = {
    "lake.server.serves_crawled_content": Requirement(
        2,
        "What was crawled and extracted from a source is found and read through the MCP tools.",
    ),
    "lake.result.text_block": Requirement(
        15,
        "Every tools/call result has a text block that holds the structured content as JSON.",
    ),
    "lake.result.structured": Requirement(
        16,
        "Every structuredContent validates against the tool's declared output schema.",
    ),
    "lake.result.search_links": Requirement(
        17,
        "A search result carries a resource_link for each file among its hits.",
    ),
    "lake.result.embedded_file": Requirement(
        17,
        "get_file_text carries the file as one embedded text resource under its URI.",
    ),
    "lake.uri.stable": Requirement(
        18,
        "A file keeps its URI across crawls and restarts as long as source and key stay.",
        replaced="Ours is pecia://file/<source>/<key>; the kdbl:// form is still read.",
    ),
    "lake.uri.read": Requirement(
        19,
        "resources/read of a file's URI gives the same body as get_file_text.",
    ),
    "lake.uri.list": Requirement(
        20,
        "resources/list walks, page by page, the URIs of all files the caller may see and no "
        "other.",
    ),
    "lake.tools.exactly_six": Requirement(
        22,
        "The lake endpoint lists six tools: one that finds, three that read, two that browse.",
    ),
    "lake.search.only_visible": Requirement(
        24, "No hit comes from a file that the caller may not see."
    ),
    "lake.search.hybrid_by_default": Requirement(
        24, "Without `mode`, words and meaning are searched, fused and reranked."
    ),
    "lake.search.lexical": Requirement(25, 'mode "lexical" answers from words alone.'),
    "lake.search.query_required": Requirement(
        26, "search_content without `query` is MISSING_FIELD naming it."
    ),
    "lake.search.source_filter": Requirement(26, "With source_id every hit is from that source."),
    "lake.search.limit_default": Requirement(27, "Without `limit` at most 20 hits come back."),
    "lake.search.limit_maximum": Requirement(
        27, "limit 100 is accepted; 101 and 0 are OUT_OF_RANGE."
    ),
    "lake.search.mode_values": Requirement(
        27, "A mode other than hybrid or lexical is INVALID_ENUM listing the two."
    ),
    "lake.search.path_filter": Requirement(28, "With `path` every hit's key matches that glob."),
    "lake.search.content_type_filter": Requirement(
        28, "With content_type every hit's file is of that type."
    ),
    "lake.search.modified_after": Requirement(
        28, "With modified_after no hit's file was modified before that instant."
    ),
    "lake.search.modified_before": Requirement(
        28,
        "With modified_before every hit's file was modified before that instant.",
    ),
    "lake.search.filters_optional": Requirement(
        28, "The filters may be left out, and combine with each other when given."
    ),
    "lake.search.hits_object": Requirement(
        29,
        "The answer is an object whose `hits` is a list, empty when nothing matches.",
    ),
    "lake.hit.locator": Requirement(
        30,
        "source_id, key and seq of a hit name a chunk that get_file_window returns.",
    ),
    "lake.hit.text_has_neighbours": Requirement(
        31,
        "A hit's text is the matched chunk between the chunks before and after it.",
    ),
    "lake.hit.text_bounded": Requirement(
        32,
        "A hit's text stays near 1,800 characters at most, however long its chunks are.",
    ),
    "lake.hit.truncated": Requirement(
        33,
        "truncated is true exactly when the window was longer than the text returned.",
    ),
    "lake.hit.read_on": Requirement(
        33,
        "get_file_window from a truncated hit's seq gives the text that was cut.",
    ),
    "lake.hit.snippet": Requirement(
        35,
        "snippet is a fragment of the hit with the matched terms between mark tags, the rest "
        "escaped.",
    ),
    "lake.hit.document_locators": Requirement(
        36,
        "Hits in documents carry page_no where there are pages, char_start and char_end.",
    ),
    "lake.hit.char_span": Requirement(
        36,
        "char_start to char_end of the file's text is the matched chunk, character for character.",
    ),
    "lake.hit.media_locators": Requirement(
        37, "Hits in audio and video carry ts_start_ms and ts_end_ms."
    ),
    "lake.hit.rank": Requirement(41, "Hits carry a rank and come in its order."),
    "lake.keywords.any_term": Requirement(
        42, "A chunk that holds only one of the query's words is still found."
    ),
    "lake.keywords.rare_term_wins": Requirement(
        42,
        "A chunk with the one rare word outranks a chunk full of the common one.",
    ),
    "lake.keywords.no_phrasing": Requirement(
        42,
        "The order, the case and added common words of a query do not hide the best chunk.",
    ),
    "lake.keywords.shared_words": Requirement(
        42,
        "A question worded otherwise than the corpus finds the chunk by the words they share.",
    ),
    "lake.keywords.highlight_any": Requirement(
        42, "The snippet marks every query term that it holds, rare or common."
    ),
    "lake.hybrid.paraphrase": Requirement(
        43,
        "A query that shares no word with a chunk finds it by meaning in hybrid mode.",
    ),
    "lake.hybrid.fused": Requirement(
        44,
        "Hybrid mode returns both what only words find and what only meaning finds.",
    ),
    "lake.hybrid.reranked": Requirement(
        44, "Hybrid mode ends with a rerank, which lexical mode does not have."
    ),
    "lake.lexical.no_embedder": Requirement(
        45, "In lexical mode neither embedder nor reranker is called."
    ),
    "lake.lexical.cheaper": Requirement(
        45,
        "The bench records a lexical search as faster and cheaper than a hybrid one.",
    ),
    "lake.lexical.where_embeddings_off": Requirement(
        46,
        "Lexical mode answers in full for a source or tenant whose embeddings are off.",
    ),
    "lake.hybrid.tenant_toggle": Requirement(
        47, "A tenant can switch hybrid search off and on for all its sources."
    ),
    "lake.hybrid.source_toggle": Requirement(
        47, "A source can be left out of the semantic arm while others stay in."
    ),
    "lake.hybrid.degrades": Requirement(
        48,
        "A hybrid request where hybrid is off gives the lexical hits, not an error.",
        replaced="The answer also says in `degraded` that only words were searched.",
    ),
    "lake.hybrid.no_embedder_degrades": Requirement(
        48,
        "A hybrid request on a server without an embedder gives the lexical hits.",
    ),
    "lake.text.whole_file": Requirement(
        50, "get_file_text returns every chunk of the file, in reading order."
    ),
    "lake.text.status": Requirement(
        50, "get_file_text says how the extraction went, a failed one included."
    ),
    "lake.text.arguments": Requirement(
        51,
        "get_file_text requires source_id and key, and names the one that is missing.",
    ),
    "lake.text.chunk_fields": Requirement(
        51, "Each chunk has seq, text, page_no and its other locators."
    ),
    "lake.text.bound": Requirement(
        52,
        "A file of more than 5,000 chunks gives the first 5,000 and truncated true.",
        replaced="It is cut at 280,000 bytes of chunks, because clients end a session on events "
        "above a mebibyte; next_cursor is the start of the next part.",
    ),
    "lake.text.large_files": Requirement(
        53,
        "What get_file_text left out of a large file is read with get_file_window.",
    ),
    "lake.window.start": Requirement(56, "start counts chunks from 0 and is 0 when left out."),
    "lake.window.length_default": Requirement(
        56, "Without `length` a window has 40 chunks at most."
    ),
    "lake.window.length_maximum": Requirement(
        57, "length 200 is accepted; 201 and 0 are OUT_OF_RANGE."
    ),
    "lake.window.arguments": Requirement(
        56,
        "get_file_window requires source_id and key, and names the one that is missing.",
    ),
    "lake.window.total_chunks": Requirement(
        57, "total_chunks is the number of chunks in the file, whatever the window."
    ),
    "lake.window.next_cursor": Requirement(
        57,
        "next_cursor passed as start gives the next window, and is null at the end.",
    ),
    "lake.window.returned": Requirement(
        57, "window.returned is the number of chunks in this answer."
    ),
    "lake.window.has_more": Requirement(
        58, "has_more is true exactly while chunks remain after the window."
    ),
    "lake.window.text": Requirement(58, "text is the window's chunks joined in order."),
    "lake.window.covers_file": Requirement(
        59, "Sliding by next_cursor reads every chunk of a file once, in order."
    ),
    "lake.window.around_hit": Requirement(
        60,
        "A window that starts a few before a hit's seq holds the hit and what surrounds it.",
    ),
    "lake.metadata.arguments": Requirement(
        63,
        "get_file_metadata requires source_id and key, and names the one that is missing.",
    ),
    "lake.metadata.facts": Requirement(
        63,
        "get_file_metadata gives size, mtime, etag, storage class, owner and content type.",
    ),
    "lake.metadata.posix": Requirement(
        64,
        "mode, uid and gid are given for sources that have them, and null for others.",
    ),
    "lake.sources.only_accessible": Requirement(
        66, "list_sources shows the sources that the caller may read and no other."
    ),
    "lake.sources.paged": Requirement(66, "Following `cursor` lists every source once."),
    "lake.sources.limit": Requirement(
        66,
        "Without `limit` a page has 50 sources; 200 is accepted, 201 is OUT_OF_RANGE.",
    ),
    "lake.sources.fields": Requirement(
        67, "Each source has source_id, protocol, enabled and last_indexed_at."
    ),
    "lake.sources.next_cursor": Requirement(
        68, "next_cursor is there exactly when more sources follow."
    ),
    "lake.files.source_required": Requirement(
        70, "list_files without source_id is MISSING_FIELD naming it."
    ),
    "lake.files.by_key": Requirement(
        70, "list_files gives the files of one source in the order of their keys."
    ),
    "lake.files.paged": Requirement(
        71, "Following `cursor` lists every visible file of the source once."
    ),
    "lake.files.limit": Requirement(
        71,
        "Without `limit` a page has 50 files; 200 is accepted, 201 is OUT_OF_RANGE.",
    ),
    "lake.files.next_cursor": Requirement(
        71, "next_cursor is there exactly when more files follow."
    ),
    "lake.pattern.reformulate": Requirement(
        74,
        "A second query in the document's own words finds what the first one missed.",
    ),
    "lake.pattern.page_on": Requirement(
        74,
        "has_more says that more hits follow, and the next page neither repeats nor skips one.",
    ),
    "lake.pattern.read_around": Requirement(
        75, "The answer just beyond a hit's text is in the window around its seq."
    ),
    "lake.pattern.cite": Requirement(
        76,
        "A hit gives the file URI to cite, and reading that URI shows the quoted text.",
        replaced="The URI to cite begins pecia://file/; kdbl://file/ is read too.",
    ),
    "lake.pattern.ready_prompt": Requirement(
        77,
        "A ready-made prompt ships that has a model locate, read, answer with citations, or say "
        "it cannot.",
    ),
    "lake.bench.single_shot_lexical": Requirement(
        80,
        "On the filings bench one lexical query has the right document in its first ten at least "
        "40 % of the time.",
    ),
    "lake.bench.single_shot_hybrid": Requirement(
        81,
        "On the filings bench one hybrid query has the right document in its first ten at least "
        "60 % of the time.",
    ),
    "lake.bench.agentic_lexical": Requirement(
        82,
        "On the filings bench a few reformulated lexical queries find it at least 75 % of the "
        "time.",
        deferred=BENCH,
    ),
    "lake.bench.agentic_beats_hybrid": Requirement(
        84,
        "On the filings bench those lexical queries find it at least as often as one hybrid query.",
        deferred=BENCH,
    ),
    "lake.bench.prompt_requeries": Requirement(
        85,
        "The ready-made prompt has the model query again in the corpus's words before it gives up.",
    ),
    "lake.lexical.air_gapped": Requirement(
        88,
        "Lexical search runs on a machine with no network, no embedder and no GPU.",
    ),
    "lake.hybrid.nearest_neighbours": Requirement(
        109,
        "Over many chunks the semantic arm is approximate, and its recall of the exact nearest is "
        "recorded.",
    ),
    "lake.hybrid.diversified": Requirement(
        111,
        "Near-copies, or many chunks of one file, do not fill the list while others match.",
    ),
    "lake.capacity.per_mode": Requirement(
        115,
        "GET /capacity reports latency and cost of lexical and of hybrid search.",
    ),
    "lake.lexical.needs_shared_words": Requirement(
        116,
        "In lexical mode a query without any word of the corpus finds nothing.",
    ),
    "lake.pattern.known_document": Requirement(
        116,
        "A known document is found with list_files and read with get_file_window, with no search.",
    ),
    "lake.limits.true_top": Requirement(
        116,
        "The first N hits are the true best N among what the caller may see, under any filter.",
    ),
    "lake.limits.scan_exceeds_limit": Requirement(
        117,
        "Hits that rights or filters drop are made up for, so `limit` visible matches give "
        "`limit` hits.",
    ),
    "lake.clients.guide": Requirement(
        120,
        "The guide covers connecting cloud clients and local ones, each by a config that is "
        "tested.",
    ),
    "lake.clients.air_gapped_demo": Requirement(
        120,
        "The guide has a self-hosted model and chat page drive these tools with no network.",
    ),
}
