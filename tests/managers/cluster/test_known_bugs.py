"""Bugs of other operators in reconciles, absent here (docs/known-bugs-not-ours.md)."""

import pytest

from managers.cluster.reconcile import REPORT_AFTER
from runtime.errors import Forbidden
from runtime.outcome import timer_of
from tests import gen
from tests.gen.api import api_error
from tests.managers.cluster.bench import CONFIG, KEY, running_bench


async def test_b01_a_quiet_cluster_is_requeued() -> None:
    bench = await running_bench(gen.cluster())
    await bench.until_quiet()
    assert 0 < gen.present(timer_of(await bench.reconcile(KEY))) <= gen.INSTALLATION.secret_recheck


async def test_b01_a_reconcile_that_waits_for_a_rollout_is_requeued() -> None:
    bench = await running_bench(gen.cluster())
    await bench.until_quiet()
    bench.ask_for(runtime={"restartAt": "now"})
    assert 0 < gen.present(timer_of(await bench.reconcile(KEY))) <= gen.INSTALLATION.secret_recheck


async def test_b46_missing_rights_are_retried() -> None:
    bench = await running_bench(gen.cluster())
    for _ in range(2):
        await bench.outside.clock.advance(REPORT_AFTER)
        bench.api.objects.pop(CONFIG, None)
        bench.api.refuse("apply ConfigMap x-config", api_error(403))
        with pytest.raises(Forbidden):
            await bench.turn()
    assert bench.condition("Reconciling") == ("True", "TransientError")
    assert bench.condition("Degraded") == ("False", "Ready")
    await bench.until_quiet()
    assert bench.condition("Reconciling") == ("False", "Ready")
