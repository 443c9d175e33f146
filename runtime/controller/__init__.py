"""A controller: events become requests in a rate-limited workqueue, and workers reconcile them.

The `pkg/controller`, `pkg/handler` and `util/workqueue` of controller-runtime and client-go.
"""
