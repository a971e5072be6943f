// SPDX-License-Identifier: Apache-2.0
// A process of its own that calls a function as a control plane does: `node caller.ts PORT`. For each message with a time in milliseconds
// it answers how many calls it made a second, and the processor seconds of each.
import { createReconciler } from "../functions/reconciles.ts";
import { callFor } from "./calls.ts";

const reconciler = createReconciler(Number(process.argv[2]));

async function measure(forMs: number): Promise<readonly [rate: number, cost: number]> {
  const before = process.cpuUsage();
  const { calls, rate } = await callFor(reconciler.reconcile, forMs);
  const { user, system } = process.cpuUsage(before);
  return [rate, (user + system) / 1e6 / calls];
}

process.on("message", (forMs: number) => {
  void measure(forMs).then((answer) => process.send?.(answer));
});
process.once("disconnect", () => reconciler[Symbol.dispose]());
