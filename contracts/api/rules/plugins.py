"""Rules about spec.plugins.

Uses the API models and contracts.server_features. Collected by contracts.api.rules.cluster.
"""

from collections.abc import Iterator

from contracts.api.cluster.spec import ClusterSpec, OpenBaoCluster
from contracts.api.rules.rule import Offence, Rule
from contracts.api.rules.server import needs
from contracts.api.values.pattern import Pattern
from contracts.server_features import offers, since

Old = OpenBaoCluster | None

_PLUGINS = "spec.plugins[]"
_PLAIN_NAME = r"^[A-Za-z0-9_][A-Za-z0-9._-]*$"
_IS_PLAIN_NAME = Pattern(_PLAIN_NAME)
_PIN = since("plugin-pin-optional")


def _sources(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    for position, plugin in enumerate(new.spec.plugins):
        if (plugin.image is None) == (plugin.command is None):
            yield f"spec.plugins[{position}]", plugin.name


def _file_names(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    for position, plugin in enumerate(new.spec.plugins):
        for field, name in (("command", plugin.command), ("binaryName", plugin.binary_name)):
            if name is not None and not _IS_PLAIN_NAME.found_in(name):
                yield f"spec.plugins[{position}].{field}", name


def _mixed(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    downloads = any(plugin.image for plugin in new.spec.plugins)
    for position, plugin in enumerate(new.spec.plugins):
        if downloads and plugin.command and not plugin.image:
            yield f"spec.plugins[{position}].command", plugin.command


def _pins(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    if offers(new.spec.version, "plugin-pin-optional"):
        return
    for position, plugin in enumerate(new.spec.plugins):
        pins = {"version": plugin.version, "sha256sum": plugin.sha256sum}
        if plugin.image is not None:
            pins["binaryName"] = plugin.binary_name
        for field, value in pins.items():
            if value is None:
                yield f"spec.plugins[{position}].{field}", None


def _twice(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    seen = set()
    for position, plugin in enumerate(new.spec.plugins):
        key = (plugin.type, plugin.name)
        if key in seen:
            yield f"spec.plugins[{position}].name", plugin.name
        seen.add(key)


def _all(spec: ClusterSpec) -> Iterator[Offence]:
    for position, plugin in enumerate(spec.plugins):
        yield f"spec.plugins[{position}]", plugin.name


def _seals(spec: ClusterSpec) -> Iterator[Offence]:
    if offers(spec.version, "plugin-stanza"):
        for position, plugin in enumerate(spec.plugins):
            if plugin.type == "kms":
                yield f"spec.plugins[{position}].type", "kms"


PLUGIN_RULES: tuple[Rule, ...] = (
    Rule(
        id="plugin-source",
        at=_PLUGINS,
        field=_PLUGINS,
        message="must have exactly one of image and command; add one or remove one",
        broken=_sources,
        cel="has(self.image) != has(self.command)",
        got="self.name",
    ),
    Rule(
        id="plugin-file-name",
        at=_PLUGINS,
        field=_PLUGINS,
        message=(
            "command and binaryName must be the name of a file in the plugin folder: letters, "
            "digits, dots, dashes and underscores, no path and no arguments; correct it"
        ),
        broken=_file_names,
        cel=" && ".join(
            f"(!has(self.{field}) || self.{field}.matches('{_PLAIN_NAME}'))"
            for field in ("command", "binaryName")
        ),
        got="self.name",
    ),
    Rule(
        id="plugin-twice",
        at="spec",
        field=f"{_PLUGINS}.name",
        message="must be there once per type; rename or remove one of them",
        broken=_twice,
    ),
    Rule(
        id="plugin-folder",
        at="spec",
        field=f"{_PLUGINS}.command",
        message=(
            "cannot stand beside a plugin with image, whose downloads fill the plugin folder and "
            "hide what the server image has there; use image for all of them, or command"
        ),
        broken=_mixed,
    ),
    Rule(
        id="plugin-pin",
        at="spec",
        field=_PLUGINS,
        message=f"must be set before OpenBao {_PIN}, which needs it no more; add it",
        broken=_pins,
    ),
    needs("plugin-stanza", "plugin-version", _PLUGINS, _all),
    needs("kms-plugin", "plugin-kms-version", f"{_PLUGINS}.type", _seals),
)
