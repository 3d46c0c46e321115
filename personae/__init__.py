"""The `personae` command: wires the packages together; nothing imports it."""
