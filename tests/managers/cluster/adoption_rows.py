"""What is told of servers that another operator made. Rows of test_conditions."""

from runtime.outcome import Done, Outcome
from tests import gen

QUIET = gen.cluster().initialized()
ASKING = gen.cluster(runtime={"restartAt": "now"}).initialized()


def there(cluster: gen.Cluster, live: gen.StatefulSet) -> gen.World:
    return gen.running(cluster).with_set(live.of_another())


ADOPTION_ROWS: dict[str, tuple[gen.Cluster, gen.World, Outcome, str, str]] = {
    "servers of another operator": (
        QUIET,
        there(QUIET, gen.stateful_set()),
        Done(),
        "Adopted",
        "False AdoptionPending",
    ),
    "servers of another operator that may go": (
        ASKING,
        there(ASKING, gen.stateful_set()),
        Done(),
        "Adopted",
        "False Adopting",
    ),
    "servers of another operator with other addresses": (
        QUIET,
        there(QUIET, gen.StatefulSet(service="other")),
        Done(),
        "Adopted",
        "False AdoptionRefused",
    ),
}
