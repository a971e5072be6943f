// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

const (
	objects = 500
	churn   = 60 * time.Second
	pause   = 25 * time.Millisecond
)

var (
	configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	widgets    = schema.GroupVersionResource{Group: "example.org", Version: "v1", Resource: "widgets"}
)

type clients struct {
	typed     kubernetes.Interface
	dynamic   dynamic.Interface
	metadata  metadata.Interface
	namespace string
}

type watched struct {
	name     string
	informer cache.SharedIndexInformer
	resource schema.GroupVersionResource
	events   atomic.Int64
}

type outcome struct {
	Informer string `json:"informer"`
	Synced   bool   `json:"synced"`
	Saw      bool   `json:"sawChanges"`
	Objects  int    `json:"objects"`
	Missing  int    `json:"missing"`
	Stale    int    `json:"stale"`
	Left     int    `json:"leftOver"`
}

// runInformers fills a namespace, starts informers of three kinds of clients, churns, and compares what each informer
// holds in the end with what the server lists.
func runInformers(ctx context.Context, config *rest.Config, namespace string) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, 4*time.Minute)
	defer cancel()
	all, err := connect(config, namespace)
	if err != nil {
		return nil, err
	}
	if err := all.fill(ctx); err != nil {
		return nil, err
	}
	watchers := all.watchers()
	for _, one := range watchers {
		if err := one.start(ctx); err != nil {
			return nil, err
		}
	}
	if err := all.churn(ctx); err != nil {
		return nil, err
	}
	outcomes := []outcome{}
	for _, one := range watchers {
		found, err := all.compare(ctx, one)
		if err != nil {
			return nil, err
		}
		outcomes = append(outcomes, found)
	}
	return outcomes, nil
}

func connect(config *rest.Config, namespace string) (*clients, error) {
	typed, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	untyped, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	headers, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return &clients{typed: typed, dynamic: untyped, metadata: headers, namespace: namespace}, nil
}

func (c *clients) watchers() []*watched {
	typed := informers.NewSharedInformerFactoryWithOptions(c.typed, 0, informers.WithNamespace(c.namespace))
	untyped := dynamicinformer.NewFilteredDynamicSharedInformerFactory(c.dynamic, 0, c.namespace, nil)
	headers := metadatainformer.NewFilteredSharedInformerFactory(c.metadata, 0, c.namespace, nil)
	return []*watched{
		{name: "typed ConfigMaps", informer: typed.Core().V1().ConfigMaps().Informer(), resource: configMaps},
		{name: "dynamic Widgets", informer: untyped.ForResource(widgets).Informer(), resource: widgets},
		{name: "metadata of ConfigMaps", informer: headers.ForResource(configMaps).Informer(), resource: configMaps},
		{name: "metadata of Widgets", informer: headers.ForResource(widgets).Informer(), resource: widgets},
	}
}

func (w *watched) start(ctx context.Context) error {
	count := func() { w.events.Add(1) }
	_, err := w.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { count() },
		UpdateFunc: func(any, any) { count() },
		DeleteFunc: func(any) { count() },
	})
	if err != nil {
		return err
	}
	go w.informer.Run(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), w.informer.HasSynced) {
		return fmt.Errorf("%s did not sync", w.name)
	}
	return nil
}

func (c *clients) fill(ctx context.Context) error {
	errs := make(chan error, 8)
	var group sync.WaitGroup
	for worker := range 4 {
		group.Go(func() {
			for n := worker; n < objects; n += 4 {
				if err := c.create(ctx, n); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	group.Wait()
	close(errs)
	return <-errs
}

func (c *clients) create(ctx context.Context, n int) error {
	name := fmt.Sprintf("o-%04d", n)
	plain := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"n": name}}
	if _, err := c.typed.CoreV1().ConfigMaps(c.namespace).Create(ctx, plain, metav1.CreateOptions{}); err != nil {
		return err
	}
	custom := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.org/v1", "kind": "Widget",
		"metadata": map[string]any{"name": name}, "spec": map[string]any{"size": int64(n % 10)},
	}}
	_, err := c.dynamic.Resource(widgets).Namespace(c.namespace).Create(ctx, custom, metav1.CreateOptions{})
	return err
}

// churn deletes, recreates and patches objects at random and undoes nothing.
func (c *clients) churn(ctx context.Context) error {
	random := rand.New(rand.NewPCG(1, 2))
	for end := time.Now().Add(churn); time.Now().Before(end); time.Sleep(pause) {
		if err := c.disturb(ctx, random); err != nil {
			return err
		}
	}
	return nil
}

func (c *clients) disturb(ctx context.Context, random *rand.Rand) error {
	n := random.IntN(objects)
	name := fmt.Sprintf("o-%04d", n)
	plain, custom := c.typed.CoreV1().ConfigMaps(c.namespace), c.dynamic.Resource(widgets).Namespace(c.namespace)
	if random.IntN(4) == 0 {
		if err := plain.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			return err
		}
		if err := custom.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			return err
		}
		return c.create(ctx, n)
	}
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"at":"%d"}}}`, random.Int64())
	if _, err := plain.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return err
	}
	_, err := custom.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

func (c *clients) compare(ctx context.Context, one *watched) (outcome, error) {
	list, err := c.dynamic.Resource(one.resource).Namespace(c.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return outcome{}, err
	}
	want := map[string]string{}
	for _, item := range list.Items {
		want[item.GetName()] = item.GetResourceVersion()
	}
	found := outcome{Informer: one.name, Synced: one.informer.HasSynced(), Saw: one.events.Load() > objects}
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		found.Objects, found.Missing, found.Stale, found.Left = differences(want, one.informer.GetStore().List())
		if found.Missing+found.Stale+found.Left == 0 {
			break
		}
	}
	return found, nil
}

func differences(want map[string]string, held []any) (objects, missing, stale, left int) {
	have := map[string]string{}
	for _, one := range held {
		object, err := meta.Accessor(one)
		if err != nil {
			continue
		}
		have[object.GetName()] = object.GetResourceVersion()
	}
	for name, version := range want {
		switch have[name] {
		case version:
		case "":
			missing++
		default:
			stale++
		}
	}
	for name := range have {
		if _, ok := want[name]; !ok {
			left++
		}
	}
	return len(have), missing, stale, left
}
