"""Every setting: its meaning, its default, and which of five layers gave its value.

`model` says what a setting is, `load` reads them once, `kernel` holds the kernel's own, `table`
shows them. Nothing here opens a database, a socket or a log.
"""
