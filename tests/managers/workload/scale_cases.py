"""The decisions about the number of voters: a row per situation. Used by scale/test_voters."""

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
    """The cluster, its servers, and the expected replicas, reason and effects."""

    cluster: gen.Cluster
    servers: Servers
    expected: str


REMOVED = timedelta(seconds=9)
FOUR_BY_HAND = servers(3).set_to(gen.stateful_set().with_replicas(4))

DOWN = {
    "the highest leaves raft first": Row(ONE, servers(3), "3 Scaling [remove-peer x-2]"),
    "the pod of the removed server stops": Row(
        ONE, servers(3).with_removal_marks(2).with_raft(*raft("x-0", "x-1")), "2 Scaling"
    ),
    "no second server leaves while one stops": Row(
        ONE,
        servers(3).set_to(gen.stateful_set().with_replicas(2)).with_raft(*raft("x-0", "x-1")),
        "2 Scaling",
    ),
    "the next server leaves raft": Row(
        ONE, servers_after_stop(2, raft_of=2, volumes=3), "2 Scaling [remove-peer x-1]"
    ),
    "a leader steps down first": Row(ONE, servers(3, leading=2), "3 Scaling [step-down x-2]"),
    "a leader is not asked again immediately": Row(
        ONE,
        servers(3, leading=2).with_attempt("step-down", "uid-x-2", timedelta(seconds=5)),
        "3 Scaling",
    ),
    "a leader is asked again after 20 s": Row(
        ONE,
        servers(3, leading=2).with_attempt("step-down", "uid-x-2", timedelta(seconds=21)),
        "3 Scaling [step-down x-2]",
    ),
    "a leader that refuses to step down is never removed": Row(
        ONE,
        servers(3, leading=2).with_attempt(
            "step-down", "uid-x-2", timedelta(seconds=50), "no right"
        ),
        "3 ScaleDownBlocked",
    ),
    "a removal without a response is not repeated immediately": Row(
        ONE, servers(3).with_attempt("remove-peer", "uid-x-2", timedelta(seconds=2)), "3 Scaling"
    ),
    "a removal without a response is repeated later": Row(
        ONE,
        servers(3).with_attempt("remove-peer", "uid-x-2", REMOVED),
        "3 Scaling [remove-peer x-2]",
    ),
    "a refused removal is reported and not repeated": Row(
        ONE,
        servers(3).with_attempt("remove-peer", "uid-x", timedelta(minutes=9), "permission denied"),
        "3 ScaleDownBlocked",
    ),
    "a refused removal is retried after ten minutes": Row(
        ONE,
        servers(3).with_attempt("remove-peer", "uid-x", timedelta(minutes=10), "permission denied"),
        "3 Scaling [remove-peer x-2]",
    ),
    "without a login no server leaves": Row(ONE, servers(3).silent(), "3 ScaleDownBlocked"),
    "without a response of the leader no server leaves": Row(
        ONE, servers(3).with_raft(error="no answer"), "3 Scaling"
    ),
    "with two leaders no server leaves": Row(
        ONE,
        servers(3)
        .pods(*pods(2), gen.pod(2).ready(leading=True))
        .with_raft(error="not exactly one ready server reports itself as the leader"),
        "3 Scaling",
    ),
    "another unready server blocks the removal": Row(
        ONE,
        servers(3).pods(gen.pod(0).ready(leading=True), gen.pod(1), gen.pod(2).ready()),
        "3 Scaling",
    ),
    "another missing pod blocks the removal": Row(
        ONE, servers(3).pods(gen.pod(0).ready(leading=True), gen.pod(2).ready()), "3 Scaling"
    ),
    "another unhealthy server blocks the removal": Row(
        ONE, servers(3).with_raft(*raft(*pod_names(3), ill=["x-1"])), "3 Scaling"
    ),
    "an unhealthy unknown member blocks the removal": Row(
        ONE, servers(3).with_raft(*raft(*pod_names(3), "stranger", ill=["stranger"])), "3 Scaling"
    ),
    "the last voter stays": Row(
        ONE, servers(2).with_raft(*raft("x-0", "x-1", joining=["x-0"])), "2 Scaling"
    ),
    "the second of two servers leaves": Row(ONE, servers(2), "2 Scaling [remove-peer x-1]"),
    "a stale StatefulSet status blocks the removal": Row(
        ONE, servers(3).set_to(gen.stateful_set().with_stale_status()), "3 Scaling"
    ),
    "a server that is down leaves if the others are a majority": Row(
        ONE,
        servers(3).pods(*pods(2), gen.pod(2)).with_raft(*raft(*pod_names(3), ill=["x-2"])),
        "3 Scaling [remove-peer x-2]",
    ),
    "a server without a pod leaves if the others are a majority": Row(
        ONE,
        servers(3).pods(*pods(2)).with_raft(*raft(*pod_names(3), ill=["x-2"])),
        "3 Scaling [remove-peer x-2]",
    ),
    "a server that is down stays if its vote may be needed": Row(
        ONE,
        servers(3)
        .pods(gen.pod(0).ready(leading=True), gen.pod(1), gen.pod(2))
        .with_raft(*raft(*pod_names(3), ill=["x-1", "x-2"])),
        "3 Scaling",
    ),
    "a server without a vote leaves": Row(
        ONE,
        servers(3)
        .pods(gen.pod(0).ready(leading=True), gen.pod(1), gen.pod(2))
        .with_raft(*raft(*pod_names(3), ill=["x-1", "x-2"], joining=["x-1", "x-2"])),
        "3 Scaling [remove-peer x-2]",
    ),
    "a server that never joined is marked as removed": Row(
        THREE,
        FOUR_BY_HAND.volumes(0, 1, 2, 3).pods(*pods(3), gen.pod(3)),
        "4 Scaling [remove-peer x-3]",
    ),
    "a server that never joined stops": Row(
        THREE,
        FOUR_BY_HAND.volumes(0, 1, 2, 3).with_removal_marks(3).pods(*pods(3), gen.pod(3)),
        "3 Scaling",
    ),
    "a manual scale-up is reverted before the server joined": Row(THREE, FOUR_BY_HAND, "3 Scaling"),
    "a manual scale-up is reverted by a removal after the server joined": Row(
        THREE, servers(4), "4 Scaling [remove-peer x-3]"
    ),
    "a foreign volume is not marked": Row(
        ONE,
        servers(3).volumes(0, 1, 2, owner_uid="another").with_raft(*raft("x-0", "x-1")),
        "2 Scaling",
    ),
    "a started removal is completed after a spec change": Row(
        THREE, servers(3).with_removal_marks(2), "3 Scaling [remove-peer x-2]"
    ),
    "a completed removal stops the pod after a spec change": Row(
        FIVE, servers(3).with_removal_marks(2).with_raft(*raft("x-0", "x-1")), "2 Scaling"
    ),
    "a mark of another peer is ignored": Row(
        THREE, servers(3).volumes(0, 1, 2, removed_peer="x-7"), "3"
    ),
    "a mark on a foreign volume is ignored": Row(
        THREE, servers(3).with_removal_marks(2, owner_uid="another"), "3"
    ),
    "a mark on the first server is ignored": Row(ONE, servers(1).with_removal_marks(0), "1"),
    "while the StatefulSet is recreated no server leaves": Row(ONE, servers(3).set_to(None), "3"),
}

