"""The composition root: settings in, an open App out. Every tool call goes through `App.call`."""
