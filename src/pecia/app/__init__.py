"""The composition root: settings in, an open App out. `App.call` is the one corridor."""
