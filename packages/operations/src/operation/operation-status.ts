// SPDX-License-Identifier: Apache-2.0

import { isPartDone, sorting, type Work } from "@purlin/base";
import type { Resource, State } from "@purlin/function-protocol";
import type { ControllerClient } from "@purlin/kube-controller";
import { ignoreNotFound, isNotFound, wrapError } from "@purlin/kube-objects/errors";
import { isJsonObject, type JsonObject, type JsonValue, jsonEqual } from "@purlin/kube-objects/json";
import {
  type Condition,
  type ConditionText,
  conditionOf,
  conditionsOf,
  gvkOf,
  type KubeObject,
  keyOf,
  memberAt,
  numberAt,
  objectsAt,
  stringAt,
  withMember,
} from "@purlin/kube-objects/object";
import { pipelineError } from "../names.ts";

const defaultRetryLimit = 5;

/** How often an Operation may fail. */
function retryLimitOf(operation: KubeObject): number {
  const limit = memberAt(operation, ["spec", "retryLimit"]);
  return typeof limit === "number" ? limit : defaultRetryLimit;
}

/** How often it has failed. */
export function failuresOf(operation: KubeObject): number {
  return numberAt(operation, ["status", "failures"]);
}

/** The condition of an Operation that has failed too often, or may not fail at all; undefined while it may run. */
export function limitReached(operation: KubeObject): ConditionText | undefined {
  const limit = retryLimitOf(operation);
  if (failuresOf(operation) < limit) return undefined;
  const { status, message } = conditionOf(conditionsOf(operation), "Synced");
  const cause = status === "False" && message ? `: ${message}` : "";
  return pipelineError(`failure limit of ${limit} reached${cause}`);
}

/** The condition Succeeded; its status is Unknown while the Operation runs or has not started. */
function succeededOf(operation: KubeObject): Condition {
  return conditionOf(conditionsOf(operation), "Succeeded");
}

/** Whether an Operation has succeeded or failed. It never runs again, whatever is edited. */
export function isDone(operation: KubeObject): boolean {
  const { status } = succeededOf(operation);
  return status === "True" || status === "False";
}

/** Whether an update changed neither the spec nor annotations. */
export function isSameRequest(before: KubeObject, after: KubeObject): boolean {
  const { generation, annotations = {} } = after.metadata;
  return before.metadata.generation === generation && jsonEqual(before.metadata.annotations ?? {}, annotations);
}

/** What an attempt adds to the status. */
export interface AttemptProgress {
  /** The outputs of steps, by name of the step. */
  readonly outputs: ReadonlyMap<string, JsonObject>;
  readonly applied: readonly AppliedRef[];
}

/** The Operation with the outputs and applied resources of an attempt. A later attempt overwrites the output of a step. */
export function* withProgress(operation: KubeObject, { outputs, applied }: AttemptProgress): Work<KubeObject> {
  const known = objectsAt(operation, ["status", "pipeline"]).map(
    (entry) => [stringAt(entry, ["step"]), entry] as const,
  );
  const pipeline = new Map<string, JsonObject>(known);
  for (const [step, output] of outputs) pipeline.set(step, { step, output });
  const refs = new Map<string, { readonly ref: JsonObject; readonly text: string }>();
  for (const ref of [...objectsAt(operation, ["status", "appliedResourceRefs"]), ...applied]) {
    if (isPartDone()) yield;
    refs.set(textOfRef(ref, "\n"), { ref, text: textOfRef(ref) });
  }
  const ordered = yield* sorting([...refs.values()], (a, b) => (a.text < b.text ? -1 : a.text > b.text ? 1 : 0));
  const sorted = ordered.map(({ ref }) => ref);
  const withOutputs =
    pipeline.size === 0 ? operation : withMember(operation, ["status", "pipeline"], [...pipeline.values()]);
  return sorted.length === 0 ? withOutputs : withMember(withOutputs, ["status", "appliedResourceRefs"], sorted);
}

/** Without a separator, references have the order that Crossplane gives them, but not each has a text of its own. */
function textOfRef(ref: JsonObject, separator = ""): string {
  return ["apiVersion", "kind", "namespace", "name"].map((field) => stringAt(ref, [field])).join(separator);
}

/** An object that an Operation applied, as its status lists it. */
export type AppliedRef = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly namespace?: string;
};

