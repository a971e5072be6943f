// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

type election struct {
	FirstLed          bool   `json:"firstLed"`
	SecondWaited      bool   `json:"secondWaited"`
	SecondTookOver    bool   `json:"secondTookOver"`
	NotBeforeExpiry   bool   `json:"notBeforeExpiry"`
	HolderAfterwards  string `json:"holderAfterwards"`
	TransitionsAtLast int32  `json:"transitionsAtLast"`
}

const leaseDuration = 12 * time.Second

type candidate struct {
	elector *leaderelection.LeaderElector
	led     chan struct{}
	cancel  context.CancelFunc
}

// runElection has two candidates race for a lease. The winner stops without giving it back, so the other has to wait.
func runElection(ctx context.Context, config *rest.Config, namespace string) (any, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	candidates := []*candidate{}
	for _, name := range []string{"one", "two"} {
		made, err := newCandidate(client, namespace, name)
		if err != nil {
			return nil, err
		}
		candidates = append(candidates, made)
	}
	for _, one := range candidates {
		child, cancel := context.WithCancel(ctx)
		one.cancel = cancel
		go one.elector.Run(child)
	}
	winner, loser, err := race(candidates[0], candidates[1])
	if err != nil {
		return nil, err
	}
	time.Sleep(leaseDuration + time.Second)
	found := election{FirstLed: winner.elector.IsLeader(), SecondWaited: !loser.elector.IsLeader()}
	winner.cancel()
	stopped := time.Now()
	select {
	case <-loser.led:
		found.SecondTookOver = true
	case <-time.After(5 * leaseDuration):
	}
	found.NotBeforeExpiry = time.Since(stopped) > leaseDuration/2
	lease, err := client.CoordinationV1().Leases(namespace).Get(ctx, "election", metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	if lease.Spec.HolderIdentity != nil && lease.Spec.LeaseTransitions != nil {
		found.HolderAfterwards, found.TransitionsAtLast = "the second", *lease.Spec.LeaseTransitions
	}
	loser.cancel()
	return found, nil
}

func newCandidate(client kubernetes.Interface, namespace, name string) (*candidate, error) {
	made := &candidate{led: make(chan struct{})}
	var once sync.Once
	lock := &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: namespace, Name: "election"},
		Client:     client.CoordinationV1(),
		LockConfig: resourcelock.ResourceLockConfig{Identity: name},
	}
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: lock, LeaseDuration: leaseDuration, RenewDeadline: 9 * time.Second, RetryPeriod: 500 * time.Millisecond,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { once.Do(func() { close(made.led) }) },
			OnStoppedLeading: func() {},
		},
	})
	made.elector = elector
	return made, err
}

func race(one, two *candidate) (winner, loser *candidate, err error) {
	select {
	case <-one.led:
		return one, two, nil
	case <-two.led:
		return two, one, nil
	case <-time.After(2 * leaseDuration):
		return nil, nil, fmt.Errorf("no leader was elected within %s", 2*leaseDuration)
	}
}
