"""The plan of the workload for a world, and worlds with ready servers."""

from typing import Any

from contracts.records.desired import Plan
from managers.workload.objects.statefulset import template_digest
from managers.workload.plan import Inputs, plan
from managers.workload.rollout.reload import Files
from runtime.builtin_kinds import STATEFUL_SET
from tests import gen
from tests.gen.worlds import SERVER_FINGERPRINT

FILES = Files("the configuration", SERVER_FINGERPRINT, "the authority")
INPUTS = Inputs("the restart text", FILES, operator_image="the-operator")
OLD = gen.cluster().initialized()
EMPTY = gen.world()


def digest(cluster: gen.Cluster = OLD, inputs: Inputs = INPUTS) -> str:
    return template_digest(gen.resolved(cluster), inputs.restart)


def plan_workload(cluster: gen.Cluster, world: gen.World, inputs: Inputs = INPUTS) -> Plan:
    return plan(gen.resolved(cluster, world), world.facts(), inputs)


def set_of(plan: Plan) -> dict[str, Any]:
    (intent,) = [intent for intent in plan.intents if intent.resource == STATEFUL_SET]
    spec: dict[str, Any] = intent.body["spec"]
    return spec


def serving(count: int = 3, *, template: str | None = None, size: int | None = None) -> gen.World:
    """A StatefulSet of `size` with `count` ready pods of one template; pod 0 leads."""
    made_from = digest() if template is None else template
    made = (gen.pod(n).with_template(made_from).with_files(FILES.digest) for n in range(count))
    pods = (pod.ready(leading=pod.ordinal == 0) for pod in made)
    live = gen.stateful_set().with_replicas(size or count)
    live = live.with_template(digest()).with_files(FILES.digest)
    return EMPTY.with_set(live).with_pods(*pods)


def template(cluster: gen.Cluster, world: gen.World = EMPTY) -> dict[str, Any]:
    spec: dict[str, Any] = set_of(plan_workload(cluster, world))["template"]
    return spec
