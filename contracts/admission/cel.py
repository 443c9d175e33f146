"""CEL of the policies, in small pieces.

Uses contracts.admission.requesters. Called by the modules of this package. Unlike the rules of the
CRD, policies may use the optional values of CEL: `a.?b` is nothing where there is no b, and two
nothings are equal.
"""

from contracts.admission.requesters import account

NOW, BEFORE = "variables.spec", "variables.before"
"""The spec that is asked for, and the one that it replaces: empty for a new object."""

IS_CHANGE = "request.operation == 'CREATE' || object.spec != oldObject.spec"
"""False for whatever leaves the spec alone: finalizers, owners, labels, managed fields."""

IS_NOT_OPERATOR = f"request.userInfo.username != {account('controller')}"


def optional(path: str, of: str = NOW) -> str:
    """An optional value of a spec by its path, which may begin with `spec.`."""
    return of + "".join(f".?{step}" for step in path.removeprefix("spec.").split("."))


def text(value: str) -> str:
    """A text as CEL writes it."""
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
