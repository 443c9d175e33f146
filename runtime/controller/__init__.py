"""A controller: events become requests, a rate-limited workqueue holds them, workers reconcile
them.

The `pkg/controller`, `pkg/handler` and `util/workqueue` of controller-runtime and client-go.
"""
