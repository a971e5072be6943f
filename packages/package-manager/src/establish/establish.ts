// SPDX-License-Identifier: Apache-2.0
import type { ControllerClient } from "@purlin/kube-controller";
import { during, isNotFound } from "@purlin/kube-objects/errors";
import { type JsonObject, type JsonValue, jsonEqual, printJson } from "@purlin/kube-objects/json";
import {
  controllerOf,
  controllerReference,
  type KubeObject,
  memberAt,
  type OwnerReference,
  textMapAt,
  withMember,
  withOwner,
} from "@purlin/kube-objects/object";
import { digestOf } from "@purlin/oci";
import { createMemory } from "../fetch/package-client.ts";
import { packageFieldManagers } from "../package-deps.ts";
import { type WebhookClient, withWebhookClient } from "./package-objects.ts";

/** The objects that a revision installs, and how. */
export interface EstablishInput {
  readonly client: ControllerClient;
  readonly revision: KubeObject;
  /** The package the revision belongs to: objects outlive a revision, not the package. */
  readonly package: KubeObject;
  readonly objects: readonly KubeObject[];
  /** Active revisions control their objects; inactive ones only own them. */
  readonly control: boolean;
  /** How webhooks of the package are called; absent where nothing of it runs. */
  readonly webhooks?: WebhookClient | undefined;
  /** Objects known to be unchanged; without it, every object is written as a dry run each time. */
  readonly established?: Established | undefined;
  /** How many objects are written at a time; 10 unless given. */
  readonly workers?: number | undefined;
  /** Called for each object that did not exist before. */
  readonly onCreated?: ((object: KubeObject) => void) | undefined;
  readonly signal: AbortSignal;
}

/** A reference to something that was installed. */
export type ObjectReference = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid?: string;
};

const defaultWorkers = 10;

/**
 * Installs the objects of a revision: first everything as a dry run, so that nothing is half done when another owner controls one of
 * them, then for real. Objects that would not change are left alone, and those that are known not to are not even tried.
 */
export async function establish(input: EstablishInput): Promise<readonly ObjectReference[]> {
  const { workers = defaultWorkers } = input;
  const objects = input.control ? input.objects.map((one) => withWebhookClient(one, input.webhooks)) : input.objects;
  refuseTwins(objects);
  const plans = await inParallel(objects, workers, (object) => planObject(input, object));
  const open = plans.filter((plan) => !isKnown(input, plan));
  const tried = await inParallel(open, workers, (plan) => write(input, plan, true));
  const writes: Plan[] = [];
  for (const [at, plan] of open.entries()) {
    if (changes(plan, tried[at])) writes.push(plan);
    else remember(input, plan);
  }
  const stored = new Map<Plan, KubeObject | undefined>();
  await inParallel(writes, workers, async (plan) => {
    const object = await write(input, plan, false);
    stored.set(plan, object);
    if (plan.action === "create" && object !== undefined) input.onCreated?.(object);
  });
  return plans
    .flatMap((plan) => referenceTo(stored.get(plan) ?? plan.existing) ?? [])
    .toSorted((a, b) => (sortKey(a) < sortKey(b) ? 1 : -1));
}

/** Two objects of one name would each pass the dry run, and the second would fail once the first exists. */
function refuseTwins(objects: readonly KubeObject[]): void {
  const seen = new Set<string>();
  for (const { apiVersion, kind, metadata } of objects) {
    const key = `${apiVersion} ${kind} ${metadata.name}`;
    if (seen.has(key)) throw new Error(`the package has more than one ${kind} ${metadata.name}`);
    seen.add(key);
  }
}

type Plan =
  | { readonly action: "create"; readonly object: KubeObject; readonly existing: undefined }
  | { readonly action: "update"; readonly object: KubeObject; readonly existing: KubeObject }
  | { readonly action: "none"; readonly existing: KubeObject | undefined };

