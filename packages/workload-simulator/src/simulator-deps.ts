// SPDX-License-Identifier: Apache-2.0
import type { Clock, Log } from "@purlin/base";
import type { InformerPool } from "@purlin/kube-client";
import { type ControllerClient, type EventRecorder, writeStatus } from "@purlin/kube-controller";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";

/** What all simulated controllers work with. */
export interface SimulatorDeps {
  readonly client: ControllerClient;
  readonly informers: InformerPool;
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly log: Log;
}

/** Set on every object that the simulator creates, and on its events. */
export const simulatedAnnotation = "purlin.dev/simulated";
export const simulatedMark: Readonly<Record<string, string>> = { [simulatedAnnotation]: "true" };

/** The field manager of the controllers whose work is simulated. */
export const fieldManager = "kube-controller-manager";

/** Stores a status; sends nothing when it is stored already. */
export async function storeStatus(
  { client }: Pick<SimulatorDeps, "client">,
  before: KubeObject,
  status: JsonObject,
): Promise<KubeObject> {
  return writeStatus(client, { before, after: { ...before, status }, fieldManager });
}
