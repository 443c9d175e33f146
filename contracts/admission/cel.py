"""CEL expressions that several policies use.

Uses contracts.admission.requesters. Called by the modules of this package. Unlike the rules of the
CRD, policies can use optional values of CEL: `a.?b` is optional.none() if there is no b, and two
absent values are equal.
"""

from contracts.admission.requesters import account

NOW, BEFORE = "variables.spec", "variables.before"
"""The requested spec, and the old spec, which is empty for a new object."""

IS_CHANGE = "request.operation == 'CREATE' || object.spec != oldObject.spec"
"""False for changes of metadata only: finalizers, owners, labels, managed fields."""

IS_NOT_OPERATOR = f"request.userInfo.username != {account('controller')}"


def optional(path: str, of: str = NOW) -> str:
    """Return an optional value of a spec by its path, which may begin with `spec.`."""
    return of + "".join(f".?{step}" for step in path.removeprefix("spec.").split("."))


def text(value: str) -> str:
    """Return a string as a CEL literal."""
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
