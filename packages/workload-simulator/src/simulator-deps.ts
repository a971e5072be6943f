// SPDX-License-Identifier: Apache-2.0
import type { Clock, Log } from "@purlin/base";
import type { InformerPool } from "@purlin/kube-client";
import {
  type ControllerClient,
  defineController,
  type EventRecorder,
  type ReconcileContext,
  type ReconcileResult,
  type WatchingController,
  type WatchSpec,
} from "@purlin/kube-controller";
import { type JsonObject, jsonEqual } from "@purlin/kube-objects/json";
import { type KubeObject, memberAt, type TypeRef } from "@purlin/kube-objects/object";

/** What all simulated controllers work with. */
export interface SimulatorDeps {
  readonly client: ControllerClient;
  readonly informers: InformerPool;
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly log: Log;
}

/** Set on every object that the simulator creates, and on its events. */
const simulatedAnnotation = "purlin.dev/simulated";
export const simulatedMark: Readonly<Record<string, string>> = { [simulatedAnnotation]: "true" };

/** The field manager of the controllers whose work is simulated. */
export const fieldManager = "kube-controller-manager";

const timeoutMs = 60_000;
// Writes of users and of other controllers meet often: a conflict is retried at once.
const backoff = { baseMs: 5, maxMs: 30_000 };

interface SimulatedController {
  /** The name of the real controller: the source of its events. */
  readonly name: string;
  readonly type: TypeRef;
  readonly watches: readonly WatchSpec[];
  readonly reconcile: (context: ReconcileContext) => Promise<ReconcileResult>;
  readonly onGone?: (key: ReconcileContext["key"]) => void;
}

/** Makes one controller of the simulator. */
export function simulatedController(deps: SimulatorDeps, controller: SimulatedController): WatchingController {
  const { client, events, clock, log } = deps;
  const { onGone, ...definition } = controller;
  return defineController({
    ...definition,
    ...{ client, events, clock, log, timeoutMs, backoff },
    eventAnnotations: () => simulatedMark,
    onGone: async ({ key }) => {
      onGone?.(key);
      return {};
    },
  });
}

/** Stores a status, and annotations that go with it; sends nothing when both are stored already. */
export async function storeStatus(
  { client }: Pick<SimulatorDeps, "client">,
  before: KubeObject,
  status: JsonObject,
): Promise<KubeObject> {
  if (jsonEqual(memberAt(before, ["status"]) ?? {}, status)) return before;
  return client.update({ ...before, status }, { subresource: "status", fieldManager });
}
