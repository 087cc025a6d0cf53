"""Which rules a run asks: codes, prefixes of codes and names -> codes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kvlint.rules.rule import Rule

ALL = "ALL"


class UnknownSelector(ValueError):
    """A selector that names no rule. `hint` is the nearest one that does, or empty."""

    def __init__(self, selector: str, hint: str) -> None:
        super().__init__(f"unknown rule {selector!r}" + (f", did you mean {hint}?" if hint else ""))
        self.selector = selector
        self.hint = hint


def nearest(word: str, known: Iterable[str]) -> str:
    """The known word that `word` was probably meant to be, or an empty string."""
    from difflib import get_close_matches

    by_case = {name.casefold(): name for name in known}
    found = get_close_matches(word.casefold(), by_case, n=1, cutoff=0.6)
    return by_case[found[0]] if found else ""


def codes_of(selector: str, rules: Sequence[Rule]) -> frozenset[str]:
    """Codes that a code (`KV101`), a prefix (`KV1`), a name or `ALL` stands for.

    Raises UnknownSelector.
    """
    if selector == ALL:
        return frozenset(rule.code for rule in rules)
    found = frozenset(
        rule.code
        for rule in rules
        if rule.name == selector or (_is_prefix(selector) and rule.code.startswith(selector))
    )
    if not found:
        raise UnknownSelector(selector, nearest(selector, _names(rules)))
    return found


def rule_named(word: str, rules: Sequence[Rule]) -> Rule:
    """The rule with this code or name. Raises UnknownSelector."""
    for rule in rules:
        if word.upper() == rule.code or word == rule.name:
            return rule
    raise UnknownSelector(word, nearest(word, _names(rules)))


def select(
    rules: Sequence[Rule], layers: Iterable[tuple[Sequence[str] | None, Sequence[str]]]
) -> frozenset[str]:
    """Codes left after each layer's (select, ignore), the settings' before the command line's.

    A layer with a select starts afresh; in a layer the more specific selector wins, and of two
    alike the ignore. Raises UnknownSelector.
    """
    chosen = codes_of(ALL, rules)
    for selected, ignored in layers:
        wanted = _weights([ALL] if selected is None else selected, rules)
        unwanted = _weights(ignored, rules)
        start = chosen if selected is None else frozenset(wanted)
        chosen = frozenset(c for c in start if wanted.get(c, 0) > unwanted.get(c, -1))
    return chosen


def _weights(selectors: Iterable[str], rules: Sequence[Rule]) -> dict[str, int]:
    weights: dict[str, int] = {}
    for selector in selectors:
        for code in codes_of(selector, rules):
            weights[code] = max(weights.get(code, 0), _weight(selector, code))
    return weights


def _weight(selector: str, code: str) -> int:
    if selector == ALL:
        return 0
    return len(selector) if _is_prefix(selector) else len(code)


def _is_prefix(selector: str) -> bool:
    return selector[:1].isupper() and selector.isalnum() and selector.isupper()


def _names(rules: Sequence[Rule]) -> list[str]:
    return [word for rule in rules for word in (rule.code, rule.name)]
