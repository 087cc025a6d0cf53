"""What a checked repository may not do: run code, reach outside, stop kvlint."""
