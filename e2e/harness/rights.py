"""Splits RBAC rules and audit log entries into grains (single permissions), to compare what a
ServiceAccount may do with what it did.

Semantics: Kubernetes, rbac.authorization.k8s.io/v1 PolicyRule, and kube-apiserver 1.36: a patch
that creates an object requires `create` as well.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from e2e.harness.audit import Entry

Rule = Mapping[str, Any]
CREATED = 201


@dataclass(frozen=True, slots=True, order=True)
class Grain:
    """One verb on one resource (of any name, or of one), or on one path."""

    group: str
    resource: str
    verb: str
    name: str = ""
    path: str = ""

    def __str__(self) -> str:
        what = "/".join(filter(None, (self.group or "core", self.resource, self.name)))
        return f"{self.verb} {self.path or what}"

    def covers(self, other: "Grain") -> bool:
        """Whether this grain includes another one."""
        same = (self.group, self.resource, self.verb, self.path) == (
            other.group,
            other.resource,
            other.verb,
            other.path,
        )
        return same and self.name in ("", other.name)


def grains(rule: Rule) -> list[Grain]:
    """Split a rule."""
    if paths := rule.get("nonResourceURLs"):
        return [Grain("", "", verb, path=path) for path in paths for verb in rule["verbs"]]
    return [
        Grain(group, resource, verb, name)
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for name in rule.get("resourceNames") or ("",)
        for verb in rule["verbs"]
    ]


def without(rules: Sequence[Rule], grain: Grain) -> list[Rule]:
    """Return the rules without one grain."""
    left: list[Rule] = []
    for rule in rules:
        rule_grains = grains(rule)
        left += (
            [rule]
            if grain not in rule_grains
            else [_as_rule(other) for other in rule_grains if other != grain]
        )
    return left


def _as_rule(grain: Grain) -> Rule:
    if grain.path:
        return {"nonResourceURLs": [grain.path], "verbs": [grain.verb]}
    names = {"resourceNames": [grain.name]} if grain.name else {}
    return {
        "apiGroups": [grain.group],
        "resources": [grain.resource],
        "verbs": [grain.verb],
        **names,
    }


def grains_of(entry: Entry) -> Iterator[Grain]:
    """The permissions that a request needed; none if it was refused."""
    if entry.code in (401, 403):
        return
    if not entry.resource:
        yield Grain("", "", entry.verb, path=entry.uri.partition("?")[0])
        return
    resource = "/".join(filter(None, (entry.resource, entry.subresource)))
    yield Grain(entry.group, resource, entry.verb, entry.name)
    if entry.verb == "patch" and entry.code == CREATED:
        yield Grain(entry.group, resource, "create", entry.name)


def examples(entries: Iterable[Entry]) -> dict[Grain, Entry]:
    """All needed permissions, each with the first request."""
    entry_of: dict[Grain, Entry] = {}
    for entry in entries:
        for grain in grains_of(entry):
            entry_of.setdefault(grain, entry)
    return entry_of


def unused_rights(rules: Iterable[Rule], needed: Iterable[Grain]) -> list[Grain]:
    """The permissions that were granted and never needed; should be empty."""
    needed = tuple(needed)
    granted = {grain for rule in rules for grain in grains(rule)}
    return sorted(grain for grain in granted if not any(grain.covers(need) for need in needed))
