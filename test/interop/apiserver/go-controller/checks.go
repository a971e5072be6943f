// SPDX-License-Identifier: Apache-2.0
package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/util/retry"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

const fleets = 6

// checks is what must hold on any API server.
type checks struct {
	live, cached client.Client
	scheme       *runtime.Scheme
	reconciler   *fleetReconciler
}

func (c *checks) all(ctx context.Context, churn time.Duration) error {
	steps := []struct {
		name string
		run  func(context.Context) error
	}{
		{"typed objects are created, updated in place and deleted", c.typedObjects},
		{"an access review is answered", c.accessReview},
		{"a write on an old version is a conflict", c.conflict},
		{"fleets get their ships and a status", c.createFleets},
		{"everything settles after churn", func(ctx context.Context) error { return c.churn(ctx, churn) }},
		{"applying what is there changes nothing", c.steady},
		{"events were recorded", c.events},
		{"deleted fleets are finalized and their ships collected", c.deleteFleets},
	}
	for _, step := range steps {
		if err := step.run(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
		fmt.Println(step.name)
	}
	return nil
}

func (c *checks) leads(ctx context.Context, manager ctrl.Manager) error {
	select {
	case <-manager.Elected():
	case <-ctx.Done():
		return errors.New("the manager was never elected")
	}
	lease := &coordinationv1.Lease{}
	if err := c.live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "admiral"}, lease); err != nil {
		return err
	}
	if lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "" {
		return errors.New("the lease has no holder")
	}
	fmt.Println("the manager leads")
	return nil
}

func (c *checks) typedObjects(ctx context.Context) error {
	secret := &corev1.Secret{}
	secret.Name, secret.Namespace = "chart", namespace
	for _, expected := range []controllerutil.OperationResult{
		controllerutil.OperationResultCreated, controllerutil.OperationResultNone,
	} {
		result, err := controllerutil.CreateOrUpdate(ctx, c.live, secret, func() error {
			secret.Data = map[string][]byte{"sea": []byte("north")}
			return nil
		})
		if err != nil || result != expected {
			return fmt.Errorf("got %q, %w", result, err)
		}
	}
	before := secret.DeepCopy()
	secret.Data["depth"] = []byte{0, 255, 7}
	if err := c.live.Patch(ctx, secret, client.StrategicMergeFrom(before)); err != nil {
		return err
	}
	if string(secret.Data["depth"]) != "\x00\xff\x07" || string(secret.Data["sea"]) != "north" {
		return fmt.Errorf("the secret became %v", secret.Data)
	}
	if err := c.live.Delete(ctx, secret); err != nil {
		return err
	}
	if err := c.live.Get(ctx, client.ObjectKeyFromObject(secret), secret); !apierrors.IsNotFound(err) {
		return fmt.Errorf("expected the secret to be gone, got %w", err)
	}
	return nil
}

func (c *checks) accessReview(ctx context.Context) error {
	review := &authorizationv1.SelfSubjectAccessReview{}
	review.Spec.ResourceAttributes = &authorizationv1.ResourceAttributes{Verb: "create", Resource: "secrets", Namespace: namespace}
	if err := c.live.Create(ctx, review); err != nil {
		return err
	}
	if !review.Status.Allowed {
		return errors.New("the administrator may not create secrets")
	}
	return nil
}

