"""The launch rules, asked of one configuration: KV302, KV303, KV305 and KV306.

A question is only answered where the text shows the values: what is unknown is never reported.
"""

from __future__ import annotations

import difflib
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from kvlint.findings import Evidence, Finding, Fix, Severity, Span, Suggestion
from kvlint.launch.arguments import (
    UNKNOWN,
    Addition,
    Argument,
    LaunchConfiguration,
    Place,
    Value,
    option_words,
    plain_text,
    python_literal,
)
from kvlint.launch.facts import NOOP_FLAG, LaunchFacts, releases_with_backend
from kvlint.rules.rule import Rule
from kvlint.source.edits import edit_of
from kvlint.source.text import SourceFile

BACKEND, PRECONDITION, DECODE, CHOICE, WITHOUT_FA = "KV302", "KV303", "KV304", "KV305", "KV306"
LAUNCH_CODES = (BACKEND, PRECONDITION, DECODE, CHOICE, WITHOUT_FA)
_REASON = "changes what the server runs"
_MISSING = object()


@dataclass(frozen=True)
class Case:
    """One configuration in front of the rules."""

    source: SourceFile
    facts: LaunchFacts
    rules: Mapping[str, Rule]
    configuration: LaunchConfiguration

    @property
    def flag(self) -> Argument | None:
        """The flag that allocates the no-op pool, where the text sets it."""
        flag = self.configuration.arguments.get(NOOP_FLAG)
        return flag if flag and flag.value is True else None


def launch_rules(rules: Iterable[Rule]) -> dict[str, Rule]:
    """Those of the rules that are of this family, by code."""
    return {rule.code: rule for rule in rules if rule.code in LAUNCH_CODES}


def judge(case: Case) -> list[Finding]:
    """All findings of one configuration."""
    questions: dict[str, Callable[[Case, Rule], Iterator[Finding]]] = {
        BACKEND: _prefill_backend,
        PRECONDITION: _preconditions,
        CHOICE: _unknown_backend,
        WITHOUT_FA: _embedding_without_fa,
    }
    return [
        found
        for code, question in questions.items()
        if code in case.rules
        for found in question(case, case.rules[code])
    ]


def _prefill_backend(case: Case, rule: Rule) -> Iterator[Finding]:
    argument = _prefill_argument(case.configuration)
    if case.flag is None or argument is None or _is_dummy(case.configuration):
        return
    allowed = case.facts.noop_pool.prefill_backends
    if argument.value in allowed or argument.value not in case.facts.attention_backends:
        return
    names = " or ".join(f"`{name}`" for name in allowed)
    yield _finding(
        case,
        rule,
        argument,
        f"the no-op KV pool needs {names} for prefill, but the prefill backend is"
        f" `{argument.value}`",
        evidence=(_seen(case, case.flag, f"`{NOOP_FLAG}` allocates the no-op pool"),),
        severity="error" if case.configuration.complete else "warning",
        raises=(
            "ValueError: --prefill-only-disable-kv-cache currently requires the FA prefill"
            f" backend (fa3/fa4), but got prefill backend {str(argument.value)!r}."
        ),
        fix=_correction(case, argument, allowed[0]),
        suggestions=_others(argument, allowed[1:]),
    )


def _preconditions(case: Case, rule: Rule) -> Iterator[Finding]:
    noop = case.facts.noop_pool
    if case.flag is None:
        return
    if _is_dummy(case.configuration) and not noop.checked_for_dummy_models:
        return
    missing: list[tuple[str, Value]] = []
    for name, wanted, text in _demands(case.facts):
        argument = case.configuration.arguments.get(name)
        if argument is None:
            if name in noop.requires and case.configuration.complete:
                missing.append((name, wanted))
        elif not _satisfied(case.facts, name, argument.value):
            yield _finding(
                case,
                rule,
                argument,
                f"the no-op KV pool {text}, but `{name}` is {_shown(argument.value)}",
                evidence=(_seen(case, case.flag, f"`{NOOP_FLAG}` allocates the no-op pool"),),
                raises=f"ValueError: --prefill-only-disable-kv-cache {text}",
                fix=_correction(case, argument, wanted),
            )
    if missing:
        yield _missing_preconditions(case, rule, case.flag, missing)