interface ApplyOptions {
  readonly client: ControllerClient;
  readonly fieldManager: string;
  readonly signal: AbortSignal;
  /** Called with each object that is as desired. */
  readonly onApplied: (ref: AppliedRef, object: KubeObject) => void;
}

/**
 * Applies desired resources as they are, one after the other in the order of their names. The first error ends it; what is applied
 * stays. Nothing is sent for an object that has every desired value: each Operation is another field manager, and an apply would
 * change the object and wake whatever watches it.
 */
export async function applyDesired(desired: State | undefined, options: ApplyOptions): Promise<void> {
  const names = [...(desired?.resources.keys() ?? [])].sort();
  for (const name of names) {
    const object = decode(name, desired?.resources.get(name));
    options.signal.throwIfAborted();
    try {
      const stored = await applyOne(object, options);
      options.onApplied(refOf(object), stored);
    } catch (error) {
      throw wrapError("cannot apply desired resource", await explained(object, error, options));
    }
  }
}

/** The field manager of an Operation. */
export function operationManager(uid: string): string {
  return `ops.crossplane.io/operation/${uid}`;
}

function decode(name: string, desired: Resource | undefined): KubeObject {
  const value: JsonObject = desired?.resource?.value ?? {};
  try {
    const { metadata } = value;
    gvkOf(value);
    if (!isJsonObject(metadata) || typeof metadata["name"] !== "string" || metadata["name"] === "") {
      throw new Error("metadata.name is missing: set it in the function");
    }
    return value as KubeObject;
  } catch (error) {
    throw wrapError(`cannot load desired resource "${name}" from protobuf struct`, error);
  }
}

function refOf({ apiVersion, kind, metadata: { name = "", namespace } }: KubeObject): AppliedRef {
  return { apiVersion, kind, name, ...(namespace && { namespace }) };
}

async function applyOne(object: KubeObject, { client, fieldManager, signal }: ApplyOptions): Promise<KubeObject> {
  const current = await ignoreNotFound(client.live.get(object, keyOf(object), { signal }));
  const options = { fieldManager, force: true, signal };
  if (current !== undefined && (has(current, object) || (await wouldKeep(current, object, { client, options })))) {
    return current;
  }
  signal.throwIfAborted();
  return client.apply(object, options);
}

/** Whether a value has everything that is wanted of it. */
function has(current: JsonValue | undefined, wanted: JsonValue): boolean {
  // Null removes a field.
  if (wanted === null) return current === undefined || current === null;
  if (current === undefined) return false;
  if (!isJsonObject(wanted) || !isJsonObject(current)) return jsonEqual(current, wanted);
  return Object.entries(wanted).every(([name, value]) =>
    has(Object.hasOwn(current, name) ? current[name] : undefined, value),
  );
}

interface DryRun {
  readonly client: Pick<ControllerClient, "apply">;
  readonly options: Parameters<ControllerClient["apply"]>[1];
}

/**
 * Whether an apply would leave an object as it is. Only the server knows which items of a list are the same, which members have
 * defaults, and which ones it stores in another form, such as the stringData of a Secret.
 */
async function wouldKeep(current: KubeObject, wanted: KubeObject, { client, options }: DryRun): Promise<boolean> {
  try {
    const result = await client.apply(wanted, { ...options, dryRun: true });
    return jsonEqual(withoutBookkeeping(result), withoutBookkeeping(current));
  } catch {
    // A webhook may refuse every dry run. If the object itself is wrong, the apply says so.
    return false;
  }
}

function withoutBookkeeping(object: KubeObject): JsonObject {
  const { managedFields: _managed, resourceVersion: _version, generation: _generation, ...metadata } = object.metadata;
  return { ...object, metadata } as JsonObject;
}

/** Replaces the 404 that an API server answers when a namespaced object is sent without a namespace. */
async function explained(object: KubeObject, error: unknown, { client, signal }: ApplyOptions): Promise<unknown> {
  if (object.metadata.namespace || !isNotFound(error)) return error;
  const mapping = await client.mapper.mapping(object, signal).catch(() => undefined);
  if (!mapping?.namespaced) return error;
  return new Error(`a ${object.kind} is namespaced, and the function set no namespace: set its metadata.namespace`, {
    cause: error,
  });
}
