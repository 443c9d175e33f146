"""What the rules about references to Secrets refuse."""

from tests.contracts.api.case import Case
from tests.contracts.api.cases_backup import backup
from tests.contracts.api.cases_observability import monitor

_OWN = {"name": "other-unseal-key"}
_TEMPLATE = "spec.backup.restoreTest.clusterTemplate"
_MONITOR = "spec.observability.metrics.serviceMonitor"


def _template(**fields: object) -> dict[str, object]:
    return backup(restoreTest={"everySuccessfulBackups": 1, "clusterTemplate": fields})


CASES: dict[str, Case] = {
    "a key as a pull secret": Case(
        "secret-imagePullSecrets[]",
        "spec.imagePullSecrets[1].name",
        {"imagePullSecrets": [{"name": "mine"}, _OWN]},
    ),
    "a key as credentials of the store": Case(
        "secret-backup.target.credentialsSecretRef",
        "spec.backup.target.credentialsSecretRef.name",
        backup({"credentialsSecretRef": _OWN}),
    ),
    "a key as a token of backups": Case(
        "secret-backup.tokenSecretRef",
        "spec.backup.tokenSecretRef.name",
        backup(tokenSecretRef={"name": "c-root-token"}),
    ),
    "a key as credentials of the restore test": Case(
        "secret-backup.restoreTest.credentialsSecretRef",
        "spec.backup.restoreTest.credentialsSecretRef.name",
        backup(restoreTest={"everySuccessfulBackups": 1, "credentialsSecretRef": _OWN}),
    ),
    "a key as a pull secret of the restore test": Case(
        "secret-backup.restoreTest.clusterTemplate.imagePullSecrets[]",
        f"{_TEMPLATE}.imagePullSecrets[0].name",
        _template(imagePullSecrets=[_OWN]),
    ),
    "a key as the seal of the restore test": Case(
        "secret-backup.restoreTest.clusterTemplate.unseal.credentialsSecretRef",
        f"{_TEMPLATE}.unseal.credentialsSecretRef.name",
        _template(unseal={"credentialsSecretRef": _OWN}),
    ),
    "a key as a token of upgrades": Case(
        "secret-upgrade.tokenSecretRef",
        "spec.upgrade.tokenSecretRef.name",
        {"upgrade": {"tokenSecretRef": {"name": "c-root-token"}}},
    ),
    "a key as a scrape token": Case(
        "secret-observability.metrics.serviceMonitor.authorization.credentialsSecret",
        f"{_MONITOR}.authorization.credentialsSecret.name",
        monitor(authorization={"credentialsSecret": {"name": "c-root-token"}}),
    ),
    "a key as a scrape authority": Case(
        "secret-observability.metrics.serviceMonitor.tlsConfig.caSecret",
        f"{_MONITOR}.tlsConfig.caSecret.name",
        monitor(tlsConfig={"caSecret": {"name": "c-tls-ca"}}),
    ),
    "a key as the certificate of the Ingress": Case(
        "secret-ingress", "spec.ingress.tlsSecretName", {"ingress": {"tlsSecretName": "c-tls-ca"}}
    ),
    "the certificate of another cluster for the Ingress": Case(
        "secret-ingress",
        "spec.ingress.tlsSecretName",
        {"ingress": {"tlsSecretName": "other-tls-server"}},
    ),
}
