// SPDX-License-Identifier: Apache-2.0
import { join } from "node:path";
import type { JsonObject } from "@purlin/function-protocol";
import { purlinFunction } from "../../../tools/peers/function-commands.ts";
import { startFunction } from "../../../tools/peers/function-process.ts";
import { type Figure, figure } from "../measure/figure.ts";
import { createReconciler } from "./reconciles.ts";
import { createWorkload } from "./workload.ts";

const steps = 5;

/**
 * How often an observed object is encoded while it does not change. Counted from outside: a member of each object is an
 * accessor, which every encoder of the object calls.
 */
export async function encodeOnceFigures(reconciles: number): Promise<Figure[]> {
  const file = join(import.meta.dirname, "..", "..", "functions", "purlin", "noop.ts");
  await using running = await startFunction(purlinFunction(file, { insecure: true }));
  using reconciler = createReconciler(running.port);
  const workload = createWorkload(0);
  const asked = new Map<string, number>();
  const composite = countEncodings(workload.composite, () => count(asked, "the composite"));
  const composed = new Map(
    Object.entries(workload.observed).map(([name, object]) => [name, countEncodings(object, () => count(asked, name))]),
  );
  for (let reconcile = 0; reconcile < reconciles; reconcile++)
    await reconciler.reconcile({ composite, composed }, steps);
  if (asked.size !== composed.size + 1) throw new Error(`only ${asked.size} objects were encoded at all`);
  const most = Math.max(...asked.values());
  return [
    figure("encode once: steps that got the same 21 observed objects", "steps", [reconciles * steps]),
    figure("encode once: encodings of the object encoded most", "times", [most], { relation: "at most", value: 1 }),
  ];
}

function countEncodings(object: JsonObject, onAsked: () => void): JsonObject {
  const { kind, ...rest } = object;
  const get = (): unknown => {
    onAsked();
    return kind;
  };
  return Object.freeze(Object.defineProperty(rest, "kind", { enumerable: true, get }) as JsonObject);
}

function count(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}
