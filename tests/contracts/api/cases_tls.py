"""What the rules about spec.tls refuse."""

from typing import Any

from tests.contracts.api.case import Case

_DIRECTORY = "https://acme.example.com/dir"
_CACHE = "spec.tls.acme.sharedCache"


def _acme(**settings: Any) -> dict[str, Any]:
    """A spec of one server in mode ACME that is fine, with more settings of ACME."""
    return {"replicas": 1, "tls": {"mode": "ACME", "acme": _settings(**settings)}}


def _settings(**settings: Any) -> dict[str, Any]:
    return {"directoryURL": _DIRECTORY, **settings}


def _cached(mode: str, **settings: Any) -> dict[str, Any]:
    return _acme(sharedCache={"mode": mode, **settings})


CASES: dict[str, Case] = {
    "no TLS": Case("tls-enabled", "spec.tls.enabled", {"tls": {"enabled": False}}),
    "a rotation period below an hour": Case(
        "rotation-period", "spec.tls.rotationPeriod", {"tls": {"rotationPeriod": "59m"}}
    ),
    "a rotation period of a whole certificate's life": Case(
        "rotation-period", "spec.tls.rotationPeriod", {"tls": {"rotationPeriod": "8760h"}}
    ),
    "a rotation period too long to count": Case(
        "rotation-period", "spec.tls.rotationPeriod", {"tls": {"rotationPeriod": "99999999999h"}}
    ),
    "no overlap at all": Case("ca-overlap", "spec.tls.caOverlap", {"tls": {"caOverlap": "0s"}}),
    "an overlap of more than a month": Case(
        "ca-overlap", "spec.tls.caOverlap", {"tls": {"caOverlap": "721h"}}
    ),
    "a certificate name that is no name": Case(
        "extra-sans", "spec.tls.extraSANs[1]", {"tls": {"extraSANs": ["ok.example.com", "a:b"]}}
    ),
    "ACME without settings": Case("acme-settings", "spec.tls.acme", {"tls": {"mode": "ACME"}}),
    "ACME with both spellings of the domain": Case(
        "acme-domains", "spec.tls.acme.domain", _acme(domain="a.example.com", domains=["b.c"])
    ),
    "a shared cache that nobody uses": Case(
        "acme-cache-mode", _CACHE, {"tls": {"acme": _settings(sharedCache={"mode": "ManagedPVC"})}}
    ),
    "three servers without a shared cache": Case(
        "acme-cache-replicas", _CACHE, {"tls": {"mode": "ACME", "acme": _settings()}}
    ),
    "an existing claim without its name": Case(
        "acme-cache-existingclaimname-existingpvc",
        f"{_CACHE}.existingClaimName",
        _cached("ExistingPVC"),
    ),
    "a managed claim with a name": Case(
        "acme-cache-existingclaimname-managedpvc",
        f"{_CACHE}.existingClaimName",
        _cached("ManagedPVC", existingClaimName="mine"),
    ),
    "an existing claim with a size": Case(
        "acme-cache-size-existingpvc",
        f"{_CACHE}.size",
        _cached("ExistingPVC", existingClaimName="mine", size="1Gi"),
    ),
    "an existing claim with a class": Case(
        "acme-cache-storageclassname-existingpvc",
        f"{_CACHE}.storageClassName",
        _cached("ExistingPVC", existingClaimName="mine", storageClassName="nfs"),
    ),
    "Secrets of your own that nobody uses": Case(
        "external-mode",
        "spec.tls.external",
        {"tls": {"external": {"serverSecretRef": {"name": "mine"}}}},
    ),
    "a Secret of the operator for the authority of ACME": Case(
        "acme-system-secret",
        "spec.tls.acme.caSecretRef.name",
        _acme(caSecretRef={"name": "other-tls-ca"}),
    ),
    "a file that no volume brings": Case(
        "acme-ca-root",
        "spec.configuration.acmeCARoot",
        {**_acme(), "configuration": {"acmeCARoot": "/etc/ssl/ca.crt"}},
    ),
    "a certificate in the Secret of a key": Case(
        "external-system-secret",
        "spec.tls.external.serverSecretRef.name",
        {"tls": {"mode": "External", "external": {"serverSecretRef": {"name": "c-unseal-key"}}}},
    ),
}

CODE_CASES: dict[str, Case] = {}