func (c *checks) conflict(ctx context.Context) error {
	object := &corev1.ConfigMap{Data: map[string]string{"a": "1"}}
	object.Name, object.Namespace = "log", namespace
	if err := c.live.Create(ctx, object); err != nil {
		return err
	}
	old := object.DeepCopy()
	object.Data["a"] = "2"
	if err := c.live.Update(ctx, object); err != nil {
		return err
	}
	old.Data["a"] = "3"
	if err := c.live.Update(ctx, old); !apierrors.IsConflict(err) {
		return fmt.Errorf("expected a conflict, got %v", err)
	}
	lock := client.MergeFromWithOptimisticLock{}
	changed := old.DeepCopy()
	changed.Data["a"] = "4"
	if err := c.live.Patch(ctx, changed, client.MergeFromWithOptions(old, lock)); !apierrors.IsConflict(err) {
		return fmt.Errorf("expected a conflict of the patch, got %v", err)
	}
	stranger := applycorev1.ConfigMap(object.Name, namespace).WithData(map[string]string{"a": "5"})
	if err := c.live.Apply(ctx, stranger, client.FieldOwner("stranger")); !apierrors.IsConflict(err) {
		return fmt.Errorf("expected a conflict of the apply, got %v", err)
	}
	return nil
}

func (c *checks) createFleets(ctx context.Context) error {
	for number := range fleets {
		fleet := &Fleet{Spec: FleetSpec{Ships: number + 1}}
		fleet.Name, fleet.Namespace = fleetName(number), namespace
		if err := c.live.Create(ctx, fleet); err != nil {
			return err
		}
		if fleet.Spec.Colour != "blue" {
			return fmt.Errorf("the colour was not defaulted: %q", fleet.Spec.Colour)
		}
	}
	return c.settled(ctx)
}

// patience is for a controller that writes the same fleet all the time: it rests in the end.
var patience = wait.Backoff{Steps: 12, Duration: 10 * time.Millisecond, Factor: 2, Jitter: 0.1}

// churn scales, paints and robs fleets at random until the time is over.
func (c *checks) churn(ctx context.Context, duration time.Duration) error {
	random := rand.New(rand.NewPCG(4, 2))
	for end := time.Now().Add(duration); time.Now().Before(end); {
		fleet := &Fleet{}
		key := client.ObjectKey{Namespace: namespace, Name: fleetName(random.IntN(fleets))}
		change := func() error {
			if err := c.live.Get(ctx, key, fleet); err != nil {
				return err
			}
			fleet.Spec.Ships, fleet.Spec.Colour = random.IntN(8), fmt.Sprintf("c%d", random.IntN(3))
			return c.live.Update(ctx, fleet)
		}
		if err := retry.RetryOnConflict(patience, change); err != nil {
			return fmt.Errorf("cannot change %s: %w", key, err)
		}
		victim := &corev1.ConfigMap{}
		victim.Name, victim.Namespace = shipName(fleet, random.IntN(8)), namespace
		if err := c.live.Delete(ctx, victim); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("cannot delete %s: %w", victim.Name, err)
		}
	}
	return c.settled(ctx)
}

// settled waits until every fleet reports what it wants and has exactly those ships, and the controller knows it: one
// that works on what was before would write again.
func (c *checks) settled(ctx context.Context) error {
	return until(ctx, "every fleet is as it should be", func() (bool, error) {
		before, err := versions(ctx, c.live)
		if err != nil {
			return false, err
		}
		known, err := versions(ctx, c.cached)
		if err != nil || known != before || c.reconciler.working.Load() > 0 {
			return false, err
		}
		if right, err := c.asWanted(ctx); err != nil || !right {
			return false, err
		}
		after, err := versions(ctx, c.live)
		return after == before, err
	})
}

func (c *checks) asWanted(ctx context.Context) (bool, error) {
	list := &FleetList{}
	if err := c.live.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return false, err
	}
	for i := range list.Items {
		fleet := &list.Items[i]
		ships := &corev1.ConfigMapList{}
		selection := client.MatchingLabels{fleetLabel: fleet.Name}
		if err := c.live.List(ctx, ships, client.InNamespace(namespace), selection); err != nil {
			return false, err
		}
		ready := meta.IsStatusConditionTrue(fleet.Status.Conditions, "Ready")
		current := fleet.Status.ObservedGeneration == fleet.Generation && fleet.Status.Ships == fleet.Spec.Ships
		if !ready || !current || len(ships.Items) != fleet.Spec.Ships || !painted(ships, fleet) {
			return false, nil
		}
	}
	return len(list.Items) == fleets, nil
}

