"""Clusters that are upgraded."""

from typing import Any

WITH_BACKUP: dict[str, Any] = {
    "backup": {
        "schedule": "0 3 * * *",
        "jwtAuthRole": "keeper",
        "target": {"provider": "pvc", "bucket": "b", "pvc": {"claimName": "kept"}},
    },
    "upgrade": {"preUpgradeSnapshot": True},
}
