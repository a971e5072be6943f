// SPDX-License-Identifier: Apache-2.0
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// mostShips is what the webhook of the provider admits.
const mostShips = 50

// A providerMode says how the program serves as the controller of a Provider package.
type providerMode struct {
	version string
	// deaf serves no webhook although the package declares one.
	deaf bool
	// greedy asks for a kind that the package does not install.
	greedy bool
}

// serve runs as a Provider does: with the credentials of its Pod, metrics at 8080, webhooks at 9443 and a lease.
func serve(mode providerMode) error {
	ctrl.SetLogger(klog.Background())
	access, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("cannot find the API server: %w", err)
	}
	scheme := runtime.NewScheme()
	_ = clientgoscheme.AddToScheme(scheme)
	addFleet(scheme)
	lease, renew, retry := 15*time.Second, 10*time.Second, 500*time.Millisecond
	manager, err := ctrl.NewManager(access, ctrl.Options{
		Scheme:                        scheme,
		Metrics:                       server.Options{BindAddress: ":8080"},
		WebhookServer:                 webhook.NewServer(webhook.Options{Port: 9443, CertDir: os.Getenv("WEBHOOK_TLS_CERT_DIR")}),
		LeaderElection:                true,
		LeaderElectionID:              "leader-" + os.Getenv("PROVIDER_NAME"),
		LeaderElectionNamespace:       os.Getenv("POD_NAMESPACE"),
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 &lease,
		RenewDeadline:                 &renew,
		RetryPeriod:                   &retry,
	})
	if err != nil {
		return fmt.Errorf("cannot make the manager: %w", err)
	}
	ctx := ctrl.SetupSignalHandler()
	reconciler := &fleetReconciler{Client: manager.GetClient(), recorder: &events.FakeRecorder{}, version: mode.version}
	if err := reconciler.setup(ctx, manager); err != nil {
		return fmt.Errorf("cannot set up the controller: %w", err)
	}
	if mode.greedy {
		if _, err := manager.GetCache().GetInformer(ctx, &appsv1.Deployment{}); err != nil {
			return fmt.Errorf("cannot watch deployments: %w", err)
		}
	}
	if !mode.deaf {
		manager.GetWebhookServer().Register("/validate-fleet", &admission.Webhook{Handler: admission.HandlerFunc(validateFleet)})
	}
	return manager.Start(ctx)
}

func validateFleet(_ context.Context, request admission.Request) admission.Response {
	fleet := &Fleet{}
	if err := json.Unmarshal(request.Object.Raw, fleet); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	if fleet.Spec.Ships > mostShips {
		return admission.Denied(fmt.Sprintf("a fleet has at most %d ships", mostShips))
	}
	return admission.Allowed("")
}
