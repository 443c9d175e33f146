"""The kinds that a fake server serves.

Pure data. Custom kinds are added by tests.
"""

from dataclasses import dataclass

from runtime import builtin_kinds
from runtime.testing.api_server.schema import BUILT_IN, CUSTOM, Schema
from runtime.types import Resource


@dataclass(frozen=True, slots=True)
class Kind:
    """A served resource: whether it has a status subresource and a generation."""

    resource: Resource
    status: bool = False
    generation: bool = False
    schema: Schema = BUILT_IN

    @property
    def items_say_their_kind(self) -> bool:
        """Whether each item of a list has apiVersion and kind; those of built-in kinds do not."""
        return self.schema is not BUILT_IN


def custom(resource: Resource, *, status: bool = True, schema: Schema = CUSTOM) -> Kind:
    """A custom resource, which always has a generation."""
    return Kind(resource, status=status, generation=True, schema=schema)


BUILT_IN_KINDS = (
    Kind(builtin_kinds.CONFIG_MAP),
    Kind(builtin_kinds.NAMESPACE, status=True),
    Kind(builtin_kinds.POD, status=True, generation=True),
    Kind(builtin_kinds.PVC, status=True),
    Kind(builtin_kinds.SECRET),
    Kind(builtin_kinds.SERVICE, status=True),
    Kind(builtin_kinds.SERVICE_ACCOUNT),
    Kind(builtin_kinds.STATEFUL_SET, status=True, generation=True),
    Kind(builtin_kinds.JOB, status=True, generation=True),
    Kind(builtin_kinds.LEASE),
    Kind(builtin_kinds.ENDPOINT_SLICE, generation=True),
    Kind(builtin_kinds.EVENT),
    Kind(builtin_kinds.NETWORK_POLICY, generation=True),
    Kind(builtin_kinds.POD_DISRUPTION_BUDGET, status=True, generation=True),
    Kind(builtin_kinds.ROLE),
    Kind(builtin_kinds.ROLE_BINDING),
)
