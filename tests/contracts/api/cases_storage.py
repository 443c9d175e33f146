"""What the rules about spec.storage refuse."""

from tests.contracts.api.case import Case

CASES: dict[str, Case] = {
    "a volume of size zero": Case("storage-size", "spec.storage.size", {"storage": {"size": "0"}}),
    "a volume that shrinks": Case(
        "storage-size-shrinks",
        "spec.storage.size",
        {"storage": {"size": "1023Mi"}},
        before={"storage": {"size": "1Gi"}},
    ),
    "a storage class that is set later": Case(
        "storage-class-immutable",
        "spec.storage.storageClassName",
        {"storage": {"size": "1Gi", "storageClassName": "fast"}},
        before={"storage": {"size": "1Gi"}},
    ),
    "a storage class that is removed": Case(
        "storage-class-immutable",
        "spec.storage.storageClassName",
        {"storage": {"size": "1Gi"}},
        before={"storage": {"size": "1Gi", "storageClassName": "fast"}},
    ),
}
