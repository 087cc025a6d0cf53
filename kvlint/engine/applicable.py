"""Which rules can say anything of what is checked, and why the others are off.

Of a published release a rule says itself for which versions it holds. Of any other tree its source
decides: a rule is on where the classes and the arguments that it speaks of exist. The number that
such a tree gives itself (`0.0.0.dev9596+g29b7f22d8`, none at all) is shown and decides nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from kvlint.catalogue.choose import Choice
from kvlint.catalogue.families import family_of
from kvlint.catalogue.resolve import View
from kvlint.launch.facts import NOOP_FLAG, LaunchRelease
from kvlint.rules.rule import Rule

OWN = "builtin"
_NOT_SELECTED = "not selected"
_ARGUMENTS: Mapping[str, str] = {
    "KV302": NOOP_FLAG,
    "KV303": NOOP_FLAG,
    "KV304": "is_embedding",
    "KV305": "attention_backend",
    "KV306": NOOP_FLAG,
}
"""The server argument without which a launch rule has nothing to speak of."""


class _Source:
    """What the source of a release or tree has, looked up when a rule first asks for it."""

    def __init__(self, choice: Choice) -> None:
        self.choice = choice

    @cached_property
    def classes(self) -> frozenset[str]:
        classes = self.choice.catalogue.classes.values()
        return frozenset(own.name for own in classes if own.is_pool)

    @cached_property
    def families(self) -> frozenset[str | None]:
        view = View(self.choice.catalogue)
        return frozenset(family_of(view, name) for name in view.pools())

    @cached_property
    def arguments(self) -> bytes | None:
        """The text that declares the tree's arguments; None where a release's serve instead."""
        from kvlint.launch.trees import argument_text

        return argument_text(self.choice.tree) if self.choice.tree is not None else None


def rules_off(
    rules: Iterable[Rule], codes: frozenset[str], choice: Choice, pedantic: bool
) -> dict[str, str]:
    """The codes of the rules that are not asked, each with the reason. `codes` are selected."""
    source = _Source(choice)
    found = {rule.code: _reason(rule, codes, source, pedantic) for rule in rules}
    return {code: reason for code, reason in found.items() if reason}


def launch_release(choice: Choice) -> LaunchRelease:
    """Whose server arguments count: the tree's, else those of the version that was asked for."""
    known = choice.exact or not choice.wanted
    return LaunchRelease(choice.catalogue.version if known else choice.wanted, choice.tree)


def nothing_to_ask(rules: Sequence[Rule], off: Mapping[str, str]) -> bool:
    """Whether a run would pass whatever stands in the files: no rule is on, or none of those that
    were meant, so that only kvlint's own rules about comments and syntax are."""
    meant = [rule for rule in rules if off.get(rule.code) != _NOT_SELECTED]
    real = [rule for rule in meant if rule.check != OWN] or meant
    return all(rule.code in off for rule in real)


def _reason(rule: Rule, codes: frozenset[str], source: _Source, pedantic: bool) -> str:
    if rule.code not in codes:
        return _NOT_SELECTED
    if rule.pedantic and not pedantic:
        return "only with --pedantic"
    if rule.check == OWN:
        return ""
    release = source.choice.catalogue.release
    if rule.check == "launch":
        return _launch_reason(rule, source)
    if release is None:
        return _missing(rule, source)
    return "" if rule.holds_for(release) else f"holds for SGLang {rule.versions}, not {release}"


def _launch_reason(rule: Rule, source: _Source) -> str:
    argument = _ARGUMENTS.get(rule.code, "")
    if source.arguments is None or argument.encode() in source.arguments:
        return ""
    option = "--" + argument.replace("_", "-")
    return f"this tree has no argument {option}"


def _missing(rule: Rule, source: _Source) -> str:
    named = rule.parameters.get("classes", ())
    if named and not source.classes & set(named):
        return f"this tree has no class {' or '.join(named)}"
    family = rule.parameters.get("family")
    if family is not None and family not in source.families:
        return f"this tree has no {family} pool"
    return "" if source.classes else "this tree has no pool class"
