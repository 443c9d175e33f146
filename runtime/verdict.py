"""The result of one apply: a verdict of `runtime.apply.apply_result`, and a label of its metric.
Pure.
"""

from enum import Enum


class Verdict(Enum):
    """The result of applying one intent."""

    SKIPPED = "skipped"
    CREATED = "created"
    UPDATED = "updated"
    FOREIGN = "foreign"
    TERMINATING = "terminating"
    REJECTED = "rejected"
