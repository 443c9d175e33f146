// Kube-router enforces NetworkPolicies on the node of the rig. It is the policy controller of
// kube-router and nothing else of it: its routing would compile BGP, and its service proxy would
// compete with kube-proxy. When it is told to end, it removes all its rules.
package main

import (
	"context"
	"flag"
	"log"
	"os/signal"
	"sync"
	"syscall"

	"github.com/cloudnativelabs/kube-router/v2/pkg/controllers/netpol"
	"github.com/cloudnativelabs/kube-router/v2/pkg/healthcheck"
	"github.com/cloudnativelabs/kube-router/v2/pkg/options"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

func main() {
	config := options.NewKubeRouterConfig()
	config.EnableIPv4 = true
	flag.StringVar(&config.Kubeconfig, "kubeconfig", "", "credentials for the API server")
	flag.StringVar(&config.HostnameOverride, "node", "", "name of the node")
	services := flag.String("services", "", "CIDR of the addresses of Services")
	flag.Parse()
	config.ClusterIPCIDRs = []string{*services}
	if err := run(config); err != nil {
		log.Fatal(err)
	}
}

func run(config *options.KubeRouterConfig) error {
	ended, release := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer release()
	credentials, err := clientcmd.BuildConfigFromFlags("", config.Kubeconfig)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(credentials)
	if err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	pods := factory.Core().V1().Pods().Informer()
	namespaces := factory.Core().V1().Namespaces().Informer()
	policies := factory.Networking().V1().NetworkPolicies().Informer()
	factory.Start(ended.Done())
	factory.WaitForCacheSync(ended.Done())

	tables, sets, err := netpol.NewIPTablesHandlers(config)
	if err != nil {
		return err
	}
	var mutex sync.Mutex
	made := func() (*netpol.NetworkPolicyController, error) {
		return netpol.NewNetworkPolicyController(
			client, config, pods, policies, namespaces, &mutex, tables, sets)
	}
	controller, err := made()
	if err != nil {
		return err
	}
	for informer, handler := range map[cache.SharedIndexInformer]cache.ResourceEventHandler{
		pods:       controller.PodEventHandler,
		namespaces: controller.NamespaceEventHandler,
		policies:   controller.NetworkPolicyEventHandler,
	} {
		if _, err := informer.AddEventHandler(handler); err != nil {
			return err
		}
	}
	heartbeats := make(chan *healthcheck.ControllerHeartbeat)
	go func() {
		// Nobody asks for its health, but a sync waits until its heartbeat is read.
		for range heartbeats {
		}
	}()
	var group sync.WaitGroup
	group.Add(1)
	controller.Run(heartbeats, ended.Done(), &group)
	group.Wait()
	// Another one, because the first would add the rules to those that it still remembers.
	cleaner, err := made()
	if err != nil {
		return err
	}
	cleaner.Cleanup()
	return nil
}
