"""The process that reads files: what runs inside it, and nothing that the server imports."""
