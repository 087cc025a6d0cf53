"""Catalogue and rules -> the probes of one release. Imports neither torch nor SGLang."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, replace
from typing import Any

from kvlint.catalogue.families import family_of
from kvlint.catalogue.resolve import ResolvedAccessor, View
from kvlint.rules.rule import Rule
from kvlint.runtime.probes import Engine, Probe

# The two opinions about an accessor, by name: the tree's own, and the embedded one of its version.
Opinion = tuple[ResolvedAccessor, "ResolvedAccessor | None"]

# Called with arguments by the facts probe, beside every guard. They are named here, not in the
# child, because the catalogue's kind of each goes with them.
MATRIX_ACCESSORS = (
    "get_key_buffer",
    "get_value_buffer",
    "get_kv_buffer",
    "set_kv_buffer",
    "get_cpu_copy",
    "get_contiguous_buf_infos",
    "get_kv_size_bytes",
    "get_state_buf_infos",
    "get_v_head_dim",
    "move_kv_cache",
)
_PLAIN: tuple[Engine, ...] = ("cpu", "cuda")
_TRITON: tuple[Engine, ...] = ("triton-interpreter", "cuda")
_BOTH: tuple[Engine, ...] = ("cpu", "triton-interpreter", "cuda")

# class -> public writer -> engines it runs on. On the CPU some writers index, some are Triton.
_WRITERS: dict[str, dict[str, tuple[Engine, ...]]] = {
    "MHATokenToKVPool": {
        "set_kv_buffer": _BOTH,
        "set_kv_buffer(dcp_kv_mask)": _TRITON,
        "set_kv_buffer_prefix_valid": _BOTH,
        "move_kv_cache": _TRITON,
    },
    "HiSparseMHAMainPool": {"set_kv_buffer": _PLAIN},
    "SWAKVPool": {"set_kv_buffer": _PLAIN},
    "HybridLinearKVPool": {"set_kv_buffer": _PLAIN, "move_kv_cache": _TRITON},
    "UnifiedHybridLinearKVPool": {"set_kv_buffer": _PLAIN},
    "QSATokenToKVPool": {"set_kv_buffer": _PLAIN},
    "UnifiedMHATokenToKVPool": {"set_kv_buffer": _TRITON},
    "MiniMaxSparseKVPool": {"set_kv_buffer": _PLAIN, "set_index_k_buffer": _PLAIN},
    "MHATokenToKOnlyPool": {"set_k_buffer": _PLAIN},
    "MLATokenToKVPool": {
        "set_kv_buffer": _PLAIN,
        "set_mla_kv_buffer": _TRITON,
        "move_kv_cache": _PLAIN,
    },
    "UnifiedMLATokenToKVPool": {"set_mla_kv_buffer": _TRITON},
    "DSATokenToKVPool": {
        "set_mla_kv_buffer": _TRITON,
        "set_index_k_scale_buffer": _TRITON,
    },
    "DeepSeekV4SingleKVPool": {"set_key_buffer": _TRITON},
    "DeepSeekV4UniformFP8KVPool": {"set_key_buffer_fused": _PLAIN},
}

# name -> class, accessor, engines, rules, title
_NECESSITY: dict[str, tuple[str, str, tuple[Engine, ...], tuple[str, ...], str]] = {
    "no-op-placeholder": (
        *("NoOpMHATokenToKVPool", "get_kv_buffer", _TRITON, ("KV301",)),
        "a store at a real location leaves the placeholder",
    ),
    "k-only-value-store": (
        *("MHATokenToKOnlyPool", "get_key_buffer", _TRITON, ("KV201",)),
        "V stored where only K is kept destroys K",
    ),
    "k-only-global-layer": (
        *("MiniMaxSparseKVPool", "index_k_pool.set_k_buffer", _PLAIN, ("KV201", "KV202")),
        "a global layer id writes another layer's index keys",
    ),
    "shared-buffer-value-store": (
        *("DeepSeekV4SingleKVPool", "get_key_buffer", _TRITON, ("KV101", "KV102")),
        "V stored into the shared buffer destroys K",
    ),
    "paged-buffer-row-store": (
        *("DeepSeekV4SingleKVPool", "get_key_buffer", _TRITON, ("KV102", "KV204")),
        "pages taken for token rows are written far outside",
    ),
    "raw-buffer-other-layer": (
        *("MHATokenToKVPool", "k_buffer", _TRITON, ("KV204",)),
        "the raw buffer of a later stage is another layer's",
    ),
    "hybrid-global-layer": (
        *("HybridLinearKVPool", "full_kv_pool.set_kv_buffer", _PLAIN, ("KV202",)),
        "a global layer id writes another layer's rows",
    ),
    "swa-untranslated-location": (
        *("SWAKVPool", "swa_kv_pool.set_kv_buffer", _PLAIN, ("KV202",)),
        "a full location overwrites another window slot",
    ),
    "unified-untranslated-location": (
        *("UnifiedMHATokenToKVPool", "k_buffer", _TRITON, ("KV202", "KV204")),
        "an untranslated id overwrites the other sub-pool",
    ),
}

_LAUNCH: dict[str, tuple[tuple[str, ...], str]] = {
    "prefill-backend": (("KV302",), "the no-op pool wants fa3 or fa4 for prefill"),
    "prefill-backend-wins": (("KV302",), "prefill_attention_backend decides"),
    "preconditions": (("KV303",), "each precondition of the no-op pool is enforced"),
    "valid-backends": (("KV305",), "the names that --attention-backend takes"),
}


def plan_probes(
    view: View, rules: Iterable[Rule], published: View | None = None
) -> tuple[Probe, ...]:
    """Every probe of one release, in a stable order.

    `view` is read from the tree that will run. `published`, the embedded catalogue of the same
    version, is what SGLang released under that number: where the two differ, somebody changed the
    tree, and the guards of the published one are what is expected. Which probes a rule has is
    decided by what the tree holds, never by the number that it gives itself.
    """
    known = list(rules)
    classes = {name.rpartition(".")[2]: name for name in view.pools() if view.concrete(name)}
    return (
        *_facts(view, published, classes),
        *_guards(view, published, classes, known),
        *_fixes(classes, known),
        *_necessity(classes),
        *_writers(view, classes),
        *_launches(view),
    )


def _guards(
    view: View, published: View | None, classes: Mapping[str, str], rules: list[Rule]
) -> Iterator[Probe]:
    for name, qualname in classes.items():
        for accessor, (own, release) in _accessors(view, published, qualname):
            resolved = _expected_guard(own, release)
            if resolved is not None:
                yield Probe(
                    id=f"guard:{name}.{accessor}",
                    kind="guard",
                    pool=qualname,
                    accessor=accessor,
                    title="the guard raises and writes nothing",
                    engines=_PLAIN,
                    rules=_rules_for(published or view, qualname, accessor, rules),
                    expected=_raised(resolved),
                    data={
                        "exception": resolved.exception or "Exception",
                        "message": resolved.message,
                        "has_message": resolved.has_message,
                    },
                )


def _expected_guard(
    own: ResolvedAccessor, release: ResolvedAccessor | None
) -> ResolvedAccessor | None:
    """The guard to expect: the published one, its text from the tree where it is not embedded."""
    if release is None or release.kind != "guard":
        return own if own.kind == "guard" else None
    if release.message is None and release.has_message:
        return replace(release, message=own.message if own.kind == "guard" else None)
    return release


def _raised(resolved: ResolvedAccessor) -> str:
    name = resolved.exception or "an exception"
    if resolved.message:
        return f"{name}: {' '.join(resolved.message.split())}"
    return name if resolved.has_message else f"{name} without a message"


def _accessors(view: View, published: View | None, qualname: str) -> Iterator[tuple[str, Opinion]]:
    """Every method along the MRO by name, as it resolves on an instance."""
    views = [view, *([published] if published is not None else [])]
    names = {name for one in views for own in one.known_mro(qualname) for name in own.methods}
    known = published is not None and qualname in published.catalogue.classes
    for name in sorted(names):
        if not (name.startswith("__") and name.endswith("__")):
            release = published.accessor(qualname, name) if published and known else None
            yield name, (view.accessor(qualname, name), release)


def _rules_for(view: View, qualname: str, accessor: str, rules: list[Rule]) -> tuple[str, ...]:
    family = family_of(view, qualname)
    exact = tuple(
        rule.code
        for rule in rules
        if rule.parameters.get("family") == family
        and family is not None
        and accessor in rule.parameters.get("accessors", ())
    )
    if exact:
        return exact
    return tuple(rule.code for rule in rules if rule.parameters.get("rest") is True)


def _facts(view: View, published: View | None, classes: Mapping[str, str]) -> Iterator[Probe]:
    attributes = sorted(
        {name for qualname in classes.values() for name in view.constructor_attributes(qualname)}
        | view.accessor_names()
    )
    for name, qualname in classes.items():
        facts: dict[str, Any] = {}
        changed: list[str] = []
        for accessor, (own, release) in _accessors(view, published, qualname):
            facts[accessor] = {"kind": own.kind, "defining_class": own.defining_class}
            if release is not None and release.kind != own.kind:
                changed.append(f"{accessor}: {release.kind} as published, {own.kind} in this tree")
        for attribute in attributes:
            if attribute not in facts and view.has_attribute(qualname, attribute) is False:
                facts[attribute] = {"kind": "absent", "defining_class": None}
        guards = [accessor for accessor, fact in facts.items() if fact["kind"] == "guard"]
        called = sorted({*guards, *(name for name in MATRIX_ACCESSORS if name in facts)})
        yield Probe(
            id=f"facts:{name}",
            kind="facts",
            pool=qualname,
            accessor="",
            title="every accessor resolves as the catalogue says",
            engines=("cpu", "cuda"),
            rules=("KV104",),
            expected=f"{len(facts)} accessors and attributes as in the catalogue",
            data={"accessors": facts, "called": called, "changed": changed},
        )


def _fixes(classes: Mapping[str, str], rules: list[Rule]) -> Iterator[Probe]:
    for rule in rules:
        pool = classes.get(str(rule.probe.get("pool", "")))
        if pool is None or rule.example.language != "python":
            continue
        yield Probe(
            id=f"fix:{rule.code}",
            kind="fix",
            pool=pool,
            accessor=str(rule.probe.get("misuse", "")),
            title=f"both halves of the example of {rule.name}",
            engines=_PLAIN,
            rules=(rule.code,),
            expected=_fix_expectation(rule),
            data={
                "bad": rule.example.bad,
                "good": rule.example.good,
                "exception": rule.exception,
                "message": rule.message,
                "pool": pool,
            },
        )


def _fix_expectation(rule: Rule) -> str:
    wrong = f"bad raises {rule.exception}" if rule.exception else "bad has another effect"
    return f"{wrong}; good writes exactly what it should"


def _necessity(classes: Mapping[str, str]) -> Iterator[Probe]:
    for name, (cls, accessor, engines, rules, title) in _NECESSITY.items():
        if cls in classes:
            yield Probe(
                id=f"necessity:{name}",
                kind="necessity",
                pool=classes[cls],
                accessor=accessor,
                title=title,
                engines=engines,
                rules=rules,
                expected="the misuse harms, the documented write does not",
                data={"name": name},
            )


def _writers(view: View, classes: Mapping[str, str]) -> Iterator[Probe]:
    for cls, writers in _WRITERS.items():
        for accessor, engines in writers.items():
            qualname = classes.get(cls)
            if qualname is None or not _offers(view, qualname, accessor):
                continue
            yield Probe(
                id=f"writer:{cls}.{accessor}",
                kind="writer",
                pool=qualname,
                accessor=accessor,
                title="SGLang's own writer, byte by byte",
                engines=engines,
                expected="exactly the bytes of a torch reference",
                data={"name": accessor},
            )


def _offers(view: View, qualname: str, accessor: str) -> bool:
    method, _, parameter = accessor.partition("(")
    resolved = view.accessor(qualname, method)
    if resolved.kind in ("absent", "guard"):
        return False
    wanted = parameter.rstrip(")")
    return not wanted or any(one.name == wanted for one in resolved.parameters)


def _launches(view: View) -> Iterator[Probe]:
    for name, (rules, title) in _LAUNCH.items():
        yield Probe(
            id=f"launch:{name}",
            kind="launch",
            pool="",
            accessor="ServerArgs",
            title=title,
            engines=("cpu",),
            rules=rules,
            expected="as the rule says",
            data={"name": name, "backends": list(view.catalogue.backends)},
        )


def as_json(probe: Probe) -> dict[str, Any]:
    return asdict(probe)


class SelectionError(ValueError):
    """A word of the selection names no rule, class or probe."""


def select(probes: tuple[Probe, ...], words: Iterable[str]) -> tuple[Probe, ...]:
    """Probes of the rules, classes or ids that the words name. Raises SelectionError."""
    wanted = list(words)
    if not wanted:
        return probes
    chosen: set[str] = set()
    for word in wanted:
        found = [probe.id for probe in probes if _matches(probe, word)]
        if not found:
            raise SelectionError(f"{word} names no rule, pool class or probe of this release")
        chosen.update(found)
    return tuple(probe for probe in probes if probe.id in chosen)


def _matches(probe: Probe, word: str) -> bool:
    return (
        probe.id == word
        or word in probe.rules
        or word in (probe.pool, probe.pool_name)
        or word == probe.kind
    )