def _missing_preconditions(
    case: Case, rule: Rule, flag: Argument, missing: Sequence[tuple[str, Value]]
) -> Finding:
    names = " and ".join(f"`{name}={value!r}`" for name, value in missing)
    return _finding(
        case,
        rule,
        flag,
        f"the no-op KV pool requires {names}, which {'is' if len(missing) == 1 else 'are'} not set",
        evidence=tuple(
            Evidence(f"`{name}` is not set: its default is {_default(case.facts, name)}")
            for name, _ in missing
        ),
        raises="ValueError: --prefill-only-disable-kv-cache requires "
        + ", ".join(_as_option(case.facts, name, value) for name, value in missing),
        severity="warning" if case.configuration.overridable else "error",
        fix=_additions(case, missing),
    )


def _unknown_backend(case: Case, rule: Rule) -> Iterator[Finding]:
    configuration = case.configuration
    if not configuration.started or not case.facts.attention_backends:
        return
    for name in sorted(case.facts.backend_options):
        argument = configuration.arguments.get(name)
        if argument is None or not isinstance(argument.value, str):
            continue
        backend = argument.value
        if case.facts.accepts(backend) or backend in configuration.plugin_backends:
            continue
        if configuration.may_be_diffusion and backend in case.facts.diffusion_backends:
            continue
        near = _nearest(backend, case.facts.attention_backends)
        yield _finding(
            case,
            rule,
            argument,
            _unknown_message(case.facts, backend, near),
            severity=_unknown_severity(case.facts, backend, near),
            raises=f"error: argument {case.facts.option_name(name)}: invalid choice: {backend!r}",
            fix=_correction(case, argument, near[0]) if near else None,
            suggestions=_others(argument, near[1:]),
        )


def _unknown_severity(facts: LaunchFacts, backend: str, near: Sequence[str]) -> Severity:
    """A release that is newer than all that are known may have taken a name back."""
    elsewhere = bool(releases_with_backend(backend))
    return "error" if near or (elsewhere and facts.certain) else "warning"


def _unknown_message(facts: LaunchFacts, backend: str, near: Sequence[str]) -> str:
    has = "have" if " and " in facts.shown else "has"
    text = f"SGLang {facts.shown} {has} no attention backend `{backend}`"
    if elsewhere := releases_with_backend(backend):
        return f"{text}; it is one of {', '.join(elsewhere)}"
    return f"{text}; did you mean {' or '.join(f'`{n}`' for n in near)}?" if near else text


def _embedding_without_fa(case: Case, rule: Rule) -> Iterator[Finding]:
    configuration = case.configuration
    argument = _prefill_argument(configuration)
    if configuration.value("is_embedding") is not True or argument is None:
        return
    if configuration.value(NOOP_FLAG) not in (None, False):
        return
    usable = case.facts.noop_pool.prefill_backends
    if argument.value in usable or argument.value not in case.facts.attention_backends:
        return
    yield _finding(
        case,
        rule,
        argument,
        f"an embedding server on `{argument.value}` keeps a full KV pool that it does not need",
        severity="hint",
        evidence=(
            _seen(case, configuration.arguments["is_embedding"], "it is started for embedding"),
        ),
    )


def _prefill_argument(configuration: LaunchConfiguration) -> Argument | None:
    """The argument that decides the prefill backend, where its value is known."""
    for name in ("prefill_attention_backend", "attention_backend"):
        argument = configuration.arguments.get(name)
        if argument is not None and argument.value is not None:
            return argument if isinstance(argument.value, str) else None
    return None


def _is_dummy(configuration: LaunchConfiguration) -> bool:
    model = configuration.value("model_path")
    return isinstance(model, str) and model.lower() in ("dummy", "none")


def _demands(facts: LaunchFacts) -> Iterator[tuple[str, Value, str]]:
    """(field, the value that satisfies it, in words) of each precondition of a release."""
    noop = facts.noop_pool
    for name, wanted in noop.requires.items():
        yield name, wanted, f"requires `{name}={wanted!r}`"
    for name, refused in noop.refuses.items():
        shown = " or ".join(_shown(value) for value in refused)
        yield name, noop.defaults.get(name), f"does not work with `{name}` {shown}"
    for name, largest in noop.at_most.items():
        yield name, largest, f"does not work with `{name}` above {largest}"


def _satisfied(facts: LaunchFacts, name: str, value: Value) -> bool:
    """Whether a precondition holds; what is not known does not contradict it."""
    noop = facts.noop_pool
    if value is UNKNOWN:
        return True
    if name in noop.requires:
        wanted = noop.requires[name]
        return bool(value) if wanted is True else value == wanted
    if name in noop.at_most:
        return not isinstance(value, int) or value <= noop.at_most[name]
    return value not in noop.refuses[name]


