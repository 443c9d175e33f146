"""Which kinds a fake server serves, and how it keeps each.

Pure data. Custom kinds are added by tests.
"""

from dataclasses import dataclass

from runtime import resources
from runtime.testing.api_server.schema import BUILT_IN, CUSTOM, Schema
from runtime.types import Resource


@dataclass(frozen=True, slots=True)
class Kind:
    """A served resource: whether it has a status of its own and counts generations."""

    resource: Resource
    status: bool = False
    generation: bool = False
    schema: Schema = BUILT_IN

    @property
    def items_say_their_kind(self) -> bool:
        """Lists of built-in kinds do not repeat apiVersion and kind in each item."""
        return self.schema is not BUILT_IN


def custom(resource: Resource, *, status: bool = True, schema: Schema = CUSTOM) -> Kind:
    """A custom resource; those always count generations."""
    return Kind(resource, status=status, generation=True, schema=schema)


BUILT_IN_KINDS = (
    Kind(resources.CONFIG_MAP),
    Kind(resources.NAMESPACE, status=True),
    Kind(resources.POD, status=True, generation=True),
    Kind(resources.PVC, status=True),
    Kind(resources.SECRET),
    Kind(resources.SERVICE, status=True),
    Kind(resources.SERVICE_ACCOUNT),
    Kind(resources.STATEFUL_SET, status=True, generation=True),
    Kind(resources.JOB, status=True, generation=True),
    Kind(resources.LEASE),
    Kind(resources.ENDPOINT_SLICE, generation=True),
    Kind(resources.EVENT),
    Kind(resources.NETWORK_POLICY, generation=True),
    Kind(resources.POD_DISRUPTION_BUDGET, status=True, generation=True),
    Kind(resources.ROLE),
    Kind(resources.ROLE_BINDING),
)
