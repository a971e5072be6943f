// SPDX-License-Identifier: Apache-2.0
// A process of its own that reconciles many applications: `node runner-load.ts PORT CALLS SAMPLES`. Prints its resident
// memory in MiB after each sample, as JSON.
import type { JsonObject } from "@purlin/function-protocol";
import { residentMemory } from "../measure/process-usage.ts";
import { createReconciler, type Snapshot } from "./reconciles.ts";
import { rotate } from "./rotate.ts";
import { createWorkload } from "./workload.ts";

const [port = 0, calls = 0, samples = 0] = process.argv.slice(2).map(Number);
const inFlight = 8;
const steps = 5;

/** A cache in which one object of an application changes with every reconcile. */
function createApplication(variant: number): () => Snapshot {
  const { composite, observed } = createWorkload(variant);
  const composed = new Map(Object.entries(observed).map(([name, object]) => [name, Object.freeze(object)]));
  const next = rotate([...composed.keys()]);
  let version = 0;
  return () => {
    const name = next();
    const object = composed.get(name) as JsonObject;
    const metadata = { ...(object["metadata"] as JsonObject), resourceVersion: String(++version) };
    composed.set(name, Object.freeze({ ...object, metadata }));
    return { composite: Object.freeze(composite), composed };
  };
}

using reconciler = createReconciler(port);
const next = rotate(Array.from({ length: 64 }, (_, variant) => createApplication(variant)));
const series: number[] = [];
for (let sample = 0; sample < samples; sample++) {
  let left = calls / samples / steps;
  const worker = async (): Promise<void> => {
    while (left-- > 0) await reconciler.reconcile(next()(), steps);
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
  series.push(residentMemory(process.pid));
}
console.log(JSON.stringify(series));
