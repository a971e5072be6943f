// SPDX-License-Identifier: Apache-2.0
// Whole histories of objects: several managers applying and updating, with and without force, at two versions, through
// subresources, with schemas that change, managedFields that are edited, and more updaters than are kept. Every step's
// object or error was observed from the reference (k8s.io/apimachinery managedfields over structured-merge-diff).
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { findStatusError, type Status } from "../errors/status-error.ts";
import { isJsonObject, type JsonObject } from "../json/json-value.ts";
import { deepFreeze } from "../object/kube-object.ts";
import type { ApplyVersions } from "./apply-versions.ts";
import { createFieldManager, type FieldManager } from "./field-manager.ts";
import { fieldSetOfPaths } from "./field-set.ts";
import { changedVersions, deducedVersions, widgetVersions } from "./testdata/widget.ts";

interface Step {
  readonly kind: "apply" | "update" | "updateNoErrors" | "set";
  readonly object: JsonObject;
  readonly version: string;
  readonly manager?: string;
  readonly force?: boolean;
  readonly subresource?: string;
  readonly schema?: string;
  readonly reset?: Readonly<Record<string, ReadonlyArray<readonly string[]>>>;
  readonly result: Outcome;
}

interface Outcome {
  readonly object?: JsonObject;
  readonly error?: { readonly message?: string; readonly status?: Partial<Status> };
}

interface Sequence {
  readonly group: string;
  readonly steps: readonly Step[];
}

const file = new URL("./testdata/sequences.jsonl", import.meta.url);
const sequences = readFileSync(file, "utf8")
  .split("\n")
  .filter((line) => line !== "")
  .map((line) => JSON.parse(line) as Sequence);

function versionsFor(group: string, step: Step): ApplyVersions {
  if (group === "deduced") return deducedVersions;
  return step.schema === "A" ? changedVersions : widgetVersions;
}

function managerFor(group: string, step: Step, index: number): FieldManager {
  const reset = Object.entries(step.reset ?? {}).map(([version, paths]) => [version, fieldSetOfPaths(paths)] as const);
  return createFieldManager({
    apiVersion: `example.org/${step.version}`,
    kind: "Widget",
    versions: versionsFor(group, step),
    ...(step.subresource ? { subresource: step.subresource } : {}),
    resetFields: new Map(reset),
    now: () => new Date(Date.UTC(2020, 0, 1, 0, 0, index)),
  });
}

function take(group: string, step: Step, at: { live: JsonObject | undefined; index: number }): Outcome {
  const manager = managerFor(group, step, at.index);
  const { live } = at;
  const apiVersion = `example.org/${step.version}`;
  const current = live && live["apiVersion"] !== apiVersion ? widgetVersions.convert?.(live, apiVersion) : live;
  const name = step.manager ?? "";
  try {
    if (step.kind === "set") return { object: step.object };
    if (step.kind === "apply") {
      return { object: manager.apply(current, step.object, { manager: name, force: step.force ?? false }) };
    }
    const { object, problem } = manager.update(current, step.object, name);
    if (problem && step.kind === "update") throw problem;
    return { object };
  } catch (error) {
    return { error: errorOutcome(error) };
  }
}

function errorOutcome(error: unknown): NonNullable<Outcome["error"]> {
  const known = findStatusError(error);
  if (known && known.code !== 500) {
    const { kind: _kind, apiVersion: _apiVersion, ...status } = known.status;
    return { status };
  }
  return { message: error instanceof Error ? error.message : String(error) };
}

// The store gives every object a uid when it is created.
function stored(object: JsonObject): JsonObject {
  const metadata = isJsonObject(object["metadata"]) ? object["metadata"] : {};
  return deepFreeze(metadata["uid"] ? object : { ...object, metadata: { ...metadata, uid: "u" } });
}

// The reference lists the managers of a conflict in random order; the message groups them the same way each time.
function comparable(outcome: Outcome): unknown {
  const copy = JSON.parse(JSON.stringify(outcome)) as Outcome;
  const causes = copy.error?.status?.details?.causes as unknown as object[] | undefined;
  causes?.sort((a, b) =>
    JSON.stringify(Object.entries(a).sort()) < JSON.stringify(Object.entries(b).sort()) ? -1 : 1,
  );
  return copy;
}

for (const [number, { group, steps }] of sequences.entries()) {
  test(`history ${number} (${group}) goes as in the reference`, () => {
    let live: JsonObject | undefined;
    for (const [index, step] of steps.entries()) {
      deepFreeze(step);
      const made = take(group, step, { live, index });
      const outcome = made.object ? { object: stored(made.object) } : made;
      assert.deepEqual(comparable(outcome), comparable(step.result), `step ${index}: ${step.kind} by ${step.manager}`);
      if (outcome.object) live = outcome.object;
    }
  });
}
