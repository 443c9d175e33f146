"""What became of one apply: a verdict of `runtime.apply.apply_result`, and the label of its metric.
Pure.
"""

from enum import Enum


class Verdict(Enum):
    """What became of one intent."""

    SKIPPED = "skipped"
    CREATED = "created"
    UPDATED = "updated"
    FOREIGN = "foreign"
    TERMINATING = "terminating"
    REJECTED = "rejected"
