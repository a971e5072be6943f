// SPDX-License-Identifier: Apache-2.0
package main

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	applymetav1 "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

const (
	finalizer  = "harbour.example.org/scuttle"
	fleetLabel = "harbour.example.org/fleet"
	ownerIndex = "fleet"
)

// A fleetReconciler keeps as many ConfigMaps as a Fleet wants, and says so in its status.
type fleetReconciler struct {
	client.Client
	recorder events.EventRecorder
	// version is that of a Provider; empty otherwise.
	version  string
	scuttled atomic.Int64
	// working counts the passes under way.
	working atomic.Int64
}

func (r *fleetReconciler) setup(ctx context.Context, mgr ctrl.Manager) error {
	index := func(object client.Object) []string { return []string{object.GetLabels()[fleetLabel]} }
	if err := mgr.GetFieldIndexer().IndexField(ctx, &corev1.ConfigMap{}, ownerIndex, index); err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).For(&Fleet{}).Owns(&corev1.ConfigMap{}).Complete(r)
}

func (r *fleetReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	r.working.Add(1)
	defer r.working.Add(-1)
	fleet := &Fleet{}
	if err := r.Get(ctx, request.NamespacedName, fleet); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !fleet.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, r.finalize(ctx, fleet)
	}
	if controllerutil.AddFinalizer(fleet, finalizer) {
		return ctrl.Result{}, r.Update(ctx, fleet)
	}
	if err := r.launch(ctx, fleet); err != nil {
		return ctrl.Result{}, err
	}
	ships, err := r.sinkExtra(ctx, fleet)
	if err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, r.report(ctx, fleet, ships)
}

func (r *fleetReconciler) finalize(ctx context.Context, fleet *Fleet) error {
	if !controllerutil.RemoveFinalizer(fleet, finalizer) {
		return nil
	}
	r.scuttled.Add(1)
	return client.IgnoreNotFound(r.Update(ctx, fleet))
}

// launch applies every ship; a ship that is as it should be is not changed by that.
func (r *fleetReconciler) launch(ctx context.Context, fleet *Fleet) error {
	owner := applymetav1.OwnerReference().
		WithAPIVersion(fleetVersion.String()).WithKind("Fleet").
		WithName(fleet.Name).WithUID(fleet.UID).WithController(true).WithBlockOwnerDeletion(true)
	for number := range fleet.Spec.Ships {
		ship := applycorev1.ConfigMap(shipName(fleet, number), fleet.Namespace).
			WithLabels(map[string]string{fleetLabel: fleet.Name}).
			WithOwnerReferences(owner).
			WithData(map[string]string{"colour": fleet.Spec.Colour, "number": strconv.Itoa(number)})
		if err := r.Apply(ctx, ship, client.FieldOwner("fleet"), client.ForceOwnership); err != nil {
			return fmt.Errorf("cannot apply ship %d of %s: %w", number, fleet.Name, err)
		}
	}
	return nil
}

// sinkExtra deletes ships beyond those wanted and counts the ones the cache has.
func (r *fleetReconciler) sinkExtra(ctx context.Context, fleet *Fleet) (int, error) {
	ships := &corev1.ConfigMapList{}
	if err := r.List(ctx, ships, client.InNamespace(fleet.Namespace), client.MatchingFields{ownerIndex: fleet.Name}); err != nil {
		return 0, err
	}
	count := 0
	for i := range ships.Items {
		ship := &ships.Items[i]
		number, _ := strconv.Atoi(ship.Data["number"])
		if number < fleet.Spec.Ships {
			count++
			continue
		}
		precondition := client.Preconditions{UID: &ship.UID}
		if err := r.Delete(ctx, ship, precondition); client.IgnoreNotFound(err) != nil {
			return 0, err
		}
	}
	return count, nil
}

func (r *fleetReconciler) report(ctx context.Context, fleet *Fleet, ships int) error {
	ready := metav1.ConditionFalse
	if ships == fleet.Spec.Ships {
		ready = metav1.ConditionTrue
	}
	condition := metav1.Condition{Type: "Ready", Status: ready, Reason: "Counted", ObservedGeneration: fleet.Generation}
	changed := meta.SetStatusCondition(&fleet.Status.Conditions, condition)
	same := fleet.Status.Ships == ships && fleet.Status.ObservedGeneration == fleet.Generation
	if !changed && same && fleet.Status.Version == r.version {
		return nil
	}
	fleet.Status.Ships, fleet.Status.ObservedGeneration, fleet.Status.Version = ships, fleet.Generation, r.version
	if err := r.Status().Update(ctx, fleet); err != nil {
		return err
	}
	r.recorder.Eventf(fleet, nil, corev1.EventTypeNormal, "Counted", "Count", "%d ships", ships)
	return nil
}

func shipName(fleet *Fleet, number int) string {
	return fmt.Sprintf("%s-%d", fleet.Name, number)
}
