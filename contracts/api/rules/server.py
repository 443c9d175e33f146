"""Rules about spec.configuration and the metrics of the servers.

Uses the API models, contracts.naming.mount_paths and contracts.server_features. Collected by
contracts.api.rules.cluster.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from contracts.api.cluster.configuration import Logging
from contracts.api.cluster.observability import MetricsSpec
from contracts.api.cluster.spec import ClusterSpec, OpenBaoCluster
from contracts.api.meta import ApiModel
from contracts.api.rules.checks import duration, group, has, if_set, is_set, it
from contracts.api.rules.combinators import rule
from contracts.api.rules.rule import FORBIDDEN, REQUIRED, InvalidField, Old, Rule, RuleOf
from contracts.api.values.field_path import value_at
from contracts.api.values.pod_paths import is_below, is_below_cel
from contracts.api.violation import Explanation
from contracts.hcl_quote import problem
from contracts.naming import mount_paths
from contracts.naming.ports import API, CLUSTER
from contracts.server_features import offers, since

_CONFIGURATION = "spec.configuration"
_LISTENER = f"{_CONFIGURATION}.listener"
_AUTOPILOT = f"{_CONFIGURATION}.raft.autopilot"
_METRICS = "spec.observability.metrics"
_DEAD_AFTER = "1m"
_LOG_FOLDERS = (mount_paths.LOGS, mount_paths.SYSTEM_LOGS, mount_paths.TMP)


def _log_places(new: OpenBaoCluster, old: Old) -> Iterator[InvalidField]:
    """Find log files in directories with data, keys or programs of the server."""
    logging = new.spec.configuration.logging or Logging()
    folders = [*_LOG_FOLDERS]
    if new.spec.audit_file_storage is not None:
        folders.append(new.spec.audit_file_storage.mount_path)
    for name, file in (("file", logging.file), ("pidFile", logging.pid_file)):
        if file is not None and not any(is_below(file, folder) for folder in folders):
            yield f"{_CONFIGURATION}.logging.{name}", file


def _in_log_places(name: str) -> str:
    file, shared = f"self.configuration.logging.{name}", "self.auditFileStorage.mountPath"
    return (
        f"(!has({file}) || "
        f"{' || '.join(is_below_cel(file, repr(folder)) for folder in _LOG_FOLDERS)} || "
        f"({is_set('auditFileStorage.mountPath')} && {is_below_cel(file, shared)}))"
    )


def _metrics(spec: ClusterSpec) -> MetricsSpec:
    metrics = spec.observability.metrics if spec.observability else None
    return metrics if metrics is not None and metrics.enabled else MetricsSpec()


def wants_metrics_listener(spec: ClusterSpec) -> bool:
    """Return whether the spec requests a second listener."""
    metrics = _metrics(spec)
    listener = metrics.metrics_only_listener
    if listener is None or listener.enabled is None:
        return metrics.scrape_profile == "AllNodes"
    return listener.enabled


def _listener_acme(new: OpenBaoCluster, old: Old) -> Iterator[InvalidField]:
    if wants_metrics_listener(new.spec) and new.spec.tls.mode == "ACME":
        yield f"{_METRICS}.metricsOnlyListener", "ACME"


_LEAST_PORT = 1024


def _unwritable(new: OpenBaoCluster, old: Old) -> Iterator[InvalidField]:
    """Find text that is invalid in a configuration file; the patterns of most fields exclude it."""
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
            yield f"spec.{name}", Explanation(refusal)


def _plain(value: Any) -> Any:
    if isinstance(value, ApiModel):
        return {name: _plain(item) for name, item in value}
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


def needs(
    feature: str, id: str, field: str, find: Callable[[ClusterSpec], Iterable[InvalidField]]
) -> Rule:
    """Return the rule that a field needs a feature of the server; `find` yields its uses."""

    def find_invalid_fields(new: OpenBaoCluster, old: Old) -> Iterator[InvalidField]:
        if not offers(new.spec.version, feature):
            yield from find(new.spec)

    first = since(feature)
    message = f"needs OpenBao {first}: set spec.version to {first} or newer, or remove it"
    return RuleOf(id, "spec", field, message, find_invalid_fields)


def _standby_reads(spec: ClusterSpec) -> Iterator[InvalidField]:
    if spec.configuration.standby_reads:
        yield f"{_CONFIGURATION}.standbyReads", True


def _generate_root(spec: ClusterSpec) -> Iterator[InvalidField]:
    if spec.configuration.listener and spec.configuration.listener.unauthenticated_generate_root:
        yield f"{_LISTENER}.unauthenticatedGenerateRoot", True


def _key_exchange(spec: ClusterSpec) -> Iterator[InvalidField]:
    groups = value_at(spec, "configuration.listener.tlsKeyExchangePreferences")
    if groups:
        yield f"{_LISTENER}.tlsKeyExchangePreferences", ", ".join(groups)


def _download_settings(spec: ClusterSpec) -> Iterator[InvalidField]:
    for name in ("autoDownload", "autoRegister", "downloadBehavior"):
        value = value_at(spec, f"configuration.plugin.{name}")
        if value is not None:
            yield f"{_CONFIGURATION}.plugin.{name}", value


def _used_metrics_listener(spec: ClusterSpec) -> Iterator[InvalidField]:
    if wants_metrics_listener(spec):
        explicit = _metrics(spec).metrics_only_listener is not None
        field = "metricsOnlyListener" if explicit else "scrapeProfile"
        yield f"{_METRICS}.{field}", _metrics(spec).scrape_profile


def _first_boot(spec: ClusterSpec) -> Iterator[InvalidField]:
    if spec.unseal.type != "static":
        yield "spec.version", spec.version


SERVER_RULES: tuple[Rule, ...] = (
    rule(
        "lease-ttls",
        _CONFIGURATION,
        "maxLeaseTTL",
        "must not be below defaultLeaseTTL; raise it or lower defaultLeaseTTL",
        ~has("defaultLeaseTTL")
        | ~has("maxLeaseTTL")
        | it("maxLeaseTTL").duration().at_least(it("defaultLeaseTTL").duration()),
        got=it("maxLeaseTTL"),
    ),
    rule(
        "listener-tls",
        _LISTENER,
        "tlsDisable",
        "must be false: probes, raft joins and the operator use only TLS, so the cluster could not "
        "start; remove the field",
        if_set("tlsDisable", ~it("tlsDisable").is_true()),
        reason=FORBIDDEN,
    ),
    rule(
        "listener-tls-versions",
        _LISTENER,
        "tlsMaxVersion",
        "must not be below tlsMinVersion; raise it or remove it",
        ~has("tlsMinVersion")
        | ~has("tlsMaxVersion")
        | it("tlsMaxVersion").at_least(it("tlsMinVersion")),
        got=it("tlsMaxVersion"),
    ),
    rule(
        "proxy-addresses",
        _LISTENER,
        "proxyProtocolAuthorizedAddrs",
        "must list the proxies, because this proxyProtocolBehavior depends on them; add them or "
        "use use_always",
        ~has("proxyProtocolBehavior")
        | it("proxyProtocolBehavior").equals("use_always")
        | group(
            has("proxyProtocolAuthorizedAddrs") & it("proxyProtocolAuthorizedAddrs").size().above(0)
        ),
        got=it("proxyProtocolBehavior"),
        reason=REQUIRED,
    ),
    rule(
        "dead-server-threshold",
        _AUTOPILOT,
        "deadServerLastContactThreshold",
        f"must be {_DEAD_AFTER} or more, because a server that restarts must not be considered "
        "dead; for example 5m",
        if_set(
            "deadServerLastContactThreshold",
            it("deadServerLastContactThreshold").duration().at_least(duration(_DEAD_AFTER)),
        ),
        got=it("deadServerLastContactThreshold"),
    ),
    rule(
        "metrics-listener-off",
        _METRICS,
        "metricsOnlyListener.enabled",
        "must not be false with scrapeProfile AllNodes, because a standby serves metrics only on "
        "that port; remove it or use scrapeProfile Active",
        ~it("enabled").is_true()
        | ~has("scrapeProfile")
        | it("scrapeProfile").differs("AllNodes")
        | ~has("metricsOnlyListener")
        | ~has("metricsOnlyListener.enabled")
        | it("metricsOnlyListener.enabled").is_true(),
    ),
    rule(
        "metrics-listener-port",
        f"{_METRICS}.metricsOnlyListener",
        "port",
        f"must be {_LEAST_PORT} or more, and not {API.number} or {CLUSTER.number}, which the "
        "server uses; for example 8202",
        ~has("port")
        | group(
            it("port").at_least(_LEAST_PORT) & ~it("port").one_of((API.number, CLUSTER.number))
        ),
    ),
    RuleOf(
        "metrics-listener-acme",
        "spec",
        f"{_METRICS}.metricsOnlyListener",
        "cannot be used with tls.mode ACME, because a second listener would order separate "
        "certificates; use scrapeProfile Active without it, or another tls.mode",
        _listener_acme,
    ),
    RuleOf(
        "log-place",
        "spec",
        f"{_CONFIGURATION}.logging",
        f"must be a file below {', '.join(_LOG_FOLDERS)} or "
        "the mountPath of auditFileStorage, without .. in it, because elsewhere it could "
        "overwrite data or keys; correct the path",
        _log_places,
        cel=f"!{is_set('configuration.logging')} || ({_in_log_places('file')} && "
        f"{_in_log_places('pidFile')})",
    ),
    RuleOf(
        "server-text",
        "spec",
        "spec",
        "has text that is invalid in the server's configuration file; remove the character",
        _unwritable,
    ),
    # For a static seal, static-seal-version has the same requirement.
    needs("self-init", "first-boot-version", "spec.version", _first_boot),
    needs(
        "tls-key-exchange",
        "key-exchange-version",
        f"{_LISTENER}.tlsKeyExchangePreferences",
        _key_exchange,
    ),
    needs(
        "generate-root-switch",
        "generate-root-version",
        f"{_LISTENER}.unauthenticatedGenerateRoot",
        _generate_root,
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
