"""Rules about spec.configuration and the metrics of the servers.

Uses the API models, contracts.naming.mount_paths and contracts.server_features. Collected by
contracts.api.rules.cluster.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from contracts.api.cluster.configuration import Autopilot, ListenerSpec, Logging, PluginSettings
from contracts.api.cluster.observability import MetricsSpec
from contracts.api.cluster.spec import ClusterSpec, OpenBaoCluster
from contracts.api.meta import ApiModel, counted_duration, parse_duration
from contracts.api.rules.rule import Broken, Offence, Rule, is_set
from contracts.api.values.pod_paths import is_below, is_below_cel
from contracts.hcl_quote import problem
from contracts.naming import mount_paths
from contracts.naming.ports import API, CLUSTER
from contracts.server_features import offers, since

Old = OpenBaoCluster | None

_CONFIGURATION = "spec.configuration"
_LISTENER = f"{_CONFIGURATION}.listener"
_AUTOPILOT = f"{_CONFIGURATION}.raft.autopilot"
_METRICS = "spec.observability.metrics"
_DEAD_AFTER = "1m"
_WITH_ADDRESSES = ("allow_authorized", "allow_any", "deny_unauthorized")


def _lease_ttls(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    settings = new.spec.configuration
    if settings.default_lease_ttl is None or settings.max_lease_ttl is None:
        return
    least = counted_duration(settings.default_lease_ttl)
    most = counted_duration(settings.max_lease_ttl)
    if least is None or most is None or most < least:
        yield "spec.configuration.maxLeaseTTL", settings.max_lease_ttl


def _listener(spec: ClusterSpec) -> ListenerSpec:
    return spec.configuration.listener or ListenerSpec()


def _tls_disable(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    if _listener(new.spec).tls_disable:
        yield f"{_LISTENER}.tlsDisable", True


def _tls_versions(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    listener = _listener(new.spec)
    if (listener.tls_min_version, listener.tls_max_version) == ("tls13", "tls12"):
        yield f"{_LISTENER}.tlsMaxVersion", listener.tls_max_version


def _proxy_addresses(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    listener = _listener(new.spec)
    behavior = listener.proxy_protocol_behavior
    if behavior in _WITH_ADDRESSES and not listener.proxy_protocol_authorized_addrs:
        yield f"{_LISTENER}.proxyProtocolAuthorizedAddrs", behavior


def _dead_server(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    raft = new.spec.configuration.raft
    autopilot = (raft.autopilot if raft else None) or Autopilot()
    text = autopilot.dead_server_last_contact_threshold
    if text is not None:
        duration = counted_duration(text)
        if duration is None or duration < parse_duration(_DEAD_AFTER):
            yield f"{_AUTOPILOT}.deadServerLastContactThreshold", text


def _log_places(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    """Keep the server's own files off its data, its keys and its programs."""
    logging = new.spec.configuration.logging or Logging()
    folders = [mount_paths.LOGS, mount_paths.TMP]
    if new.spec.audit_file_storage is not None:
        folders.append(new.spec.audit_file_storage.mount_path)
    for name, file in (("file", logging.file), ("pidFile", logging.pid_file)):
        if file is not None and not any(is_below(file, folder) for folder in folders):
            yield f"{_CONFIGURATION}.logging.{name}", file


def _in_log_places(name: str) -> str:
    file, shared = f"self.configuration.logging.{name}", "self.auditFileStorage.mountPath"
    return (
        f"(!has({file}) || {is_below_cel(file, repr(mount_paths.LOGS))} || "
        f"{is_below_cel(file, repr(mount_paths.TMP))} || "
        f"({is_set('auditFileStorage.mountPath')} && {is_below_cel(file, shared)}))"
    )


def _metrics(spec: ClusterSpec) -> MetricsSpec:
    metrics = spec.observability.metrics if spec.observability else None
    return metrics if metrics is not None and metrics.enabled else MetricsSpec()


def wants_metrics_listener(spec: ClusterSpec) -> bool:
    """Whether a second listener is asked for."""
    metrics = _metrics(spec)
    listener = metrics.metrics_only_listener
    if listener is None or listener.enabled is None:
        return metrics.scrape_profile == "AllNodes"
    return listener.enabled


