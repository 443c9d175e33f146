"""Rules about addresses that a server connects to.

Uses contracts.api.values.url and the API models. Collected by contracts.api.rules.cluster. The
addresses of the transit seal, of the issuer and of the object store have rules in their own
modules.
"""

from collections.abc import Iterator

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.rules.rule import Broken, Offence, Rule
from contracts.api.values import url
from contracts.api.values.field_path import values_at
from contracts.api.values.pattern import Pattern

Old = OpenBaoCluster | None

_GOOD = "https://bao.example.com"
PLACES: dict[str, tuple[str, Pattern]] = {
    "spec.tls.acme.directoryURL": ("https", url.HTTPS),
    "spec.unseal.awskms.endpoint": ("https", url.HTTPS),
    "spec.unseal.ocikms.cryptoEndpoint": ("https", url.HTTPS),
    "spec.unseal.ocikms.managementEndpoint": ("https", url.HTTPS),
    "spec.telemetry.circonusAPIURL": ("https", url.HTTPS),
    "spec.audit[].httpOptions.uri": ("https or http", url.WEB),
    "spec.selfInit.requests[].auditDevice.httpOptions.uri": ("https or http", url.WEB),
}
"""Fields that hold a URL: the schemes that they may have, and their shape."""


def _broken(path: str, shape: Pattern) -> Broken:
    def broken(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
        for field, value in values_at(new.spec, path.removeprefix("spec.")):
            if value is None:
                continue
            if not shape.found_in(value) or not url.is_elsewhere(value):
                yield f"spec.{field}", value

    return broken


def _rule(path: str) -> Rule:
    schemes, shape = PLACES[path]
    return Rule(
        id=f"url-{path.removeprefix('spec.')}",
        at=path,
        field=path,
        message=(
            f"must be a URL of scheme {schemes} without user and fragment, and not of the machine "
            "or link itself, of a cloud's metadata service, nor a number in an unusual spelling; "
            f"{_GOOD} is a good value"
        ),
        broken=_broken(path, shape),
        cel=f"{shape.cel('self')} && {url.is_elsewhere_cel('self')}",
        got="self",
    )


URL_RULES: tuple[Rule, ...] = tuple(map(_rule, PLACES))
