"""Cases of a crash campaign: one before each write and one after the last, run in batches."""

from collections.abc import Callable, Sequence

from e2e.conftest import MakeNamespace, sweep
from e2e.crash.campaign import Campaign, Case
from e2e.harness.clusters import Cluster
from e2e.harness.crash_points import batches, ends
from e2e.harness.crashing_operator import Plan
from e2e.harness.kubernetes import Object
from e2e.harness.write_key import WriteKey

NAME = "one"
# The number of clusters in parallel, in addition to those of other scenarios.
BATCH = 10


def cases_of(
    campaign: Campaign,
    make_namespace: MakeNamespace,
    moments: Sequence[tuple[WriteKey, int]],
    belongings: set[tuple[str, str]],
) -> list[Case]:
    """Return a case before each write and one after the last, each with its own namespace."""
    cases = []
    for key, occurrence, position in ends(moments):
        plan = Plan(make_namespace(), key, occurrence, position)
        cases.append(Case(plan, Cluster(campaign.api, plan.namespace, NAME), belongings))
    return cases


def run(
    campaign: Campaign, cases: list[Case], body_of: Callable[[str], Object], seconds: float
) -> None:
    """Run the cases in batches and print the table."""
    for batch in batches(cases, BATCH):
        campaign.run(batch, body_of, seconds)
        print("\n".join(map(str, batch)))
        for case in batch:
            sweep(campaign.api, case.plan.namespace)
