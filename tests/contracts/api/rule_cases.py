"""All cases of all rules, collected from the modules cases_<topic>.py of this package."""

import importlib
import pkgutil
from collections.abc import Mapping

from tests.contracts import api
from tests.contracts.api.case import Case


def _collect_cases(table: str) -> dict[str, Case]:
    cases_by_title: dict[str, Case] = {}
    for module in pkgutil.iter_modules(api.__path__):
        if not module.name.startswith("cases_"):
            continue
        cases: Mapping[str, Case] = getattr(
            importlib.import_module(f"{api.__name__}.{module.name}"), table, {}
        )
        twice = cases_by_title.keys() & cases.keys()
        if twice:
            raise ValueError(f"{module.name}: cases of other modules: {sorted(twice)}")
        cases_by_title.update(cases)
    return cases_by_title


CASES = _collect_cases("CASES")
CODE_CASES = _collect_cases("CODE_CASES")
