"""For each field that a policy checks: the spec before and after a change."""

from dataclasses import dataclass
from typing import Any

from tests.contracts.api.case import hardened_spec

Spec = dict[str, Any]


@dataclass(frozen=True)
class AddedField:
    """A field that is added to the spec `before`; None for a new cluster."""

    field: str
    after: Spec
    before: Spec | None = None


_CRON = "0 3 * * *"
_IMAGE = "registry.example.com/mine:1"
_KEY = (
    "-----BEGIN PUBLIC KEY-----\n"
    "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEWliV+3uJNNm3PPF/Xn2hzTBGJCjh\n"
    "4YD6i7b3wGWKDi3so6yfA9+IdlZ2KZj/1ZswKokMR7wLSalvrIcAp7LKyg==\n"
    "-----END PUBLIC KEY-----\n"
)
_PLUGIN = {"type": "secret", "name": "aws", "command": "aws"}
_CLOUD_LABEL = {"azure.workload.identity/use": "true"}
_CLOUD_NOTE = {"iam.gke.io/gcp-service-account": "bao@project.iam.gserviceaccount.com"}
_LOGIN = {"credentialsSecretRef": {"name": "store"}}
_ACME = {"directoryURL": "https://acme.example.com/directory"}


def _backup(target: Spec | None = None, **more: Any) -> Spec:
    store = {"endpoint": "https://s3.example.com", "bucket": "b", **(target or {})}
    kept = {key: value for key, value in store.items() if value is not None}
    return {"backup": {"schedule": _CRON, "jwtAuthRole": "backup", "target": kept, **more}}


def _into_backup(field: str, target: Spec | None = None, **more: Any) -> AddedField:
    """A field outside of the store, or one of an existing store with a Secret."""
    store = _LOGIN if target else None
    return AddedField(field, _backup({**(target or {}), **(store or {})}, **more), _backup(store))


def _into_test(field: str, **template: Any) -> AddedField:
    return _into_backup(field, restoreTest={"schedule": _CRON, "clusterTemplate": template})


def _read_spec(**more: Any) -> Spec:
    return {"readReplicas": {"replicas": 1, **more}}


def _signature(block: str, **more: Any) -> Spec:
    return hardened_spec(**{block: {"enabled": True, "failurePolicy": "Block", **more}})


def _trust(block: str) -> tuple[AddedField, ...]:
    by_name = {"issuer": "https://i.example.com", "subject": "a"}
    by_pattern = {"issuerRegExp": "^a$", "subjectRegExp": "^a$"}
    path = f"spec.{block}"
    return (
        AddedField(f"{path}.publicKey", _signature(block, publicKey=_KEY)),
        AddedField(f"{path}.issuer", _signature(block, **by_name)),
        AddedField(
            f"{path}.subject",
            _signature(block, **{**by_name, "subject": "b"}),
            before=_signature(block, **by_name),
        ),
        AddedField(f"{path}.issuerRegExp", _signature(block, **by_pattern)),
        AddedField(
            f"{path}.subjectRegExp",
            _signature(block, **{**by_pattern, "subjectRegExp": "^b$"}),
            before=_signature(block, **by_pattern),
        ),
        AddedField(
            f"{path}.ignoreTlog",
            _signature(block, publicKey=_KEY, ignoreTlog=True),
            before=_signature(block, publicKey=_KEY),
        ),
    )


_TEMPLATE = "spec.backup.restoreTest.clusterTemplate"
_TARGET = "spec.backup.target"
_INGRESS = {"enabled": True, "host": "bao.example.com"}
_PEERS = {"trustedIngressPeers": [{"podSelector": {"matchLabels": {"app": "nginx"}}}]}
_GATEWAY = {"enabled": True, "hostname": "bao.example.com", "gatewayRef": {"name": "public"}}

_ANYWHERE = {"ipBlock": {"cidr": "0.0.0.0/0"}}
_EGRESS = "spec.network.egressRules"


def egress(*peers: Spec, port: int = 443) -> Spec:
    """A rule of spec.network.egressRules."""
    return {"to": list(peers), "ports": [{"port": port, "protocol": "TCP"}]}


def spec_with_egress(*rules: Spec) -> Spec:
    """A spec of profile Hardened with these rules."""
    return hardened_spec(network={"egressRules": list(rules)})


def _ingress(*ports: int) -> Spec:
    sources = [{"namespaceSelector": {"matchLabels": {"team": "edge"}}}]
    rules = [{"from": sources, "ports": [{"port": port}]} for port in ports]
    return hardened_spec(network={"ingressRules": rules})


_NARROW = egress({"ipBlock": {"cidr": "10.0.0.0/8"}})

