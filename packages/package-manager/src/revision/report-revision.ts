// SPDX-License-Identifier: Apache-2.0

import { withConditionTexts, writeStatus } from "@purlin/kube-controller";
import { isJsonObject, type JsonValue } from "@purlin/kube-objects/json";
import {
  type ConditionText,
  conditionOf,
  conditionsOf,
  type KubeObject,
  memberAt,
  withMember,
} from "@purlin/kube-objects/object";
import type { ObjectReference } from "../establish/establish.ts";
import type { RevisionContext } from "./revision-context.ts";

/** Sets the condition RevisionHealthy and the references of the installed objects. */
export async function reportHealthy(context: RevisionContext, references: readonly ObjectReference[]): Promise<void> {
  const { revision, found } = context;
  found.set("objectRefs", references.length > 0 ? [...references] : undefined);
  const isNew = conditionOf(conditionsOf(revision), "RevisionHealthy").status !== "True";
  await writeFound(context, { type: "RevisionHealthy", status: "True", reason: "HealthyPackageRevision" });
  if (isNew) context.emit({ reason: "SyncPackage", message: "Successfully configured package revision" });
}

/** Clears the condition RevisionHealthy. */
export async function reportUnhealthy(context: RevisionContext, message: string): Promise<void> {
  await writeFound(context, { type: "RevisionHealthy", status: "False", reason: "UnhealthyPackageRevision", message });
}

/** Merges the fields that the reconcile found into the status as it is stored now: the controller of the runtime writes it too. */
async function writeFound(
  { client, clock, type, revision, found, statusSignal: signal }: RevisionContext,
  text: ConditionText,
): Promise<void> {
  const before = await client.get(type.revision, { name: revision.metadata.name ?? "" }, { signal });
  if (before === undefined) return;
  let after = before;
  for (const [field, value] of found) {
    const isShared = field === "appliedImageConfigRefs";
    after = withMember(after, ["status", field], isShared ? withRuntimeConfigRefs(before, value) : value);
  }
  await writeStatus(client, { before, after: withConditionTexts(after, [text], clock), signal });
}

/** The controller of the runtime reports the ImageConfig that configured it. */
function withRuntimeConfigRefs(before: KubeObject, found: JsonValue | undefined): JsonValue | undefined {
  const stored = memberAt(before, ["status", "appliedImageConfigRefs"]);
  const kept = (Array.isArray(stored) ? stored : []).filter(
    (one) => isJsonObject(one) && one["reason"] === "ConfigureRuntime",
  );
  const all = [...(Array.isArray(found) ? found : []), ...kept];
  return all.length > 0 ? all : undefined;
}
