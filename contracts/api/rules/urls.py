"""Rules about URLs that a server connects to.

Uses contracts.api.values.url and the API models. Collected by contracts.api.rules.cluster. The
addresses of the transit seal, of the issuer and of the object store have rules in their own
modules.
"""

from contracts.api.rules.checks import it
from contracts.api.rules.combinators import rule
from contracts.api.rules.rule import Rule
from contracts.api.values import url
from contracts.api.values.pattern import Pattern

_EXAMPLE = "https://bao.example.com"
PLACES: dict[str, tuple[str, Pattern]] = {
    "spec.tls.acme.directoryURL": ("https", url.HTTPS),
    "spec.unseal.awskms.endpoint": ("https", url.HTTPS),
    "spec.unseal.ocikms.cryptoEndpoint": ("https", url.HTTPS),
    "spec.unseal.ocikms.managementEndpoint": ("https", url.HTTPS),
    "spec.telemetry.circonusAPIURL": ("https", url.HTTPS),
    "spec.audit[].httpOptions.uri": ("https or http", url.WEB),
    "spec.selfInit.requests[].auditDevice.httpOptions.uri": ("https or http", url.WEB),
}
"""Fields with a URL: their schemes, and their pattern."""


def _rule(path: str) -> Rule:
    schemes, shape = PLACES[path]
    return rule(
        f"url-{path.removeprefix('spec.')}",
        path,
        "",
        f"must be a URL of scheme {schemes} without user and fragment, whose host is not a "
        "loopback, link-local or cloud metadata address or a number in an unusual notation; "
        f"for example {_EXAMPLE}",
        it().matches(shape) & it().is_elsewhere(),
        got=it(),
    )


URL_RULES: tuple[Rule, ...] = tuple(map(_rule, PLACES))
