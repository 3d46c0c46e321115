"""One module per command: `add_options(parser)` and `run(options) -> exit code`."""
