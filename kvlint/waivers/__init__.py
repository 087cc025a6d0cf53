"""Suppressions and baselines: findings that are known and meant."""
