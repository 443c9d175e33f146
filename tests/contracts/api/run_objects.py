"""Valid backups and restores, and specs that their rules refuse."""

from typing import Any

from contracts.api.group import API_VERSION, BACKUP_KIND, RESTORE_KIND
from tests.contracts.api.case import Broken, Case, cases_of
from tests.contracts.api.cases_backup import CASES as CLUSTER_CASES

Object = dict[str, Any]
Spec = dict[str, Any]

STORE: Spec = {"endpoint": "https://s3.example.com", "bucket": "b"}
KEY = "prod/team-a/c/2026-01-01T03-00-00Z-0a1b2c3d.snap"
MOMENT = "2026-01-01T03:00:00Z"
_SOURCE = "spec.source"


def backup_object(name: str = "b", **spec: Any) -> Object:
    """An OpenBaoBackup without a status."""
    return _object(BACKUP_KIND, name, {"cluster": "c", **spec})


def restore_object(name: str = "r", **spec: Any) -> Object:
    """An OpenBaoRestore of a key of a store; a field that is None is left out."""
    whole = {"cluster": "c", "source": {"target": STORE, "key": KEY}, **spec}
    return _object(RESTORE_KIND, name, {k: v for k, v in whole.items() if v is not None})


def _object(kind: str, name: str, spec: Spec) -> Object:
    metadata = {"name": name, "namespace": "ns"}
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": metadata, "spec": spec}


def from_store(**changes: Any) -> Spec:
    """A source that is a store and a key; None removes a field of the store."""
    target = {k: v for k, v in {**STORE, **changes}.items() if v is not None}
    return {"source": {"target": target, "key": KEY}}


def into(**template: Any) -> Spec:
    """A restore into a new cluster."""
    return {"clusterTemplate": template}


BACKUP_FINE: dict[str, Spec] = {
    "the smallest": {},
    "one of the schedule": {"origin": "Scheduled", "scheduledTime": MOMENT},
    "one before an upgrade": {"origin": "PreUpgrade"},
}
BACKUP_CASES: dict[str, Case] = {
    "another cluster": Case("snapshot-fixed", "spec", {"cluster": "d"}, {}),
    "a schedule without a time": Case(
        "snapshot-scheduled", "spec.scheduledTime", {"origin": "Scheduled"}
    ),
    "a time without a schedule": Case(
        "snapshot-scheduled", "spec.scheduledTime", {"scheduledTime": MOMENT}
    ),
}

RESTORE_FINE: dict[str, Spec] = {
    "of a backup": {"source": {"backup": "c-20260101-030000"}},
    "of a key": {},
    "of a volume": {
        "source": {
            "target": {"provider": "pvc", "bucket": "b", "pvc": {"claimName": "v"}},
            "key": KEY,
        }
    },
    "of a Service": {
        "source": {"target": {**STORE, "endpoint": "http://s3.stores.svc:9000"}, "key": KEY}
    },
    "of a private address": {
        "source": {"target": {**STORE, "endpoint": "http://192.168.7.1:9000/x"}, "key": KEY}
    },
    "by force": {"force": True, "overrideOperationLock": True},
    "with everything expected": {
        "source": {
            "backup": "b",
            "expectedClusterID": "0b8c",
            "expectedVersion": "2.4.0",
            "expectedDigest": f"sha256:{'0' * 64}",
            "expectedSize": 8 * 1024**3,
        }
    },
    "with a token": {"tokenSecretRef": {"name": "token"}},
    "into a new cluster": into(
        version="2.4.0", unseal={"credentialsSecretRef": {"name": "key"}}, tls={"enabled": True}
    ),
    "into a disposable cluster": {
        **into(unseal={"type": "transit", "transit": {"address": "https://kms.example.com"}}),
        "targetLifecycle": "Disposable",
        "cleanupAfterSeconds": 60,
    },
    "with a plugin of its seal": into(plugins=[{"type": "kms", "name": "x"}]),
}

