// SPDX-License-Identifier: Apache-2.0
import { inTurns } from "@purlin/base";
import { type CircuitBreaker, createCircuitBreaker } from "@purlin/composition/pipeline";
import type { CacheChange } from "@purlin/kube-client/objects";
import {
  attempt,
  crdType,
  defineController,
  type ReconcileContext,
  type ReconcileResult,
  TerminalError,
  type WatchingController,
  withConditionTexts,
} from "@purlin/kube-controller";
import { ignoreNotFound, isAlreadyExists, textOf } from "@purlin/kube-objects/errors";
import {
  type ConditionText,
  conditionTime,
  hasFinalizer,
  isDeleted,
  isPaused,
  type KubeObject,
  keyOf,
  type ObjectKey,
  parseApiVersion,
  pausedCondition,
  stringAt,
  textAt,
  withFinalizer,
  withMember,
  withoutFinalizer,
} from "@purlin/kube-objects/object";
import type { SchedulerDeps } from "../deps.ts";
import { kinds, labels, longestLabel, reconcileError, updateManager, watchFinalizer } from "../names.ts";
import {
  deleteOperation,
  ownedKeys,
  ownedOperations,
  runningRefs,
  syncedWith,
  wokenOwner,
} from "../owned-operations.ts";
import { lastSuccessOf, runningOf, surplusOf } from "../schedule/plan-cron.ts";
import {
  type DirtyObject,
  DirtyObjects,
  fieldsProblem,
  operationName,
  typeOf,
  watchedAmong,
  watchedOperation,
} from "./watched-object.ts";

const controllerName = "ops/watchoperation.ops.crossplane.io";
const timeoutMs = 120_000;
/** How often one change of an object passes while its circuit is open. */
const halfOpenMs = 30_000;

/** What is remembered of a WatchOperation. */
interface Followed {
  readonly uid: string;
  readonly type: { readonly apiVersion: string; readonly kind: string };
  readonly dirty: DirtyObjects;
  readonly breaker: CircuitBreaker;
  /** The objects whose circuit is reported as open. */
  readonly open: Set<string>;
}

/** The controller of WatchOperations: it creates an Operation for each change of a watched object. */
export function createWatchController(deps: SchedulerDeps): WatchingController {
  const { client, events, clock, log } = deps;
  const followed = new Map<string, Followed>();
  return defineController({
    ...{ client, events, clock, log, timeoutMs },
    name: controllerName,
    type: kinds.watch,
    readError: "cannot get WatchOperation",
    reconcile: (context) => reconcileWatch({ context, deps, followed }),
    async onFailure(error, context) {
      const failed: ConditionText = {
        type: "Watching",
        status: "False",
        reason: "WatchFailed",
        message: error.message,
      };
      const texts = error.reason === "EstablishWatched" ? [failed] : [];
      await context.writeStatus(
        withConditionTexts(context.stored.object, [...texts, reconcileError(error.message)], clock),
      );
    },
    async onGone({ key }) {
      await unfollow(key.name, { deps, followed });
      return {};
    },
    watches: [
      { type: "WatchOperation", object: kinds.watch, keys: wokenOwner },
      { type: "Operation", object: kinds.operation, keys: ({ object }) => ownedKeys(object, labels.watch) },
      { type: "CustomResourceDefinition", object: crdType, keys: (change) => ofNewKind(change, followed) },
    ],
  });
}

/** The WatchOperations of a kind whose definition changed: they may have failed because it was not served. */
function ofNewKind({ object }: CacheChange, followed: ReadonlyMap<string, Followed>): readonly ObjectKey[] {
  const [group, kind] = [stringAt(object, ["spec", "group"]), stringAt(object, ["spec", "names", "kind"])];
  const isOfKind = ({ type }: Followed): boolean =>
    type.kind === kind && parseApiVersion(type.apiVersion).group === group;
  return [...followed].flatMap(([name, one]) => (isOfKind(one) ? [{ name }] : []));
}

/** One reconcile of one WatchOperation. */
interface WatchReconcile {
  readonly context: ReconcileContext;
  readonly deps: SchedulerDeps;
  readonly followed: Map<string, Followed>;
}

