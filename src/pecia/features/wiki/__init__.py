"""Wiki: markdown written together, with history."""
