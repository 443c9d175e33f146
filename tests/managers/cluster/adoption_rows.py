"""Rows of test_conditions about servers that another operator created."""

from tests import gen
from tests.managers.cluster.passes import Row

QUIET = gen.cluster().initialized()
ASKING = gen.cluster(runtime={"restartAt": "now"}).initialized()


def there(cluster: gen.Cluster, live: gen.StatefulSet) -> gen.World:
    return gen.running(cluster).with_set(live.of_another())


ADOPTION_ROWS = {
    "servers of another operator": Row(
        QUIET, there(QUIET, gen.stateful_set()), "Adopted=False AdoptionPending"
    ),
    "servers of another operator that may go": Row(
        ASKING, there(ASKING, gen.stateful_set()), "Adopted=False Adopting"
    ),
    "servers of another operator with other addresses": Row(
        QUIET, there(QUIET, gen.StatefulSet(service="other")), "Adopted=False AdoptionRefused"
    ),
}