async function planObject(input: EstablishInput, wanted: KubeObject): Promise<Plan> {
  const { client, revision, control, signal } = input;
  const existing = await client.get(wanted, { name: wanted.metadata.name ?? "" }, { signal });
  const owner = packageOwner(input.package);
  if (existing === undefined) {
    if (!control) return { action: "none", existing };
    const object = withOwner(withOwner(stamped(wanted, revision), controllerReference(revision)), owner);
    return { action: "create", object, existing };
  }
  const object = control
    ? controlled(input, existing, wanted)
    : withOwner(withOwner(existing, releasedOwner(existing, revision)), owner);
  return jsonEqual(comparable(object), comparable(existing))
    ? { action: "none", existing }
    : { action: "update", object, existing };
}

/** The wanted object as an update of the existing one, under our control. */
function controlled(
  { revision, package: owner }: EstablishInput,
  existing: KubeObject,
  wanted: KubeObject,
): KubeObject {
  const controller = controllerOf(existing);
  if (controller !== undefined && controller.uid !== revision.metadata.uid) {
    const { kind, name, uid } = controller;
    throw new Error(`${wanted.metadata.name ?? ""} is already controlled by ${kind} ${name} (UID ${uid})`);
  }
  // Finalizers of other controllers are kept.
  const { finalizers, ownerReferences, resourceVersion, uid } = existing.metadata;
  const own = { finalizers, ownerReferences, resourceVersion, uid };
  const kept = { ...wanted, metadata: { ...wanted.metadata, ...own } } as KubeObject;
  const owned = withOwner(withOwner(stamped(kept, revision), controllerReference(revision)), packageOwner(owner));
  return keepActive(owned, existing);
}

/** A managed resource definition that was activated stays so. */
function keepActive(object: KubeObject, existing: KubeObject): KubeObject {
  if (object.kind !== "ManagedResourceDefinition" || memberAt(object, ["spec", "state"]) === "Active") return object;
  return withMember(object, ["spec", "state"], memberAt(existing, ["spec", "state"]));
}

/** The package owns an object without controlling it, in Crossplane's own spelling: a take-over changes nothing. */
function packageOwner(owner: KubeObject): OwnerReference {
  return { ...controllerReference(owner), controller: false };
}

/** A revision's reference on an object that it no longer controls, or never did. */
function releasedOwner(object: KubeObject, revision: KubeObject): OwnerReference {
  const { apiVersion, kind, metadata } = revision;
  const existing = object.metadata.ownerReferences?.find(({ uid }) => uid === metadata.uid);
  if (existing !== undefined) return existing.controller === true ? { ...existing, controller: false } : existing;
  return { apiVersion, kind, name: metadata.name ?? "", uid: metadata.uid ?? "" };
}

/** The revision's common labels and annotations win over the object's own. */
function stamped(object: KubeObject, revision: KubeObject): KubeObject {
  const add = (target: KubeObject, field: "labels" | "annotations", from: string): KubeObject => {
    const common = textMapAt(revision, ["spec", from]);
    if (common === undefined) return target;
    return withMember(target, ["metadata", field], { ...target.metadata[field], ...common });
  };
  return add(add(object, "labels", "commonLabels"), "annotations", "commonAnnotations");
}

/** The fields of an object that a package sets, without those of the server. */
function comparable({ metadata, ...rest }: KubeObject): JsonValue {
  const { labels, annotations, ownerReferences } = metadata;
  const { status: _, ...content } = rest as JsonObject;
  return {
    ...content,
    labels: labels ?? {},
    annotations: annotations ?? {},
    ownerReferences: ownerReferences ?? [],
  };
}

/** Whether a write would change more than its own metadata: a server adds defaults to the fields of a package. */
function changes(plan: Plan, tried: KubeObject | undefined): boolean {
  if (plan.action === "none" || tried === undefined) return false;
  return plan.action === "create" || !jsonEqual(comparable(tried), comparable(plan.existing));
}

