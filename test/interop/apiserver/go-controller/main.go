// SPDX-License-Identifier: Apache-2.0

// A controller as most are written today, and the checks that it works on the API server it is given. It prints what
// held, line by line, and leaves with 1 at the first thing that did not. Where PROVIDER_NAME is set it is the controller
// of a Provider package instead, and runs until it is stopped.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

const namespace = "harbour"

func main() {
	kubeconfig := flag.String("access", "", "the kubeconfig of the API server")
	objects := flag.String("delete", "", "ConfigMaps to delete instead, as NAMESPACE/NAME,…")
	churn := flag.Duration("churn", 15*time.Second, "how long to change things at random")
	webhooks := flag.Bool("webhooks", false, "serve a validating and a conversion webhook instead")
	mode := providerMode{}
	flag.StringVar(&mode.version, "version", "", "what a Provider writes into the status of what it manages")
	flag.BoolVar(&mode.deaf, "deaf", false, "serve no webhook")
	flag.BoolVar(&mode.greedy, "greedy", false, "watch a kind without the right to")
	flag.Parse()
	if os.Getenv("PROVIDER_NAME") != "" {
		if err := serve(mode); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	ctx, cancel := context.WithTimeout(context.Background(), *churn+2*time.Minute)
	defer cancel()
	work := func() error { return run(ctx, *kubeconfig, *churn) }
	if *objects != "" {
		work = func() error { return deleteEach(ctx, *kubeconfig, *objects) }
	}
	if *webhooks {
		work = func() error { return runWebhooks(ctx, *kubeconfig) }
	}
	if err := work(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, kubeconfig string, churn time.Duration) error {
	access, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	access.QPS, access.Burst = 500, 500
	scheme := runtime.NewScheme()
	_ = clientgoscheme.AddToScheme(scheme)
	_ = apiextensions.AddToScheme(scheme)
	addFleet(scheme)
	live, err := client.New(access, client.Options{Scheme: scheme})
	if err != nil {
		return err
	}
	if err := prepare(ctx, live); err != nil {
		return err
	}
	first, stopFirst := context.WithCancel(ctx)
	defer stopFirst()
	manager, reconciler, err := startManager(first, access, scheme)
	if err != nil {
		return err
	}
	harness := &checks{live: live, cached: manager.GetClient(), scheme: scheme, reconciler: reconciler}
	if err := harness.leads(ctx, manager); err != nil {
		return err
	}
	if err := harness.all(ctx, churn); err != nil {
		return err
	}
	return handOver(ctx, access, scheme, stopFirst)
}

// prepare makes the namespace and the kind, as an installer would, and waits until it is served.
func prepare(ctx context.Context, live client.Client) error {
	if err := live.Create(ctx, namespaceObject()); err != nil {
		return fmt.Errorf("cannot create the namespace: %w", err)
	}
	definition := fleetDefinition()
	if err := live.Create(ctx, definition); err != nil {
		return fmt.Errorf("cannot create the definition: %w", err)
	}
	err := until(ctx, "the definition is established", func() (bool, error) {
		if err := live.Get(ctx, client.ObjectKeyFromObject(definition), definition); err != nil {
			return false, err
		}
		for _, condition := range definition.Status.Conditions {
			if condition.Type == apiextensions.Established && condition.Status == apiextensions.ConditionTrue {
				return true, nil
			}
		}
		return false, nil
	})
	if err != nil {
		return err
	}
	// A server may say so a moment before it serves the kind.
	return until(ctx, "the kind is served", func() (bool, error) {
		return live.List(ctx, &FleetList{}) == nil, nil
	})
}

func startManager(ctx context.Context, access *rest.Config, scheme *runtime.Scheme) (ctrl.Manager, *fleetReconciler, error) {
	// Long enough for a busy machine: a released lease does not have to expire.
	lease, renew, retry := 30*time.Second, 20*time.Second, 500*time.Millisecond
	skipNames := true
	manager, err := ctrl.NewManager(access, ctrl.Options{
		Scheme:                        scheme,
		Metrics:                       server.Options{BindAddress: "0"},
		LeaderElection:                true,
		LeaderElectionID:              "admiral",
		LeaderElectionNamespace:       namespace,
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 &lease,
		RenewDeadline:                 &renew,
		RetryPeriod:                   &retry,
		Controller:                    config.Controller{SkipNameValidation: &skipNames, MaxConcurrentReconciles: 4},
	})
	if err != nil {
		return nil, nil, fmt.Errorf("cannot make the manager: %w", err)
	}
	reconciler := &fleetReconciler{Client: manager.GetClient(), recorder: manager.GetEventRecorder("harbour")}
	if err := reconciler.setup(ctx, manager); err != nil {
		return nil, nil, fmt.Errorf("cannot set up the controller: %w", err)
	}
	go func() {
		if err := manager.Start(ctx); err != nil {
			fmt.Fprintln(os.Stderr, "the manager stopped:", err)
			os.Exit(1)
		}
	}()
	return manager, reconciler, nil
}

// handOver stops the leader and sees a second one take its place.
func handOver(ctx context.Context, access *rest.Config, scheme *runtime.Scheme, stopFirst func()) error {
	second, _, err := startManager(ctx, access, scheme)
	if err != nil {
		return err
	}
	select {
	case <-second.Elected():
		return fmt.Errorf("there are two leaders")
	case <-time.After(2 * time.Second):
		fmt.Println("a second manager waits while the first leads")
	}
	stopFirst()
	select {
	case <-second.Elected():
		fmt.Println("the second manager leads after the first has left")
		return nil
	case <-ctx.Done():
		return fmt.Errorf("no leader after the first manager has left")
	}
}

func namespaceObject() *corev1.Namespace {
	object := &corev1.Namespace{}
	object.Name = namespace
	return object
}
