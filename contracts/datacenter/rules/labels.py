"""Rules about the labels and annotations of a service.

Uses contracts.naming.labels and contracts.datacenter.rules.service. Collected by
contracts.datacenter.rules.all_rules. The operator trusts its own labels regardless of their writer,
so users must not set them.
"""

from collections.abc import Callable, Iterator

from contracts.api.rules.rule import InvalidField
from contracts.api.values.field_path import value_at
from contracts.api.values.pattern import Pattern
from contracts.datacenter.rules.service import FORBIDDEN, Find, ServiceRule
from contracts.datacenter.service_spec import BootstrapService
from contracts.naming import labels

_OURS = (labels.MANAGED_BY, labels.NAME, labels.INSTANCE)
_WORD = r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
_VALUE = Pattern(f"^({_WORD})?$")
_DNS_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_KEY = Pattern(rf"^({_DNS_LABEL}(\.{_DNS_LABEL})*/)?{_WORD}$")
# Length of the prefix before the slash; the pattern limits the length of the name.
_PREFIX_MAX = 253

_IS_OURS = (
    "("
    + " || ".join(f"key.startsWith('{beginning}')" for beginning in labels.RESERVED)
    + f" || key in {list(_OURS)})"
)


def _is_ours(key: str) -> bool:
    return key.startswith(labels.RESERVED) or key in _OURS


def _is_invalid_key(key: str) -> bool:
    return len(key.rpartition("/")[0]) > _PREFIX_MAX or not _KEY.found_in(key)


def _keys(field: str, is_bad: Callable[[str], bool]) -> Find:
    def find(service: BootstrapService) -> Iterator[InvalidField]:
        yield from ((field, key) for key in sorted(value_at(service, field)) if is_bad(key))

    return find


def _values(field: str) -> Find:
    def find(service: BootstrapService) -> Iterator[InvalidField]:
        for _, value in sorted(value_at(service, field).items()):
            if not _VALUE.found_in(value):
                yield field, value

    return find


def _reserved_rule(field: str) -> ServiceRule:
    return ServiceRule(
        id=f"reserved-{field}",
        at=field,
        field=field,
        message=(
            "must not have keys that start with openbao.org/ or openbao-, nor "
            f"{', '.join(_OURS)}, which are reserved for the operator and its servers; remove them"
        ),
        find=_keys(field, _is_ours),
        cel=f"self.all(key, !{_IS_OURS})",
        got=f"self.filter(key, {_IS_OURS})[0]",
        reason=FORBIDDEN,
    )


def _key_rule(field: str) -> ServiceRule:
    return ServiceRule(
        id=f"keys-{field}",
        at=field,
        field=field,
        message=(
            "must have keys of at most 63 letters, digits, -, _ and . that begin and end with a "
            "letter or digit, with or without a domain and a slash before them; correct them"
        ),
        # No CEL: the schema does not bound the length of keys, so a pattern would cost too much.
        find=_keys(field, _is_invalid_key),
    )


def _value_rule(field: str) -> ServiceRule:
    return ServiceRule(
        id=f"values-{field}",
        at=field,
        field=field,
        message=(
            "must have values of letters, digits, -, _ and . that begin and end with a letter or "
            "digit; correct them, or use annotations where there is such a field"
        ),
        find=_values(field),
        cel=f"self.all(key, {_VALUE.cel('self[key]')})",
    )


LABEL_RULES: tuple[ServiceRule, ...] = (
    *map(_reserved_rule, ("labels", "annotations")),
    *map(_key_rule, ("labels", "annotations", "nodeSelector")),
    *map(_value_rule, ("labels", "nodeSelector")),
)
