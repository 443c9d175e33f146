"""Jobs with each kind of store, on each kind of node."""

from dataclasses import dataclass, field
from typing import Any

from tests.gen.job_templates import job_template, target

CREDENTIALS: dict[str, Any] = {"credentialsSecretRef": {"name": "store"}}
S3 = target(**CREDENTIALS)
PVC = target("pvc", pvc={"claimName": "bao-snapshots"})
OPENSHIFT = job_template(fixed_ids=False, confined=True, pull_secrets=("pull",), authority=None)
TAINTED = job_template(nodes={"nodeSelector": {"disk": "ssd"}, "tolerations": [{"key": "bao"}]})


@dataclass(frozen=True)
class Server:
    """A stand-in for contracts.builders.restore_test_server.Sidecar, which has tests of its own."""

    container: dict[str, Any] = field(
        default_factory=lambda: {"name": "openbao", "image": "bao:1", "restartPolicy": "Always"}
    )
    volumes: tuple[dict[str, Any], ...] = ({"name": "throw-away-data", "emptyDir": {}},)
    annotations: dict[str, str] = field(default_factory=lambda: {"openbao.org/config": "ui = true"})
    pull_secrets: tuple[str, ...] = ("servers",)
