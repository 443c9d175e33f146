"""What the rules about images and their signatures refuse: see tests.contracts.api.case."""

from typing import Any

from tests.contracts.api.case import Broken, Case, cases_of
from tests.contracts.api.cases_reserved import spec_with

KEY = (
    "-----BEGIN PUBLIC KEY-----\n"
    "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEWliV+3uJNNm3PPF/Xn2hzTBGJCjh\n"
    "4YD6i7b3wGWKDi3so6yfA9+IdlZ2KZj/1ZswKokMR7wLSalvrIcAp7LKyg==\n"
    "-----END PUBLIC KEY-----\n"
)
IDENTITY = {"issuer": "https://issuer.example.com", "subject": "builder@example.com"}
PATTERNS = {"issuerRegExp": "^https://issuer", "subjectRegExp": "@example\\.com$"}


def policy(**fields: Any) -> dict[str, Any]:
    """A spec with a policy for the server image."""
    return {"imageVerification": {"enabled": True, **fields}}


def helper_policy(**fields: Any) -> dict[str, Any]:
    """A spec with a policy for the operator's own image."""
    return {"operatorImageVerification": {"enabled": True, **fields}}


_BROKEN: Broken = {
    (
        "image-backup.restoreTest.clusterTemplate.image",
        "spec.backup.restoreTest.clusterTemplate.image",
    ): {
        "no image for a test of restores": spec_with(
            "spec.backup.restoreTest",
            {"everySuccessfulBackups": 1, "clusterTemplate": {"image": "A/../b"}},
        )
    },
    ("image-plugins[].image", "spec.plugins[0].image"): {
        "no image of a plugin": {
            "version": "2.7.0",
            "plugins": [{"type": "secret", "name": "p", "image": "a@sha256:0", "version": "v1"}],
        }
    },
    ("imageVerification-trust", "spec.imageVerification"): {
        "a policy without a trusted signer": policy(),
        "a policy with an empty key": policy(publicKey=""),
        "a policy with key and identity": policy(publicKey=KEY, **IDENTITY),
    },
    ("operatorImageVerification-trust", "spec.operatorImageVerification"): {
        "a helper policy without a trusted signer": helper_policy()
    },
    ("imageVerification-identity", "spec.imageVerification"): {
        "an issuer without a subject": policy(issuer=IDENTITY["issuer"]),
        "a pattern for the subject alone": policy(subjectRegExp=PATTERNS["subjectRegExp"]),
        "an issuer and patterns": policy(issuer=IDENTITY["issuer"], **PATTERNS),
    },
    ("operatorImageVerification-identity", "spec.operatorImageVerification"): {
        "two ways to name an identity of the helper": helper_policy(**IDENTITY, **PATTERNS)
    },
    ("imageVerification-secret", "spec.imageVerification.imagePullSecrets[0].name"): {
        "the unseal key as a registry login": policy(
            publicKey=KEY, imagePullSecrets=[{"name": "c-unseal-key"}]
        )
    },
    (
        "operatorImageVerification-secret",
        "spec.operatorImageVerification.imagePullSecrets[0].name",
    ): {
        "the root token as a registry login for the helper": helper_policy(
            publicKey=KEY, imagePullSecrets=[{"name": "c-root-token"}]
        )
    },
    ("image-image", "spec.image"): {
        "an image in capital letters": {"image": "registry.example.com/OpenBao:2.4.0"},
        "an image with half a digest": {"image": "openbao@sha256:abc"},
    },
}

CASES: dict[str, Case] = {
    **cases_of(_BROKEN),
    **{
        f"no image at {path}": Case(
            f"image-{path}", f"spec.{path}", spec_with(f"spec.{path}", "a//b")
        )
        for path in (
            "initContainer.image",
            "backup.image",
            "upgrade.image",
            "upgrade.blueGreen.verification.prePromotionHook.image",
        )
    },
}

_BROKEN_IN_CODE: Broken = {
    ("imageVerification-key", "spec.imageVerification.publicKey"): {
        "an invalid key": policy(publicKey=KEY.replace("MFkw", "AAAA")),
        "two keys in one": policy(publicKey=KEY * 2),
    },
    ("operatorImageVerification-key", "spec.operatorImageVerification.publicKey"): {
        "a reference to an external key": helper_policy(publicKey="k8s://namespace/key")
    },
    ("imageVerification-pattern", "spec.imageVerification.subjectRegExp"): {
        "a pattern with a backreference": policy(
            issuerRegExp="^https://issuer$", subjectRegExp="^(a)\\1$"
        )
    },
    ("imageVerification-log", "spec.imageVerification.ignoreTlog"): {
        "an identity without a log": policy(**IDENTITY, ignoreTlog=True)
    },
    ("operatorImageVerification-log", "spec.operatorImageVerification.ignoreTlog"): {
        "patterns without a log": helper_policy(**PATTERNS, ignoreTlog=True)
    },
    ("imageVerification-pattern", "spec.imageVerification.issuerRegExp"): {
        "a pattern that Go reads otherwise": policy(
            issuerRegExp="^https://[^a&&b]$", subjectRegExp="x"
        )
    },
    ("operatorImageVerification-pattern", "spec.operatorImageVerification.issuerRegExp"): {
        "a pattern that Go does not know": helper_policy(
            issuerRegExp="(?=https)", subjectRegExp="x"
        )
    },
}

CODE_CASES = cases_of(_BROKEN_IN_CODE)
