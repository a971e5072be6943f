// SPDX-License-Identifier: Apache-2.0
import type { Clock, Log } from "@purlin/base";
import { isNoMatch } from "@purlin/kube-client";
import {
  attempt,
  type ControllerClient,
  type ControllerEngine,
  defineController,
  type EventRecorder,
  type ReconcileContext,
  ReconcileError,
  type ReconcileResult,
  TerminalError,
  type WatchingController,
  withConditionTexts,
} from "@purlin/kube-controller";
import { isNotFound, textOf } from "@purlin/kube-objects/errors";
import {
  annotationOf,
  type ConditionText,
  controllerOf,
  hasFinalizer,
  isDeleted,
  type KubeObject,
  keyOf,
  memberAt,
  stringAt,
  type TypeRef,
  withFinalizer,
  withMember,
  withOwner,
  withoutFinalizer,
} from "@purlin/kube-objects/object";
import { available } from "../composite-resource/constants.ts";
import { patchLabel, releaseUsage, store, usageFinalizer } from "./release-usage.ts";
import { groupOf, isSameTarget, type UsageEntry, type UsageIndex, usageEntry, usageTypes } from "./usage-index.ts";
import {
  inUseLabel,
  isUnresolved,
  readSide,
  resolveSelectors,
  type Side,
  sideName,
  sideType,
  type UsageObjectDeps,
  UsedObjects,
  WrongScopeError,
} from "./usage-objects.ts";
import { indexKey, UsageWatches, usageControllerName } from "./usage-watches.ts";

/** The dependencies of the controllers of Usages. */
interface UsageControllerDeps {
  readonly client: ControllerClient;
  readonly engine: ControllerEngine;
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly log: Log;
  /** The controllers fill it. */
  readonly index: UsageIndex;
}

const detailsAnnotation = "crossplane.io/usage-details";
const timeoutMs = 60_000;
/** How often the state of kinds that are not watched is read. */
const pollMs = 60_000;
/** When to look again at a Usage that is deleted while the controllers start. */
const startMs = 1000;

/** The controllers of the three kinds of Usages. */
export function createUsageControllers(deps: UsageControllerDeps): readonly WatchingController[] {
  const objects = new UsedObjects(deps.client.live);
  const controllers: readonly WatchingController[] = usageTypes.map((type) =>
    createUsageController(type, { ...deps, objects, isIndexed }),
  );
  async function isIndexed(signal: AbortSignal): Promise<boolean> {
    if (!controllers.every(({ spec }) => deps.engine.isRunning(spec.name))) return false;
    for (const { spec, watches } of controllers) {
      await deps.engine.startWatches(spec.name, watches, signal).catch(ignoreUnserved);
    }
    return true;
  }
  return controllers;
}

/** A kind whose definition was deleted has no Usages. */
function ignoreUnserved(error: unknown): void {
  if (!isNoMatch(error) && !isNoMatch((error as Error).cause)) throw error;
}

/** Without the feature, a Usage protects nothing: its event says so, and one that is deleted goes at once. */
export function createDisabledUsageControllers(
  deps: Omit<UsageControllerDeps, "index" | "engine">,
): readonly WatchingController[] {
  const message = "Usages are switched off and protect nothing: start with --enable-usages";
  return usageTypes.map((type) =>
    defineController({
      ...deps,
      name: usageControllerName(type),
      type,
      timeoutMs,
      reconcile: async (context) => {
        const usage = context.stored.object;
        if (!isDeleted(usage)) context.emit({ type: "Warning", reason: "FeatureDisabled", message });
        else
          await store(context, withoutFinalizer(usage, usageFinalizer), {
            client: deps.client,
            signal: context.signal,
          });
        return {};
      },
      watches: [{ type: "Usage", object: type, keys: ({ object }) => [keyOf(object)] }],
    }),
  );
}

function createUsageController(
  type: TypeRef,
  deps: UsageControllerDeps & Pick<UsageReconcileDeps, "objects" | "isIndexed">,
): WatchingController {
  const { client, events, clock, log, index } = deps;
  const watched = new UsageWatches(type, deps);
  return defineController({
    client,
    events,
    clock,
    log,
    name: usageControllerName(type),
    type,
    timeoutMs,
    reconcile: (context) => reconcileUsage(context, { ...deps, type, watched }),
    onFailure: (error, context) =>
      isDeleted(context.stored.object)
        ? undefined
        : context.writeStatus(withConditionTexts(context.stored.object, [unavailable(error.message)], clock)),
    onGone: async ({ key }) => {
      watched.forget(key);
      return {};
    },
    watches: [
      {
        type: "Usage",
        object: type,
        keys: ({ type: change, object }) => {
          const key = indexKey(type, keyOf(object));
          const wasVain = isVain(index, key);
          index.written(key, change === "deleted" ? undefined : object);
          // Usages of Usages have begun, or ceased, to protect each other. Without a circle, nothing changes for those that protect this one.
          return [keyOf(object), ...(wasVain || isVain(index, key) ? watched.guardiansOf(object) : [])];
        },
      },
    ],
  });
}

