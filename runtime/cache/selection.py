"""Which objects an informer mirrors, and in what shape.

Pure. Used by the reflector to request them, and by the informer to filter objects that it gets from
other sources than its watch.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import orjson

from runtime.client.listing import Shape
from runtime.limits.nesting import shallow
from runtime.limits.object_size import DEFAULT, MARK, Bounds, bound_members, trim_metadata
from runtime.types import Object, Resource, key_of, labels_of

IDENTITY = ("apiVersion", "kind", "metadata")
"""The fields of an object that every shape keeps."""

SHARED_STRINGS = 1_000
"""Maximum number of distinct strings in the pool of a selection, which keeps them in memory."""


@dataclass(frozen=True, slots=True)
class Selection:
    """One collection, or a part of it, in one shape; equal selections share an informer.

    With metadata_only the server sends only apiVersion, kind and metadata. `fields` keeps these and
    the fields at the given paths, such as "spec.replicas": the server sends all, but only these are
    stored. transform is called afterwards; it may change its argument in place and must be
    idempotent. managedFields are never kept, and a member that exceeds `bounds` is replaced by a
    marker (runtime.limits.object_size).

    Raises ValueError for both metadata_only and fields, and for an invalid path.
    """

    resource: Resource
    namespace: str | None = None
    label_selector: str = ""
    field_selector: str = ""
    metadata_only: bool = False
    fields: tuple[str, ...] = ()
    transform: Shape | None = None
    bounds: Bounds = DEFAULT

    def __post_init__(self) -> None:
        if self.fields and self.metadata_only:
            raise ValueError("metadata_only and fields exclude each other")
        object.__setattr__(self, "fields", _normal(self.fields))

    def __str__(self) -> str:
        where = f"in {self.namespace}" if self.namespace else ""
        fields = "metadata" if self.metadata_only else ", ".join(self.fields)
        shape = f"({fields})" if fields else ""
        parts = (str(self.resource), where, self.label_selector, self.field_selector, shape)
        return " ".join(filter(None, parts))

    def reducer(self) -> Shape:
        """Return the function that reduces a decoded object for the store; it may change its
        argument."""
        steps: list[Shape] = [trim_metadata, _sharing()]
        if self.metadata_only or self.fields:
            steps.append(_projection(_tree(self.fields)))
        steps.append(partial(bound_members, bounds=self.bounds))
        if self.transform is not None:
            steps.append(self.transform)
        return _chain(steps)

    def shape(self, obj: Object, reduce: Shape | None = None) -> Object:
        """A copy of a full object in the shape of this selection; the argument is not changed.

        Objects that share `reduce`, a reducer of this selection, share equal strings.
        """
        if self.metadata_only or self.fields:
            # Copy only the selected fields.
            obj = _projection(_tree(self.fields))(obj)
        try:
            copy: Object = orjson.loads(orjson.dumps(obj))
        except orjson.JSONEncodeError:
            # Nested deeper than the limit of the encoder.
            copy = shallow(obj)
        return (reduce or self.reducer())(copy)

    def matches(self, obj: Mapping[str, object]) -> bool:
        """Whether the server would select the object.

        Also False if this cannot be determined here, as for field selectors other than name and
        namespace: such objects only arrive by the watch.
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


_Tree = dict[str, Any]
"""Fields by the first part of their path: a member is kept whole (None) or in part (a tree)."""

_PATH = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*")


def _normal(fields: tuple[str, ...]) -> tuple[str, ...]:
    """Sort the paths and drop redundant ones, so that equal sets of fields are equal selections."""
    for path in fields:
        if not _PATH.fullmatch(path):
            raise ValueError(f"{path!r} is not a valid field path")
        if path.partition(".")[0] in IDENTITY:
            raise ValueError(f"{path!r} is always kept")
    paths: list[str] = []
    for path in sorted(set(fields), key=lambda path: path.split(".")):
        if not (paths and path.startswith(f"{paths[-1]}.")):
            paths.append(path)
    return tuple(paths)


def _tree(fields: tuple[str, ...]) -> _Tree:
    tree: _Tree = {}
    for path in fields:
        *above, last = path.split(".")
        node = tree
        for part in above:
            node = node.setdefault(part, {})
        node[last] = None
    return tree


def _projection(tree: _Tree) -> Shape:
    # Keep the marker of a member that the decoder has left out.
    whole = tree | dict.fromkeys((*IDENTITY, MARK))

    def project(obj: Object) -> Object:
        return _part(obj, whole)

    return project


def _part(of: Mapping[str, Any], tree: _Tree) -> Object:
    part: Object = {}
    for name, below in tree.items():
        value = of.get(name)
        if below is None and name in of:
            part[name] = value
        elif isinstance(value, dict):
            part[name] = _part(value, below)
    return part


def _sharing() -> Shape:
    """Return a function that stores equal strings once: saves a fifth of a metadata-only object.

    Only for fields in which strings repeat; costs 1 us per object. Not sys.intern, which keeps its
    arguments forever in some versions of Python.
    """
    pool: dict[str, str] = {}

    def share_values(members: dict[str, Any]) -> None:
        for name, value in members.items():
            if value.__class__ is str:
                members[name] = pool.setdefault(value, value)

    def share(obj: Object) -> Object:
        if len(pool) > SHARED_STRINGS:
            pool.clear()
        metadata = obj.get("metadata") or {}
        namespace = metadata.get("namespace")
        if namespace:
            metadata["namespace"] = pool.setdefault(namespace, namespace)
        share_values(metadata.get("labels") or {})
        for owner in metadata.get("ownerReferences") or ():
            share_values(owner)
        return obj

    return share


def _chain(steps: list[Shape]) -> Shape:
    def reduce(obj: Object) -> Object:
        for step in steps:
            obj = step(obj)
        return obj

    return reduce


@dataclass(frozen=True, slots=True)
class _Term:
    """One requirement: the value of key is in values, or is not; None means any value."""

    key: str
    values: frozenset[str] | None
    expected: bool

    def holds(self, of: Mapping[str, str]) -> bool:
        value = of.get(self.key)
        matches = value is not None and (self.values is None or value in self.values)
        return matches is self.expected


_KEY = r"[A-Za-z0-9][A-Za-z0-9._/-]*"
_SET = re.compile(rf"({_KEY})\s+(in|notin)\s*\(([^()]*)\)")
_EQUALITY = re.compile(rf"({_KEY})\s*(==|=|!=)\s*([A-Za-z0-9._-]*)")
_EXISTENCE = re.compile(rf"(!?)\s*({_KEY})")


@lru_cache(maxsize=256)
def _terms(selector: str) -> tuple[_Term, ...] | None:
    """The requirements of a selector; None if one is not supported here (`a > 1`).

    Grammar: Kubernetes documentation, "Labels and Selectors", and apimachinery labels.Parse.
    """
    parts = [part.strip() for part in re.split(r",(?![^()]*\))", selector)]
    if parts == [""]:
        return ()
    terms = [_term(part) for part in parts]
    parsed = tuple(term for term in terms if term is not None)
    return parsed if len(parsed) == len(terms) else None


def _term(text: str) -> _Term | None:
    if parsed := _SET.fullmatch(text):
        values = frozenset(value.strip() for value in parsed[3].split(","))
        return _Term(parsed[1], values, expected=parsed[2] == "in")
    if parsed := _EQUALITY.fullmatch(text):
        return _Term(parsed[1], frozenset((parsed[3],)), expected=parsed[2] != "!=")
    if parsed := _EXISTENCE.fullmatch(text):
        return _Term(parsed[2], None, expected=not parsed[1])
    return None
