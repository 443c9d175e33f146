"""Installs and removes the admission policies of deploy/admission on a rig."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from contracts.admission.operator_writes import RESTRICT_SECRETS
from contracts.admission.tenants import TARGET_MESSAGE
from contracts.api.group import CLUSTERS, TENANTS
from contracts.api.rules.cluster import RULES
from e2e.harness.impersonation import ImpersonatingClient, account
from e2e.harness.installation import ACCOUNT, NAMESPACE
from e2e.harness.kubernetes import Object
from e2e.harness.manifests import cluster
from e2e.harness.waiting import until
from e2e.rig import Rig
from e2e.rig.kube import ApiError, wait_established
from e2e.rig.paths import REPOSITORY
from runtime.builtin_kinds import ADMISSION_BINDING, SECRET
from runtime.types import Resource

FOLDER = REPOSITORY / "deploy" / "admission"
PEOPLE = REPOSITORY / "deploy" / "people"
TENANT_CRD = REPOSITORY / "config" / "crd" / "openbao.org_openbaotenants.yaml"
SECONDS = 45.0
# The API server may once more respond without the new policies.
IN_A_ROW = 3
_ELSEWHERE = "default"
_FREE_DATA = "audit-options-known"


class _NotYetError(Exception):
    """A response that does not match the expected state of the policies."""


@contextmanager
def in_force(rig: Rig) -> Iterator[None]:
    """Apply them and the user roles, wait until they are enforced, and delete them at the end."""
    install_people(rig)
    try:
        apply(rig)
        await_refusals(rig)
        yield
    finally:
        rig.kubectl("delete", "--ignore-not-found", "-k", str(FOLDER))
        await_refusals(rig, refused=False)


def install_people(rig: Rig) -> None:
    """Apply the user roles, and the CRD of tenants."""
    rig.kubectl("apply", "-k", str(PEOPLE))
    rig.kubectl("apply", "--server-side", "-f", str(TENANT_CRD))
    wait_established(rig.kubectl, "-f", str(TENANT_CRD))


def apply(rig: Rig) -> None:
    """Apply deploy/admission as shipped."""
    rig.kubectl("apply", "--server-side", "--force-conflicts", "-k", str(FOLDER))


def await_refusals(rig: Rig, *, refused: bool = True) -> None:
    """Wait until the policies are enforced, or are no longer enforced.

    Checks a refusal of three policies, and that a valid cluster is accepted: until policies have
    their parameters, some refuse all requests.
    """
    judged = _judgments(rig)

    def is_settled() -> bool:
        for what, client in judged.items():
            for _ in range(IN_A_ROW):
                if (refusal := client()) is not refused:
                    raise _NotYetError(f"{what}: {refusal}")
        return True

    what = f"changes are {'' if refused else 'not '}refused"
    until(what, is_settled, SECONDS, every=0.3, tolerate=(_NotYetError,))


def _judgments(rig: Rig) -> dict[str, Callable[[], bool | None]]:
    """Requests that a policy refuses: True if it did, False if accepted, None for other errors."""
    rule = next(candidate for candidate in RULES if candidate.id == _FREE_DATA)
    device = {"type": "syslog", "path": "somebodys", "options": {"path": "/etc/passwd"}}
    secret = {"metadata": {"name": "somebodys", "namespace": NAMESPACE}}
    tenant = {
        "metadata": {"name": "somebodys", "namespace": _ELSEWHERE},
        "spec": {"targetNamespace": "somebody-else"},
    }
    operator, administrator = (
        ImpersonatingClient(rig, account(NAMESPACE, ACCOUNT)),
        ImpersonatingClient(rig),
    )
    good = cluster(_ELSEWHERE, "somebodys")

    def judge(
        client: ImpersonatingClient, resource: Resource, body: Object, words: str
    ) -> bool | None:
        refusal = _refusal(client, resource, body)
        return False if not refusal else True if words in refusal else None

    def clusters() -> bool | None:
        bad = cluster(_ELSEWHERE, "somebodys", audit=[device])
        if _refusal(administrator, CLUSTERS, good):
            return None
        return judge(administrator, CLUSTERS, bad, rule.message[:150])

    return {
        "a Secret of the operator": lambda: judge(operator, SECRET, secret, RESTRICT_SECRETS.name),
        "a tenant": lambda: judge(administrator, TENANTS, tenant, TARGET_MESSAGE[:150]),
        "clusters": clusters,
    }


def _refusal(client: ImpersonatingClient, resource: Resource, body: Object) -> str:
    """The error of a dry-run create of an object; "" for success."""
    try:
        client.create(resource, body, dry_run=True)
    except ApiError as error:
        return str(error)
    return ""


def unbind(rig: Rig, policy: str) -> Object:
    """Delete the binding of a policy, and return it for `bind`."""
    client = ImpersonatingClient(rig)
    live = client.get(ADMISSION_BINDING, None, policy)
    client.delete(ADMISSION_BINDING, None, policy)
    kept = {key: live["metadata"][key] for key in ("name", "labels", "annotations")}
    return {"metadata": kept, "spec": live["spec"]}


def bind(rig: Rig, binding: Object) -> None:
    """Create a deleted binding again."""
    ImpersonatingClient(rig).create(ADMISSION_BINDING, binding)
