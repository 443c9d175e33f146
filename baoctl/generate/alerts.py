"""Renders docs/alerts.md from the PrometheusRule of deploy/alerts. Pure.

Called by baoctl.generate.main.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any, Final

_HEADER: Final = """<!-- Written by `python -m baoctl.generate pages`. Do not edit. -->

# Alerts

`deploy/alerts` has a PrometheusRule with alerts for clusters, backups, upgrades and the operator:

    kubectl apply -k openbao-operator/deploy/alerts

With Helm, set `monitoring.prometheusRule=true`. Without the Prometheus operator, save `spec` of
`deploy/alerts/prometheus_rule.yaml` as a rule file of Prometheus.

The alerts need the metrics of the operator ([Metrics](install.md#metrics)) with the label
`namespace` of the cluster. The ServiceMonitor of `deploy/monitoring` keeps this label; in your own
scrape configuration set `honor_labels: true`.

| severity | meaning |
|---|---|
| critical | Requests fail, or data is at risk: act immediately. |
| warning | Act within a working day. |
| info | A temporary state lasts unusually long, such as a pause. |
"""
# Matches template actions, such as {{ $labels.namespace }} and {{ $value | humanizeDuration }}.
_ACTION: Final = re.compile(r"\{\{ \$(?:labels\.)?(\w+)[^}]*\}\}")

_PAGE: Final = re.compile(r"docs/([a-z-]+\.md)")


def alert_page(rule: Mapping[str, Any]) -> str:
    """Return Markdown with one chapter per group, and one section per alert."""
    return _HEADER + "".join(_parts(rule))


def _parts(rule: Mapping[str, Any]) -> Iterator[str]:
    for group in rule["spec"]["groups"]:
        yield f"\n## {group['name']}\n"
        for alert in group["rules"]:
            annotations = alert["annotations"]
            severity = alert["labels"]["severity"]
            duration = f", after {alert['for']}" if "for" in alert else ""
            yield (
                f"\n### {alert['alert']}\n\n"
                f"Severity {severity}{duration}. {_readable(annotations['summary'])}.\n\n"
                f"{_readable(annotations['description'])}\n\n"
                f"```promql\n{alert['expr'].rstrip()}\n```\n"
            )


def _readable(text: str) -> str:
    """Replace template actions with names in capitals and pages with links; wrap the lines."""
    readable = _PAGE.sub(r"[\1](\1)", _ACTION.sub(lambda match: match[1].upper(), text))
    return textwrap.fill(readable, 100, break_long_words=False, break_on_hyphens=False)
