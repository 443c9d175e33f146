"""What the rules about a running cluster refuse."""

from tests.contracts.api.case import Broken, Case, cases_of

_FENCED = "spec.fencedPods"
_REVISION = "0123456789abcdef"
_LONG = "c" * 38

_BROKEN: Broken = {
    ("fenced-pod-name", _FENCED): {
        "a fence around a pod of another cluster": {"fencedPods": ["other-1"]},
        "a fence without an ordinal": {"fencedPods": ["c-x"]},
        "a fence with a leading zero in the ordinal": {"fencedPods": ["c-01"]},
        "a fence around a server beyond the replicas": {"fencedPods": ["c-3"]},
        "a fence around a read replica": {"fencedPods": ["c-read-0"]},
        "a fence around a revision with too few digits": {"fencedPods": [f"c-{_REVISION[:13]}-1"]},
        "a fence around an invalid revision": {"fencedPods": [f"c-{'x' * 16}-1"]},
        "a fence around a StatefulSet": {"fencedPods": [f"c-{_REVISION}"]},
        "a fence around a server of a revision beyond the replicas": {
            "fencedPods": [f"c-{_REVISION}-3"]
        },
    },
    ("fenced-pods-majority", _FENCED): {
        "a fence around the only server": {"replicas": 1, "fencedPods": ["c-0"]},
        "fences around half of the servers": {"replicas": 4, "fencedPods": ["c-0", "c-1"]},
        "fences around most of the servers": {"fencedPods": ["c-0", "c-1"]},
    },
}

CASES: dict[str, Case] = {
    **cases_of(_BROKEN),
    "a fence with the full revision of a long cluster name": Case(
        "fenced-pod-name", _FENCED, {"fencedPods": [f"{_LONG}-{_REVISION}-1"]}, name=_LONG
    ),
    "a server taken away while it is fenced": Case(
        "fenced-pod-name",
        _FENCED,
        {"replicas": 3, "fencedPods": ["c-4"]},
        before={"replicas": 5, "fencedPods": ["c-4"]},
    ),
}
