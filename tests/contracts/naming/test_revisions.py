"""Names of the green pool, and of what belongs to it."""

import pytest

from contracts.naming import names, revisions

LONG = "a" * names.CLUSTER_NAME_MAX
REVISION = "0123456789abcdef"


def test_a_set_carries_its_revision_and_the_one_that_was_always_there_has_none() -> None:
    assert revisions.server_stateful_set("bao") == names.stateful_set("bao")
    assert revisions.server_pod("bao", "", 2) == names.pod("bao", 2)
    assert revisions.server_stateful_set("bao", REVISION) == f"bao-{REVISION}"
    assert revisions.server_pod("bao", REVISION, 2) == f"bao-{REVISION}-2"


def test_kubernetes_can_put_its_hash_behind_the_name_of_the_longest_set() -> None:
    name = revisions.server_stateful_set(LONG, REVISION)
    assert len(name) + 11 <= 63
    assert name.startswith(f"{LONG}-01234567")


def test_a_name_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="must be 1 to 40"):
        revisions.server_stateful_set("-", REVISION)
    with pytest.raises(ValueError, match="ordinal"):
        revisions.server_pod("bao", REVISION, -1)
