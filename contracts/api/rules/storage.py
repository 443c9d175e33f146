"""Rules about spec.storage: what a volume can be, and how it may change.

Uses runtime.quantity and the API models. Collected by contracts.api.rules.cluster.
"""

from collections.abc import Iterator

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.rules.rule import Offence, Rule, either
from runtime import quantity

Old = OpenBaoCluster | None


def _size_positive(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    if quantity.parse(new.spec.storage.size) <= 0:
        yield "spec.storage.size", new.spec.storage.size


def _size_shrinks(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    size = new.spec.storage.size
    if old and quantity.parse(size) < quantity.parse(old.spec.storage.size):
        yield "spec.storage.size", size


def _storage_class(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    storage_class = new.spec.storage.storage_class_name
    if old and storage_class != old.spec.storage.storage_class_name:
        yield "spec.storage.storageClassName", storage_class


_CLASS_OF = {of: either("storageClassName", "''", of) for of in ("self", "oldSelf")}

STORAGE_RULES: tuple[Rule, ...] = (
    Rule(
        id="storage-size",
        at="spec.storage.size",
        field="spec.storage.size",
        message="must be more than 0; 10Gi is a good value",
        broken=_size_positive,
        cel="quantity(self).isGreaterThan(quantity('0'))",
    ),
    Rule(
        id="storage-size-shrinks",
        at="spec.storage.size",
        field="spec.storage.size",
        message="must not shrink, because volumes cannot; restore the former value or a larger one",
        broken=_size_shrinks,
        cel="quantity(self).compareTo(quantity(oldSelf)) >= 0",
        got="self + ' after ' + oldSelf",
    ),
    Rule(
        id="storage-class-immutable",
        at="spec.storage",
        field="spec.storage.storageClassName",
        message=(
            "cannot be set, changed or removed once the cluster exists; restore the former value "
            "and move the data to a new cluster instead"
        ),
        broken=_storage_class,
        cel=f"{_CLASS_OF['self']} == {_CLASS_OF['oldSelf']}",
        got=f"'\\'' + {_CLASS_OF['self']} + '\\' after \\'' + {_CLASS_OF['oldSelf']} + '\\''",
        reason="FieldValueForbidden",
    ),
)
