"""Which objects an informer mirrors, and in what shape.

Pure. Used by the reflector to ask for them, and by the informer to judge objects that reach it
by another way than its own watch.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import orjson

from runtime.client import Shape
from runtime.types import Object, Resource, key_of, labels_of


def strip_managed_fields(obj: Object) -> Object:
    """The default transform: half of a typical object is bookkeeping that no reader needs."""
    metadata = obj.get("metadata")
    if metadata is not None:
        metadata.pop("managedFields", None)
    return obj


@dataclass(frozen=True, slots=True)
class Selection:
    """One collection, or a part of it, in one shape; equal selections share an informer.

    transform may change its argument in place and must be idempotent; metadata_only leaves
    apiVersion, kind and metadata.
    """

    resource: Resource
    namespace: str | None = None
    label_selector: str = ""
    field_selector: str = ""
    metadata_only: bool = False
    transform: Shape = strip_managed_fields

    def __str__(self) -> str:
        parts = (self.namespace and f"in {self.namespace}", self.label_selector)
        return " ".join((str(self.resource), *filter(None, (*parts, self.field_selector))))

    def shape(self, obj: Object) -> Object:
        """A copy of a full object in the shape of this selection; the argument is not touched."""
        if self.metadata_only:
            obj = {field: obj[field] for field in ("apiVersion", "kind", "metadata")}
        copy: Object = orjson.loads(orjson.dumps(obj))
        return self.transform(copy)

    def matches(self, obj: Mapping[str, object]) -> bool:
        """Whether the server would select the object.

        False also where it cannot be told from here, such as for field selectors beyond the
        object's own name: such objects arrive by the watch alone.
        """
        key = key_of(obj)
        if self.namespace is not None and key.namespace != self.namespace:
            return False
        fields = {"metadata.name": key.name, "metadata.namespace": key.namespace}
        terms = _terms(self.field_selector)
        if terms is None or any(term.key not in fields for term in terms):
            return False
        label_terms = _terms(self.label_selector)
        if label_terms is None:
            return False
        labels = labels_of(obj)
        return all(term.holds(fields) for term in terms) and all(
            term.holds(labels) for term in label_terms
        )


@dataclass(frozen=True, slots=True)
class _Term:
    """One requirement: the value of key is in values, or is not; None stands for any value."""

    key: str
    values: frozenset[str] | None
    wanted: bool

    def holds(self, of: Mapping[str, str]) -> bool:
        value = of.get(self.key)
        found = value is not None and (self.values is None or value in self.values)
        return found is self.wanted


_KEY = r"[A-Za-z0-9][A-Za-z0-9._/-]*"
_SET = re.compile(rf"({_KEY})\s+(in|notin)\s*\(([^()]*)\)")
_EQUALITY = re.compile(rf"({_KEY})\s*(==|=|!=)\s*([A-Za-z0-9._-]*)")
_EXISTENCE = re.compile(rf"(!?)\s*({_KEY})")


@lru_cache(maxsize=256)
def _terms(selector: str) -> tuple[_Term, ...] | None:
    """The requirements of a selector; None when it has one that we do not know (`a > 1`).

    Grammar: Kubernetes documentation, "Labels and Selectors", and apimachinery labels.Parse.
    """
    parts = [part.strip() for part in re.split(r",(?![^()]*\))", selector)]
    if parts == [""]:
        return ()
    terms = [_term(part) for part in parts]
    known = tuple(term for term in terms if term is not None)
    return known if len(known) == len(terms) else None


def _term(text: str) -> _Term | None:
    if found := _SET.fullmatch(text):
        values = frozenset(value.strip() for value in found[3].split(","))
        return _Term(found[1], values, wanted=found[2] == "in")
    if found := _EQUALITY.fullmatch(text):
        return _Term(found[1], frozenset((found[3],)), wanted=found[2] != "!=")
    if found := _EXISTENCE.fullmatch(text):
        return _Term(found[2], None, wanted=not found[1])
    return None