def _listener_off(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    metrics = _metrics(new.spec)
    listener = metrics.metrics_only_listener
    if metrics.scrape_profile == "AllNodes" and listener and listener.enabled is False:
        yield f"{_METRICS}.metricsOnlyListener.enabled", False


def _listener_acme(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    if wants_metrics_listener(new.spec) and new.spec.tls.mode == "ACME":
        yield f"{_METRICS}.metricsOnlyListener", "ACME"


def _listener_port(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    metrics = new.spec.observability.metrics if new.spec.observability else None
    listener = metrics.metrics_only_listener if metrics else None
    if listener is not None and (listener.port in _TAKEN_PORTS or listener.port < _LEAST_PORT):
        yield f"{_METRICS}.metricsOnlyListener.port", listener.port


_TAKEN_PORTS = (API.number, CLUSTER.number)
_LEAST_PORT = 1024


def _unwritable(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    """Find text that no configuration file can carry; the shape of most fields rules it out."""
    spec = new.spec
    parts: dict[str, Any] = {
        "configuration": spec.configuration,
        "audit": spec.audit,
        "plugins": spec.plugins,
        "telemetry": spec.telemetry,
    }
    for name, part in parts.items():
        refusal = problem(_plain(part)) if part else ""
        if refusal:
            yield f"spec.{name}", refusal


def _plain(value: Any) -> Any:
    if isinstance(value, ApiModel):
        return {name: _plain(item) for name, item in value}
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


def needs(
    feature: str, rule: str, field: str, find: Callable[[ClusterSpec], Iterable[Offence]]
) -> Rule:
    """Make the rule that a field needs a feature of the server; `find` yields where it is used."""

    def broken(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
        if not offers(new.spec.version, feature):
            yield from find(new.spec)

    first = since(feature)
    return Rule(
        id=rule,
        at="spec",
        field=field,
        message=f"needs OpenBao {first}: set spec.version to {first} or newer, or remove it",
        broken=broken,
    )


def _standby_reads(spec: ClusterSpec) -> Iterator[Offence]:
    if spec.configuration.standby_reads:
        yield f"{_CONFIGURATION}.standbyReads", True


def _key_exchange(spec: ClusterSpec) -> Iterator[Offence]:
    groups = _listener(spec).tls_key_exchange_preferences
    if groups:
        yield f"{_LISTENER}.tlsKeyExchangePreferences", ", ".join(groups)


def _download_settings(spec: ClusterSpec) -> Iterator[Offence]:
    settings = spec.configuration.plugin or PluginSettings()
    for name, value in (
        ("autoDownload", settings.auto_download),
        ("autoRegister", settings.auto_register),
        ("downloadBehavior", settings.download_behavior),
    ):
        if value is not None:
            yield f"{_CONFIGURATION}.plugin.{name}", value


def _used_metrics_listener(spec: ClusterSpec) -> Iterator[Offence]:
    if wants_metrics_listener(spec):
        explicit = _metrics(spec).metrics_only_listener is not None
        field = "metricsOnlyListener" if explicit else "scrapeProfile"
        yield f"{_METRICS}.{field}", _metrics(spec).scrape_profile


def _first_boot(spec: ClusterSpec) -> Iterator[Offence]:
    if spec.unseal.type != "static":
        yield "spec.version", spec.version


def _code(id: str, field: str, message: str, broken: Broken) -> Rule:
    return Rule(id=id, at="spec", field=field, message=message, broken=broken)


SERVER_RULES: tuple[Rule, ...] = (
    Rule(
        id="lease-ttls",
        at=_CONFIGURATION,
        field="spec.configuration.maxLeaseTTL",
        message="must not be below defaultLeaseTTL; raise it or lower the other",
        broken=_lease_ttls,
        cel=(
            "!has(self.defaultLeaseTTL) || !has(self.maxLeaseTTL) || "
            "duration(self.maxLeaseTTL) >= duration(self.defaultLeaseTTL)"
        ),
        got="self.maxLeaseTTL",
    ),
    Rule(
        id="listener-tls",
        at=_LISTENER,
        field=f"{_LISTENER}.tlsDisable",
        message=(
            "must be false: probes, raft joins and the operator speak TLS only, so the cluster "
            "could never start; remove the field"
        ),
        broken=_tls_disable,
        cel="!has(self.tlsDisable) || !self.tlsDisable",
        reason="FieldValueForbidden",
    ),
    Rule(
        id="listener-tls-versions",
        at=_LISTENER,
        field=f"{_LISTENER}.tlsMaxVersion",
        message="must not be below tlsMinVersion; raise it or remove it",
        broken=_tls_versions,
        cel=(
            "!has(self.tlsMinVersion) || !has(self.tlsMaxVersion) || "
            "self.tlsMaxVersion >= self.tlsMinVersion"
        ),
        got="self.tlsMaxVersion",
    ),
    Rule(
        id="proxy-addresses",
        at=_LISTENER,
        field=f"{_LISTENER}.proxyProtocolAuthorizedAddrs",
        message=(
            "must name the proxies, because this proxyProtocolBehavior goes by them; add them or "
            "use use_always"
        ),
        broken=_proxy_addresses,
        cel=(
            "!has(self.proxyProtocolBehavior) || self.proxyProtocolBehavior == 'use_always' || "
            "(has(self.proxyProtocolAuthorizedAddrs) && "
            "self.proxyProtocolAuthorizedAddrs.size() > 0)"
        ),
        got="self.proxyProtocolBehavior",
        reason="FieldValueRequired",
    ),
    Rule(
        id="dead-server-threshold",
        at=_AUTOPILOT,
        field=f"{_AUTOPILOT}.deadServerLastContactThreshold",
        message=(
            f"must be {_DEAD_AFTER} or more, because a server that restarts must not count as "
            "gone; 5m is a good value"
        ),
        broken=_dead_server,
        cel=(
            "!has(self.deadServerLastContactThreshold) || "
            f"duration(self.deadServerLastContactThreshold) >= duration('{_DEAD_AFTER}')"
        ),
        got="self.deadServerLastContactThreshold",
    ),
    Rule(
        id="metrics-listener-off",
        at=_METRICS,
        field=f"{_METRICS}.metricsOnlyListener.enabled",
        message=(
            "must not be false with scrapeProfile AllNodes, because a standby answers metrics on "
            "that port only; remove it or use scrapeProfile Active"
        ),
        broken=_listener_off,
        cel=(
            "!self.enabled || !has(self.scrapeProfile) || self.scrapeProfile != 'AllNodes' || "
            "!has(self.metricsOnlyListener) || !has(self.metricsOnlyListener.enabled) || "
            "self.metricsOnlyListener.enabled"
        ),
    ),
    Rule(
        id="metrics-listener-port",
        at=f"{_METRICS}.metricsOnlyListener",
        field=f"{_METRICS}.metricsOnlyListener.port",
        message=(
            f"must be {_LEAST_PORT} or more, and not {API.number} or {CLUSTER.number}, which the "
            "server uses itself; 8202 is a good value"
        ),
        broken=_listener_port,
        cel=(
            f"!has(self.port) || (self.port >= {_LEAST_PORT} && "
            f"!(self.port in [{API.number}, {CLUSTER.number}]))"
        ),
    ),
    _code(
        "metrics-listener-acme",
        f"{_METRICS}.metricsOnlyListener",
        "cannot be used with tls.mode ACME, where a second listener would order certificates of "
        "its own; use scrapeProfile Active without it, or another tls.mode",
        _listener_acme,
    ),
    Rule(
        id="log-place",
        at="spec",
        field=f"{_CONFIGURATION}.logging",
        message=(
            f"must be a file below {mount_paths.LOGS}, {mount_paths.TMP} or "
            "the mountPath of auditFileStorage, without .. in it, because elsewhere it could "
            "overwrite data or keys; correct the path"
        ),
        broken=_log_places,
        cel=f"!{is_set('configuration.logging')} || ({_in_log_places('file')} && "
        f"{_in_log_places('pidFile')})",
    ),
    _code(
        "server-text",
        "spec",
        "holds text that the server's configuration cannot carry; remove the character",
        _unwritable,
    ),
    # With a static seal, a rule of the seal says the same.
    needs("self-init", "first-boot-version", "spec.version", _first_boot),
    needs(
        "tls-key-exchange",
        "key-exchange-version",
        f"{_LISTENER}.tlsKeyExchangePreferences",
        _key_exchange,
    ),
    needs(
        "standby-reads",
        "standby-reads-version",
        f"{_CONFIGURATION}.standbyReads",
        _standby_reads,
    ),
    needs(
        "plugin-download",
        "plugin-settings-version",
        f"{_CONFIGURATION}.plugin",
        _download_settings,
    ),
    needs(
        "metrics-only-listener",
        "metrics-listener-version",
        f"{_METRICS}.metricsOnlyListener",
        _used_metrics_listener,
    ),
)
