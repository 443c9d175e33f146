"""A case of a rule, and a spec that profile Hardened accepts.

The cases are in the modules cases_<topic>.py beside this one, a module per module of rules: CASES
for rules that are CEL, too, and CODE_CASES for those that the operator alone checks.
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.contracts.api.clusters import with_request

TRANSIT = {"address": "https://kms.example.com", "keyName": "unseal", "mountPath": "transit"}
"""spec.unseal.transit, with what it must have."""


@dataclass(frozen=True)
class Case:
    """A spec that breaks one rule.

    A change of the spec (or a name), the rule that it breaks, and the field that the complaint
    names. For a rule about changes `before` is the spec that it is changed from, and `status` what
    was observed by then.
    """

    rule: str
    field: str
    spec: dict[str, Any] = dataclasses.field(default_factory=dict)
    before: dict[str, Any] | None = None
    name: str = "c"
    status: dict[str, Any] | None = None


Broken = Mapping[tuple[str, str], Mapping[str, dict[str, Any]]]
"""A rule and the field that its complaint names: the specs that break it, by sentence."""


def cases_of(broken: Broken) -> dict[str, Case]:
    """A case for each of these specs; ValueError for a sentence that stands under two rules."""
    cases = {
        sentence: Case(rule, field, spec)
        for (rule, field), specs in broken.items()
        for sentence, spec in specs.items()
    }
    if len(cases) != sum(map(len, broken.values())):
        raise ValueError("a sentence stands under two rules")
    return cases


def hardened_spec(**spec: Any) -> dict[str, Any]:
    """A spec that is fine in profile Hardened, changed by `spec`; None removes a field."""
    return {
        "profile": "Hardened",
        "tls": {"mode": "External"},
        "unseal": {"type": "transit", "transit": TRANSIT},
        "selfInit": with_request(),
        **spec,
    }
