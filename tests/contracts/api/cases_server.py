"""What the rules about spec.configuration and the metrics refuse."""

from typing import Any

from tests.contracts.api.case import Broken, cases_of

LISTENER = "spec.configuration.listener"
METRICS = "spec.observability.metrics"


def listener(**fields: Any) -> dict[str, Any]:
    return {"configuration": {"listener": fields}}


def metrics(**fields: Any) -> dict[str, Any]:
    return {"observability": {"metrics": {"enabled": True, **fields}}}


_BROKEN: Broken = {
    ("lease-ttls", "spec.configuration.maxLeaseTTL"): {
        "a lease that is longer than the longest": {
            "configuration": {"defaultLeaseTTL": "2h", "maxLeaseTTL": "119m"}
        }
    },
    ("listener-tls", f"{LISTENER}.tlsDisable"): {
        "a listener without TLS": listener(tlsDisable=True)
    },
    ("listener-tls-versions", f"{LISTENER}.tlsMaxVersion"): {
        "an empty window of TLS versions": listener(tlsMinVersion="tls13", tlsMaxVersion="tls12")
    },
    ("proxy-addresses", f"{LISTENER}.proxyProtocolAuthorizedAddrs"): {
        "proxy settings without proxies": listener(proxyProtocolBehavior="deny_unauthorized"),
        "the older spelling, without proxies": listener(proxyProtocolBehavior="allow_any"),
    },
    ("dead-server-threshold", "spec.configuration.raft.autopilot.deadServerLastContactThreshold"): {
        "a server that is dead after a restart": {
            "configuration": {"raft": {"autopilot": {"deadServerLastContactThreshold": "59s"}}}
        }
    },
    ("metrics-listener-off", f"{METRICS}.metricsOnlyListener.enabled"): {
        "all nodes without a port that they answer on": {
            "version": "2.5.5",
            **metrics(scrapeProfile="AllNodes", metricsOnlyListener={"enabled": False}),
        }
    },
    ("metrics-listener-port", f"{METRICS}.metricsOnlyListener.port"): {
        "metrics at the port of the API": {
            "version": "2.5.5",
            **metrics(metricsOnlyListener={"port": 8200}),
        },
        "metrics at a privileged port": {
            "version": "2.5.5",
            **metrics(metricsOnlyListener={"port": 443}),
        },
    },
    ("log-place", "spec.configuration.logging.file"): {
        "a log in the data folder": {"configuration": {"logging": {"file": "/bao/data/vault.db"}}},
        "a log with a parent segment": {
            "configuration": {"logging": {"file": "/openbao/logs/../../bao/data/vault.db"}}
        },
        "a log in a folder next to the log folder": {
            "configuration": {"logging": {"file": "/var/log/openbao2/vault.log"}}
        },
    },
    ("log-place", "spec.configuration.logging.pidFile"): {
        "a PID over a certificate": {
            "configuration": {"logging": {"pidFile": "/etc/bao/tls/tls.key"}}
        }
    },
}

CASES = cases_of(_BROKEN)

_BROKEN_IN_CODE: Broken = {
    ("metrics-listener-acme", f"{METRICS}.metricsOnlyListener"): {
        "a metrics port that would order certificates": {
            "version": "2.5.5",
            "replicas": 1,
            "tls": {"mode": "ACME", "acme": {"directoryURL": "https://acme.example.com"}},
            **metrics(scrapeProfile="AllNodes"),
        }
    },
    ("server-text", "spec.telemetry"): {"text with a NUL": {"telemetry": {"metricsPrefix": "\0"}}},
    ("first-boot-version", "spec.version"): {
        "a server that cannot be booted": {
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
        }
    },
    ("key-exchange-version", f"{LISTENER}.tlsKeyExchangePreferences"): {
        "key exchange groups of a newer server": {
            "version": "2.6.4",
            **listener(tlsKeyExchangePreferences=["X25519"]),
        }
    },
    ("generate-root-version", f"{LISTENER}.unauthenticatedGenerateRoot"): {
        "a switch of generate-root that an older server lacks": {
            "version": "2.5.2",
            **listener(unauthenticatedGenerateRoot=True),
        }
    },
    ("standby-reads-version", "spec.configuration.standbyReads"): {
        "standby reads of a newer server": {
            "version": "2.4.4",
            "configuration": {"standbyReads": True},
        }
    },
    ("plugin-settings-version", "spec.configuration.plugin.autoDownload"): {
        "plugin downloads of a newer server": {"configuration": {"plugin": {"autoDownload": False}}}
    },
    ("metrics-listener-version", f"{METRICS}.metricsOnlyListener"): {
        "a metrics port of a newer server": metrics(metricsOnlyListener={"enabled": True})
    },
    ("metrics-listener-version", f"{METRICS}.scrapeProfile"): {
        "all nodes of an older server": metrics(scrapeProfile="AllNodes")
    },
}

CODE_CASES = cases_of(_BROKEN_IN_CODE)