function isVain(index: UsageIndex, key: string): boolean {
  const entry = index.get(key);
  return entry !== undefined && index.isVain(entry);
}

function unavailable(message: string): ConditionText {
  return { type: "Ready", status: "False", reason: "Unavailable", message };
}

interface UsageReconcileDeps extends UsageControllerDeps {
  readonly type: TypeRef;
  readonly objects: UsedObjects;
  readonly watched: UsageWatches;
  /** Whether the index has the Usages of all kinds: the controllers start one after the other. */
  readonly isIndexed: (signal: AbortSignal) => Promise<boolean>;
}

async function reconcileUsage(context: ReconcileContext, shared: UsageReconcileDeps): Promise<ReconcileResult> {
  const { client, clock, index, watched } = shared;
  const { stored, signal } = context;
  const key = indexKey(shared.type, context.key);
  const deps = { client, signal, index, indexKey: key, objects: shared.objects };
  const usage = stored.object;
  const wrong = stringAt(usage, ["spec", "of", "apiVersion"]);
  if (groupOf(wrong) === undefined) {
    if (isDeleted(usage)) await store(context, withoutFinalizer(usage, usageFinalizer), deps);
    const text = `cannot parse APIVersion: unexpected GroupVersion string: ${wrong}`;
    if (!isDeleted(usage)) await context.writeStatus(withConditionTexts(usage, [unavailable(text)], clock));
    return {};
  }
  if (isDeleted(usage)) {
    if (!hasFinalizer(usage, usageFinalizer)) return {};
    // One of a kind that is not known yet may hold the object as well.
    if (!(await shared.isIndexed(signal))) return { requeueAfterMs: startMs };
    const { isComposed, by } = usageEntry(key, usage);
    await watched.start(usage, signal);
    // It may have to wait until the using object is gone.
    if (isComposed && by !== undefined) await watched.awaitObject(usage, "by", signal);
    return releaseUsage(context, deps);
  }
  const isPolled = await watched.start(usage, signal);
  if (isUnresolved(usage, "of") || isUnresolved(usage, "by")) {
    const text = "cannot resolve selectors";
    try {
      stored.object = await resolveSelectors(usage, deps);
    } catch (error) {
      throw failed({ reason: "ResolveSelectors", text }, error, { isAwaited: !isPolled && isUnmatched(error) });
    }
    await watched.start(stored.object, signal);
  }
  requireUseful(usageEntry(key, stored.object), index);
  const changed = await holdUsed(context, shared, { isPolled });
  watched.settled(context.key);
  const ready = withConditionTexts(stored.object, [available], clock);
  if (changed || ready !== stored.object) {
    await context.writeStatus(ready);
    context.emit({ reason: "UsageConfigured", message: "Usage configured successfully." });
  }
  return isPolled ? { requeueAfterMs: pollMs } : {};
}

/** Throws for a Usage that cannot protect anything: neither it nor the object could ever be deleted. */
function requireUseful(entry: UsageEntry, index: UsageIndex): void {
  const { self, of } = entry;
  if (of === undefined || !index.isVain(entry)) return;
  const text = isSameTarget(self, of)
    ? "a Usage cannot protect itself: name another object in spec.of"
    : `this Usage and ${of.kind}/${of.name} protect each other, so neither is protected: delete one of them, or name another object in its spec.of`;
  throw new TerminalError("CircularUsage", text);
}

function isUnmatched(error: unknown): boolean {
  return / found matching labels: /.test(textOf(error));
}

/** An error that ends the reconcile. One that a watch wakes the Usage from is not retried. */
function failed(
  { reason, text }: { readonly reason: string; readonly text: string },
  error: unknown,
  { isAwaited }: { readonly isAwaited: boolean },
): ReconcileError {
  const message = `${text}: ${textOf(error)}`;
  return isAwaited ? new TerminalError(reason, message, error) : new ReconcileError(reason, message, error);
}

