"""What the rules about spec.configuration and the metrics refuse."""

from typing import Any

from tests.contracts.api.case import Case

LISTENER = "spec.configuration.listener"
METRICS = "spec.observability.metrics"


def listener(**fields: Any) -> dict[str, Any]:
    return {"configuration": {"listener": fields}}


def metrics(**fields: Any) -> dict[str, Any]:
    return {"observability": {"metrics": {"enabled": True, **fields}}}


CASES: dict[str, Case] = {
    "a lease that is longer than the longest": Case(
        "lease-ttls",
        "spec.configuration.maxLeaseTTL",
        {"configuration": {"defaultLeaseTTL": "2h", "maxLeaseTTL": "119m"}},
    ),
    "a listener without TLS": Case(
        "listener-tls", f"{LISTENER}.tlsDisable", listener(tlsDisable=True)
    ),
    "an empty window of TLS versions": Case(
        "listener-tls-versions",
        f"{LISTENER}.tlsMaxVersion",
        listener(tlsMinVersion="tls13", tlsMaxVersion="tls12"),
    ),
    "proxies that nobody named": Case(
        "proxy-addresses",
        f"{LISTENER}.proxyProtocolAuthorizedAddrs",
        listener(proxyProtocolBehavior="deny_unauthorized"),
    ),
    "the older spelling, without proxies": Case(
        "proxy-addresses",
        f"{LISTENER}.proxyProtocolAuthorizedAddrs",
        listener(proxyProtocolBehavior="allow_any"),
    ),
    "a server that is dead after a restart": Case(
        "dead-server-threshold",
        "spec.configuration.raft.autopilot.deadServerLastContactThreshold",
        {"configuration": {"raft": {"autopilot": {"deadServerLastContactThreshold": "59s"}}}},
    ),
    "all nodes without a port that they answer on": Case(
        "metrics-listener-off",
        f"{METRICS}.metricsOnlyListener.enabled",
        {
            "version": "2.5.5",
            **metrics(scrapeProfile="AllNodes", metricsOnlyListener={"enabled": False}),
        },
    ),
    "metrics at the port of the API": Case(
        "metrics-listener-port",
        f"{METRICS}.metricsOnlyListener.port",
        {"version": "2.5.5", **metrics(metricsOnlyListener={"port": 8200})},
    ),
    "metrics at a port of the system": Case(
        "metrics-listener-port",
        f"{METRICS}.metricsOnlyListener.port",
        {"version": "2.5.5", **metrics(metricsOnlyListener={"port": 443})},
    ),
    "a log over the data": Case(
        "log-place",
        "spec.configuration.logging.file",
        {"configuration": {"logging": {"file": "/bao/data/vault.db"}}},
    ),
    "a log that climbs": Case(
        "log-place",
        "spec.configuration.logging.file",
        {"configuration": {"logging": {"file": "/openbao/logs/../../bao/data/vault.db"}}},
    ),
    "a log beside the logs of the system": Case(
        "log-place",
        "spec.configuration.logging.file",
        {"configuration": {"logging": {"file": "/var/log/openbao2/vault.log"}}},
    ),
    "a PID over a certificate": Case(
        "log-place",
        "spec.configuration.logging.pidFile",
        {"configuration": {"logging": {"pidFile": "/etc/bao/tls/tls.key"}}},
    ),
}

CODE_CASES: dict[str, Case] = {
    "a metrics port that would order certificates": Case(
        "metrics-listener-acme",
        f"{METRICS}.metricsOnlyListener",
        {
            "version": "2.5.5",
            "replicas": 1,
            "tls": {"mode": "ACME", "acme": {"directoryURL": "https://acme.example.com"}},
            **metrics(scrapeProfile="AllNodes"),
        },
    ),
    "text with a NUL": Case(
        "server-text", "spec.telemetry", {"telemetry": {"metricsPrefix": "\0"}}
    ),
    "a server that cannot be booted": Case(
        "first-boot-version",
        "spec.version",
        {
            "version": "2.3.2",
            "unseal": {
                "type": "transit",
                "transit": {
                    "address": "https://kms.example.com",
                    "keyName": "k",
                    "mountPath": "transit",
                },
                "credentialsSecretRef": {"name": "token"},
            },
        },
    ),
    "key exchange groups of a newer server": Case(
        "key-exchange-version",
        f"{LISTENER}.tlsKeyExchangePreferences",
        {"version": "2.6.4", **listener(tlsKeyExchangePreferences=["X25519"])},
    ),
    "a switch of generate-root that an older server lacks": Case(
        "generate-root-version",
        f"{LISTENER}.unauthenticatedGenerateRoot",
        {"version": "2.5.2", **listener(unauthenticatedGenerateRoot=True)},
    ),
    "standby reads of a newer server": Case(
        "standby-reads-version",
        "spec.configuration.standbyReads",
        {"version": "2.4.4", "configuration": {"standbyReads": True}},
    ),
    "plugin downloads of a newer server": Case(
        "plugin-settings-version",
        "spec.configuration.plugin.autoDownload",
        {"configuration": {"plugin": {"autoDownload": False}}},
    ),
    "a metrics port of a newer server": Case(
        "metrics-listener-version",
        f"{METRICS}.metricsOnlyListener",
        metrics(metricsOnlyListener={"enabled": True}),
    ),
    "all nodes of an older server": Case(
        "metrics-listener-version", f"{METRICS}.scrapeProfile", metrics(scrapeProfile="AllNodes")
    ),
}
