"""Files turned into text with locators, in processes of their own. Start at `extractor`."""
