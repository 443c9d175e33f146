package main

import (
	"context"
	"strings"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// shaped is a ConfigMap as metadata only, as its Go type, or as a map like a kind without one.
func shaped(shape string) client.Object {
	kind := corev1.SchemeGroupVersion.WithKind("ConfigMap")
	switch shape {
	case "metadata":
		obj := &metav1.PartialObjectMetadata{}
		obj.SetGroupVersionKind(kind)
		return obj
	case "dynamic":
		obj := &unstructured.Unstructured{}
		obj.SetGroupVersionKind(kind)
		return obj
	}
	return &corev1.ConfigMap{}
}

// syncCache mirrors all ConfigMaps of the namespace, from nothing to synced.
func syncCache(ctx context.Context, given order) results {
	mgr := newManager(given)
	before := memory("VmRSS")
	stop := make(chan struct{})
	stalls := make(chan []float64)
	go lateness(stop, stalls)
	begin := now()
	_, err := mgr.GetCache().GetInformer(ctx, shaped(given.shape))
	must(err)
	go func() { must(mgr.Start(ctx)) }()
	if !mgr.GetCache().WaitForCacheSync(ctx) {
		panic("not synced")
	}
	found := begin.until(now())
	close(stop)
	found["stall_p99"] = percentile(<-stalls, 0.99)
	// The memory of a long-running process, after a garbage collection.
	time.Sleep(3 * time.Second)
	found["rss"], found["peak"], found["base"] = memory("VmRSS"), memory("VmHWM"), before
	return found
}

// lateness measures how late a timer of one millisecond fires, in seconds.
func lateness(stop chan struct{}, out chan []float64) {
	var samples []float64
	for {
		select {
		case <-stop:
			out <- samples
			return
		default:
			due := time.Now().Add(time.Millisecond)
			time.Sleep(time.Millisecond)
			samples = append(samples, time.Since(due).Seconds())
		}
	}
}

// watching runs a controller over the ConfigMaps of the namespace until one is called zz-end.
func watching(
	ctx context.Context, given order, seen *int,
	pass func(*corev1.ConfigMap) reconcile.Result,
) (manager.Manager, chan struct{}) {
	mgr := newManager(given)
	ended := make(chan struct{})
	work := reconcile.Func(func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
		obj := &corev1.ConfigMap{}
		if err := mgr.GetClient().Get(ctx, r.NamespacedName, obj); err != nil {
			return reconcile.Result{}, client.IgnoreNotFound(err)
		}
		if isEnd(r.Name) {
			close(ended)
			return reconcile.Result{}, nil
		}
		return pass(obj), nil
	})
	made, err := controller.New("bench", mgr, controller.Options{
		Reconciler: work, MaxConcurrentReconciles: given.workers,
	})
	must(err)
	counted := predicate.TypedFuncs[*corev1.ConfigMap]{
		UpdateFunc: func(event.TypedUpdateEvent[*corev1.ConfigMap]) bool { *seen++; return true },
	}
	must(made.Watch(source.Kind(
		mgr.GetCache(), &corev1.ConfigMap{},
		&handler.TypedEnqueueRequestForObject[*corev1.ConfigMap]{}, counted,
	)))
	go func() { must(mgr.Start(ctx)) }()
	return mgr, ended
}

// events counts updates from the watch to the reconciler, and what they cost.
func events(ctx context.Context, given order) results {
	updates, reconciled := 0, 0
	mgr, ended := watching(ctx, given, &updates, func(*corev1.ConfigMap) reconcile.Result {
		reconciled++
		return reconcile.Result{}
	})
	mgr.GetCache().WaitForCacheSync(ctx)
	time.Sleep(time.Second)
	begin, passed := now(), reconciled
	ready()
	<-ended
	found := begin.until(now())
	found["events"], found["reconciled"] = float64(updates), float64(reconciled-passed)
	return found
}

// latency measures the time from sending a write to the call of the reconciler.
func latency(ctx context.Context, given order) results {
	var samples []float64
	updates := 0
	// Probes of an earlier run have a time, too.
	var since atomic.Int64
	record := make(chan float64, 1024)
	mgr, ended := watching(ctx, given, &updates, func(obj *corev1.ConfigMap) reconcile.Result {
		if strings.HasPrefix(obj.Name, "probe-") {
			if begin := since.Load(); begin > 0 && obj.Data["sent"] != "" && sentAt(obj) >= begin {
				record <- float64(time.Now().UnixNano()-sentAt(obj)) / 1e9
			}
			return reconcile.Result{}
		}
		if !given.busy {
			return reconcile.Result{}
		}
		// A reconcile that waits, and then requeues its object.
		time.Sleep(time.Millisecond)
		return reconcile.Result{RequeueAfter: time.Millisecond}
	})
	mgr.GetCache().WaitForCacheSync(ctx)
	time.Sleep(3 * time.Second)
	since.Store(time.Now().UnixNano())
	ready()
	for {
		select {
		case sample := <-record:
			samples = append(samples, sample)
		case <-ended:
			return results{
				"samples": float64(len(samples)),
				"p50":     percentile(samples, 0.5), "p99": percentile(samples, 0.99),
			}
		}
	}
}

// queueOf hands out the queue of a controller.
func queueOf(out chan workqueue.TypedRateLimitingInterface[reconcile.Request]) source.Source {
	return source.Func(func(
		_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request],
	) error {
		out <- queue
		return nil
	})
}
