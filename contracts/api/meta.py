"""Types that all parts of the API share: base model, bounded scalars, metadata, conditions.

Uses pydantic. Called by the other modules of contracts.api, and by contracts.conditions.condition
for Condition. `kubectl explain` prints the field descriptions; contracts.api.schema.crd adds
defaults and examples to them.
"""

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PlainSerializer,
    ValidationError,
    WithJsonSchema,
)
from pydantic.alias_generators import to_camel

from contracts.rfc3339 import rfc3339
from runtime.quantity import parse as parse_quantity


class ApiModel(BaseModel):
    """Base of all API types: frozen, camelCase in JSON, and ignores unknown fields."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        populate_by_name=True,
        frozen=True,
        extra="ignore",
        use_attribute_docstrings=False,
    )

    def to_object(self) -> dict[str, Any]:
        """Return the JSON object for the API server: with aliases, and without absent fields."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)


# --- scalars ------------------------------------------------------------------------------------


Duration = Annotated[
    str, Field(pattern=r"^([0-9]+(\.[0-9]+)?(h|m|s|ms|us|ns))+$", min_length=2, max_length=32)
]
"""A Go duration, such as 90s, 1h30m or 720h. It has no unit for days."""

QUANTITY_PATTERN = r"^[0-9]+(\.[0-9]+)?([KMGTPE]i|[numkMGTPE]|[eE][0-9]{1,2})?$"

QUANTITY_MAX = 32

StorageSize = Annotated[str, Field(pattern=QUANTITY_PATTERN, min_length=1, max_length=QUANTITY_MAX)]
"""A Kubernetes quantity of bytes, such as 10Gi."""


def _readable(value: str | int) -> str | int:
    # The schema has the same bound, but an object may be older than its schema.
    if isinstance(value, str) and len(value) > QUANTITY_MAX:
        raise ValueError(f"must have at most {QUANTITY_MAX} characters")
    parse_quantity(value)
    return value


Quantity = Annotated[
    str | int,
    AfterValidator(_readable),
    WithJsonSchema(
        {
            "anyOf": [{"type": "integer"}, {"type": "string"}],
            "pattern": QUANTITY_PATTERN,
            "maxLength": QUANTITY_MAX,
            "x-kubernetes-int-or-string": True,
        }
    ),
]
"""A Kubernetes quantity that may also be written as a number, such as 500m, 2 or 256Mi."""

SubdomainName = Annotated[
    str,
    Field(pattern=r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$", min_length=1, max_length=253),
]
"""The name of a Kubernetes object."""


class SecretMark:
    """Marks a string that is the name of a Secret."""


SecretName = Annotated[SubdomainName, SecretMark()]
"""The name of a Secret in the namespace of the cluster, for fields that are a plain string."""

DataKey = Annotated[
    str, Field(pattern=r"^[A-Za-z0-9._-]+$", min_length=1, max_length=253, examples=["token"])
]
"""A key of a Secret or ConfigMap."""


Timestamp = Annotated[
    datetime,
    PlainSerializer(rfc3339, return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "format": "date-time", "maxLength": 64}),
]


# --- mappings -----------------------------------------------------------------------------------


def freeze(value: Any) -> Any:
    """Return the JSON value with read-only mappings and tuples at all depths."""
    if isinstance(value, Mapping):
        return MappingProxyType({key: freeze(item) for key, item in value.items()})
    if isinstance(value, list | tuple):
        return tuple(freeze(item) for item in value)
    return value


