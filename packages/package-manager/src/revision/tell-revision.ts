// SPDX-License-Identifier: Apache-2.0

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
import { withTexts, writeStatus } from "../package-status.ts";
import type { RevisionPass } from "./revision-pass.ts";

/** Says that the revision is as it should be, and what it installed. */
export async function tellHealthy(pass: RevisionPass, references: readonly ObjectReference[]): Promise<void> {
  const { events, revision, found } = pass;
  found.set("objectRefs", references.length > 0 ? references : undefined);
  const isNew = conditionOf(conditionsOf(revision), "RevisionHealthy").status !== "True";
  await tell(pass, { type: "RevisionHealthy", status: "True", reason: "HealthyPackageRevision" });
  if (!isNew) return;
  const message = "Successfully configured package revision";
  events.event(revision, { type: "Normal", reason: "SyncPackage", message });
}

/** Says what is wrong, as a condition and as an event. */
export async function tellUnhealthy(
  pass: RevisionPass,
  { reason, message }: { readonly reason: string; readonly message: string },
): Promise<void> {
  warn(pass, reason, message);
  await tell(pass, { type: "RevisionHealthy", status: "False", reason: "UnhealthyPackageRevision", message });
}

/** Tells something in an event alone. */
export function warn({ events, revision }: RevisionPass, reason: string, message: string): void {
  events.event(revision, { type: "Warning", reason, message });
}

/** Writes what the pass found out, over the status as it is now: the runtime's controller writes there too. */
async function tell(
  { client, clock, type, revision, found, telling: signal }: RevisionPass,
  text: ConditionText,
): Promise<void> {
  const before = await client.get(type.revision, { name: revision.metadata.name ?? "" }, { signal });
  if (before === undefined) return;
  let after = before;
  for (const [field, value] of found) {
    const isShared = field === "appliedImageConfigRefs";
    after = withMember(after, ["status", field], isShared ? withRuntimeConfigRefs(before, value) : value);
  }
  await writeStatus(client, { before, after: withTexts(clock, after, [text]), signal });
}

/** Which ImageConfig configured the runtime is told by whoever runs it. */
function withRuntimeConfigRefs(before: KubeObject, found: JsonValue | undefined): JsonValue | undefined {
  const told = memberAt(before, ["status", "appliedImageConfigRefs"]);
  const kept = (Array.isArray(told) ? told : []).filter(
    (one) => isJsonObject(one) && one["reason"] === "ConfigureRuntime",
  );
  const all = [...(Array.isArray(found) ? found : []), ...kept];
  return all.length > 0 ? all : undefined;
}
