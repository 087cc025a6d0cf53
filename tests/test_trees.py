"""Published packages give exactly the findings that were judged."""

from __future__ import annotations

import pytest

from tests.trees import TREES, Entry, key, observe, read_golden, trees_folder


def tree_at_hand(name: str) -> None:
    folder = trees_folder()
    if folder is None:
        pytest.skip("KVLINT_TREES is not set: `python3 dev.py trees` prints what to set it to")
    if not (folder / name).is_dir():
        pytest.skip(f"{folder} does not hold {name}")


@pytest.mark.parametrize("name", TREES)
def test_findings_are_the_judged_ones(name: str) -> None:
    tree_at_hand(name)

    def counted(entries: list[Entry]) -> dict[tuple[str, str, str, str], int]:
        return {key(entry): entry["count"] for entry in entries}

    assert counted(observe(name)) == counted(read_golden()[name])


@pytest.mark.parametrize("name", TREES)
def test_every_finding_has_a_verdict_and_no_error_is_wrong(name: str) -> None:
    for entry in read_golden()[name]:
        assert entry["verdict"] in ("right", "harmless", "wrong"), entry
        assert entry["reason"], entry
        assert (entry["severity"], entry["verdict"]) != ("error", "wrong"), entry
