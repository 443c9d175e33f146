"""The parts of config.hcl from the spec: settings, listener, audit, plugins, telemetry.

Uses the API models. Called by contracts.hcl.render. Keys are those of the server, and only this
module writes them; user input is only a value, or a key inside of a value. Lists without a
significant order are sorted, so that a reordered manifest restarts no server.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from contracts.api.cluster.audit import Audit
from contracts.api.cluster.configuration import Configuration, ListenerSpec, Logging, PluginSettings
from contracts.api.cluster.observability import MetricsListener, Observability
from contracts.api.cluster.plugins import Plugin
from contracts.api.cluster.spec import ClusterSpec
from contracts.api.cluster.telemetry import Telemetry

Attributes = Mapping[str, object]

DEADLOCK_LOCKS = "statelock,quotas,expiration"
"""All locks of `detect_deadlocks`: the server expects their names (OpenBao 2.4.0, vault/core.go),
and would read "true" as the name of an unknown lock."""
DOWNLOAD_BEHAVIOR = {"standard": "fail", "direct": "continue"}
PROXY_BEHAVIOR = {"allow_any": "allow_authorized"}


@dataclass(frozen=True, slots=True)
class Stanza:
    """`<kind> "<type>" "<name>" { ... }`; attributes in their order in the file."""

    type: str
    name: str
    attributes: Attributes


def present(values: Attributes) -> Attributes:
    """Return the attributes that are set: not None, not an empty list."""
    return {key: value for key, value in values.items() if value not in (None, (), [])}


def server_settings(spec: ClusterSpec) -> Attributes:
    """Return the root attributes that a user may set, without those that are not set."""
    settings = spec.configuration
    return present(
        {
            "log_level": settings.log_level,
            **_logging(settings.logging or Logging()),
            **_plugin_settings(settings.plugin or PluginSettings(), spec.plugins),
            "default_lease_ttl": settings.default_lease_ttl,
            "max_lease_ttl": settings.max_lease_ttl,
            "cache_size": settings.cache_size,
            **_flags(settings),
        }
    )


def _logging(logging: Logging) -> Attributes:
    return {
        "log_format": logging.format,
        "log_file": logging.file,
        "log_rotate_duration": logging.rotate_duration,
        "log_rotate_bytes": logging.rotate_bytes,
        "log_rotate_max_files": logging.rotate_max_files,
        "pid_file": logging.pid_file,
    }


def _plugin_settings(settings: PluginSettings, plugins: tuple[Plugin, ...]) -> Attributes:
    behavior = settings.download_behavior
    download, register = settings.auto_download, settings.auto_register
    if download is None and any(plugin.image for plugin in plugins):
        download = True
    if register is None and plugins:
        register = True
    return {
        "plugin_file_uid": settings.file_uid,
        "plugin_file_permissions": settings.file_permissions,
        "plugin_auto_download": download,
        "plugin_auto_register": register,
        "plugin_download_behavior": DOWNLOAD_BEHAVIOR.get(behavior, behavior) if behavior else None,
    }


def _flags(settings: Configuration) -> Attributes:
    """Return the flags that are on; off is the default of the server."""
    return {
        "disable_cache": settings.disable_cache or None,
        "detect_deadlocks": DEADLOCK_LOCKS if settings.detect_deadlocks else None,
        "raw_storage_endpoint": settings.raw_storage_endpoint or None,
        "introspection_endpoint": settings.introspection_endpoint or None,
        "imprecise_lease_role_tracking": settings.imprecise_lease_role_tracking or None,
        "unsafe_allow_api_audit_creation": settings.unsafe_allow_api_audit_creation or None,
        "allow_audit_log_prefixing": settings.allow_audit_log_prefixing or None,
        "enable_response_header_hostname": settings.enable_response_header_hostname or None,
        "enable_response_header_raft_node_id": settings.enable_response_header_raft_node_id or None,
    }


def listener_settings(settings: Configuration) -> Attributes:
    """Return the attributes of the listener that a user may set."""
    listener = settings.listener or ListenerSpec()
    behavior = listener.proxy_protocol_behavior
    return present(
        {
            "proxy_protocol_behavior": PROXY_BEHAVIOR.get(behavior, behavior) if behavior else None,
            "proxy_protocol_authorized_addrs": sorted(listener.proxy_protocol_authorized_addrs),
            "tls_min_version": listener.tls_min_version,
            "tls_max_version": listener.tls_max_version,
            "tls_key_exchange_preferences": listener.tls_key_exchange_preferences,
        }
    )


def metrics_port(observability: Observability | None) -> int | None:
    """Return the port of the metrics listener; None without one."""
    metrics = observability.metrics if observability else None
    if metrics is None or not metrics.enabled:
        return None
    listener = metrics.metrics_only_listener or MetricsListener()
    every_node = metrics.scrape_profile == "AllNodes"
    return listener.port if (every_node if listener.enabled is None else listener.enabled) else None


def metrics_listener(observability: Observability | None) -> Attributes | None:
    """Return the second listener, which only serves metrics; None without one."""
    port = metrics_port(observability)
    metrics = observability.metrics if observability else None
    if port is None or metrics is None:
        return None
    listener = metrics.metrics_only_listener or MetricsListener()
    telemetry = {
        "metrics_only": True,
        "unauthenticated_metrics_access": listener.unauthenticated_metrics_access or None,
    }
    return {"address": f"[::]:{port}", "telemetry": present(telemetry)}


def audit_stanzas(devices: tuple[Audit, ...]) -> tuple[Stanza, ...]:
    """Return the audit devices, sorted by path."""
    return tuple(
        Stanza(
            device.type,
            device.path,
            {"description": device.description or None, "options": audit_options(device)},
        )
        for device in sorted(devices, key=lambda device: device.path)
    )


def audit_options(device: Audit) -> Mapping[str, str]:
    """Return the options of a device as text; typed options override those of `options`."""
    untyped = {key: _text(value) for key, value in (device.options or {}).items()}
    return {key: value for key, value in (untyped | device.as_text()).items() if value}


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def plugin_stanzas(plugins: tuple[Plugin, ...]) -> tuple[Stanza, ...]:
    """Return the plugins, sorted by type and name."""
    return tuple(
        Stanza(
            plugin.type,
            plugin.name,
            present(
                {
                    "image": plugin.image,
                    "command": plugin.command,
                    "version": plugin.version,
                    "binary_name": plugin.binary_name,
                    "sha256sum": plugin.sha256sum,
                    "args": plugin.args,
                    "env": plugin.env,
                }
            ),
        )
        for plugin in sorted(plugins, key=lambda plugin: (plugin.type, plugin.name))
    )


# Fields of the model whose name in the server differs (OpenBao 2.4.0,
# internalshared/configutil/telemetry.go).
_TELEMETRY_KEYS = {
    "dog_statsd_address": "dogstatsd_addr",
    "dog_statsd_tags": "dogstatsd_tags",
    "circonus_api_key": "circonus_api_token",
}
PROMETHEUS_RETENTION = "30s"


def telemetry_settings(
    telemetry: Telemetry | None, observability: Observability | None
) -> Attributes:
    """Return the attributes of the telemetry stanza; empty without one."""
    settings: dict[str, object] = {
        _TELEMETRY_KEYS.get(name, name): sorted(value) if isinstance(value, tuple) else value
        for name, value in telemetry or ()
        if value is not False
    }
    if observability and observability.metrics and observability.metrics.enabled:
        settings["disable_hostname"] = True
        if settings.get("prometheus_retention_time") is None:
            settings["prometheus_retention_time"] = PROMETHEUS_RETENTION
    return present(settings)
