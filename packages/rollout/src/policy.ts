// SPDX-License-Identifier: Apache-2.0
import { functionRevisionType, functionType, packageLabel } from "@purlin/composition";
import { isLiveRollout, readRollout, withheldAnnotation } from "@purlin/function-runner";
import type { CacheChange } from "@purlin/kube-client";
import {
  attempt,
  defineController,
  type ReconcileContext,
  type ReconcileResult,
  type WatchingController,
  withConditionTexts,
} from "@purlin/kube-controller";
import { isAlreadyExists } from "@purlin/kube-objects/errors";
import { isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import {
  annotationOf,
  controllerReference,
  isDeleted,
  type KubeObject,
  labelOf,
  memberAt,
  type ObjectKey,
  textAt,
} from "@purlin/kube-objects/object";
import { policyMark, rolloutTemplateType, rolloutType } from "@purlin/package-manager";
import { createRolloutController, type RolloutDeps } from "./controller.ts";
import { rolloutAnnotations } from "./observe.ts";

const name = "rollouts/policy.function.pkg.crossplane.io";
const timeoutMs = 60_000;
const fieldManager = "crossplane";

const steps = {
  template: { reason: "StartRollout", text: "cannot read the FunctionRolloutTemplate" },
  start: { reason: "StartRollout", text: "cannot start a rollout" },
} as const;

/** The controller that starts a rollout for each new revision of a Function with a rolloutPolicy. */
function createPolicyController(deps: RolloutDeps): WatchingController {
  const withPolicy = new Map<string, string>();
  const { client } = deps;
  return defineController({
    client,
    events: deps.events,
    clock: deps.clock,
    log: deps.log,
    name,
    type: functionType,
    timeoutMs,
    watches: [
      { type: "Function", object: functionType, keys: ({ object }) => [{ name: object.metadata.name ?? "" }] },
      { type: "FunctionRevision", object: functionRevisionType, keys: functionOf },
      {
        type: "FunctionRolloutTemplate",
        object: rolloutTemplateType,
        keys: ({ object }) =>
          [...withPolicy].filter(([, template]) => template === object.metadata.name).map(([key]) => ({ name: key })),
      },
    ],
    onGone: async ({ key }) => {
      withPolicy.delete(key.name);
      return {};
    },
    async reconcile(context) {
      const template = templateOf(context.stored.object);
      if (template === undefined) withPolicy.delete(context.key.name);
      else withPolicy.set(context.key.name, template);
      return template === undefined ? {} : startRollout(context, deps, template);
    },
  });
}

function templateOf(owner: KubeObject): string | undefined {
  return textAt(owner, ["spec", "rolloutPolicy", "templateRef", "name"]);
}

function functionOf({ object }: CacheChange): readonly ObjectKey[] {
  const owner = labelOf(object, packageLabel);
  return owner === undefined ? [] : [{ name: owner }];
}

/** Starts the rollout of the current revision, if it waits for one. Rollouts of the Function that it replaces are aborted. */
async function startRollout(context: ReconcileContext, deps: RolloutDeps, template: string): Promise<ReconcileResult> {
  const { client } = deps;
  const owner = context.stored.object;
  const { signal } = context;
  if (isDeleted(owner)) return {};
  const functionName = owner.metadata.name ?? "";
  const revisions = await client.list(functionRevisionType, { labels: { [packageLabel]: functionName }, signal });
  const current = revisions.find(({ metadata }) => metadata.name === textAt(owner, ["status", "currentRevision"]));
  if (current === undefined || annotationOf(current, withheldAnnotation) !== policyMark) return {};
  const found = await attempt(steps.template, () => client.get(rolloutTemplateType, { name: template }, { signal }));
  if (found === undefined) {
    const message = `FunctionRolloutTemplate "${template}" does not exist: the previous revision continues to serve`;
    await report(context, deps, { status: "False", reason: "TemplateNotFound", message });
    return {};
  }
  const wanted = rolloutOf(owner, current, found);
  await abortOthers(context, deps, wanted.metadata.name ?? "");
  const isNew = await attempt(steps.start, () => create(client, wanted, signal));
  const message = `FunctionRollout "${wanted.metadata.name ?? ""}" moves composite resources to "${current.metadata.name ?? ""}"`;
  if (isNew) context.emit({ reason: "RolloutStarted", message });
  await report(context, deps, { status: "True", reason: "RolloutStarted", message });
  return {};
}

async function create(client: RolloutDeps["client"], rollout: KubeObject, signal: AbortSignal): Promise<boolean> {
  const { apiVersion, kind } = rolloutType;
  if ((await client.get({ apiVersion, kind }, { name: rollout.metadata.name ?? "" }, { signal })) !== undefined)
    return false;
  try {
    await client.create(rollout, { fieldManager, signal });
    return true;
  } catch (error) {
    if (isAlreadyExists(error)) return false;
    throw error;
  }
}

/** The rollout of a revision: its name is that of the revision, so that there is one. */
function rolloutOf(owner: KubeObject, current: KubeObject, template: KubeObject): KubeObject {
  const plan = memberAt(template, ["spec"]);
  const revision = current.metadata.name ?? "";
  const spec: JsonObject = {
    ...(isJsonObject(plan) ? plan : {}),
    functionRef: { name: owner.metadata.name ?? "" },
    candidate: { functionRevisionRef: { name: revision } },
  };
  return {
    ...rolloutType,
    metadata: {
      name: revision,
      labels: { [packageLabel]: owner.metadata.name ?? "" },
      ownerReferences: [controllerReference(owner)],
    },
    spec,
  };
}

/** A live rollout of an older revision is not worth finishing. One that a person made is left alone. */
async function abortOthers(
  { stored, signal }: ReconcileContext,
  { client }: RolloutDeps,
  except: string,
): Promise<void> {
  const labels = { [packageLabel]: stored.object.metadata.name ?? "" };
  for (const other of await client.list(rolloutType, { labels, signal })) {
    const isOurs = other.metadata.ownerReferences?.some(({ uid }) => uid === stored.object.metadata.uid) === true;
    const isStale = other.metadata.name !== except && isOurs && isLiveRollout(readRollout(other));
    if (!isStale || annotationOf(other, rolloutAnnotations.abort) !== undefined) continue;
    const patch = { metadata: { annotations: { [rolloutAnnotations.abort]: `superseded by ${except}` } } };
    await client.patch({ ...rolloutType, name: other.metadata.name ?? "" }, patch, { type: "merge", signal });
  }
}

async function report(
  context: ReconcileContext,
  { clock }: RolloutDeps,
  condition: { readonly status: "True" | "False"; readonly reason: string; readonly message: string },
): Promise<void> {
  const { stored } = context;
  const after = withConditionTexts(stored.object, [{ type: "RolloutStarted", ...condition }], clock);
  if (after !== stored.object && condition.status === "False") context.emit({ type: "Warning", ...condition });
  await context.writeStatus(after);
}

/** The controllers of rollouts. */
export function rolloutControllers(deps: RolloutDeps): readonly WatchingController[] {
  return [createRolloutController(deps), createPolicyController(deps)];
}