def thaw(value: Any) -> Any:
    """Return plain dicts and lists, which can be changed or serialized: the inverse of `freeze`."""
    if isinstance(value, Mapping):
        return {key: thaw(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [thaw(item) for item in value]
    return value


FreeObject = Annotated[
    Mapping[str, Any],
    AfterValidator(freeze),
    PlainSerializer(thaw),
    WithJsonSchema(
        {"type": "object", "maxProperties": 64, "x-kubernetes-preserve-unknown-fields": True}
    ),
]
"""An object without a schema, deeply read-only."""

FreeValue = Annotated[
    Any,
    AfterValidator(freeze),
    PlainSerializer(thaw),
    WithJsonSchema({"x-kubernetes-preserve-unknown-fields": True}),
]
"""Any JSON value, deeply read-only."""


def _string_map(properties: int, length: int) -> dict[str, Any]:
    value = {"type": "string", "maxLength": length}
    return {"type": "object", "maxProperties": properties, "additionalProperties": value}


Annotations = Annotated[
    Mapping[str, Annotated[str, Field(max_length=4096)]],
    Field(max_length=64),
    AfterValidator(freeze),
    PlainSerializer(thaw),
    WithJsonSchema(_string_map(64, 4096)),
]
Labels = Annotated[
    Mapping[str, Annotated[str, Field(max_length=63)]],
    Field(max_length=64),
    AfterValidator(freeze),
    PlainSerializer(thaw),
    WithJsonSchema(_string_map(64, 63)),
]
Options = Annotated[
    Mapping[str, Annotated[str, Field(max_length=1024)]],
    Field(max_length=64),
    AfterValidator(freeze),
    PlainSerializer(thaw),
    WithJsonSchema(_string_map(64, 1024)),
]
"""Options of a mount; OpenBao accepts only strings."""
Quantities = Annotated[
    Mapping[str, Quantity],
    Field(max_length=16),
    AfterValidator(freeze),
    PlainSerializer(thaw),
]


def as_set() -> dict[str, Any]:
    """Schema extra of a list with unique values."""
    return {"x-kubernetes-list-type": "set"}


def as_map(key: str) -> dict[str, Any]:
    """Schema extra of a list whose items are identified by one field."""
    return {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [key]}


# --- objects ------------------------------------------------------------------------------------


class StoredStatus(ApiModel):
    """A status that is stored on the API server, where other clients may write it too."""

    @classmethod
    def lenient(cls, value: Any) -> Self:
        """Read a stored status; an invalid one is read as an empty status."""
        try:
            return cls.model_validate(value or {})
        except ValidationError:
            return cls()


class ObjectMeta(ApiModel):
    """The metadata that the operator reads."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    generation: int = 0
    resource_version: str = ""
    labels: Mapping[str, str] = Field(default_factory=dict)
    annotations: Mapping[str, str] = Field(default_factory=dict)
    finalizers: tuple[str, ...] = ()
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None


class LocalReference(ApiModel):
    """The name of an object in the namespace of the cluster."""

    name: SubdomainName = Field(description="Name of the object.")


class SecretReference(LocalReference):
    """The name of a Secret in the namespace of the cluster.

    Every reference to a Secret has the type SecretReference, SecretKey or SecretName, so that the
    rules about Secrets of the operator find all of them (contracts.api.rules.reserved_names).
    """


class SecretKey(ApiModel):
    """One key of a Secret in the namespace of the cluster."""

    name: SubdomainName = Field(description="Name of the Secret.", examples=["scrape-token"])
    key: DataKey | None = Field(
        default=None, description="Key in the Secret; if not set, the default of the field."
    )


class ConfigMapKey(ApiModel):
    """One key of a ConfigMap in the namespace of the cluster."""

    name: SubdomainName = Field(description="Name of the ConfigMap.", examples=["scrape-ca"])
    key: DataKey | None = Field(
        default=None, description="Key in the ConfigMap; if not set, the default of the field."
    )


class Condition(ApiModel):
    """One aspect of the state of the object, in the format of metav1.Condition."""

    type: str = Field(
        description="Type of the condition.",
        pattern=r"^[A-Za-z][A-Za-z0-9]*$",
        max_length=64,
    )
    status: Literal["True", "False", "Unknown"] = Field(
        description="Status of the condition: True, False or Unknown."
    )
    reason: str = Field(
        description="Stable reason, one word in CamelCase.",
        pattern=r"^[A-Za-z]([A-Za-z0-9_]*[A-Za-z0-9])?$",
        max_length=128,
    )
    message: str = Field(
        description="Message for users: the cause and the next step.", max_length=1024
    )
    observed_generation: int = Field(
        default=0, description="metadata.generation of the observed spec.", ge=0
    )
    last_transition_time: Timestamp | None = Field(
        default=None, description="Time of the last change of status."
    )