function isKnown({ established, revision }: EstablishInput, plan: Plan): boolean {
  if (plan.action !== "update") return plan.action === "none";
  return established?.knows({ revision, existing: plan.existing, wanted: comparable(plan.object) }) ?? false;
}

function remember({ established, revision }: EstablishInput, plan: Plan): void {
  if (plan.action !== "update") return;
  established?.remember({ revision, existing: plan.existing, wanted: comparable(plan.object) });
}

async function write({ client, signal }: EstablishInput, plan: Plan, dryRun: boolean): Promise<KubeObject | undefined> {
  if (plan.action === "none") return plan.existing;
  const options = { fieldManager: packageFieldManagers.update, dryRun, signal };
  const { kind, metadata } = plan.object;
  return during(`cannot ${plan.action} ${kind} ${metadata.name ?? ""}`, () =>
    plan.action === "create" ? client.create(plan.object, options) : client.update(plan.object, options),
  );
}

function referenceTo(object: KubeObject | undefined): ObjectReference | undefined {
  if (object === undefined) return undefined;
  const { apiVersion, kind, metadata } = object;
  const { name = "", uid } = metadata;
  return { apiVersion, kind, name, ...(uid !== undefined && { uid }) };
}

function sortKey({ apiVersion, kind, name }: ObjectReference): string {
  return `${apiVersion}, Kind=${kind}/${name}`;
}

/** Releases the objects that a revision controls, so that another can take them. Objects that are gone are ignored. */
export async function release(
  {
    client,
    revision,
    workers = defaultWorkers,
    signal,
  }: Pick<EstablishInput, "client" | "revision" | "workers" | "signal">,
  references: readonly ObjectReference[],
): Promise<void> {
  await inParallel(references, workers, async (reference) => {
    const existing = await client.get(reference, { name: reference.name }, { signal });
    if (existing === undefined) return;
    const freed = withOwner(existing, releasedOwner(existing, revision));
    if (jsonEqual(comparable(freed), comparable(existing))) return;
    try {
      await client.update(freed, { fieldManager: packageFieldManagers.update, signal });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  });
}

/**
 * Runs a task for each item with limited concurrency, and resolves to the results in order. After the first failure no task is started;
 * running writes are waited for, so that none is left when the caller gets the error.
 */
export async function inParallel<T, R>(
  items: readonly T[],
  workers: number,
  work: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  const failures: unknown[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let at = next++; at < items.length && failures.length === 0; at = next++) {
      try {
        results[at] = await work(items[at] as T);
      } catch (error) {
        failures.push(error);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(workers, items.length) }, worker));
  if (failures.length > 0) throw failures[0];
  return results;
}

/** A stored object, and as a revision would write it. */
interface Attempted {
  readonly revision: KubeObject;
  readonly existing: KubeObject;
  /** The fields that the write sets. */
  readonly wanted: JsonValue;
}

/** Writes that were found to change nothing, so that they are not sent again. */
export interface Established {
  /** Whether this write was found to change nothing in this state of the object. */
  knows(attempted: Attempted): boolean;
  remember(attempted: Attempted): void;
}

/** Objects that are remembered, each with two digests' worth of text. */
const maxObjects = 20_000;

/** Remembers for as long as the process runs: a new process writes once. */
export function createEstablished(): Established {
  const proofs = createMemory<string>(maxObjects);
  return {
    knows: (attempted) => proofs.get(keyOf(attempted)) === proofOf(attempted),
    remember: (attempted) => proofs.set(keyOf(attempted), proofOf(attempted)),
  };
}

function keyOf({ revision, existing: { apiVersion, kind, metadata } }: Attempted): string {
  return `${revision.metadata.uid} ${apiVersion} ${kind} ${metadata.name}`;
}

/** Changes with every write to the object, with its owners and with the wanted state. */
function proofOf({ existing: { metadata }, wanted }: Attempted): string {
  return digestOf(printJson([metadata.uid, metadata.resourceVersion, wanted]));
}
