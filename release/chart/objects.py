"""Templates of the objects of all overlays. Pure.

Uses the markers of release.chart.template. It raises an error for an object that it cannot express:
the chart must contain every part of an overlay.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from contracts.naming.installation import NAMESPACE
from release.chart import template
from release.chart.template import each_namespace, each_shard, in_modes, line, replaced, value, when
from release.chart.variants import Variant, variants
from release.manifests import MODES, Object

_DOCUMENT = "---\n"
_LIST = "WATCH_NAMESPACE"
_CONTROLLER = "openbao-operator"
_PROVISIONER = "openbao-operator-provisioner"
_COMPONENT = {"app.kubernetes.io/component": "controller"}
"""The selector of the pods of the controller."""
_SETTINGS: Mapping[str, str] = {_CONTROLLER: "", _PROVISIONER: "provisioner-"}
"""The Deployments, and the prefix of the markers of their values."""


class UnknownPartError(Exception):
    """An overlay has a part that no template can express."""


def templates(
    overlays: Mapping[str, Sequence[Object]], options: Mapping[str, Sequence[Object]]
) -> Mapping[str, str]:
    """Return the templates by file name.

    `overlays` are the objects by mode. `options` are objects that a condition adds to each mode.
    """
    files: dict[str, str] = {}
    for (kind, namespace, name), group in variants(overlays).items():
        if kind == "Namespace":
            # Helm creates it: a release cannot contain its own namespace.
            continue
        if namespace not in ("", NAMESPACE):
            name = f"{name}-of-each-namespace"
        file = f"{kind}-{name}.yaml".lower()
        files[file] = "".join(_documents(kind, group))
    for condition, objects in options.items():
        for body in objects:
            file = f"{body['kind']}-{body['metadata']['name']}.yaml".lower()
            if file in files:
                raise UnknownPartError(f"{file} is in an overlay and an option")
            files[file] = when(condition, _DOCUMENT + template.text(_moved(body)))
    return files


def _documents(kind: str, group: Sequence[Variant]) -> Iterator[str]:
    if kind == "Deployment":
        yield _deployment(group)
        return
    for variant in group:
        modes = in_modes(variant.modes)
        namespace = variant.content["metadata"].get("namespace", NAMESPACE)
        if kind == "CustomResourceDefinition":
            body = template.text(_kept(variant.content))
            yield when(".Values.crds.enabled", _DOCUMENT + body)
        elif namespace != NAMESPACE:
            body = template.text(_moved(variant.content, namespace))
            yield when(modes, each_namespace(body))
        else:
            yield when(modes, _DOCUMENT + template.text(_moved(variant.content)))


def _moved(content: Object, each: str = "") -> Object:
    """Replace the namespaces of the operator and of the list with markers."""

    def change(text: str) -> str:
        if text == NAMESPACE:
            return value("namespace")
        if each and text == each:
            return value("each-namespace")
        if NAMESPACE in text:
            raise UnknownPartError(f"the namespace is part of a text: {text[:80]!r}")
        return text

    moved: Object = replaced(content, change)
    return moved


def _kept(definition: Object) -> Object:
    metadata = definition["metadata"]
    if "annotations" in metadata:
        raise UnknownPartError(f"{metadata['name']} has annotations")
    return {**_moved(definition), "metadata": {**metadata, line("keep"): None}}


def _deployment(group: Sequence[Variant]) -> str:
    """Return one template for all variants, which differ only in environment variables."""
    environment = {
        mode: _container(variant.content)["env"] for variant in group for mode in variant.modes
    }
    first = group[0].content
    for variant in group:
        if _with_environment(variant.content, []) != _with_environment(first, []):
            raise UnknownPartError(f"{first['metadata']['name']} differs between modes")
    usual = [entry for entry in environment[group[0].modes[0]] if _is_usual(entry, environment)]
    divided = first["metadata"]["name"] == _CONTROLLER
    added = [line("mode"), *([line("shard")] if divided else ()), line("environment")]
    marked = _marked(_with_environment(_moved(first), [*usual, *added]))
    lines = {**template.LINES, "mode": "\n".join(_entries(environment))}
    body = _DOCUMENT + template.text(_of_a_shard(marked) if divided else marked, lines)
    return when(in_modes([*environment]), each_shard(body) if divided else body)


def _of_a_shard(deployment: Object) -> Object:
    """Add markers for the name and the label of the shard."""
    metadata = {**deployment["metadata"], "name": value("controller")}
    marked: Object = _with_shard_label({**deployment, "metadata": metadata})
    return marked


def _with_shard_label(content: Any) -> Any:
    if isinstance(content, list):
        return [_with_shard_label(item) for item in content]
    if not isinstance(content, dict):
        return content
    more = {line("shard-label"): None} if _COMPONENT.items() <= content.items() else {}
    return {name: _with_shard_label(item) for name, item in content.items()} | more


def _is_usual(entry: Object, environment: Mapping[str, Sequence[Object]]) -> bool:
    return all(entry in entries for entries in environment.values())


def _entries(environment: Mapping[str, Sequence[Object]]) -> Iterator[str]:
    """Yield the variables that only some modes have, each with its condition."""
    written: list[Object] = []
    for entry in (entry for entries in environment.values() for entry in entries):
        if entry in written or _is_usual(entry, environment):
            continue
        written.append(entry)
        modes = [mode for mode in MODES if entry in environment.get(mode, ())]
        is_list = entry["name"] == _LIST and "value" in entry
        shown = {**entry, "value": value("namespaces")} if is_list else entry
        yield when(in_modes(modes), template.text([shown])).rstrip("\n")


def _container(deployment: Object) -> Object:
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    result: Object = container
    return result


def _with_environment(deployment: Object, entries: Iterable[Any]) -> Object:
    return _with_container(deployment, {**_container(deployment), "env": [*entries]})


def _with_container(deployment: Object, container: Object, **pod: object) -> Object:
    spec = deployment["spec"]
    inner = spec["template"]["spec"]
    changed = {**spec["template"], "spec": {**inner, **pod, "containers": [container]}}
    return {**deployment, "spec": {**spec, "template": changed}}


def _marked(deployment: Object) -> Object:
    """Replace the fields that values of the chart set with markers."""
    prefix = _SETTINGS.get(deployment["metadata"]["name"])
    if prefix is None:
        raise UnknownPartError(f"no values for Deployment {deployment['metadata']['name']}")
    container = dict(_container(deployment))
    del container["resources"]
    container["image"] = value("image")
    container[line("pull-policy")] = None
    container[line(f"{prefix}resources")] = None
    marked = _with_container(deployment, container, **{line("pod"): None})
    return {**marked, "spec": {**marked["spec"], "replicas": value(f"{prefix}replicas")}}