# The rules about stores of clusters apply to sources as well.
_OF_STORES = {
    name: Case(
        case.rule.replace("backup-", "restore-", 1),
        case.field.replace("spec.backup", _SOURCE),
        {"source": {"target": case.spec["backup"]["target"], "key": KEY}},
    )
    for name, case in CLUSTER_CASES.items()
    if case.field.startswith("spec.backup.target")
}
_BROKEN: Broken = {
    ("restore-source", _SOURCE): {
        "nothing to restore": {"source": {}},
        "a store without a key": {"source": {"target": STORE}},
        "a key without a store": {"source": {"key": KEY}},
        "a backup and a key": {"source": {"backup": "b", "key": KEY}},
        "a backup and a store": {"source": {"backup": "b", "target": STORE}},
    },
    ("restore-endpoint-plain", f"{_SOURCE}.target.endpoint"): {
        f"plain http to {what}": from_store(endpoint=endpoint)
        for what, endpoint in {
            "another network": "http://s3.example.com",
            "a host that resembles a Service": "http://x.svc.example.com",
            "a host that resembles a private address": "http://10.0.0.1.example.com",
        }.items()
    },
    ("restore-key", f"{_SOURCE}.key"): {
        "a key with a parent segment": {"source": {"target": STORE, "key": "a/../../b.snap"}}
    },
    ("restore-override", "spec.overrideOperationLock"): {
        "an override without force": {"overrideOperationLock": True}
    },
    ("restore-lifecycle", "spec.targetLifecycle"): {
        "a lifecycle without a new cluster": {"targetLifecycle": "Retain"}
    },
    ("restore-cleanup", "spec.cleanupAfterSeconds"): {
        "a cleanup time for a cluster that is kept": {**into(), "cleanupAfterSeconds": 1}
    },
    ("restore-template-login", "spec.clusterTemplate"): {
        "a new cluster with a login role": {**into(), "jwtAuthRole": "mine"},
        "a new cluster with a token": {**into(), "tokenSecretRef": {"name": "token"}},
    },
    ("restore-template-tls", "spec.clusterTemplate.tls.enabled"): {
        "a fresh cluster without TLS": into(tls={"enabled": False})
    },
    ("restore-template-version", "spec.clusterTemplate.version"): {
        "a fresh cluster of another version": {
            **into(version="2.5.0"),
            "source": {"backup": "b", "expectedVersion": "2.4.0"},
        }
    },
    ("restore-template-static", "spec.clusterTemplate.unseal.credentialsSecretRef"): {
        "a fresh cluster without the key": into(unseal={"type": "static"})
    },
}
RESTORE_CASES: dict[str, Case] = {
    **_OF_STORES,
    "another key": Case(
        "restore-fixed", "spec", {"source": {"target": STORE, "key": "other.snap"}}, {}
    ),
    "another seal of the template": Case(
        "restore-fixed",
        "spec",
        into(unseal={"type": "transit", "transit": {"address": "https://b.example.com"}}),
        into(unseal={"type": "transit", "transit": {"address": "https://a.example.com"}}),
    ),
    **cases_of(_BROKEN),
    **{
        f"a Secret of the operator in {path}": Case(
            f"restore-secret-{path}", f"spec.{place}.name", spec
        )
        for path, place, spec in (
            (
                "source.target.credentialsSecretRef",
                "source.target.credentialsSecretRef",
                from_store(credentialsSecretRef={"name": "c-unseal-key"}),
            ),
            ("tokenSecretRef", "tokenSecretRef", {"tokenSecretRef": {"name": "c-root-token"}}),
            (
                "clusterTemplate.imagePullSecrets[]",
                "clusterTemplate.imagePullSecrets[0]",
                into(imagePullSecrets=[{"name": "c-tls-ca"}]),
            ),
            (
                "clusterTemplate.unseal.credentialsSecretRef",
                "clusterTemplate.unseal.credentialsSecretRef",
                into(unseal={"credentialsSecretRef": {"name": "c-unseal-key"}}),
            ),
        )
    },
}
RESTORE_CODE_CASES: dict[str, Case] = {
    "a plugin that is in the snapshot": Case(
        "restore-template-plugins",
        "spec.clusterTemplate.plugins[0].type",
        into(plugins=[{"type": "secret", "name": "x"}]),
    )
}
