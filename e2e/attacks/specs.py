"""Specs of clusters that must be rejected, and the rules that reject them. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Spec = dict[str, Any]
# The metadata service of a cloud, in two parts: no file may contain a reachable host name.
METADATA = "metadata" + ".google.internal"


@dataclass(frozen=True, slots=True)
class Attempt:
    """One forbidden spec: its attack, its field, and the rule that rejects it.

    The rule `schema` is the schema of the field: pattern, length or number of items.
    """

    attack: str
    what: str
    field: str
    rule: str
    spec: Spec

    @property
    def name(self) -> str:
        """The attempt in one line."""
        return f"{self.attack}: {self.what}"


def with_requests(*requests: Spec) -> Spec:
    """A spec with self-init requests; missing fields are added."""
    whole = {"name": "r", "operation": "update", "path": "kv/x", "data": {"a": "b"}}
    listed = [{**whole, **request} for request in requests]
    kept = [{key: item for key, item in entry.items() if item is not None} for entry in listed]
    return {"selfInit": {"enabled": True, "requests": kept}}


def _device(**fields: Any) -> Spec:
    return {"audit": [{"type": "file", "path": "f", **fields}]}


def _plugin(**fields: Any) -> Spec:
    plugin = {"type": "secret", "name": "p", "command": "p", "version": "v1", **fields}
    return {"version": "2.7.0", "plugins": [plugin]}


_OWN = {"name": "own-login"}


def _backup(target: Spec | None = None, **fields: Any) -> Spec:
    # A store without a Secret would be rejected for that.
    usual = {"endpoint": "https://s3.example.com", "bucket": "b", "credentialsSecretRef": _OWN}
    store = {**usual, **(target or {})}
    return {"backup": {"schedule": "0 3 * * *", "jwtAuthRole": "b", "target": store, **fields}}


def _seal(kind: str, block: Spec, **fields: Any) -> Spec:
    return {"unseal": {"type": kind, kind: block, **fields}}


def _transit(address: str) -> Spec:
    return _seal("transit", {"address": address, "keyName": "k", "mountPath": "transit"})


def _acme(url: str, **fields: Any) -> Spec:
    return {
        "replicas": 1,
        "tls": {"mode": "ACME", "acme": {"directoryURL": url, **fields}},
    }


def _monitor(**fields: Any) -> Spec:
    return {"observability": {"metrics": {"enabled": True, "serviceMonitor": fields}}}


def _pkcs11(variable: str) -> Spec:
    runtime = {"env": [{"name": variable, "secretKey": "k"}]}
    block = {"lib": "/usr/lib/x.so", "slot": "0", "keyLabel": "k", "runtime": runtime}
    return _seal("pkcs11", block, credentialsSecretRef={"name": "mine"})


def _issuer(url: str) -> Spec:
    spec = with_requests({})
    spec["selfInit"]["oidc"] = {"enabled": True, "issuer": url}
    return spec


def _first_boot_device(device: Spec) -> Spec:
    requests = with_requests({"path": "sys/audit/x", "data": None, "auditDevice": device})
    return {"configuration": {"unsafeAllowAPIAuditCreation": True}, **requests}


_READS = {"eval_type": "string", "eval_source": "file", "path": "/etc/bao/unseal/key"}
_ENVIRONMENT = {"eval_type": "string", "eval_source": "env", "name": "BAO_HSM_PIN"}
_DATA = "/bao/data/raft/raft.db"
_KEY = (
    "-----BEGIN PUBLIC KEY-----\n"
    "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEWliV+3uJNNm3PPF/Xn2hzTBGJCjh\n"
    "4YD6i7b3wGWKDi3so6yfA9+IdlZ2KZj/1ZswKokMR7wLSalvrIcAp7LKyg==\n"
    "-----END PUBLIC KEY-----\n"
)
_FIRST = "spec.selfInit.requests[0]"
_MONITOR = "spec.observability.metrics.serviceMonitor"
_VICTIM = {"name": "victim-unseal-key"}
_CA = {"name": "victim-tls-ca"}


def _names() -> tuple[Attempt, ...]:
    return (
        Attempt("T01", "path traversal in a request", f"{_FIRST}.path", "request-path",
                with_requests({"path": "kv/../sys/raw"})),
        Attempt("T01", "path traversal in an audit device", "spec.audit[0].path", "audit-name",
                {"audit": [{"type": "syslog", "path": "a/../b"}]}),
        Attempt("T01", "path traversal in object keys", "spec.backup.target.pathPrefix",
                "backup-prefix", _backup({"pathPrefix": "../../victim"})),
        Attempt("T01", "path traversal in a bucket", "spec.backup.target.bucket", "backup-bucket",
                _backup({"bucket": "../victim"})),
        Attempt("T01", "path traversal in a route", "spec.gateway.path", "gateway-path",
                {"gateway": {"path": "/a/%2e%2e/b"}}),
        Attempt("T01", "path traversal in the name of a Secret", "spec.imagePullSecrets[0].name",
                "schema", {"imagePullSecrets": [{"name": "../victim/secret"}]}),
        Attempt("T01", "a name of 300 letters", "spec.serviceAccount.name", "schema",
                {"serviceAccount": {"name": "a" * 300}}),
        Attempt("T02", "a line break in a path", f"{_FIRST}.path", "schema",
                with_requests({"path": 'kv/x"\n}\nstorage "file" {'})),
        Attempt("T02", "a quote in a name", f"{_FIRST}.name", "schema",
                with_requests({"name": 'r" { } #'})),
        Attempt("T02", "a statement in the path of an Ingress", "spec.ingress.path",
                "ingress-path", {"ingress": {"path": "/;}location"}}),
    )  # fmt: skip


def _keys() -> tuple[Attempt, ...]:
    return (
        Attempt("T03", "an unknown audit option", "spec.audit[0].options",
                "audit-options-known",
                _device(fileOptions={"filePath": "stdout"}, options={"path": "/etc/passwd"})),
        Attempt("T03", "a reserved attribute of the seal", "spec.unseal.kms.config",
                "kms-config", {**_plugin(type="kms"),
                **_seal("kms", {"pluginName": "p", "config": {"purpose": "x"}})}),
        Attempt("T03", "a listener without TLS", "spec.configuration.listener.tlsDisable",
                "listener-tls", {"configuration": {"listener": {"tlsDisable": True}}}),
        Attempt("T03", "the operator's own request", f"{_FIRST}.name", "request-name-reserved",
                with_requests({"name": "operator-bootstrap"})),
        Attempt("T03", "a token among headers", f"{_FIRST}.headers", "request-headers-token",
                {**with_requests({"headers": {"X-Vault-Token": ["t"]}}), "version": "2.6.0"}),
        Attempt("T04", "a Secret by namespace and name", "spec.unseal.credentialsSecretRef.name",
                "schema", _transit_with("victim/mine")),
    )  # fmt: skip


def _transit_with(secret: str) -> Spec:
    spec = _transit("https://bao.example.com")
    spec["unseal"]["credentialsSecretRef"] = {"name": secret}
    return spec


def _secrets() -> tuple[Attempt, ...]:
    token = {"authorization": {"credentialsSecret": {"name": "victim-root-token"}}}
    authority = {"tlsConfig": {"caSecret": _CA}}
    return (
        Attempt("T05", "the unseal key of another as credentials of the seal",
                "spec.unseal.credentialsSecretRef.name", "system-secret",
                _transit_with("victim-unseal-key")),
        Attempt("T05", "a rotated key, too", "spec.unseal.credentialsSecretRef.name",
                "system-secret", _transit_with("victim.2-unseal-key")),
        Attempt("T05", "the unseal key as a registry login", "spec.imagePullSecrets[0].name",
                "secret-imagePullSecrets[]", {"imagePullSecrets": [_VICTIM]}),
        Attempt("T05", "the same, to verify images",
                "spec.imageVerification.imagePullSecrets[0].name", "imageVerification-secret",
                {"imageVerification": {"enabled": True, "publicKey": _KEY,
                 "imagePullSecrets": [_VICTIM]}}),
        Attempt("T05", "a CA of the operator as an external certificate",
                "spec.tls.external.serverSecretRef.name", "external-system-secret",
                {"tls": {"mode": "External", "external": {"serverSecretRef": _CA}}}),
        Attempt("T05", "a CA of the operator for ACME", "spec.tls.acme.caSecretRef.name",
                "acme-system-secret", _acme("https://acme.example.com", caSecretRef=_CA)),
        Attempt("T05", "a server certificate for the Ingress", "spec.ingress.tlsSecretName",
                "secret-ingress", {"ingress": {"tlsSecretName": "victim-tls-server"}}),
        Attempt("T05", "the unseal key as credentials of a store",
                "spec.backup.target.credentialsSecretRef.name",
                "secret-backup.target.credentialsSecretRef",
                _backup({"credentialsSecretRef": _VICTIM})),
        Attempt("T05", "the root token to take snapshots", "spec.backup.tokenSecretRef.name",
                "secret-backup.tokenSecretRef",
                _backup(tokenSecretRef={"name": "victim-root-token"})),
        Attempt("T05", "the root token to upgrade", "spec.upgrade.tokenSecretRef.name",
                "secret-upgrade.tokenSecretRef",
                {"upgrade": {"tokenSecretRef": {"name": "victim-root-token"}}}),
        Attempt("T05", "the root token for Prometheus",
                f"{_MONITOR}.authorization.credentialsSecret.name",
                f"secret-{_MONITOR.removeprefix('spec.')}.authorization.credentialsSecret",
                _monitor(**token)),
        Attempt("T05", "a CA of the operator for Prometheus", f"{_MONITOR}.tlsConfig.caSecret.name",
                f"secret-{_MONITOR.removeprefix('spec.')}.tlsConfig.caSecret",
                _monitor(**authority)),
        Attempt("T05", "the unseal key by a computed value", f"{_FIRST}.data", "request-computed",
                with_requests({"data": {"a": {"b": [_READS]}}})),
        Attempt("T05", "a PIN by a computed value", f"{_FIRST}.data", "request-computed",
                with_requests({"data": {"a": _ENVIRONMENT}})),
        Attempt("T05", "a key by a computed condition", f"{_FIRST}.when", "request-when-computed",
                {**with_requests({"when": _READS}), "version": "2.6.0"}),
    )  # fmt: skip


def _pods() -> tuple[Attempt, ...]:
    return (
        Attempt("T06", "the default ServiceAccount", "spec.serviceAccount.name", "service-account",
                {"serviceAccount": {"name": "default"}}),
        Attempt("T06", "the ServiceAccount of the restore Jobs of another cluster",
                "spec.serviceAccount.name", "service-account-of-jobs",
                {"serviceAccount": {"name": "victim-restore-serviceaccount"}}),
        Attempt("T07", "a preloaded library in a plugin", "spec.plugins[0].env[0]",
                "plugin-variable", _plugin(env=["LD_PRELOAD=/openbao/audit/x.so"])),
        Attempt("T07", "another server for a plugin", "spec.plugins[0].env[0]",
                "plugin-variable", _plugin(env=["BAO_ADDR=https://evil.example.com"])),
        *(
            Attempt("T07", f"the variable {name} in the server",
                    "spec.unseal.pkcs11.runtime.env[0].name", "pkcs11-variable", _pkcs11(name))
            for name in ("LD_PRELOAD", "BAO_ADDR", "VAULT_TOKEN", "AWS_ROLE_ARN", "PYTHONPATH")
        ),
        Attempt("T07", "labels that select the pods of servers", "spec.podMetadata.labels",
                "reserved-podMetadata.labels",
                {"podMetadata": {"labels": {"openbao-active": "true"}}}),
        Attempt("T12", "an annotation of the operator on pods", "spec.podMetadata.annotations",
                "reserved-podMetadata.annotations",
                {"podMetadata": {"annotations": {"openbao.org/unseal-rewrapped": "k"}}}),
        Attempt("T12", "an annotation of the operator on the Service", "spec.service.annotations",
                "reserved-service.annotations",
                {"service": {"annotations": {"openbao.org/owner-uid": "victim"}}}),
        Attempt("T08", "a shell command in the name of a program", "spec.plugins[0].command",
                "plugin-file-name", _plugin(command="$(id)")),
        Attempt("T08", "a second command", f"{_FIRST}.name", "schema",
                with_requests({"name": "r; id"})),
    )  # fmt: skip


def _addresses() -> tuple[Attempt, ...]:
    link = "https://169.254.169.254"
    return (
        Attempt("T09", "a transit seal at a link-local address", "spec.unseal.transit.address",
                "transit-address", _transit(link)),
        Attempt("T09", "a transit seal at a hexadecimal address", "spec.unseal.transit.address",
                "transit-address", _transit("https://0x7f000001")),
        Attempt("T09", "an issuer at a mapped IPv6 address", "spec.selfInit.oidc.issuer",
                "oidc-issuer-place", _issuer("https://[::ffff:a9fe:a9fe]")),
        Attempt("T09", "an issuer with a user", "spec.selfInit.oidc.issuer", "oidc-issuer",
                _issuer("https://a@b.example.com")),
        Attempt("T09", "an ACME server at a link-local address", "spec.tls.acme.directoryURL",
                "url-tls.acme.directoryURL", _acme(f"{link}/dir")),
        Attempt("T09", "a store at a link-local address", "spec.backup.target.endpoint",
                "backup-endpoint-place", _backup({"endpoint": link})),
        Attempt("T09", "a store at AWS' metadata over IPv6", "spec.backup.target.endpoint",
                "backup-endpoint-place", _backup({"endpoint": "https://[fd00:ec2::254]"})),
        Attempt("T09", "a KMS at an octal address", "spec.unseal.awskms.endpoint",
                "url-unseal.awskms.endpoint", _seal("awskms",
                {"region": "r", "kmsKeyID": "k", "endpoint": "https://0177.0.0.1"})),
        Attempt("T09", "an audit device at a metadata service", "spec.audit[0].httpOptions.uri",
                "url-audit[].httpOptions.uri", {"version": "2.5.0", "audit": [{"type": "http",
                "path": "h", "httpOptions": {"uri": f"http://{METADATA}/"}}]}),
        Attempt("T09", "a telemetry URL with another scheme", "spec.telemetry.circonusAPIURL",
                "url-telemetry.circonusAPIURL", {"telemetry": {"circonusAPIURL": "HTTP://x"}}),
    )  # fmt: skip


def _sizes_and_places() -> tuple[Attempt, ...]:
    return (
        Attempt("T10", "a thousand names", "spec.imagePullSecrets", "schema",
                {"imagePullSecrets": [{"name": f"s{at}"} for at in range(1_000)]}),
        Attempt("T10", "a snapshot every minute", "spec.backup.schedule", "hasty-backup.schedule",
                _backup(schedule="* * * * *")),
        Attempt("T10", "a text of 100,000 letters", "spec.version", "schema",
                {"version": "1" * 100_000}),
        Attempt("T19", "the version latest", "spec.version", "schema", {"version": "latest"}),
        Attempt("T19", "a version without the static seal", "spec.version", "static-seal-version",
                {"version": "2.3.0"}),
        Attempt("T19", "an image with half a digest", "spec.image", "image-image",
                {"image": "registry.example.com/openbao@sha256:abc"}),
        Attempt("T19", "path traversal in an image", "spec.image", "image-image",
                {"image": "registry.example.com/../openbao:2.4.0"}),
        Attempt("T21", "a log over the data", "spec.configuration.logging.file", "log-place",
                {"configuration": {"logging": {"file": _DATA}}}),
        Attempt("T21", "a PID file over a key", "spec.configuration.logging.pidFile",
                "log-place", {"configuration": {"logging": {"pidFile": "/etc/bao/tls/tls.key"}}}),
        Attempt("T21", "audit over the data", "spec.audit[0].fileOptions.filePath",
                "audit-file-place", _device(fileOptions={"filePath": _DATA})),
        Attempt("T21", "the same by an audit option", "spec.audit[0].options",
                "audit-file-place-options", _device(options={"file_path": _DATA})),
        Attempt("T21", "the same by a self-init request",
                f"{_FIRST}.auditDevice.fileOptions.filePath", "audit-file-place-request",
                _first_boot_device({"type": "file", "fileOptions": {"filePath": _DATA}})),
        Attempt("T21", "a volume over the keys", "spec.auditFileStorage.mountPath",
                "audit-mount-place", {"auditFileStorage": {"mode": "ManagedPVC", "size": "1Gi",
                "mountPath": "/etc/bao"}}),
        Attempt("T21", "a program outside of its directory", "spec.plugins[0].command",
                "plugin-file-name", _plugin(command="../../bin/sh")),
        Attempt("T21", "the unseal key as CA", "spec.configuration.acmeCARoot",
                "acme-ca-root", {**_acme("https://acme.example.com"),
                "configuration": {"acmeCARoot": "/etc/bao/unseal/key"}}),
    )  # fmt: skip


ATTEMPTS: tuple[Attempt, ...] = (
    *_names(),
    *_keys(),
    *_secrets(),
    *_pods(),
    *_addresses(),
    *_sizes_and_places(),
)


URL_FIELDS: Mapping[str, str] = {
    "spec.unseal.transit.address": "transit-address",
    "spec.selfInit.oidc.issuer": "oidc-issuer",
    "spec.backup.target.endpoint": "backup-endpoint",
    "spec.tls.acme.directoryURL": "url-tls.acme.directoryURL",
    "spec.unseal.awskms.endpoint": "url-unseal.awskms.endpoint",
    "spec.unseal.ocikms.cryptoEndpoint": "url-unseal.ocikms.cryptoEndpoint",
    "spec.unseal.ocikms.managementEndpoint": "url-unseal.ocikms.managementEndpoint",
    "spec.telemetry.circonusAPIURL": "url-telemetry.circonusAPIURL",
    "spec.audit[0].httpOptions.uri": "url-audit[].httpOptions.uri",
    "spec.selfInit.requests[0].auditDevice.httpOptions.uri": (
        "url-selfInit.requests[].auditDevice.httpOptions.uri"
    ),
}
"""Every field with a URL, and the prefix of its rules."""


def with_url(field: str, url: str) -> Spec:
    """A spec that is valid except for the URL in that field."""
    keys = {"keyID": "k", "cryptoEndpoint": "https://kms.example.com"}
    oci = {**keys, "managementEndpoint": "https://kms.example.com"}
    posts = {"type": "http", "httpOptions": {"uri": url}}
    specs: dict[str, Spec] = {
        "spec.unseal.transit.address": _transit(url),
        "spec.selfInit.oidc.issuer": _issuer(url),
        "spec.backup.target.endpoint": _backup({"endpoint": url}),
        "spec.tls.acme.directoryURL": _acme(url),
        "spec.unseal.awskms.endpoint": _seal(
            "awskms", {"region": "r", "kmsKeyID": "k", "endpoint": url}
        ),
        "spec.unseal.ocikms.cryptoEndpoint": _seal("ocikms", {**oci, "cryptoEndpoint": url}),
        "spec.unseal.ocikms.managementEndpoint": _seal(
            "ocikms", {**oci, "managementEndpoint": url}
        ),
        "spec.telemetry.circonusAPIURL": {"telemetry": {"circonusAPIURL": url}},
        "spec.audit[0].httpOptions.uri": {"version": "2.5.0", "audit": [{**posts, "path": "h"}]},
        "spec.selfInit.requests[0].auditDevice.httpOptions.uri": _first_boot_device(posts),
    }
    return specs[field]
