"""What is done about the number of servers in which world. Read by test_scale."""

from datetime import timedelta
from typing import NamedTuple

from tests import gen
from tests.managers.workload.scale_worlds import (
    ALONE_OF_THREE,
    ALONE_OF_TWO,
    FIVE,
    ONE,
    THREE,
    Servers,
    pod_names,
    pods,
    raft,
    servers,
    servers_after_stop,
)


class Row(NamedTuple):
    """What is said and done: the replicas, the reason, the effects."""

    cluster: gen.Cluster
    servers: Servers
    expected: str


REMOVED = timedelta(seconds=9)
FOUR_BY_HAND = servers(3).set_to(gen.stateful_set().with_replicas(4))

DOWN = {
    "the highest leaves raft first": Row(ONE, servers(3), "3 Scaling [remove-peer x-2]"),
    "then its pod goes": Row(
        ONE, servers(3).with_removal_marks(2).with_raft(*raft("x-0", "x-1")), "2 Scaling"
    ),
    "while it stops nobody else leaves": Row(
        ONE,
        servers(3).set_to(gen.stateful_set().with_replicas(2)).with_raft(*raft("x-0", "x-1")),
        "2 Scaling",
    ),
    "then the next": Row(
        ONE, servers_after_stop(2, raft_of=2, volumes=3), "2 Scaling [remove-peer x-1]"
    ),
    "a leader steps down first": Row(ONE, servers(3, leading=2), "3 Scaling [step-down x-2]"),
    "and is not asked again at once": Row(
        ONE,
        servers(3, leading=2).with_attempt("step-down", "uid-x-2", timedelta(seconds=5)),
        "3 Scaling",
    ),
    "but is when it leads for long": Row(
        ONE,
        servers(3, leading=2).with_attempt("step-down", "uid-x-2", timedelta(seconds=21)),
        "3 Scaling [step-down x-2]",
    ),
    "who refuses to step down is never removed": Row(
        ONE,
        servers(3, leading=2).with_attempt(
            "step-down", "uid-x-2", timedelta(seconds=50), "no right"
        ),
        "3 ScaleDownBlocked",
    ),
    "a lost answer is not sent again at once": Row(
        ONE, servers(3).with_attempt("remove-peer", "uid-x-2", timedelta(seconds=2)), "3 Scaling"
    ),
    "but is a little later": Row(
        ONE,
        servers(3).with_attempt("remove-peer", "uid-x-2", REMOVED),
        "3 Scaling [remove-peer x-2]",
    ),
    "a refusal is told and not repeated": Row(
        ONE,
        servers(3).with_attempt("remove-peer", "uid-x", timedelta(minutes=9), "permission denied"),
        "3 ScaleDownBlocked",
    ),
    "and tried again after a while": Row(
        ONE,
        servers(3).with_attempt("remove-peer", "uid-x", timedelta(minutes=10), "permission denied"),
        "3 Scaling [remove-peer x-2]",
    ),
    "without a login nobody leaves": Row(ONE, servers(3).silent(), "3 ScaleDownBlocked"),
    "a silent leader is no consent": Row(ONE, servers(3).with_raft(error="no answer"), "3 Scaling"),
    "two that lead are no consent": Row(
        ONE,
        servers(3)
        .pods(*pods(2), gen.pod(2).ready(leading=True))
        .with_raft(error="not exactly one ready server reports itself as the leader"),
        "3 Scaling",
    ),
    "another that is not ready keeps the highest": Row(
        ONE,
        servers(3).pods(gen.pod(0).ready(leading=True), gen.pod(1), gen.pod(2).ready()),
        "3 Scaling",
    ),
    "another whose pod is missing keeps the highest": Row(
        ONE, servers(3).pods(gen.pod(0).ready(leading=True), gen.pod(2).ready()), "3 Scaling"
    ),
    "another that the leader finds unwell keeps the highest": Row(
        ONE, servers(3).with_raft(*raft(*pod_names(3), ill=["x-1"])), "3 Scaling"
    ),
    "a stranger that is unwell keeps the highest": Row(
        ONE, servers(3).with_raft(*raft(*pod_names(3), "stranger", ill=["stranger"])), "3 Scaling"
    ),
    "last voter": Row(ONE, servers(2).with_raft(*raft("x-0", "x-1", joining=["x-0"])), "2 Scaling"),
    "of two the second leaves": Row(ONE, servers(2), "2 Scaling [remove-peer x-1]"),
    "an older number of the StatefulSet is no number": Row(
        ONE, servers(3).set_to(gen.stateful_set().with_stale_status()), "3 Scaling"
    ),
    "a dead one leaves while the others are a majority": Row(
        ONE,
        servers(3).pods(*pods(2), gen.pod(2)).with_raft(*raft(*pod_names(3), ill=["x-2"])),
        "3 Scaling [remove-peer x-2]",
    ),
    "one whose pod is gone leaves too": Row(
        ONE,
        servers(3).pods(*pods(2)).with_raft(*raft(*pod_names(3), ill=["x-2"])),
        "3 Scaling [remove-peer x-2]",
    ),
    "a dead one stays while it may be needed": Row(
        ONE,
        servers(3)
        .pods(gen.pod(0).ready(leading=True), gen.pod(1), gen.pod(2))
        .with_raft(*raft(*pod_names(3), ill=["x-1", "x-2"])),
        "3 Scaling",
    ),
    "one without a vote takes nothing away": Row(
        ONE,
        servers(3)
        .pods(gen.pod(0).ready(leading=True), gen.pod(1), gen.pod(2))
        .with_raft(*raft(*pod_names(3), ill=["x-1", "x-2"], joining=["x-1", "x-2"])),
        "3 Scaling [remove-peer x-2]",
    ),
    "one that never joined is marked, so that it may start empty one day": Row(
        THREE,
        FOUR_BY_HAND.volumes(0, 1, 2, 3).pods(*pods(3), gen.pod(3)),
        "4 Scaling [remove-peer x-3]",
    ),
    "and goes": Row(
        THREE,
        FOUR_BY_HAND.volumes(0, 1, 2, 3).with_removal_marks(3).pods(*pods(3), gen.pod(3)),
        "3 Scaling",
    ),
    "somebody scaled by hand a moment ago: it is undone": Row(THREE, FOUR_BY_HAND, "3 Scaling"),
    "somebody scaled by hand, and it joined": Row(THREE, servers(4), "4 Scaling [remove-peer x-3]"),
    "the volume of somebody else is not written on": Row(
        ONE,
        servers(3).volumes(0, 1, 2, owner_uid="another").with_raft(*raft("x-0", "x-1")),
        "2 Scaling",
    ),
    "a removal that was begun is finished, whatever the spec says by then": Row(
        THREE, servers(3).with_removal_marks(2), "3 Scaling [remove-peer x-2]"
    ),
    "also when it was done already": Row(
        FIVE, servers(3).with_removal_marks(2).with_raft(*raft("x-0", "x-1")), "2 Scaling"
    ),
    "another's mark is no mark": Row(THREE, servers(3).volumes(0, 1, 2, removed_peer="x-7"), "3"),
    "a mark on the volume of somebody else means nothing": Row(
        THREE, servers(3).with_removal_marks(2, owner_uid="another"), "3"
    ),
    "a mark on the first server means nothing": Row(ONE, servers(1).with_removal_marks(0), "1"),
    "while the StatefulSet is made anew nobody leaves": Row(ONE, servers(3).set_to(None), "3"),
}