UP = {
    "all new servers start at once": Row(FIVE, servers(3), "5"),
    "an even number": Row(gen.cluster(replicas=4).initialized(), servers(3), "4"),
    "new servers start without a login": Row(FIVE, servers(3).silent(), "5"),
    "the volume of a removed server is deleted first": Row(
        THREE, ALONE_OF_THREE.with_removal_marks(1, 2), "1 Scaling [delete-claim data-x-1]"
    ),
    "the next volume of a removed server is deleted": Row(
        THREE,
        ALONE_OF_THREE.volumes(0, 2).with_removal_marks(2),
        "2 Scaling [delete-claim data-x-2]",
    ),
    "no server starts while its old volume terminates": Row(
        THREE, ALONE_OF_TWO.with_removal_marks(1, terminating=True), "1 Scaling"
    ),
    "a marked member is removed first": Row(
        THREE,
        servers_after_stop(1, raft_of=2, volumes=2).with_removal_marks(1),
        "1 Scaling [remove-peer x-1]",
    ),
    "a member whose pod is missing restarts with its data": Row(
        THREE, servers_after_stop(2, raft_of=3, volumes=3), "3"
    ),
    "an unmarked volume of no member is never deleted": Row(THREE, ALONE_OF_TWO, "1 StaleVolume"),
    "a foreign volume is never deleted": Row(
        THREE, ALONE_OF_TWO.with_removal_marks(1, owner_uid="another"), "1 StaleVolume"
    ),
    "without a response a marked volume is waited for": Row(
        THREE, ALONE_OF_TWO.with_removal_marks(1).with_raft(error="no answer"), "1 Scaling"
    ),
    "without a response an unmarked volume is waited for": Row(
        THREE, ALONE_OF_TWO.with_raft(error="no answer"), "1 Scaling"
    ),
    "without a leader possible members are restarted": Row(
        THREE, ALONE_OF_THREE.pods(gen.pod(0).ready()).with_raft(error="nobody leads"), "3"
    ),
    "without a leader removed members are not restarted": Row(
        THREE,
        ALONE_OF_THREE.with_removal_marks(1)
        .pods(gen.pod(0).ready())
        .with_raft(error="nobody leads"),
        "1 Scaling",
    ),
    "without a login a marked volume needs a user": Row(
        THREE, ALONE_OF_TWO.with_removal_marks(1).silent(), "1 StaleVolume"
    ),
    "a volume with a pod is in use": Row(
        THREE, servers(3).set_to(gen.stateful_set().with_replicas(2)), "3"
    ),
}