GATED: tuple[AddedField, ...] = (
    _into_backup("spec.backup.image", image=_IMAGE),
    AddedField("spec.upgrade.image", {"upgrade": {"image": _IMAGE}}),
    AddedField(
        "spec.upgrade.blueGreen.verification.prePromotionHook",
        {"upgrade": {"blueGreen": {"verification": {"prePromotionHook": {"image": _IMAGE}}}}},
    ),
    AddedField("spec.plugins", {"plugins": [_PLUGIN]}),
    _into_test(f"{_TEMPLATE}.plugins", plugins=[_PLUGIN]),
    *_trust("imageVerification"),
    *_trust("operatorImageVerification"),
    AddedField("spec.serviceAccount.annotations", {"serviceAccount": {"annotations": {"a": "b"}}}),
    AddedField("spec.podMetadata.labels", {"podMetadata": {"labels": _CLOUD_LABEL}}),
    AddedField("spec.podMetadata.annotations", {"podMetadata": {"annotations": _CLOUD_NOTE}}),
    AddedField(
        "spec.readReplicas.template.metadata.labels",
        _read_spec(template={"metadata": {"labels": _CLOUD_LABEL}}),
    ),
    AddedField(
        "spec.readReplicas.template.metadata.annotations",
        _read_spec(template={"metadata": {"annotations": _CLOUD_NOTE}}),
    ),
    AddedField(_TARGET, _backup()),
    AddedField(_TARGET, _backup(), before=_backup(_LOGIN)),
    AddedField(_TARGET, _backup({"bucket": "other"}), before=_backup()),
    _into_backup(f"{_TARGET}.roleArn", {"roleArn": "arn:aws:iam::123456789012:role/bao"}),
    _into_backup(
        f"{_TARGET}.workloadIdentity.serviceAccountAnnotations",
        {"workloadIdentity": {"serviceAccountAnnotations": {"a": "b"}}},
    ),
    _into_backup(
        f"{_TARGET}.workloadIdentity.podLabels", {"workloadIdentity": {"podLabels": {"a": "b"}}}
    ),
    _into_test(
        f"{_TEMPLATE}.serviceAccount.annotations", serviceAccount={"annotations": {"a": "b"}}
    ),
    _into_test(f"{_TEMPLATE}.podMetadata.labels", podMetadata={"labels": _CLOUD_LABEL}),
    _into_test(f"{_TEMPLATE}.podMetadata.annotations", podMetadata={"annotations": _CLOUD_NOTE}),
    AddedField("spec.service.type", {"service": {"type": "NodePort"}}),
    AddedField("spec.service.annotations", {"service": {"annotations": {"a": "b"}}}),
    AddedField(
        "spec.readReplicas.service.type",
        _read_spec(service={"enabled": True, "type": "LoadBalancer"}),
    ),
    AddedField(
        "spec.readReplicas.service.annotations",
        _read_spec(service={"enabled": True, "annotations": {"a": "b"}}),
    ),
    AddedField("spec.ingress", {"ingress": _INGRESS, "network": _PEERS}),
    AddedField(
        "spec.ingress",
        {"ingress": {**_INGRESS, "host": "other.example.com"}, "network": _PEERS},
        before={"ingress": _INGRESS, "network": _PEERS},
    ),
    AddedField(
        "spec.ingress",
        {"ingress": _INGRESS, "network": _PEERS},
        before={"ingress": {**_INGRESS, "enabled": False}, "network": _PEERS},
    ),
    AddedField(
        "spec.gateway",
        {"gateway": _GATEWAY},
        before={"gateway": {"gatewayRef": {"name": "public"}}},
    ),
    AddedField("spec.network.ingressRules", _ingress(8201)),
    AddedField("spec.network.ingressRules", _ingress(8201, 9000), before=_ingress(8201)),
    AddedField(_EGRESS, spec_with_egress(egress(_ANYWHERE))),
    AddedField(
        _EGRESS, spec_with_egress(_NARROW, egress(_ANYWHERE)), before=spec_with_egress(_NARROW)
    ),
    AddedField(
        _EGRESS, spec_with_egress(egress({"podSelector": {}}, {"ipBlock": {"cidr": "8000::/1"}}))
    ),
    AddedField(
        _EGRESS,
        spec_with_egress(egress(_ANYWHERE, port=80)),
        before=spec_with_egress(egress(_ANYWHERE, port=443)),
    ),
    AddedField(
        _EGRESS,
        spec_with_egress(egress(_ANYWHERE)),
        before=spec_with_egress(
            egress({"ipBlock": {"cidr": "0.0.0.0/0", "except": ["10.0.0.0/8"]}})
        ),
    ),
    # Fields that are not checked in profile Development are checked on a change to Hardened.
    AddedField(
        _EGRESS,
        spec_with_egress(egress(_ANYWHERE)),
        before={**spec_with_egress(egress(_ANYWHERE)), "profile": "Development"},
    ),
    AddedField(
        "spec.imageVerification.publicKey",
        _signature("imageVerification", publicKey=_KEY),
        before={**_signature("imageVerification", publicKey=_KEY), "profile": "Development"},
    ),
)

_CACHE = {"mode": "ManagedPVC", "size": "1Gi"}

