"""managers.cluster.observe.relevant_changes: what the predicates keep, and what they accept."""

import weakref
from collections.abc import Callable
from typing import Any

import pytest

from managers.cluster.observe.relevant_changes import (
    STATUS_FACTS,
    relevant_changes,
    server_changed,
)
from runtime.builtin_kinds import CONFIG_MAP, POD, PVC, SECRET, STATEFUL_SET
from runtime.controller.event import Event
from runtime.types import Object
from tests import gen


class Live(dict[str, Any]):
    """An object of a cache that a test can observe until it is freed."""


CLAIM: Object = {"metadata": {"name": "data-x-0", "namespace": gen.NAMESPACE, "uid": "u"}}
# sentence: (predicate, object)
PREDICATES: dict[str, tuple[Callable[[Event], bool], Object]] = {
    "a pod, for its cluster": (relevant_changes(POD)[0], gen.pod(0).object()),
    "a pod, for the check of the servers": (server_changed, gen.pod(0).object()),
    "a job's pod": (
        relevant_changes(POD)[0],
        {"metadata": {"name": "backup-abc", "namespace": gen.NAMESPACE, "uid": "u"}},
    ),
    "a volume": (relevant_changes(PVC)[0], CLAIM),
    "a StatefulSet": (relevant_changes(STATEFUL_SET)[0], gen.stateful_set().object()),
}


@pytest.mark.parametrize(("predicate", "obj"), PREDICATES.values(), ids=PREDICATES)
def test_no_object_of_an_event_is_kept(predicate: Callable[[Event], bool], obj: Object) -> None:
    old, new = Live(obj), Live({**obj, "status": {**obj.get("status", {}), "other": 1}})
    freed = [weakref.ref(old), weakref.ref(new)]
    assert not predicate(Event("update", new, old))
    del old, new
    assert [reference() for reference in freed] == [None, None]


def test_every_change_of_other_kinds_is_relevant() -> None:
    assert CONFIG_MAP not in STATUS_FACTS
    assert relevant_changes(CONFIG_MAP) == relevant_changes(SECRET) == ()