func painted(ships *corev1.ConfigMapList, fleet *Fleet) bool {
	for _, ship := range ships.Items {
		if ship.Data["colour"] != fleet.Spec.Colour {
			return false
		}
	}
	return true
}

// steady reconciles everything once more and sees that no version moved.
func (c *checks) steady(ctx context.Context) error {
	before, err := versions(ctx, c.live)
	if err != nil {
		return err
	}
	for number := range fleets {
		request := ctrl.Request{NamespacedName: client.ObjectKey{Namespace: namespace, Name: fleetName(number)}}
		if _, err := c.reconciler.Reconcile(ctx, request); err != nil {
			return err
		}
	}
	after, err := versions(ctx, c.live)
	if err != nil {
		return err
	}
	if before != after {
		return fmt.Errorf("versions moved from %s to %s", before, after)
	}
	return nil
}

// versions names every ship and fleet that a client sees, with its version.
func versions(ctx context.Context, from client.Client) (string, error) {
	lines := []string{}
	ships, list := &corev1.ConfigMapList{}, &FleetList{}
	for _, objects := range []client.ObjectList{ships, list} {
		if err := from.List(ctx, objects, client.InNamespace(namespace)); err != nil {
			return "", err
		}
	}
	for _, ship := range ships.Items {
		lines = append(lines, ship.Name+"@"+ship.ResourceVersion)
	}
	for _, fleet := range list.Items {
		lines = append(lines, fleet.Name+"@"+fleet.ResourceVersion)
	}
	// A cache lists in no order.
	slices.Sort(lines)
	return strings.Join(lines, " "), nil
}

func (c *checks) events(ctx context.Context) error {
	return until(ctx, "there is an event about every fleet", func() (bool, error) {
		list := &eventsv1.EventList{}
		if err := c.live.List(ctx, list, client.InNamespace(namespace)); err != nil {
			return false, err
		}
		counted := map[string]bool{}
		for _, event := range list.Items {
			if event.Reason == "Counted" && event.Regarding.Kind == "Fleet" {
				counted[event.Regarding.Name] = true
			}
		}
		return len(counted) == fleets, nil
	})
}

func (c *checks) deleteFleets(ctx context.Context) error {
	one := &Fleet{}
	one.Name, one.Namespace = fleetName(0), namespace
	if err := c.live.Delete(ctx, one, client.PropagationPolicy("Foreground")); err != nil {
		return err
	}
	if err := c.live.DeleteAllOf(ctx, &Fleet{}, client.InNamespace(namespace)); err != nil {
		return err
	}
	err := until(ctx, "all fleets and ships are gone", func() (bool, error) {
		ships, list := &corev1.ConfigMapList{}, &FleetList{}
		if err := c.live.List(ctx, list, client.InNamespace(namespace)); err != nil {
			return false, err
		}
		if err := c.live.List(ctx, ships, client.InNamespace(namespace), client.HasLabels{fleetLabel}); err != nil {
			return false, err
		}
		return len(list.Items)+len(ships.Items) == 0, nil
	})
	if err != nil {
		return err
	}
	if scuttled := c.reconciler.scuttled.Load(); scuttled < fleets {
		return fmt.Errorf("only %d of %d fleets were finalized", scuttled, fleets)
	}
	return nil
}

func fleetName(number int) string {
	return fmt.Sprintf("fleet-%d", number)
}

// until asks until the answer is yes; an error or the end of the context ends it.
func until(ctx context.Context, what string, holds func() (bool, error)) error {
	limit, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		done, err := holds()
		if err != nil || done {
			return err
		}
		select {
		case <-limit.Done():
			return fmt.Errorf("waited in vain: %s", what)
		case <-time.After(50 * time.Millisecond):
		}
	}
}