def _default(facts: LaunchFacts, name: str) -> str:
    default = facts.noop_pool.defaults.get(name, _MISSING)
    return "chosen by SGLang" if default in (None, _MISSING) else repr(default)


def _as_option(facts: LaunchFacts, name: str, value: Value) -> str:
    option = facts.option_name(name)
    return option if value is True else f"{option}={plain_text(value)}"


def _shown(value: Value) -> str:
    return f"`{value}`" if isinstance(value, str) else f"`{value!r}`"


def _nearest(backend: str, valid: Sequence[str]) -> list[str]:
    """Valid names like this one, FlashAttention's first: `fa` is `fa3` or `fa4`."""
    folded = backend.lower().replace("-", "_")
    if folded in ("fa", "fa1", "fa2", "flash_attn", "flash_attention", "flashattention", "flash"):
        return [name for name in valid if name in ("fa3", "fa4")]
    if folded in ("flash_attn_3", "flash_attention_3", "flashattention3", "flash_attn3"):
        return ["fa3"]
    return difflib.get_close_matches(folded, valid, n=2, cutoff=0.7)


def _finding(
    case: Case,
    rule: Rule,
    argument: Argument,
    message: str,
    *,
    evidence: tuple[Evidence, ...] = (),
    severity: Severity | None = None,
    raises: str = "",
    fix: Fix | None = None,
    suggestions: tuple[Suggestion, ...] = (),
) -> Finding:
    return Finding(
        code=rule.code,
        name=rule.name,
        path=case.source.path,
        span=span_of(case.source, argument.place),
        severity=severity or rule.severity,
        message=message,
        evidence=evidence,
        raises=raises,
        remedy=rule.remedy,
        fix=fix,
        suggestions=suggestions,
        statement=_statement(case, argument),
    )


def _statement(case: Case, argument: Argument) -> tuple[int, int]:
    """The configuration's statement where the argument stands inside of it."""
    span = span_of(case.source, argument.place)
    first, last = case.configuration.statement
    if first <= span.line <= last:
        return case.configuration.statement
    return (span.line, span.end_line)


def span_of(source: SourceFile, place: Place) -> Span:
    """Line and column of a place."""
    starts = source.line_starts
    first = bisect_right(starts, place.start)
    last = bisect_right(starts, max(place.end - 1, place.start))
    return Span(first, place.start - starts[first - 1] + 1, last, place.end - starts[last - 1] + 1)


def _seen(case: Case, argument: Argument, text: str) -> Evidence:
    span = span_of(case.source, argument.place)
    return Evidence(text, case.source.path, span.line, span.column)


def _others(argument: Argument, names: Sequence[str]) -> tuple[Suggestion, ...]:
    return tuple(
        Suggestion(f"use `{name}`", python_literal(name, '"') if argument.quoted else name)
        for name in names
    )


def _correction(case: Case, argument: Argument, value: Value) -> Fix | None:
    """The argument with another value, written as the file writes its values."""
    if argument.value is True and value is False and argument.removal is not None:
        return _fix(case, f"remove `{argument.field}`", [(argument.removal, "")])
    place = argument.value_place
    if place is None:
        return None
    if argument.spelling == "python" and not argument.quoted:
        text = python_literal(value, '"')
    elif argument.quoted and not isinstance(value, str) and argument.spelling == "python":
        place, text = Place(place.start - 1, place.end + 1), repr(value)
    else:
        text = plain_text(value)
    return _fix(case, f"set `{argument.field}` to {_shown(value)}", [(place, text)])


def _additions(case: Case, missing: Sequence[tuple[str, Value]]) -> Fix | None:
    addition: Addition | None = case.configuration.addition
    if addition is None:
        return None
    text = "".join(
        addition.prefix + option_words(addition, name, value) + addition.suffix
        for name, value in missing
    )
    names = ", ".join(f"`{name}`" for name, _ in missing)
    edits = [(Place(addition.at, addition.at), text)]
    if addition.comma_at is not None:
        edits.insert(0, (Place(addition.comma_at, addition.comma_at), ","))
    return _fix(case, f"add {names}", edits)


def _fix(case: Case, title: str, changes: Iterable[tuple[Place, str]]) -> Fix | None:
    edits = [edit_of(case.source, place.start, place.end, text) for place, text in changes]
    known = [edit for edit in edits if edit is not None]
    return Fix(title, "unsafe", tuple(known), _REASON) if len(known) == len(edits) else None