async function reconcileWatch(reconcile: WatchReconcile): Promise<ReconcileResult> {
  const { context, deps } = reconcile;
  const { stored, key } = context;
  if (isDeleted(stored.object)) return finalize(reconcile);
  if (!hasFinalizer(stored.object, watchFinalizer)) {
    const options = { fieldManager: updateManager, signal: context.signal };
    stored.object = await deps.client.update(withFinalizer(stored.object, watchFinalizer), options);
  }
  if (isPaused(stored.object)) {
    const paused: ConditionText = { type: "Watching", status: "False", reason: "WatchPaused" };
    await context.writeStatus(withConditionTexts(stored.object, [paused, pausedCondition], deps.clock));
    return {};
  }
  if (key.name.length > longestLabel) {
    const what = `metadata.name must have no more than ${longestLabel} characters`;
    throw new TerminalError("EstablishWatched", `${what}: it is the value of label ${labels.watch}`);
  }
  const problem = fieldsProblem(stored.object);
  if (problem !== undefined) throw new TerminalError("EstablishWatched", problem);
  const one = await establish(reconcile);
  const all = await attempt({ reason: "ListOperations", text: "cannot list Operations" }, () =>
    ownedOperations(deps.client, { label: labels.watch, owner: stored.object, signal: context.signal }),
  );
  emitSkipped(context, one.dirty.takeSkipped());
  const { created, waitMs } = await drain(reconcile, one, all);
  await report(reconcile, one, { all, created });
  for (const old of surplusOf(stored.object, all))
    await deleteOperation(deps.client, old, { why: "history", signal: context.signal });
  return waitMs === undefined ? {} : { requeueAfterMs: waitMs };
}

async function finalize({ context, deps, followed }: WatchReconcile): Promise<ReconcileResult> {
  const { stored, key, signal } = context;
  await attempt({ reason: "TerminateWatched", text: "cannot stop watched resource controller" }, () =>
    unfollow(key.name, { deps, followed }),
  );
  const released = withoutFinalizer(stored.object, watchFinalizer);
  if (released === stored.object) return {};
  await ignoreNotFound(deps.client.update(released, { fieldManager: updateManager, signal }));
  return {};
}

const watchOf = (name: string, type: Followed["type"]) => ({ type: `Watched/${name}`, object: type });

async function unfollow(name: string, { deps, followed }: Pick<WatchReconcile, "deps" | "followed">): Promise<void> {
  const known = followed.get(name);
  if (known === undefined) return;
  followed.delete(name);
  await deps.engine.stopWatches(controllerName, [watchOf(name, known.type)]);
}

/** Watches the objects. A filter that was edited is in force at once, also for objects that exist. */
async function establish({ context, deps, followed }: WatchReconcile): Promise<Followed> {
  const { stored, key, signal } = context;
  const watch = stored.object;
  const { uid = "" } = watch.metadata;
  const known = followed.get(key.name);
  if (known !== undefined && known.uid !== uid) await unfollow(key.name, { deps, followed });
  const one = followed.get(key.name) ?? newFollowed(watch, deps);
  followed.set(key.name, one);
  const isOther = one.dirty.follow(watch);
  const keys = (change: CacheChange): readonly ObjectKey[] => {
    const current = followed.get(key.name);
    return current?.uid === uid && current.dirty.change(change) ? [{ name: key.name }] : [];
  };
  const text = "cannot start watched resource controller watches";
  await attempt({ reason: "EstablishWatched", text }, async () => {
    try {
      await deps.engine.startWatches(controllerName, [{ ...watchOf(key.name, one.type), keys }], signal);
    } catch (error) {
      const { group, version } = parseApiVersion(one.type.apiVersion);
      const gvk = `${group}/${version}, Kind=${one.type.kind}`;
      throw new Error(
        `cannot get informer for "${gvk}": ${textOf((error as { readonly cause?: unknown }).cause ?? error)}`,
        { cause: error },
      );
    }
  });
  if (isOther) {
    const found = await deps.client.list(one.type, { signal });
    one.dirty.select(await inTurns(watchedAmong(watch, found)));
  }
  return one;
}

function newFollowed(watch: KubeObject, { clock, breakerLimits }: SchedulerDeps): Followed {
  return {
    uid: watch.metadata.uid ?? "",
    type: typeOf(watch),
    dirty: new DirtyObjects(watch, () => clock.now()),
    breaker: createCircuitBreaker({ controller: controllerName, clock, limits: { ...breakerLimits, halfOpenMs } }),
    open: new Set(),
  };
}

