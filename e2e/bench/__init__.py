"""Benchmark of the runtime against controller-runtime: the same work on the same API server.

`python -m e2e.bench` starts a control plane, fills it, and runs each mode in two programs with the
same flags and the same JSON output: `e2e.bench.ours` on the runtime, and
e2e/tools/bench, a Go program on controller-runtime. The writes that both react to are sent by the
measuring process.
"""
