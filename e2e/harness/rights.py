"""Splits RBAC rules and audit log entries into single permissions, to compare what a
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
class Permission:
    """One verb on one resource (of any name, or of one), or on one path."""

    group: str
    resource: str
    verb: str
    name: str = ""
    path: str = ""

    def __str__(self) -> str:
        what = "/".join(filter(None, (self.group or "core", self.resource, self.name)))
        return f"{self.verb} {self.path or what}"

    def covers(self, other: "Permission") -> bool:
        """Whether this permission includes another one."""
        same = (self.group, self.resource, self.verb, self.path) == (
            other.group,
            other.resource,
            other.verb,
            other.path,
        )
        return same and self.name in ("", other.name)


def permissions_of(rule: Rule) -> list[Permission]:
    """Split a rule."""
    if paths := rule.get("nonResourceURLs"):
        return [Permission("", "", verb, path=path) for path in paths for verb in rule["verbs"]]
    return [
        Permission(group, resource, verb, name)
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for name in rule.get("resourceNames") or ("",)
        for verb in rule["verbs"]
    ]


def without(rules: Sequence[Rule], permission: Permission) -> list[Rule]:
    """Return the rules without one permission."""
    left: list[Rule] = []
    for rule in rules:
        rule_permissions = permissions_of(rule)
        left += (
            [rule]
            if permission not in rule_permissions
            else [_as_rule(other) for other in rule_permissions if other != permission]
        )
    return left


def _as_rule(permission: Permission) -> Rule:
    if permission.path:
        return {"nonResourceURLs": [permission.path], "verbs": [permission.verb]}
    names = {"resourceNames": [permission.name]} if permission.name else {}
    return {
        "apiGroups": [permission.group],
        "resources": [permission.resource],
        "verbs": [permission.verb],
        **names,
    }


def required_permissions(entry: Entry) -> Iterator[Permission]:
    """The permissions that a request needed; none if it was refused."""
    if entry.code in (401, 403):
        return
    if not entry.resource:
        yield Permission("", "", entry.verb, path=entry.uri.partition("?")[0])
        return
    resource = "/".join(filter(None, (entry.resource, entry.subresource)))
    yield Permission(entry.group, resource, entry.verb, entry.name)
    if entry.verb == "patch" and entry.code == CREATED:
        yield Permission(entry.group, resource, "create", entry.name)


def examples(entries: Iterable[Entry]) -> dict[Permission, Entry]:
    """All needed permissions, each with the first request."""
    entry_of: dict[Permission, Entry] = {}
    for entry in entries:
        for permission in required_permissions(entry):
            entry_of.setdefault(permission, entry)
    return entry_of


def unused_rights(rules: Iterable[Rule], needed: Iterable[Permission]) -> list[Permission]:
    """The permissions that were granted and never needed; should be empty."""
    needed = tuple(needed)
    granted = {permission for rule in rules for permission in permissions_of(rule)}
    return sorted(
        permission for permission in granted if not any(permission.covers(need) for need in needed)
    )
