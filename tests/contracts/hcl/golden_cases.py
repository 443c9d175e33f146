"""The cases in tests/golden."""

from dataclasses import replace
from pathlib import Path

import yaml

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.rules.cluster import violations
from contracts.hcl.render import ConfigInput, Join
from contracts.records.observed import TokenIssuer
from managers.cluster.owner import owner_of
from managers.cluster.resolve.operator_login import first_boot_login
from managers.context.installation import Installation

GOLDEN = Path(__file__).parents[2] / "golden"
CASES = sorted(path.parent.name for path in GOLDEN.glob("*/cluster.yaml"))
INSTALLATION = Installation(
    namespace="openbao-operator-system",
    service_account="openbao-operator-controller",
    image_repository="openbao/openbao",
    secret_recheck=15.0,
)
KEYS = (
    "-----BEGIN PUBLIC KEY-----\nc2Vjb25k\n-----END PUBLIC KEY-----\n",
    "-----BEGIN PUBLIC KEY-----\nZmlyc3Q=\n-----END PUBLIC KEY-----\n",
)
ISSUER = TokenIssuer("https://kubernetes.default.svc.cluster.local", KEYS)


def read_case(name: str) -> ConfigInput:
    obj = yaml.safe_load((GOLDEN / name / "cluster.yaml").read_text(encoding="utf-8"))
    cluster = OpenBaoCluster.from_object(obj)
    assert violations(cluster) == ()
    owner = owner_of({**obj, "metadata": {"uid": "uid", **obj["metadata"]}})
    config = ConfigInput.of(cluster, first_boot_login(cluster.spec, owner, ISSUER, INSTALLATION))
    join = GOLDEN / name / "join.yaml"
    if join.exists():
        config = replace(config, join=Join(**yaml.safe_load(join.read_text(encoding="utf-8"))))
    return config
