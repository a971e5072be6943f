// SPDX-License-Identifier: Apache-2.0
import { crossplaneAnnotations } from "@purlin/composition";
import { RunFunctionResponse, toJson } from "@purlin/function-protocol";
import type { RunStep } from "@purlin/function-runner";
import type { CacheChange } from "@purlin/kube-client";
import type { EventRecorder } from "@purlin/kube-controller";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue, jsonEqual } from "@purlin/kube-objects/json";
import {
  annotationOf,
  controllerOf,
  type KubeObject,
  keyOf,
  objectAt,
  objectsAt,
  stringAt,
  withMember,
} from "@purlin/kube-objects/object";
import { isDone, operationControllerName } from "@purlin/operations";
import { operationOf } from "@purlin/operations/render";
import type { Session } from "@purlin/preview";

const { resourceName } = crossplaneAnnotations;

/** What happened to one composite resource or Operation since the record was last cleared. */
export interface CompositeRecord {
  readonly results: JsonObject[];
  /** How often each function was called. */
  readonly calls: Record<string, number>;
  /** What functions required in the end, by name. */
  requirements: JsonObject;
  context: JsonObject;
  ttl: string | undefined;
  /** The desired resources of the last step, by name. */
  desired: JsonObject;
  /** The desired composite resource of the last step; empty if no step has one. */
  desiredComposite: JsonObject;
  /** Which step last changed each desired resource. */
  readonly steps: Map<string, string>;
  /** Names of composed resources that were deleted. */
  readonly deleted: string[];
  /** Writes of composed or applied resources. */
  writes: number;
}

const emptyRecord = (): CompositeRecord => ({
  results: [],
  calls: {},
  requirements: {},
  context: {},
  ttl: undefined,
  desired: {},
  desiredComposite: {},
  steps: new Map(),
  deleted: [],
  writes: 0,
});

/** Keeps what the functions and controllers of a case do, by composite resource. */
export class CaseRecord {
  readonly events: JsonObject[] = [];
  readonly #composites = new Map<string, CompositeRecord>();

  /** Forgets everything so far. */
  clear(): void {
    this.#composites.clear();
    this.events.length = 0;
  }

  /** What happened to a composite resource. */
  of({ kind, metadata }: Pick<KubeObject, "kind" | "metadata">): CompositeRecord {
    const id = `${kind}/${metadata.name ?? ""}`;
    const known = this.#composites.get(id) ?? emptyRecord();
    this.#composites.set(id, known);
    return known;
  }

  /** Called with each change, and which controller made it. What the Operation `root` applies has no owner. */
  wrote(change: CacheChange, { controller }: { readonly controller: string }, root: KubeObject): void {
    if (controller === "") return;
    if (controller === operationControllerName) {
      if (change.object.kind !== root.kind) this.of(root).writes += 1;
      return;
    }
    const owner = controllerOf(change.object);
    const resource = annotationOf(change.object, resourceName);
    if (owner === undefined || resource === undefined) return;
    const record = this.of({ kind: owner.kind, metadata: { name: owner.name } });
    record.writes += 1;
    if (change.type === "deleted" || change.object.metadata.deletionTimestamp) record.deleted.push(resource);
  }

  /** Functions whose calls and responses are kept. A call without a composite resource is one of the Operation `root`. */
  recording(runStep: RunStep, root: KubeObject): RunStep {
    return async (reference, request, call) => {
      const composite = request.observed?.composite?.resource?.value as KubeObject | undefined;
      const record = this.of(composite ?? root);
      const { functionName, step } = reference;
      const observer = {
        called: () => {
          record.calls[functionName] = (record.calls[functionName] ?? 0) + 1;
          return () => {};
        },
        cached() {},
      };
      const run = await runStep(reference, request, { ...call, observer });
      const before = toJson(RunFunctionResponse, { ...run.response, desired: request.desired }) as JsonObject;
      keep(record, step, { response: toJson(RunFunctionResponse, run.response) as JsonObject, before });
      return run;
    };
  }

  /** Keeps events instead of writing them. */
  recorder(): EventRecorder {
    const recorder: EventRecorder = {
      event: ({ kind, metadata }, { type, reason, message }) =>
        void this.events.push({ type, reason, message, object: `${kind}/${metadata.name ?? ""}` }),
      with: () => recorder,
    };
    return recorder;
  }
}

interface StepResponse {
  readonly response: JsonObject;
  /** The same with what was desired before the step. */
  readonly before: JsonObject;
}

