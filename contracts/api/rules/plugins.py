"""Rules about spec.plugins.

Uses the API models and contracts.server_features. Collected by contracts.api.rules.cluster.
"""

from collections.abc import Iterator

from contracts.api.cluster.plugins import Plugin
from contracts.api.cluster.spec import ClusterSpec, OpenBaoCluster
from contracts.api.rules.checks import exactly_one, it
from contracts.api.rules.combinators import invalid_fields, rule
from contracts.api.rules.rule import InvalidField, Old, Rule, RuleOf
from contracts.api.rules.server import needs
from contracts.api.values.field_path import value_at
from contracts.api.values.pattern import Pattern
from contracts.server_features import offers, since

_PLUGINS = "spec.plugins[]"
_PLAIN_NAME = r"^[A-Za-z0-9_][A-Za-z0-9._-]*$"
_IS_PLAIN_NAME = Pattern(_PLAIN_NAME)
_FILES = ("command", "binaryName")
_PIN = since("plugin-pin-optional")


def _file_names(plugin: Plugin) -> Iterator[InvalidField]:
    for field in _FILES:
        name = value_at(plugin, field)
        if name is not None and not _IS_PLAIN_NAME.found_in(name):
            yield field, name


def _commands_without_image(new: OpenBaoCluster, old: Old) -> Iterator[InvalidField]:
    downloads = any(plugin.image for plugin in new.spec.plugins)
    for position, plugin in enumerate(new.spec.plugins):
        if downloads and plugin.command and not plugin.image:
            yield f"spec.plugins[{position}].command", plugin.command


def _pins(new: OpenBaoCluster, old: Old) -> Iterator[InvalidField]:
    """Yield the missing pins without which the server does not start.

    From 2.7.0 on, the image reference may contain them (`operator validate-config` of 2.7.2).
    """
    optional = offers(new.spec.version, "plugin-pin-optional")
    for position, plugin in enumerate(new.spec.plugins):
        pins = _missing_pins(plugin) if optional else _all_pins(plugin)
        yield from ((f"spec.plugins[{position}].{field}", None) for field in pins)


def _all_pins(plugin: Plugin) -> Iterator[str]:
    pins = {"version": plugin.version, "sha256sum": plugin.sha256sum}
    if plugin.image is not None:
        pins["binaryName"] = plugin.binary_name
    return (field for field, value in pins.items() if value is None)


def _missing_pins(plugin: Plugin) -> Iterator[str]:
    name, pinned, _ = (plugin.image or "").partition("@")
    # A colon before the last slash belongs to the port of the registry.
    tagged = ":" in name.rpartition("/")[2]
    if plugin.version is None and not tagged:
        yield "version"
    if plugin.image is not None and plugin.sha256sum is None and not pinned:
        yield "sha256sum"


def _twice(new: OpenBaoCluster, old: Old) -> Iterator[InvalidField]:
    seen = set()
    for position, plugin in enumerate(new.spec.plugins):
        key = (plugin.type, plugin.name)
        if key in seen:
            yield f"spec.plugins[{position}].name", plugin.name
        seen.add(key)


def _all(spec: ClusterSpec) -> Iterator[InvalidField]:
    for position, plugin in enumerate(spec.plugins):
        yield f"spec.plugins[{position}]", plugin.name


def _seals(spec: ClusterSpec) -> Iterator[InvalidField]:
    if offers(spec.version, "plugin-stanza"):
        for position, plugin in enumerate(spec.plugins):
            if plugin.type == "kms":
                yield f"spec.plugins[{position}].type", "kms"


PLUGIN_RULES: tuple[Rule, ...] = (
    rule(
        "plugin-source",
        _PLUGINS,
        "",
        "must have exactly one of image and command; add one or remove one",
        exactly_one("image", "command"),
        got=it("name"),
    ),
    RuleOf(
        "plugin-file-name",
        _PLUGINS,
        _PLUGINS,
        "command and binaryName must be the name of a file in the plugin directory: letters, "
        "digits, dots, dashes and underscores, no path and no arguments; correct it",
        invalid_fields(_PLUGINS, _file_names),
        cel=" && ".join(
            f"(!has(self.{field}) || self.{field}.matches('{_PLAIN_NAME}'))" for field in _FILES
        ),
        got="self.name",
    ),
    RuleOf(
        "plugin-twice",
        "spec",
        f"{_PLUGINS}.name",
        "must be unique per type; rename or remove one of the plugins",
        _twice,
    ),
    RuleOf(
        "plugin-folder",
        "spec",
        f"{_PLUGINS}.command",
        "cannot be combined with a plugin with image, whose download hides the plugins of the "
        "server image in the plugin directory; use image for all plugins, or command for all",
        _commands_without_image,
    ),
    RuleOf(
        "plugin-pin",
        "spec",
        _PLUGINS,
        f"must be set, because the server does not start without it; from OpenBao {_PIN} on, an "
        "image with a tag needs no version, an image with a digest needs no sha256sum, and no "
        "image needs a binaryName; add it",
        _pins,
    ),
    needs("plugin-stanza", "plugin-version", _PLUGINS, _all),
    needs("kms-plugin", "plugin-kms-version", f"{_PLUGINS}.type", _seals),
)
