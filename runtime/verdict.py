"""The result of one apply, for `runtime.apply.apply_result` and the metric of applies. Pure."""

from enum import Enum


class Verdict(Enum):
    """The result of applying one intent."""

    SKIPPED = "skipped"
    CREATED = "created"
    UPDATED = "updated"
    FOREIGN = "foreign"
    TERMINATING = "terminating"
    REJECTED = "rejected"
