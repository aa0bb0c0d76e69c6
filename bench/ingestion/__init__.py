"""Parts of the ingestion bench: a Pecia, a meter and files. No bench by itself."""
