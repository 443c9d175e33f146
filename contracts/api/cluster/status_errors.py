"""Scalars and the error record that the parts of a status share.

Uses contracts.api.meta. Called by contracts.api.cluster.status and the modules of its parts.
"""

from typing import Annotated

from pydantic import Field

from contracts.api.meta import ApiModel, Timestamp

Text = Annotated[str, Field(max_length=1024)]
Name = Annotated[str, Field(max_length=253)]
Word = Annotated[str, Field(max_length=128)]
Digest = Annotated[str, Field(pattern=r"^(sha256:[0-9a-f]{64})?$", max_length=71)]
Count = Annotated[int, Field(ge=0, le=2**31 - 1)]
Index = Annotated[int, Field(ge=0, le=2**53 - 1)]
SNAPSHOT_MAX = 8 * 1024**3
Size = Annotated[int, Field(ge=0, le=SNAPSHOT_MAX)]


class LastError(ApiModel):
    """Last error of one part of the operator."""

    reason: Word = Field(description="Reason, one word in CamelCase.")
    message: Text = Field(description="Message for users.")
    at: Timestamp | None = Field(default=None, description="Time of the first failure.")