UP = {
    "all at once": Row(FIVE, servers(3), "5"),
    "an even number": Row(gen.cluster(replicas=4).initialized(), servers(3), "4"),
    "also without a login": Row(FIVE, servers(3).silent(), "5"),
    "the volume of a removed server goes first": Row(
        THREE, ALONE_OF_THREE.with_removal_marks(1, 2), "1 Scaling [delete-claim data-x-1]"
    ),
    "and the next": Row(
        THREE,
        ALONE_OF_THREE.volumes(0, 2).with_removal_marks(2),
        "2 Scaling [delete-claim data-x-2]",
    ),
    "until it is gone nobody starts with it": Row(
        THREE, ALONE_OF_TWO.with_removal_marks(1, terminating=True), "1 Scaling"
    ),
    "a marked one that is a member still is removed first": Row(
        THREE,
        servers_after_stop(1, raft_of=2, volumes=2).with_removal_marks(1),
        "1 Scaling [remove-peer x-1]",
    ),
    "a member whose pod somebody took away comes back with its data": Row(
        THREE, servers_after_stop(2, raft_of=3, volumes=3), "3"
    ),
    "data of no member is nobody's to delete": Row(THREE, ALONE_OF_TWO, "1 StaleVolume"),
    "nor is that of somebody else, mark or no mark": Row(
        THREE, ALONE_OF_TWO.with_removal_marks(1, owner_uid="another"), "1 StaleVolume"
    ),
    "with a leader that does not answer a mark decides nothing": Row(
        THREE, ALONE_OF_TWO.with_removal_marks(1).with_raft(error="no answer"), "1 Scaling"
    ),
    "nor does its absence": Row(THREE, ALONE_OF_TWO.with_raft(error="no answer"), "1 Scaling"),
    "but without any leader who may be a member has to come back": Row(
        THREE, ALONE_OF_THREE.pods(gen.pod(0).ready()).with_raft(error="nobody leads"), "3"
    ),
    "who was removed does not even then": Row(
        THREE,
        ALONE_OF_THREE.with_removal_marks(1)
        .pods(gen.pod(0).ready())
        .with_raft(error="nobody leads"),
        "1 Scaling",
    ),
    "without a login a mark is a question for a person": Row(
        THREE, ALONE_OF_TWO.with_removal_marks(1).silent(), "1 StaleVolume"
    ),
    "a volume whose pod is there is in use": Row(
        THREE, servers(3).set_to(gen.stateful_set().with_replicas(2)), "3"
    ),
}