USED: tuple[AddedField, ...] = (
    AddedField("spec.serviceAccount.name", {"serviceAccount": {"name": "other"}}),
    _into_test(f"{_TEMPLATE}.serviceAccount.name", serviceAccount={"name": "other"}),
    AddedField("spec.ingress.className", {"ingress": {"className": "nginx"}}),
    AddedField("spec.gateway.gatewayRef", {"gateway": {"gatewayRef": {"name": "public"}}}),
    AddedField(
        "spec.storage.storageClassName", {"storage": {"size": "1Gi", "storageClassName": "x"}}
    ),
    AddedField(
        "spec.readReplicas.storage.storageClassName",
        _read_spec(storage={"size": "1Gi", "storageClassName": "x"}),
    ),
    AddedField(
        "spec.tls.acme.sharedCache.storageClassName",
        {
            "tls": {
                "mode": "ACME",
                "acme": {**_ACME, "sharedCache": {**_CACHE, "storageClassName": "x"}},
            }
        },
    ),
    AddedField(
        "spec.auditFileStorage.storageClassName",
        {"auditFileStorage": {"mountPath": "/openbao/audit", **_CACHE, "storageClassName": "x"}},
    ),
    _into_test(
        f"{_TEMPLATE}.storage.storageClassName", storage={"size": "1Gi", "storageClassName": "x"}
    ),
    AddedField(
        "spec.tls.acme.sharedCache.existingClaimName",
        {
            "tls": {
                "mode": "ACME",
                "acme": {
                    **_ACME,
                    "sharedCache": {"mode": "ExistingPVC", "existingClaimName": "other"},
                },
            }
        },
    ),
    AddedField(
        "spec.auditFileStorage.existingClaimName",
        {
            "auditFileStorage": {
                "mountPath": "/openbao/audit",
                "mode": "ExistingPVC",
                "existingClaimName": "other",
            }
        },
    ),
    AddedField(
        f"{_TARGET}.pvc.claimName",
        _backup({"provider": "pvc", "endpoint": None, "pvc": {"claimName": "v"}}),
    ),
)


OTHER = "itest-admission-other"
CREATED: tuple[AddedField, ...] = (
    _into_backup(
        "spec.backup.restoreTest.namespace", restoreTest={"schedule": _CRON, "namespace": OTHER}
    ),
)


def _scrape(**more: Any) -> Spec:
    return {"observability": {"metrics": {"enabled": True, "serviceMonitor": more}}}


_MONITOR = "spec.observability.metrics.serviceMonitor"
_MINE = {"name": "mine"}


def _verification(block: str) -> AddedField:
    return AddedField(
        f"spec.{block}.imagePullSecrets[].name",
        {block: {"enabled": True, "publicKey": _KEY, "imagePullSecrets": [_MINE]}},
    )


NAMED: tuple[AddedField, ...] = (
    _into_backup(
        "spec.backup.restoreTest.credentialsSecretRef.name",
        restoreTest={"schedule": _CRON, "credentialsSecretRef": _MINE},
    ),
    _into_test(
        f"{_TEMPLATE}.unseal.credentialsSecretRef.name",
        unseal={"type": "static", "credentialsSecretRef": _MINE},
    ),
    _into_test(f"{_TEMPLATE}.imagePullSecrets[].name", imagePullSecrets=[_MINE]),
    AddedField(
        "spec.unseal.credentialsSecretRef.name", {"unseal": {"credentialsSecretRef": _MINE}}
    ),
    AddedField(
        "spec.tls.acme.caSecretRef.name",
        {"tls": {"mode": "ACME", "acme": {**_ACME, "sharedCache": _CACHE, "caSecretRef": _MINE}}},
    ),
    AddedField(
        "spec.tls.external.serverSecretRef.name",
        {"tls": {"mode": "External", "external": {"serverSecretRef": _MINE}}},
    ),
    AddedField(
        "spec.tls.external.caSecretRef.name",
        {"tls": {"mode": "External", "external": {"caSecretRef": _MINE}}},
    ),
    AddedField("spec.ingress.tlsSecretName", {"ingress": {"tlsSecretName": "mine"}}),
    AddedField(f"{_TARGET}.credentialsSecretRef.name", _backup({"credentialsSecretRef": _MINE})),
    _into_backup("spec.backup.tokenSecretRef.name", tokenSecretRef=_MINE),
    AddedField("spec.upgrade.tokenSecretRef.name", {"upgrade": {"tokenSecretRef": _MINE}}),
    AddedField(
        f"{_MONITOR}.authorization.credentialsSecret.name",
        _scrape(authorization={"credentialsSecret": _MINE}),
    ),
    AddedField(f"{_MONITOR}.tlsConfig.caSecret.name", _scrape(tlsConfig={"caSecret": _MINE})),
    AddedField("spec.imagePullSecrets[].name", {"imagePullSecrets": [_MINE]}),
    _verification("imageVerification"),
    _verification("operatorImageVerification"),
    AddedField(f"{_MONITOR}.tlsConfig.caConfigMap.name", _scrape(tlsConfig={"caConfigMap": _MINE})),
)
