"""Fixes: building their edits, applying them to a text, writing the file."""
