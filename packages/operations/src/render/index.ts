// SPDX-License-Identifier: Apache-2.0
// Rendering alone, for a command that must start fast.
import { finish, silentLog, systemClock } from "@purlin/base";
import { createMemoryClient } from "@purlin/composition/render";
import type { RequirementFetchers, RunStep } from "@purlin/function-runner";
import { type EventText, noEvents, withConditionTexts } from "@purlin/kube-controller";
import { notFound } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { type ConditionText, type KubeObject, objectAt, textMapAt, withMember } from "@purlin/kube-objects/object";
import { conditions, kinds } from "../names.ts";
import { limitReached, withProgress } from "../operation/operation-status.ts";
import { Attempt, runOperation } from "../operation/run-operation.ts";
import { withWatched } from "../watch/watched-object.ts";

/** The time of every condition in the output of a render, so that equal inputs have equal outputs. */
const renderTime = Date.parse("2024-01-01T00:00:00Z");

/** The options of a render. */
interface RenderOptions {
  readonly runStep: RunStep;
  readonly fetchers: RequirementFetchers;
  /** Secrets that steps use as credentials. */
  readonly secrets: readonly KubeObject[];
  /** The initial context of the pipeline. */
  readonly context: JsonObject;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** The result of a render. */
export interface RenderedOperation {
  /** The Operation after it ran; `short` without its spec. */
  readonly operation: { readonly short: KubeObject; readonly full: KubeObject };
  /** The objects as they would be applied. */
  readonly resources: readonly KubeObject[];
  readonly results: readonly EventText[];
  readonly context: JsonObject;
}

/** The Operation that an object stands for: itself, or the template of a CronOperation or WatchOperation under its name. */
export function operationOf(object: KubeObject, watched?: KubeObject): KubeObject {
  const { kind, apiVersion, metadata } = object;
  if (kind === kinds.operation.kind && apiVersion === kinds.operation.apiVersion) {
    return watched === undefined
      ? object
      : withMember(object, ["spec"], withWatched(objectAt(object, ["spec"]), watched));
  }
  const isTemplate = kind === kinds.cron.kind || kind === kinds.watch.kind;
  if (!isTemplate || apiVersion !== kinds.cron.apiVersion) {
    throw new Error(`not an operation type: ${kind}/${apiVersion}`);
  }
  const template = objectAt(object, ["spec", "operationTemplate"]);
  const own = objectAt(template, ["spec"]);
  const spec = watched === undefined ? own : withWatched(own, watched);
  const labels = textMapAt(template, ["metadata", "labels"]);
  return { ...kinds.operation, metadata: { name: metadata.name ?? "", ...(labels && { labels }) }, spec };
}

/** Runs an Operation once, over objects in memory. Rejects when the pipeline fails. */
export async function renderOperation(operation: KubeObject, options: RenderOptions): Promise<RenderedOperation> {
  const limit = limitReached(operation);
  if (limit !== undefined)
    return { ...shown(operation, [conditions.synced, limit]), resources: [], results: [], context: {} };
  const { runStep, fetchers, secrets, context, timeoutMs, signal } = options;
  const client = createMemoryClient(secrets);
  // Every desired object is in the output, also one that has the name of a Secret with credentials.
  const absent: typeof client.live.get = async ({ kind }, { name }) => {
    throw notFound({ group: "", resource: kind.toLowerCase() }, name);
  };
  const empty = { ...client, live: { ...client.live, get: absent } };
  const attempt = new Attempt();
  const results: EventText[] = [];
  let last: JsonObject = {};
  await runOperation(
    operation,
    { client: empty, runStep, fetchers, events: noEvents, clock: systemClock, log: silentLog },
    {
      ...{ attempt, signal, timeoutMs, context },
      deadline: systemClock.now() + timeoutMs,
      emit: (event) => results.push(event),
      onContext: (final) => {
        last = final?.value ?? {};
      },
    },
  );
  const valid: ConditionText = { type: "ValidPipeline", status: "True", reason: "ValidPipeline" };
  const ends: readonly ConditionText[] = [conditions.succeeded, valid, conditions.synced];
  const resources = client.applied.map(({ object }) => object);
  return { ...shown(finish(withProgress(operation, attempt)), ends), resources, results, context: last };
}

function shown(operation: KubeObject, ends: readonly ConditionText[]): Pick<RenderedOperation, "operation"> {
  const full = withConditionTexts(operation, ends, { now: () => renderTime });
  const { spec: _spec, ...short } = full;
  return { operation: { short: short as KubeObject, full } };
}
