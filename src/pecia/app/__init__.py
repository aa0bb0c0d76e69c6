"""The composition root: settings in, an open App out. Every call goes through `dispatch.py`."""
