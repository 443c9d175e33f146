package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// working runs a controller that is fed by hand.
func working(ctx context.Context, given order, mgr manager.Manager, work reconcile.Func) queue {
	made, err := controller.New("bench", mgr, controller.Options{
		Reconciler: work, MaxConcurrentReconciles: given.workers,
	})
	must(err)
	handed := make(chan queue, 1)
	must(made.Watch(queueOf(handed)))
	go func() { must(mgr.Start(ctx)) }()
	return <-handed
}

func requests(given order, prefix string) []reconcile.Request {
	made := make([]reconcile.Request, given.count)
	for number := range made {
		name := fmt.Sprintf("%s-%06d", prefix, number)
		made[number].NamespacedName = types.NamespacedName{Namespace: given.namespace, Name: name}
	}
	return made
}

// settled waits until the controller was called `wanted` times.
func settled(calls *atomic.Int64, wanted int64) {
	for calls.Load() < wanted {
		time.Sleep(100 * time.Microsecond)
	}
}

// noop measures what the framework costs around a reconciler that does nothing.
func noop(ctx context.Context, given order) results {
	var calls atomic.Int64
	line := working(ctx, given, newManager(given),
		func(context.Context, reconcile.Request) (reconcile.Result, error) {
			calls.Add(1)
			return reconcile.Result{}, nil
		})
	all := requests(given, "none")
	begin := now()
	for round := 1; round <= given.rounds; round++ {
		for _, one := range all {
			line.Add(one)
		}
		settled(&calls, int64(round*given.count))
	}
	return begin.until(now())
}

// passes reconciles parents with six children each, none of which has changed.
func passes(ctx context.Context, given order) results {
	mgr := newManager(given)
	for _, kind := range []client.Object{
		&corev1.ConfigMap{}, &corev1.Service{}, &corev1.ServiceAccount{},
		&rbacv1.Role{}, &rbacv1.RoleBinding{},
	} {
		_, err := mgr.GetCache().GetInformer(ctx, kind)
		must(err)
	}
	var calls, writes atomic.Int64
	line := working(ctx, given, mgr,
		func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
			defer calls.Add(1)
			changed, err := ensureChildren(ctx, mgr.GetClient(), r)
			writes.Add(int64(changed))
			return reconcile.Result{}, err
		})
	mgr.GetCache().WaitForCacheSync(ctx)
	all := requests(given, "parent")
	for _, one := range all {
		line.Add(one)
	}
	settled(&calls, int64(given.count))
	// The watch delivers the results of these writes.
	time.Sleep(3 * time.Second)
	made, done := writes.Load(), calls.Load()
	begin := now()
	for round := 1; round <= given.rounds; round++ {
		for _, one := range all {
			line.Add(one)
		}
		settled(&calls, done+int64(round*given.count))
	}
	found := begin.until(now())
	found["passes"] = float64(given.rounds * given.count)
	found["made"], found["writes"] = float64(made), float64(writes.Load()-made)
	return found
}

// ensureChildren is the pattern that most operators follow: CreateOrUpdate for each child, which
// reads it from the cache, sets the wanted fields on the copy and writes if the copy changed.
func ensureChildren(ctx context.Context, c client.Client, r reconcile.Request) (int, error) {
	parent := &corev1.ConfigMap{}
	if err := c.Get(ctx, r.NamespacedName, parent); err != nil {
		return 0, err
	}
	changed := 0
	for obj, mutate := range children(parent) {
		set := func() error {
			labels := obj.GetLabels()
			if labels == nil {
				labels = map[string]string{}
			}
			labels["bench"], labels["parent"] = "child", parent.Name
			obj.SetLabels(labels)
			mutate()
			return controllerutil.SetControllerReference(parent, obj, scheme)
		}
		done, err := controllerutil.CreateOrUpdate(ctx, c, obj, set)
		if err != nil {
			return changed, err
		}
		if done != controllerutil.OperationResultNone {
			changed++
		}
	}
	return changed, nil
}

func children(parent *corev1.ConfigMap) map[client.Object]func() {
	meta := func(suffix string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: parent.Namespace, Name: parent.Name + suffix}
	}
	first, second := &corev1.ConfigMap{ObjectMeta: meta("-a")}, &corev1.ConfigMap{ObjectMeta: meta("-b")}
	service := &corev1.Service{ObjectMeta: meta("")}
	account := &corev1.ServiceAccount{ObjectMeta: meta("")}
	role, binding := &rbacv1.Role{ObjectMeta: meta("")}, &rbacv1.RoleBinding{ObjectMeta: meta("")}
	return map[client.Object]func(){
		first:  func() { first.Data = map[string]string{"config": strings.Repeat("a=1\n", 100)} },
		second: func() { second.Data = map[string]string{"config": strings.Repeat("b=1\n", 100)} },
		service: func() {
			service.Spec.Selector = map[string]string{"parent": parent.Name}
			service.Spec.Ports = []corev1.ServicePort{{
				Name: "http", Port: 80, TargetPort: intstr.FromString("http"), Protocol: "TCP",
			}}
		},
		account: func() { account.AutomountServiceAccountToken = new(false) },
		role: func() {
			role.Rules = []rbacv1.PolicyRule{{
				APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get", "list"},
			}}
		},
		binding: func() {
			binding.RoleRef = rbacv1.RoleRef{
				APIGroup: "rbac.authorization.k8s.io", Kind: "Role", Name: parent.Name,
			}
			binding.Subjects = []rbacv1.Subject{{
				Kind: "ServiceAccount", Name: parent.Name, Namespace: parent.Namespace,
			}}
		},
	}
}

// applies sends server-side applies, each with another value.
func applies(ctx context.Context, given order) results {
	c, err := client.New(given.config, client.Options{Scheme: scheme})
	must(err)
	numbers := make(chan int)
	var workers sync.WaitGroup
	begin := now()
	for range given.workers {
		workers.Go(func() {
			for number := range numbers {
				name := fmt.Sprintf("applied-%04d", number%(given.count/given.rounds))
				data := map[string]string{
					"config": strings.Repeat("x", 1000), "number": fmt.Sprint(number),
				}
				wanted := corev1ac.ConfigMap(name, given.namespace).WithData(data)
				must(c.Apply(ctx, wanted, client.FieldOwner("bench"), client.ForceOwnership))
			}
		})
	}
	for number := range given.count {
		numbers <- number
	}
	close(numbers)
	workers.Wait()
	return begin.until(now())
}
