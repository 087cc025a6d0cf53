"""What a child process needs before SGLang can be imported and its pools be built.

Runs only in child processes. Rests on sglang/srt/runtime_context.py (0.5.16 and newer) and
sglang/srt/server_args.py.
"""

from __future__ import annotations

import importlib
from typing import Any


def declare_torchvision_operators() -> Any:
    """Let `import torchvision` succeed beside a CPU build of torch.

    torchvision's wheels carry operators built for CUDA; without their library the import fails
    on the two schemas that its Python code registers fakes for. Returns the library object, which
    must stay alive, or None where nothing had to be declared.
    """
    import torch

    if torch.version.cuda is not None or torch.version.hip is not None:
        return None
    library = torch.library.Library("torchvision", "FRAGMENT")
    for name in ("nms", "qnms"):
        if not hasattr(torch.ops.torchvision, name):
            library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    return library


def install_context() -> list[Any]:
    """Publish the process-wide state that DeepSeek-V4 pools and MLA writes read.

    Returns objects that must stay alive as long as pools are used.
    """
    keep: list[Any] = []
    try:
        context_module = importlib.import_module("sglang.srt.runtime_context")
    except ModuleNotFoundError:
        return [_publish_server_args()]
    context = context_module.get_context()
    override = getattr(context, "override_server_args", None)
    if override is None:
        return [_publish_server_args()]
    published = override()
    published.install()
    keep.append(published)
    parallel = context_module.get_parallel()
    stamp = getattr(parallel, "override_permanently", None)
    if stamp is not None:
        stamp(**_single_rank(parallel))
    return keep


def _publish_server_args() -> Any:
    server_args = importlib.import_module("sglang.srt.server_args")
    arguments = server_args.ServerArgs(model_path="dummy")
    server_args.set_global_server_args_for_scheduler(arguments)
    return arguments


def _single_rank(parallel: Any) -> dict[str, int]:
    """One process: every rank that the pools read is 0."""
    ranks = ("tp_rank", "attn_tp_rank", "attn_dcp_rank", "attn_cp_rank", "pp_rank")
    known = _parallel_fields(parallel)
    return {name: 0 for name in ranks if name in known}


def two_context_ranks(parallel: Any) -> dict[str, int]:
    """Rank 0 of two attention CP ranks; from 0.5.23 the widths of a topology must agree."""
    wanted = {
        "attn_cp_size": 2,
        "tp_size": 2,
        "attn_tp_size": 1,
        "attn_dp_size": 1,
        "moe_ep_size": 2,
        "moe_dp_size": 1,
        "moe_tp_size": 1,
    }
    known = _parallel_fields(parallel)
    return {name: value for name, value in wanted.items() if name in known}


def _parallel_fields(parallel: Any) -> set[str]:
    module = importlib.import_module(type(parallel).__module__)
    fields = getattr(module, "_parallel_fields", None)
    return set(fields()) if fields is not None else set()