function keep(record: CompositeRecord, step: string, { response, before }: StepResponse): void {
  const { results, context, requirements, meta } = response;
  for (const result of isJsonArray(results) ? results.filter(isJsonObject) : [])
    record.results.push(namedResult(result, step));
  if (isJsonObject(context)) record.context = context;
  record.desired = resourcesOf(response);
  record.desiredComposite = objectAt(response, ["desired", "composite", "resource"]);
  if (isJsonObject(requirements)) Object.assign(record.requirements, requirementsOf(requirements));
  const ttl = isJsonObject(meta) ? meta["ttl"] : undefined;
  if (typeof ttl === "string" && (record.ttl === undefined || seconds(ttl) < seconds(record.ttl))) record.ttl = ttl;
  const earlier = resourcesOf(before);
  for (const [name, resource] of Object.entries(record.desired)) {
    if (!jsonEqual(earlier[name] ?? null, resource)) record.steps.set(name, step);
  }
}

const seconds = (duration: string): number => Number.parseFloat(duration);

function resourcesOf({ desired }: JsonObject): JsonObject {
  const resources = isJsonObject(desired) ? desired["resources"] : undefined;
  return isJsonObject(resources) ? resources : {};
}

/** `SEVERITY_WARNING` is Warning, and `TARGET_COMPOSITE_AND_CLAIM` is CompositeAndClaim. */
function namedResult(result: JsonObject, step: string): JsonObject {
  const { severity, target } = result;
  const target0 = typeof target === "string" ? { target: named(target) } : {};
  return { ...result, severity: named(String(severity)), ...target0, step };
}

function named(value: string): string {
  const words = value.split("_").slice(1);
  return words.map((word) => `${word.charAt(0)}${word.slice(1).toLowerCase()}`).join("");
}

function requirementsOf(requirements: JsonObject): JsonObject {
  const members = ["resources", "extraResources"].map((name) => requirements[name]);
  return Object.assign(
    {},
    ...members.filter((one): one is JsonObject => one !== undefined && isJsonObject(one)),
  ) as JsonObject;
}

/** An object without what is another one in every run: times, and what a server sets in metadata and status. The spec stays as it is. */
export function withoutTimes(object: KubeObject): JsonObject {
  const { spec } = object as JsonObject;
  return Object.fromEntries(
    Object.entries(fixed(object as JsonValue) as JsonObject).map(([name, member]) => [
      name,
      name === "spec" && spec !== undefined ? spec : member,
    ]),
  );
}

const serverFields = new Set([
  "uid",
  "resourceVersion",
  "creationTimestamp",
  "generation",
  "managedFields",
  "lastTransitionTime",
]);

function fixed(value: JsonValue): JsonValue {
  if (isJsonArray(value)) return value.map(fixed);
  if (!isJsonObject(value)) return value;
  const kept = Object.entries(value).filter(([name]) => !serverFields.has(name));
  return Object.fromEntries(kept.map(([name, member]) => [name, fixed(member as JsonValue)]));
}

// What cases of an Operation have of their own.

/** No Operation is retried more often in a test. */
const maxAttempts = 100;
const scheduledTimeAnnotation = "purlin.dev/scheduled-time";

interface OperationInputs {
  readonly watched: KubeObject | undefined;
  readonly scheduledTime: JsonValue | undefined;
}

/** The Operation that a case runs: the one that is written, or that a CronOperation or WatchOperation would make. */
export function operationFor(written: KubeObject, { watched, scheduledTime }: OperationInputs): KubeObject {
  const operation = operationOf(written, watched);
  if (scheduledTime === undefined) return operation;
  return withMember(operation, ["metadata", "annotations", scheduledTimeAnnotation], String(scheduledTime));
}

/** Runs an Operation until it has succeeded or failed for good. */
export async function runUntilDone(session: Session, operation: KubeObject): Promise<void> {
  for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
    const stored = await session.client.get(operation, keyOf(operation));
    if (stored === undefined || isDone(stored)) return;
    await session.step(operation);
  }
}

/** The objects that an Operation has applied, by the names that functions gave them. */
export async function appliedResources(
  session: Session,
  operation: KubeObject | undefined,
  { desired }: CompositeRecord,
): Promise<ReadonlyMap<string, KubeObject>> {
  const applied = new Set(objectsAt(operation ?? {}, ["status", "appliedResourceRefs"]).map(refText));
  const found = new Map<string, KubeObject>();
  for (const [name, entry] of Object.entries(desired)) {
    const resource = isJsonObject(entry as JsonValue) ? (entry as JsonObject)["resource"] : undefined;
    if (resource === undefined || !isJsonObject(resource)) continue;
    const object = resource as KubeObject;
    if (!applied.has(refText({ ...resource, ...objectAt(resource, ["metadata"]) }))) continue;
    const stored = await session.client.get(object, keyOf(object));
    if (stored !== undefined) found.set(name, stored);
  }
  return found;
}

/** The outputs of an Operation, by step. */
export function outputsOf(operation: KubeObject | undefined): JsonObject {
  const steps = objectsAt(operation ?? {}, ["status", "pipeline"]);
  return Object.fromEntries(steps.map((entry) => [stringAt(entry, ["step"]), entry["output"] ?? {}])) as JsonObject;
}

function refText(ref: JsonObject): string {
  return ["apiVersion", "kind", "namespace", "name"].map((field) => stringAt(ref, [field])).join(" ");
}
