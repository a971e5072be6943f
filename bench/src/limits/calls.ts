// SPDX-License-Identifier: Apache-2.0
import type { Reconciler } from "../functions/reconciles.ts";
import { rotate } from "../functions/rotate.ts";
import { createWorkload } from "../functions/workload.ts";

const inFlight = 8;
const steps = 5;
const next = rotate(
  Array.from({ length: 16 }, (_, variant) => {
    const { composite, observed } = createWorkload(variant);
    return { composite, composed: new Map(Object.entries(observed)) };
  }),
);

/** Reconciles for a time as a control plane does, and gives the calls of functions that it made and those of a second. */
export async function callFor(
  reconcile: Reconciler["reconcile"],
  forMs: number,
): Promise<{ readonly calls: number; readonly rate: number }> {
  const started = performance.now();
  let calls = 0;
  const worker = async (): Promise<void> => {
    while (performance.now() - started < forMs) {
      await reconcile(next(), steps);
      calls += steps;
    }
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
  return { calls, rate: (calls * 1000) / (performance.now() - started) };
}
