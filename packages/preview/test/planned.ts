// SPDX-License-Identifier: Apache-2.0
import type { Plan, PlannedChange, PlannedComposite } from "../src/plan/plan.ts";

/** An update of `ConfigMap default/one`. */
export function plannedChange(more: Partial<PlannedChange> = {}): PlannedChange {
  return {
    class: "update",
    apiVersion: "v1",
    kind: "ConfigMap",
    namespace: "default",
    name: "one",
    isNameGenerated: false,
    round: 1,
    approximate: [],
    isDestructive: false,
    fields: [{ path: "data.text", op: "replace", old: "a", new: "b" }],
    digest: "d",
    old: { data: { text: "a" } },
    new: { data: { text: "b" } },
    ...more,
  };
}

/** `App default/web` with changes. */
export function plannedComposite(
  changes: readonly PlannedChange[],
  more: Partial<PlannedComposite> = {},
): PlannedComposite {
  return {
    apiVersion: "example.org/v1",
    kind: "App",
    namespace: "default",
    name: "web",
    isNameGenerated: false,
    adoption: "unaffected",
    rounds: 1,
    changes,
    pending: [],
    isDeferred: false,
    errors: [],
    ...more,
  };
}

/** The counts of an empty plan. */
export const noChanges: Plan["summary"] = {
  added: 0,
  modified: 0,
  removed: 0,
  replaced: 0,
  recreated: 0,
  refused: 0,
  pending: 0,
  destructive: 0,
};

/** A plan of composite resources. */
export function planOf(composites: readonly PlannedComposite[], more: Partial<Plan> = {}): Plan {
  return {
    inputs: [],
    composites,
    examined: composites.length,
    findings: [],
    errors: [],
    summary: noChanges,
    hash: "h",
    isStale: false,
    hasBaseline: true,
    warnings: [],
    functions: [],
    ...more,
  };
}