KEEPS, DELETES = ONE, ONE.with_spec(deletionPolicy="DeletePVCs")

AFTER = {
    "volumes are kept by default": Row(KEEPS, ALONE_OF_THREE.with_removal_marks(1, 2), "1"),
    "or deleted, as the policy says": Row(
        DELETES,
        ALONE_OF_THREE.with_removal_marks(1, 2),
        "1 [delete-claim data-x-1] [delete-claim data-x-2]",
    ),
    "never without a mark": Row(
        DELETES, ALONE_OF_THREE.with_removal_marks(2), "1 [delete-claim data-x-2]"
    ),
    "never of others": Row(DELETES, ALONE_OF_TWO.with_removal_marks(1, owner_uid="another"), "1"),
    "never that of a member": Row(
        DELETES,
        servers_after_stop(1, raft_of=2, volumes=2).with_removal_marks(1),
        "1 [remove-peer x-1]",
    ),
    "never while nobody tells who is a member": Row(
        DELETES, ALONE_OF_TWO.with_removal_marks(1).with_raft(error="no answer"), "1"
    ),
    "never twice": Row(DELETES, ALONE_OF_TWO.with_removal_marks(1, terminating=True), "1"),
    "while the last one stops it is not over": Row(
        KEEPS, ALONE_OF_TWO.pods(*pods(1), gen.pod(1).terminating()), "1 Scaling"
    ),
    "who joined on its way out is removed": Row(
        KEEPS, servers_after_stop(1, raft_of=2, volumes=2), "1 [remove-peer x-1]"
    ),
    "one at a time": Row(KEEPS, servers_after_stop(1, raft_of=3, volumes=3), "1 [remove-peer x-1]"),
    "a member of another kind of name is not ours": Row(
        KEEPS, servers(1).with_raft(*raft("x-0", "stranger", "x-read-0")), "1"
    ),
}
ALL = {**DOWN, **UP, **AFTER}
