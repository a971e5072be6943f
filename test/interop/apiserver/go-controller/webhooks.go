// SPDX-License-Identifier: Apache-2.0
package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	admissionregistration "k8s.io/api/admissionregistration/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// runWebhooks serves a validating and a conversion webhook, as a manager of controller-runtime does, and checks that the API server calls both.
func runWebhooks(ctx context.Context, kubeconfig string) error {
	access, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	warnings := &warningList{}
	access.WarningHandler = warnings
	scheme := runtime.NewScheme()
	_ = clientgoscheme.AddToScheme(scheme)
	_ = apiextensions.AddToScheme(scheme)
	addBoats(scheme)
	directory, err := os.MkdirTemp("", "webhooks-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(directory)
	bundle, err := writeCertificate(directory)
	if err != nil {
		return err
	}
	port, err := freePort()
	if err != nil {
		return err
	}
	manager, err := ctrl.NewManager(access, ctrl.Options{
		Scheme:        scheme,
		Metrics:       server.Options{BindAddress: "0"},
		WebhookServer: webhook.NewServer(webhook.Options{Host: "127.0.0.1", Port: port, CertDir: directory}),
	})
	if err != nil {
		return fmt.Errorf("cannot make the manager: %w", err)
	}
	if err := ctrl.NewWebhookManagedBy(manager, &Boat{}).WithValidator(&boatValidator{}).Complete(); err != nil {
		return fmt.Errorf("cannot register the webhooks: %w", err)
	}
	live, err := client.New(access, client.Options{Scheme: scheme})
	if err != nil {
		return err
	}
	if err := installBoats(ctx, live, fmt.Sprintf("https://127.0.0.1:%d", port), bundle); err != nil {
		return err
	}
	go func() {
		if err := manager.Start(ctx); err != nil {
			fmt.Fprintln(os.Stderr, "the manager stopped:", err)
			os.Exit(1)
		}
	}()
	if !manager.GetCache().WaitForCacheSync(ctx) {
		return errors.New("the cache did not start")
	}
	return checkBoats(ctx, live, manager.GetClient(), warnings)
}

// checkBoats writes and reads boats in both versions. Every error of the API server is printed.
func checkBoats(ctx context.Context, live, cached client.Client, warnings *warningList) error {
	probe := &Boat{ObjectMeta: metav1.ObjectMeta{Name: "probe", Namespace: "default"}, Spec: BoatSpec{Size: "900m"}}
	err := until(ctx, "the validating webhook is called", func() (bool, error) {
		err := live.Create(ctx, probe.DeepCopyObject().(*Boat), client.DryRunAll)
		return err != nil && strings.Contains(err.Error(), "denied the request"), nil
	})
	if err != nil {
		return err
	}
	show := func(what string, err error) {
		fmt.Printf("%s: %v, warnings %q\n", what, err, warnings.take())
	}
	warnings.take()
	show("a boat that is too long", live.Create(ctx, probe))
	second := &BoatV2{ObjectMeta: metav1.ObjectMeta{Name: "second", Namespace: "default"}, Spec: BoatV2Spec{Length: 12, Unit: "m"}}
	show("a boat of v2", live.Create(ctx, second))
	first := &Boat{}
	show("read as v1", live.Get(ctx, client.ObjectKeyFromObject(second), first))
	fmt.Printf("v1 has the size %q\n", first.Spec.Size)
	first.Spec.Size = "13m"
	show("a boat of v1 grows", live.Update(ctx, first))
	first.Spec.Size = "5m"
	show("a boat shrinks", live.Update(ctx, first))
	show("read as v2", live.Get(ctx, client.ObjectKeyFromObject(second), second))
	fmt.Printf("v2 has the length %d %s\n", second.Spec.Length, second.Spec.Unit)
	second.Spec.Unit = "fathoms"
	show("a boat of v2 that cannot be converted", live.Update(ctx, second))
	// The cache watches v2, and so every event is converted.
	err = until(ctx, "the cache has the boat", func() (bool, error) {
		list := &BoatV2List{}
		err := cached.List(ctx, list, client.InNamespace("default"))
		return err == nil && len(list.Items) == 1 && list.Items[0].Spec.Length == 13, nil
	})
	if err != nil {
		return err
	}
	fmt.Println("the cache has the boat in v2")
	show("a boat with a crew is deleted", live.Delete(ctx, first))
	show("a dry run", live.Delete(ctx, first, client.DryRunAll))
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"crew":0}}`))
	show("the crew leaves", live.Patch(ctx, first, patch))
	show("an empty boat is deleted", live.Delete(ctx, first))
	show("a deleted boat", live.Get(ctx, client.ObjectKeyFromObject(first), first))
	return nil
}

type boatValidator struct{}

func (*boatValidator) ValidateCreate(_ context.Context, boat *Boat) (admission.Warnings, error) {
	length, _, err := parseSize(boat.Spec.Size)
	if err != nil {
		return nil, err
	}
	if length > 400 {
		return admission.Warnings{"no harbour has room for it"}, fmt.Errorf("a boat has at most 400 m, this one %d", length)
	}
	return admission.Warnings{"a new boat needs a name"}, nil
}

func (*boatValidator) ValidateUpdate(_ context.Context, before, after *Boat) (admission.Warnings, error) {
	old, _, _ := parseSize(before.Spec.Size)
	length, _, err := parseSize(after.Spec.Size)
	if err == nil && length < old {
		return nil, fmt.Errorf("boats do not shrink from %d to %d", old, length)
	}
	return nil, err
}

func (*boatValidator) ValidateDelete(_ context.Context, boat *Boat) (admission.Warnings, error) {
	if boat.Spec.Crew > 0 {
		return nil, fmt.Errorf("%d people are on board", boat.Spec.Crew)
	}
	return nil, nil
}

func installBoats(ctx context.Context, live client.Client, url string, bundle []byte) error {
	definition := boatDefinition(url+"/convert", bundle)
	if err := live.Create(ctx, definition); err != nil {
		return fmt.Errorf("cannot create the definition: %w", err)
	}
	if err := live.Create(ctx, boatWebhook(url+"/validate-yard-example-org-v1-boat", bundle)); err != nil {
		return fmt.Errorf("cannot create the webhook configuration: %w", err)
	}
	return until(ctx, "the kind is served", func() (bool, error) {
		return live.List(ctx, &BoatList{}) == nil && live.List(ctx, &BoatV2List{}) == nil, nil
	})
}

func boatWebhook(url string, bundle []byte) *admissionregistration.ValidatingWebhookConfiguration {
	none := admissionregistration.SideEffectClassNone
	operations := []admissionregistration.OperationType{"CREATE", "UPDATE", "DELETE"}
	rule := admissionregistration.Rule{APIGroups: []string{boatGroup}, APIVersions: []string{"v1"}, Resources: []string{"boats"}}
	return &admissionregistration.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "boats"},
		Webhooks: []admissionregistration.ValidatingWebhook{{
			Name:                    "vboat.yard.example.org",
			ClientConfig:            admissionregistration.WebhookClientConfig{URL: &url, CABundle: bundle},
			Rules:                   []admissionregistration.RuleWithOperations{{Operations: operations, Rule: rule}},
			SideEffects:             &none,
			AdmissionReviewVersions: []string{"v1"},
		}},
	}
}

// writeCertificate writes a certificate for loopback that is its own authority.
func writeCertificate(directory string) ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "boats"},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(24 * time.Hour),
		IPAddresses:           []net.IP{net.ParseIP("127.0.0.1")},
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IsCA:                  true,
		BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	if err := os.WriteFile(filepath.Join(directory, "tls.crt"), certificate, 0o600); err != nil {
		return nil, err
	}
	secret := pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private})
	return certificate, os.WriteFile(filepath.Join(directory, "tls.key"), secret, 0o600)
}

func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port, nil
}

// A warningList keeps the warnings of the API server.
type warningList struct {
	lock  sync.Mutex
	texts []string
}

func (w *warningList) HandleWarningHeader(_ int, _ string, text string) {
	w.lock.Lock()
	defer w.lock.Unlock()
	w.texts = append(w.texts, text)
}

func (w *warningList) take() []string {
	w.lock.Lock()
	defer w.lock.Unlock()
	texts := w.texts
	w.texts = nil
	return texts
}
