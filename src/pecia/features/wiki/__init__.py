"""Wiki: collaborative Markdown with version history."""
