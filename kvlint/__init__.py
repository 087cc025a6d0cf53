"""kvlint: finds misuse of SGLang's KV-cache pools before a GPU does."""

__version__ = "0.1.0"
