"""The runtime beside controller-runtime: the same work on the same API server, as ratios.

`python -m e2e.bench` brings up a control plane, fills it, and runs each mode in two programs that
take the same flags and answer with the same line of JSON: `e2e.bench.ours` on the runtime, and
e2e/tools/bench, a Go program on controller-runtime. The writes that both react to come from the
measuring process.
"""
