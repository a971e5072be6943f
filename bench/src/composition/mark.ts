// SPDX-License-Identifier: Apache-2.0
import type { Target } from "../measure/figure.ts";

/**
 * What Crossplane's main branch needed on two cores of the same kind, with patch-and-transform and auto-ready on
 * kube-apiserver 1.36.3 and etcd 3.7.3: the mark to beat. Processor time of etcd is not part of it.
 */
export const mark = {
  createsPerSecond: 1290,
  thousandSeconds: 53,
  /** API server 71, control plane 20, functions 6. */
  thousandCpuSeconds: 97,
  hundredSeconds: 5.4,
  aloneMs: 125,
} as const;

/** What a figure of the mark would be on a machine whose kube-apiserver creates this many ConfigMaps a second. */
export function scaled(value: number, createsPerSecond: number): number {
  return (value * mark.createsPerSecond) / createsPerSecond;
}

export const atMost = (value: number): Target => ({ relation: "at most", value });
