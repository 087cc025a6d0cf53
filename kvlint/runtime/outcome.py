"""What one call or probe did, judged. Runs only in child processes."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kvlint.runtime.probes import Verdict
from kvlint.runtime.storage import Difference, Snapshot, difference, views_of

# How torch, triton and SGLang's kernels say that there is no GPU here.
_NO_DEVICE = (
    "no cuda gpus",
    "not compiled with cuda",
    "0 active drivers",
    "no active driver",
    "cuda_home",
    "nvcc",
    "found no nvidia driver",
    "cuda driver",
    "could not find cuda",
    "invalid device function",
    "cannot access accelerator",
    "requires a cuda device",
    "no suitable device",
    "libcuda",
)
_DEVICE_PACKAGES = (
    *("sgl_kernel", "flashinfer", "cuda", "deep_gemm", "tilelang", "tvm_ffi", "cutlass"),
    *("aiter", "flash_attn", "cupy"),
)


@dataclass(frozen=True)
class Judged:
    """The verdict of a probe before it is tied to its engine."""

    verdict: Verdict
    observed: str
    details: tuple[str, ...] = ()


@dataclass(frozen=True)
class Call:
    """What one call did: returned or raised, and which bytes of storage it changed."""

    value: Any
    error: BaseException | None
    changed: Difference
    before: Snapshot
    after: Snapshot

    @property
    def text(self) -> str:
        what = "returned" if self.error is None else f"raised {error_text(self.error)}"
        return f"{what}, {self.changed}" if self.changed else what


def observe(pool: Any, action: Callable[[], Any], keep: tuple[Any, ...] = ()) -> Call:
    """Run `action` and compare the pool's storage before and after, raised or not."""
    views = views_of(pool, keep)
    before = Snapshot(views)
    value, error = attempt(action)
    after = Snapshot(views)
    return Call(value, error, difference(before, after), before, after)


def attempt(action: Callable[[], Any]) -> tuple[Any, BaseException | None]:
    try:
        return action(), None
    # SGLang's code is under test: whatever it raises is the observation.
    except Exception as error:
        return None, error


def error_text(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return (
        f"{type(error).__name__}: {text}" if text else f"{type(error).__name__} without a message"
    )


def wants_gpu(error: BaseException) -> str:
    """Why this error means that a GPU (or a package for one) is missing; "" where it does not."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, ModuleNotFoundError) and seen.name:
            package = seen.name.partition(".")[0]
            if package in _DEVICE_PACKAGES:
                return f"needs the package {package} and a GPU"
        text = str(seen).lower()
        if any(sign in text for sign in _NO_DEVICE):
            return f"needs a GPU ({error_text(seen)[:160]})"
        seen = seen.__cause__ or seen.__context__
    return ""


def frames_of(error: BaseException, last: int = 4) -> tuple[str, ...]:
    """The innermost frames, as `file:line function`, paths cut to the package they are in."""
    frames = traceback.extract_tb(error.__traceback__)[-last:]
    return tuple(f"{_short(frame.filename)}:{frame.lineno} {frame.name}" for frame in frames)


def _short(path: str) -> str:
    for package in ("sglang/", "kvlint/", "torch/", "triton/"):
        _, found, tail = path.rpartition(f"/{package}")
        if found:
            return package + tail
    return path.rpartition("/")[2]
