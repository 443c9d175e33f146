"""Which parts of a syntax tree are worth a mutant. Pure; used by the operators.

Left out, because no test should depend on them or because a change makes no difference:
annotations, decorators, imports, f-strings, what is raised, log calls, blocks under TYPE_CHECKING
and under `__name__ == "__main__"`, declarations of type variables, the arguments `frozen` and
`slots`, and `assert_never`.
"""

import ast
from collections.abc import Iterator

_LOG_METHODS = frozenset(
    {"bind", "critical", "debug", "error", "exception", "info", "log", "msg", "warning"}
)
_LOGGERS = frozenset({"_log", "bound", "get_logger", "log", "logger"})
_TYPES = frozenset({"NewType", "ParamSpec", "TypeVar", "assert_never", "cast"})
_ARGUMENTS = frozenset({"frozen", "slots"})
_FIELDS = frozenset({"annotation", "decorator_list", "returns", "type_params"})
_KINDS = (ast.Import, ast.ImportFrom, ast.JoinedStr, ast.Raise)


def mutable_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Return the node and what is below it, without the parts that are left out."""
    if _is_left_out(node):
        return
    yield node
    for field, value in ast.iter_fields(node):
        if field in _FIELDS:
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from mutable_nodes(child)


def _is_left_out(node: ast.AST) -> bool:
    match node:
        case ast.If(test=test):
            return "TYPE_CHECKING" in _names(test) or "__name__" in _names(test)
        case ast.Expr(value=ast.Await(value=call)) | ast.Expr(value=call):
            return _is_left_out(call) if isinstance(call, ast.Call) else False
        case ast.Call(func=function):
            return _is_logging(function) or bool(_TYPES & {*_called(function)})
        case ast.keyword(arg=name):
            return name in _ARGUMENTS
        case _:
            return isinstance(node, _KINDS)


def _is_logging(function: ast.expr) -> bool:
    """Whether this is a method of a logger: `log.info`, `self._log.warning`, `get_logger().log`."""
    if not isinstance(function, ast.Attribute) or function.attr not in _LOG_METHODS:
        return False
    return bool(_LOGGERS & {*_called(function.value)})


def _called(function: ast.expr) -> Iterator[str]:
    match function:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            yield name
        case ast.Call(func=inner):
            yield from _called(inner)


def _names(test: ast.expr) -> set[str]:
    named = (node for node in ast.walk(test) if isinstance(node, ast.Name | ast.Attribute))
    return {node.id if isinstance(node, ast.Name) else node.attr for node in named}
