"""What the rules about references to Secrets refuse."""

from tests.contracts.api.case import Broken, cases_of
from tests.contracts.api.cases_backup import backup
from tests.contracts.api.cases_observability import monitor

_OWN = {"name": "other-unseal-key"}
_TEMPLATE = "spec.backup.restoreTest.clusterTemplate"
_MONITOR = "spec.observability.metrics.serviceMonitor"


def _template(**fields: object) -> dict[str, object]:
    return backup(restoreTest={"everySuccessfulBackups": 1, "clusterTemplate": fields})


_BROKEN: Broken = {
    ("secret-imagePullSecrets[]", "spec.imagePullSecrets[1].name"): {
        "a key as a pull secret": {"imagePullSecrets": [{"name": "mine"}, _OWN]}
    },
    ("secret-backup.target.credentialsSecretRef", "spec.backup.target.credentialsSecretRef.name"): {
        "a key as credentials of the store": backup({"credentialsSecretRef": _OWN})
    },
    ("secret-backup.tokenSecretRef", "spec.backup.tokenSecretRef.name"): {
        "a key as a token of backups": backup(tokenSecretRef={"name": "c-root-token"})
    },
    (
        "secret-backup.restoreTest.credentialsSecretRef",
        "spec.backup.restoreTest.credentialsSecretRef.name",
    ): {
        "a key as credentials of the restore test": backup(
            restoreTest={"everySuccessfulBackups": 1, "credentialsSecretRef": _OWN}
        )
    },
    (
        "secret-backup.restoreTest.clusterTemplate.imagePullSecrets[]",
        f"{_TEMPLATE}.imagePullSecrets[0].name",
    ): {"a key as a pull secret of the restore test": _template(imagePullSecrets=[_OWN])},
    (
        "secret-backup.restoreTest.clusterTemplate.unseal.credentialsSecretRef",
        f"{_TEMPLATE}.unseal.credentialsSecretRef.name",
    ): {"a key as the seal of the restore test": _template(unseal={"credentialsSecretRef": _OWN})},
    ("secret-upgrade.tokenSecretRef", "spec.upgrade.tokenSecretRef.name"): {
        "a key as a token of upgrades": {"upgrade": {"tokenSecretRef": {"name": "c-root-token"}}}
    },
    (
        "secret-observability.metrics.serviceMonitor.authorization.credentialsSecret",
        f"{_MONITOR}.authorization.credentialsSecret.name",
    ): {
        "a key as a scrape token": monitor(
            authorization={"credentialsSecret": {"name": "c-root-token"}}
        )
    },
    (
        "secret-observability.metrics.serviceMonitor.tlsConfig.caSecret",
        f"{_MONITOR}.tlsConfig.caSecret.name",
    ): {"a key as a scrape authority": monitor(tlsConfig={"caSecret": {"name": "c-tls-ca"}})},
    ("secret-ingress", "spec.ingress.tlsSecretName"): {
        "a key as the certificate of the Ingress": {"ingress": {"tlsSecretName": "c-tls-ca"}},
        "the certificate of another cluster for the Ingress": {
            "ingress": {"tlsSecretName": "other-tls-server"}
        },
    },
}

CASES = cases_of(_BROKEN)