interface Drained {
  readonly created: readonly string[];
  /** When to look again at objects whose circuit is open. */
  readonly waitMs: number | undefined;
}

/** Creates an Operation for each changed object, in the order of the changes; one at a time if the policy forbids more. */
async function drain(reconcile: WatchReconcile, one: Followed, all: readonly KubeObject[]): Promise<Drained> {
  const { context, deps } = reconcile;
  const watch = context.stored.object;
  const policy = textAt(watch, ["spec", "concurrencyPolicy"]) ?? "Allow";
  const existing = new Set(all.map(({ metadata }) => metadata.name));
  const running = runningOf(all);
  const created: string[] = [];
  let waitMs: number | undefined;
  for (const dirty of one.dirty.all()) {
    if (policy === "Forbid" && running.length + created.length > 0) break;
    const name = operationName(watch.metadata.name ?? "", dirty.object);
    if (!existing.has(name)) {
      if (!isAdmitted(reconcile, one, dirty)) {
        waitMs = halfOpenMs + 1000;
        continue;
      }
      if (policy === "Replace" && created.length === 0) {
        for (const old of running) await deleteOperation(deps.client, old, { why: "replace", signal: context.signal });
      }
      await createOperation(reconcile, dirty);
      created.push(name);
    }
    one.dirty.done(dirty);
    if (isDeleted(dirty.object)) one.open.delete(dirty.key);
  }
  return { created, waitMs };
}

function emitSkipped(context: ReconcileContext, skipped: number): void {
  if (skipped === 0) return;
  const what = `${skipped} objects were created and deleted before an Operation could be created for them`;
  context.emit({ type: "Warning", reason: "WatchedObjectsSkipped", message: `${what}: no Operation is created` });
}

/** Whether an Operation may be created: not too often for an object that Operations themselves change. */
function isAdmitted(
  { context }: WatchReconcile,
  { breaker, open }: Followed,
  { key, object, isUpdate }: DirtyObject,
): boolean {
  const target = keyOf(object);
  const isOpen = !breaker.admit(target, object, isUpdate ? 2 : 1);
  if (isOpen && !open.has(key)) {
    open.add(key);
    const message = `${object.kind} "${key}" changes too often: its changes create Operations every ${halfOpenMs / 1000}s only`;
    context.emit({ type: "Warning", reason: "WatchCircuitOpen", message });
  }
  if (!isOpen && !breaker.state(target).open) open.delete(key);
  return !isOpen;
}

async function createOperation({ context, deps }: WatchReconcile, { object }: DirtyObject): Promise<void> {
  const operation = watchedOperation(context.stored.object, object);
  await attempt(
    { reason: "CreateOperation", text: `cannot create Operation "${operation.metadata.name}"` },
    async () => {
      try {
        await deps.client.create(operation, { fieldManager: updateManager, signal: context.signal });
      } catch (error) {
        if (!isAlreadyExists(error)) throw error;
      }
    },
  );
}

interface Outcome {
  readonly all: readonly KubeObject[];
  readonly created: readonly string[];
}

async function report({ context, deps }: WatchReconcile, one: Followed, { all, created }: Outcome): Promise<void> {
  const watch = context.stored.object;
  const running = runningOf(all)
    .toReversed()
    .map(({ metadata }) => metadata.name ?? "");
  const names = [...new Set([...created, ...running])];
  const times = [textAt(watch, ["status", "lastSuccessfulTime"]), lastSuccessOf(all)].filter(
    (time) => time !== undefined,
  );
  const lastScheduleTime =
    created.length > 0 ? conditionTime(deps.clock.now()) : textAt(watch, ["status", "lastScheduleTime"]);
  const fields: readonly (readonly [string, unknown])[] = [
    ["runningOperationRefs", runningRefs(names)],
    ["lastScheduleTime", lastScheduleTime],
    ["lastSuccessfulTime", times.sort().at(-1)],
    ["watchingResources", one.dirty.count],
    ["lastHandledResourceVersion", one.dirty.handled || undefined],
  ];
  const after = fields.reduce((object, [field, value]) => withMember(object, ["status", field], value as never), watch);
  const active: ConditionText = { type: "Watching", status: "True", reason: "WatchActive" };
  await context.writeStatus(
    withConditionTexts(after, [active, syncedWith(watch, { names, label: labels.watch })], deps.clock),
  );
}