/** Brings finalizer, details, label and owner of a Usage about. Resolves to whether anything changed. */
async function holdUsed(
  context: ReconcileContext,
  { client, objects, watched }: UsageReconcileDeps,
  { isPolled }: { readonly isPolled: boolean },
): Promise<boolean> {
  const { stored, signal } = context;
  const deps = { client, objects, watched, signal };
  const finalized = withFinalizer(stored.object, usageFinalizer);
  let changed = await attempt({ reason: "AddFinalizer", text: "cannot add finalizer: cannot update object" }, () =>
    store(context, finalized, deps),
  );
  const details = detailsOf(stored.object);
  if (annotationOf(stored.object, detailsAnnotation) !== details) {
    const detailed = withMember(stored.object, ["metadata", "annotations", detailsAnnotation], details);
    await attempt({ reason: "AddDetailsToUsage", text: "cannot update usage resource with details annotation" }, () =>
      store(context, detailed, deps),
    );
    changed = true;
  }
  const used = await labeled(stored.object, { ...deps, isPolled });
  if (used.metadata.labels?.[inUseLabel] !== "true") {
    await attempt({ reason: "AddInUseLabel", text: "cannot add in use label to the used resource" }, () =>
      patchLabel(used, "true", deps),
    );
    changed = true;
  }
  if (memberAt(stored.object, ["spec", "by"]) === undefined || isOwnedByUsing(stored.object)) return changed;
  const using = await read(stored.object, "by", { ...deps, isPolled });
  const uid = using.metadata.uid ?? "";
  if (uid === controllerOf(stored.object)?.uid) {
    throw new TerminalError(
      "GetUsingResource",
      "the using resource is the composite resource that composes this Usage",
    );
  }
  if (stored.object.metadata.ownerReferences?.some((owner) => owner.uid === uid)) return changed;
  const { apiVersion, kind, metadata } = using;
  const owned = withOwner(stored.object, { apiVersion, kind, name: metadata.name ?? "", uid });
  await attempt({ reason: "AddOwnerRefToUsage", text: "cannot update usage resource with owner ref" }, () =>
    store(context, owned, deps),
  );
  return true;
}

/**
 * Whether the using object, unless it is the controller, owns the Usage already. It is not read again then: the garbage collector deletes the Usage
 * with it.
 */
function isOwnedByUsing(usage: KubeObject): boolean {
  const { apiVersion, kind } = sideType(usage, "by");
  return (usage.metadata.ownerReferences ?? []).some(
    (owner) =>
      owner.controller !== true &&
      owner.kind === kind &&
      owner.name === sideName(usage, "by") &&
      groupOf(owner.apiVersion) === groupOf(apiVersion),
  );
}

interface ReadDeps extends UsageObjectDeps {
  readonly isPolled: boolean;
  readonly watched: UsageWatches;
}

/** The used object: from the cache if it has the label there, else from the server, which may have the label already. */
async function labeled(usage: KubeObject, deps: ReadDeps): Promise<KubeObject> {
  const cached = await read(usage, "of", deps);
  return cached.metadata.labels?.[inUseLabel] === "true" ? cached : read(usage, "of", { ...deps, isLive: true });
}

async function read(usage: KubeObject, side: Side, deps: ReadDeps): Promise<KubeObject> {
  const step = side === "of" ? "GetUsedResource" : "GetUsingResource";
  try {
    return await readOrAwait(usage, side, deps);
  } catch (error) {
    if (error instanceof WrongScopeError) throw new TerminalError(step, error.message, error);
    const text = side === "of" ? "cannot get used" : "cannot get using";
    throw failed({ reason: step, text }, error, { isAwaited: !deps.isPolled && isNotFound(error) });
  }
}

/** Reads the object at one side. One that does not exist is awaited, and read again: it may have been created before the wait began. */
async function readOrAwait(usage: KubeObject, side: Side, deps: ReadDeps): Promise<KubeObject> {
  try {
    return await readSide(usage, side, deps);
  } catch (error) {
    if (!isNotFound(error) || !(await deps.watched.awaitObject(usage, side, deps.signal))) throw error;
    return readSide(usage, side, { ...deps, isLive: true });
  }
}

/** What users read in the column DETAILS. */
function detailsOf(usage: KubeObject): string {
  const reason = stringAt(usage, ["spec", "reason"]);
  if (reason !== "") return reason;
  if (memberAt(usage, ["spec", "by"]) === undefined) return "undefined";
  const side = (one: Side): string => `${sideType(usage, one).kind}/${sideName(usage, one)}`;
  const namespace = stringAt(usage, ["spec", "of", "resourceRef", "namespace"]);
  return `${side("by")} uses ${side("of")}${namespace === "" ? "" : ` in namespace ${namespace}`}`;
}
