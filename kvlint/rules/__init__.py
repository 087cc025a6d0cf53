"""Reads `rules/*.md`: rules, their front matter, and which of them are asked."""
