"""One run of `kvlint check`: schedule, screen, results, cache, processes, fixes."""
