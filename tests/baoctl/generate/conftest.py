"""The operator whose series the alerts, the dashboard and the recording rules read."""

from pathlib import Path

import pytest_asyncio

from tests.baoctl.generate.operator_series import Operator


@pytest_asyncio.fixture
async def operator(tmp_path: Path) -> Operator:
    return await Operator.build(tmp_path)