KEEPS, DELETES = ONE, ONE.with_spec(deletionPolicy="DeletePVCs")

AFTER = {
    "volumes are kept by default": Row(KEEPS, ALONE_OF_THREE.with_removal_marks(1, 2), "1"),
    "volumes are deleted by policy": Row(
        DELETES,
        ALONE_OF_THREE.with_removal_marks(1, 2),
        "1 [delete-claim data-x-1] [delete-claim data-x-2]",
    ),
    "unmarked volumes are not deleted": Row(
        DELETES, ALONE_OF_THREE.with_removal_marks(2), "1 [delete-claim data-x-2]"
    ),
    "foreign volumes are not deleted": Row(
        DELETES, ALONE_OF_TWO.with_removal_marks(1, owner_uid="another"), "1"
    ),
    "volumes of members are not deleted": Row(
        DELETES,
        servers_after_stop(1, raft_of=2, volumes=2).with_removal_marks(1),
        "1 [remove-peer x-1]",
    ),
    "no volume is deleted without a response of the leader": Row(
        DELETES, ALONE_OF_TWO.with_removal_marks(1).with_raft(error="no answer"), "1"
    ),
    "a terminating volume is not deleted again": Row(
        DELETES, ALONE_OF_TWO.with_removal_marks(1, terminating=True), "1"
    ),
    "the operation continues while the last pod stops": Row(
        KEEPS, ALONE_OF_TWO.pods(*pods(1), gen.pod(1).terminating()), "1 Scaling"
    ),
    "a stopped member is removed": Row(
        KEEPS, servers_after_stop(1, raft_of=2, volumes=2), "1 [remove-peer x-1]"
    ),
    "members are removed one at a time": Row(
        KEEPS, servers_after_stop(1, raft_of=3, volumes=3), "1 [remove-peer x-1]"
    ),
    "members with other names are ignored": Row(
        KEEPS, servers(1).with_raft(*raft("x-0", "stranger", "x-read-0")), "1"
    ),
}
ALL = {**DOWN, **UP, **AFTER}
