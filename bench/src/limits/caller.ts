// SPDX-License-Identifier: Apache-2.0
// A process of its own that calls a function as a control plane does: `node caller.ts PORT`. For each message with a time in milliseconds
// it answers how many calls it made a second, and the processor seconds of each.
import { createReconciler } from "../functions/reconciles.ts";
import { rotate } from "../functions/rotate.ts";
import { createWorkload } from "../functions/workload.ts";

const inFlight = 8;
const steps = 5;
const reconciler = createReconciler(Number(process.argv[2]));
const next = rotate(
  Array.from({ length: 16 }, (_, variant) => {
    const { composite, observed } = createWorkload(variant);
    return { composite, composed: new Map(Object.entries(observed)) };
  }),
);

async function callFor(forMs: number): Promise<readonly [rate: number, cost: number]> {
  const started = performance.now();
  const before = process.cpuUsage();
  let calls = 0;
  const worker = async (): Promise<void> => {
    while (performance.now() - started < forMs) {
      await reconciler.reconcile(next(), steps);
      calls += steps;
    }
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
  const { user, system } = process.cpuUsage(before);
  return [(calls * 1000) / (performance.now() - started), (user + system) / 1e6 / calls];
}

process.on("message", (forMs: number) => {
  void callFor(forMs).then((answer) => process.send?.(answer));
});
process.once("disconnect", () => reconciler[Symbol.dispose]());
