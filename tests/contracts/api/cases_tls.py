"""What the rules about spec.tls refuse."""

from typing import Any

from tests.contracts.api.case import Broken, Case, cases_of

_DIRECTORY = "https://acme.example.com/dir"
_CACHE = "spec.tls.acme.sharedCache"


def _acme(**settings: Any) -> dict[str, Any]:
    """A spec of one server in mode ACME that is fine, with more settings of ACME."""
    return {"replicas": 1, "tls": {"mode": "ACME", "acme": _settings(**settings)}}


def _settings(**settings: Any) -> dict[str, Any]:
    return {"directoryURL": _DIRECTORY, **settings}


def _cached(mode: str, **settings: Any) -> dict[str, Any]:
    return _acme(sharedCache={"mode": mode, **settings})


_BROKEN: Broken = {
    ("tls-enabled", "spec.tls.enabled"): {"no TLS": {"tls": {"enabled": False}}},
    ("rotation-period", "spec.tls.rotationPeriod"): {
        "a rotation period below an hour": {"tls": {"rotationPeriod": "59m"}},
        "a rotation period as long as the validity": {"tls": {"rotationPeriod": "8760h"}},
        "a rotation period too long to count": {"tls": {"rotationPeriod": "99999999999h"}},
    },
    ("ca-overlap", "spec.tls.caOverlap"): {
        "no overlap at all": {"tls": {"caOverlap": "0s"}},
        "an overlap of more than a month": {"tls": {"caOverlap": "721h"}},
    },
    ("extra-sans", "spec.tls.extraSANs[1]"): {
        "a certificate name that is no name": {"tls": {"extraSANs": ["ok.example.com", "a:b"]}}
    },
    ("acme-settings", "spec.tls.acme"): {"ACME without settings": {"tls": {"mode": "ACME"}}},
    ("acme-domains", "spec.tls.acme.domain"): {
        "ACME with both spellings of the domain": _acme(domain="a.example.com", domains=["b.c"])
    },
    ("acme-cache-mode", _CACHE): {
        "a shared cache without mode ACME": {
            "tls": {"acme": _settings(sharedCache={"mode": "ManagedPVC"})}
        }
    },
    ("acme-cache-replicas", _CACHE): {
        "three servers without a shared cache": {"tls": {"mode": "ACME", "acme": _settings()}}
    },
    ("acme-cache-existingclaimname-existingpvc", f"{_CACHE}.existingClaimName"): {
        "an existing claim without its name": _cached("ExistingPVC")
    },
    ("acme-cache-existingclaimname-managedpvc", f"{_CACHE}.existingClaimName"): {
        "a managed claim with a name": _cached("ManagedPVC", existingClaimName="mine")
    },
    ("acme-cache-size-existingpvc", f"{_CACHE}.size"): {
        "an existing claim with a size": _cached(
            "ExistingPVC", existingClaimName="mine", size="1Gi"
        )
    },
    ("acme-cache-storageclassname-existingpvc", f"{_CACHE}.storageClassName"): {
        "an existing claim with a class": _cached(
            "ExistingPVC", existingClaimName="mine", storageClassName="nfs"
        )
    },
    ("external-mode", "spec.tls.external"): {
        "Secrets of the user without mode External": {
            "tls": {"external": {"serverSecretRef": {"name": "mine"}}}
        }
    },
    ("acme-system-secret", "spec.tls.acme.caSecretRef.name"): {
        "a Secret of the operator for the authority of ACME": _acme(
            caSecretRef={"name": "other-tls-ca"}
        )
    },
    ("acme-ca-root", "spec.configuration.acmeCARoot"): {
        "a file that no volume brings": {
            **_acme(),
            "configuration": {"acmeCARoot": "/etc/ssl/ca.crt"},
        }
    },
    ("external-system-secret", "spec.tls.external.serverSecretRef.name"): {
        "a certificate in the Secret of a key": {
            "tls": {"mode": "External", "external": {"serverSecretRef": {"name": "c-unseal-key"}}}
        }
    },
}

CASES = cases_of(_BROKEN)

CODE_CASES: dict[str, Case] = {}
