"""`kvlint run`: the claims of the rules, executed on SGLang's real pools.

Only this package imports torch, triton or sglang, and sglang only in child processes.
"""
