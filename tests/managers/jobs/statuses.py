"""Statuses of Jobs."""

from datetime import datetime

from managers.jobs.status import JobObservation

MADE = "2026-01-01T03:00:00Z"
ACTIVE = JobObservation("u", "Active", created_at=datetime.fromisoformat(MADE))
