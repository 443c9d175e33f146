"""What the rules about images and their signatures refuse: see tests.contracts.api.case."""

from typing import Any

from tests.contracts.api.case import Case
from tests.contracts.api.cases_reserved import placed

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


CASES: dict[str, Case] = {
    **{
        f"no image at {path}": Case(f"image-{path}", f"spec.{path}", placed(f"spec.{path}", "a//b"))
        for path in (
            "initContainer.image",
            "backup.image",
            "upgrade.image",
            "upgrade.blueGreen.verification.prePromotionHook.image",
        )
    },
    "no image for a test of restores": Case(
        "image-backup.restoreTest.clusterTemplate.image",
        "spec.backup.restoreTest.clusterTemplate.image",
        placed(
            "spec.backup.restoreTest",
            {"everySuccessfulBackups": 1, "clusterTemplate": {"image": "A/../b"}},
        ),
    ),
    "no image of a plugin": Case(
        "image-plugins[].image",
        "spec.plugins[0].image",
        {
            "version": "2.7.0",
            "plugins": [{"type": "secret", "name": "p", "image": "a@sha256:0", "version": "v1"}],
        },
    ),
    "a policy that trusts nobody": Case(
        "imageVerification-trust", "spec.imageVerification", policy()
    ),
    "a policy with an empty key": Case(
        "imageVerification-trust", "spec.imageVerification", policy(publicKey="")
    ),
    "a policy with key and identity": Case(
        "imageVerification-trust", "spec.imageVerification", policy(publicKey=KEY, **IDENTITY)
    ),
    "a helper policy that trusts nobody": Case(
        "operatorImageVerification-trust", "spec.operatorImageVerification", helper_policy()
    ),
    "an issuer without a subject": Case(
        "imageVerification-identity", "spec.imageVerification", policy(issuer=IDENTITY["issuer"])
    ),
    "a pattern for the subject alone": Case(
        "imageVerification-identity",
        "spec.imageVerification",
        policy(subjectRegExp=PATTERNS["subjectRegExp"]),
    ),
    "an issuer and patterns": Case(
        "imageVerification-identity",
        "spec.imageVerification",
        policy(issuer=IDENTITY["issuer"], **PATTERNS),
    ),
    "two ways to name an identity of the helper": Case(
        "operatorImageVerification-identity",
        "spec.operatorImageVerification",
        helper_policy(**IDENTITY, **PATTERNS),
    ),
    "the unseal key as a registry login": Case(
        "imageVerification-secret",
        "spec.imageVerification.imagePullSecrets[0].name",
        policy(publicKey=KEY, imagePullSecrets=[{"name": "c-unseal-key"}]),
    ),
    "the root token as a registry login for the helper": Case(
        "operatorImageVerification-secret",
        "spec.operatorImageVerification.imagePullSecrets[0].name",
        helper_policy(publicKey=KEY, imagePullSecrets=[{"name": "c-root-token"}]),
    ),
    "an image in capital letters": Case(
        "image-image", "spec.image", {"image": "registry.example.com/OpenBao:2.4.0"}
    ),
    "an image with half a digest": Case(
        "image-image", "spec.image", {"image": "openbao@sha256:abc"}
    ),
}

CODE_CASES: dict[str, Case] = {
    "a key that is none": Case(
        "imageVerification-key",
        "spec.imageVerification.publicKey",
        policy(publicKey=KEY.replace("MFkw", "AAAA")),
    ),
    "two keys in one": Case(
        "imageVerification-key", "spec.imageVerification.publicKey", policy(publicKey=KEY * 2)
    ),
    "a reference to a key elsewhere": Case(
        "operatorImageVerification-key",
        "spec.operatorImageVerification.publicKey",
        helper_policy(publicKey="k8s://namespace/key"),
    ),
    "a pattern that goes back": Case(
        "imageVerification-pattern",
        "spec.imageVerification.subjectRegExp",
        policy(issuerRegExp="^https://issuer$", subjectRegExp="^(a)\\1$"),
    ),
    "an identity without a log": Case(
        "imageVerification-log",
        "spec.imageVerification.ignoreTlog",
        policy(**IDENTITY, ignoreTlog=True),
    ),
    "patterns without a log": Case(
        "operatorImageVerification-log",
        "spec.operatorImageVerification.ignoreTlog",
        helper_policy(**PATTERNS, ignoreTlog=True),
    ),
    "a pattern that Go reads otherwise": Case(
        "imageVerification-pattern",
        "spec.imageVerification.issuerRegExp",
        policy(issuerRegExp="^https://[^a&&b]$", subjectRegExp="x"),
    ),
    "a pattern that Go does not know": Case(
        "operatorImageVerification-pattern",
        "spec.operatorImageVerification.issuerRegExp",
        helper_policy(issuerRegExp="(?=https)", subjectRegExp="x"),
    ),
}
