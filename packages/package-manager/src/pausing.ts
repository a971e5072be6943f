// SPDX-License-Identifier: Apache-2.0
import { type KubeObject, pausedCondition, withMember } from "@purlin/kube-objects/object";
import type { PackagePorts } from "./manager/package-manager-ports.ts";
import { withTexts, writeStatus } from "./package-status.ts";

type PausePorts = Pick<PackagePorts, "client" | "clock" | "events">;

/** Says that somebody paused the object. */
export async function tellPaused(ports: PausePorts, object: KubeObject, signal: AbortSignal): Promise<void> {
  const message = "Reconciliation is paused via the pause annotation";
  ports.events.event(object, { type: "Normal", reason: "ReconciliationPaused", message });
  const after = withTexts(ports.clock, object, [pausedCondition]);
  await writeStatus(ports.client, { before: object, after, signal });
}

/** Forgets everything that was said before an object was paused; the write brings the next pass, which says it anew. */
export function forgetPause({ client }: PausePorts, object: KubeObject, signal: AbortSignal): Promise<void> {
  const after = withMember(object, ["status", "conditions"], undefined);
  return writeStatus(client, { before: object, after, signal });
}
