"""The command line: one module per command, nothing but options, one call, and printing."""

from uegr.cli.program import app, main

__all__ = ["app", "main"]
