// SPDX-License-Identifier: Apache-2.0
import type { ControllerClient } from "@purlin/kube-controller";
import { during } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import {
  annotationOf,
  controllerOf,
  isDeleted,
  type KubeObject,
  memberAt,
  optionalObjectAt,
  type TypeRef,
  textAt,
  textMapAt,
  withMember,
} from "@purlin/kube-objects/object";

/** A field of `spec.forProvider` whose value may come from another object: `<field>Ref` names it, `<field>Selector` selects it. */
export interface ReferenceSpec {
  /** The field, such as `database`. */
  readonly field: string;
  /** The kind of the objects that it refers to. */
  readonly to: TypeRef;
  /** The value for the field: the external name of the object unless given. An empty one means that the object is not ready yet. */
  readonly extract?: (object: KubeObject) => string | undefined;
}

interface ResolveOptions {
  readonly client: ControllerClient;
  readonly signal: AbortSignal;
}

/** The managed resource with the values of its references filled in; the object itself when nothing changes. */
export function resolveReferences(
  object: KubeObject,
  specs: readonly ReferenceSpec[],
  options: ResolveOptions,
): Promise<KubeObject> {
  return during("cannot resolve references", async () => {
    let resolved = object;
    for (const spec of specs) {
      resolved = await during(`spec.forProvider.${spec.field}`, () => resolveOne(resolved, spec, options));
    }
    return resolved;
  });
}

async function resolveOne(object: KubeObject, spec: ReferenceSpec, options: ResolveOptions): Promise<KubeObject> {
  const path = ["spec", "forProvider"];
  const ref = optionalObjectAt(object, [...path, `${spec.field}Ref`]);
  const selector = optionalObjectAt(object, [...path, `${spec.field}Selector`]);
  const policy = optionalObjectAt(selector ?? ref ?? {}, ["policy"]) ?? {};
  const isAlways = policy["resolve"] === "Always";
  const current = memberAt(object, [...path, spec.field]);
  if ((ref === undefined && selector === undefined) || (hasValue(current) && !isAlways)) return object;
  try {
    const found =
      ref !== undefined && !(isAlways && selector !== undefined)
        ? await getReferenced(object, spec, { ...options, ref })
        : await select(object, spec, { ...options, selector: selector ?? {} });
    const value = (spec.extract ?? externalNameOf)(found);
    if (!value) throw new Error("referenced field was empty (referenced resource may not yet be ready)");
    const named = withMember(object, [...path, `${spec.field}Ref`], { ...ref, name: found.metadata.name ?? "" });
    return withMember(named, [...path, spec.field], value);
  } catch (error) {
    // The field is left as it is: the value may come later.
    if (policy["resolution"] === "Optional") return object;
    throw error;
  }
}

function hasValue(value: unknown): boolean {
  return value !== undefined && value !== null && value !== "";
}

function getReferenced(
  object: KubeObject,
  { to }: ReferenceSpec,
  { client, signal, ref }: ResolveOptions & { readonly ref: JsonObject },
): Promise<KubeObject> {
  const namespace = textAt(ref, ["namespace"]) ?? object.metadata.namespace;
  const name = textAt(ref, ["name"]) ?? "";
  return during("cannot get referenced resource", async () => {
    const found = await client.get(to, { name, ...(namespace !== undefined && { namespace }) }, { signal });
    if (found === undefined) throw new Error(`${to.kind} "${name}" not found`);
    return found;
  });
}

/** The first object in order of namespace and name that has the labels, and the same controller if that is asked for. */
async function select(
  object: KubeObject,
  { to }: ReferenceSpec,
  { client, signal, selector }: ResolveOptions & { readonly selector: JsonObject },
): Promise<KubeObject> {
  const namespace = textAt(selector, ["namespace"]) ?? object.metadata.namespace;
  const labels = textMapAt(selector, ["matchLabels"]) ?? {};
  const listed = await during("cannot list resources that match selector", () =>
    client.list(to, { labels, signal, ...(namespace !== undefined && { namespace }) }),
  );
  const found = listed
    .filter((one) => selector["matchControllerRef"] !== true || haveSameController(object, one))
    .filter((one) => !isDeleted(one))
    .toSorted((a, b) => (placeOf(a) < placeOf(b) ? -1 : 1))[0];
  if (found === undefined) throw new Error("no resources matched selector");
  return found;
}

function placeOf({ metadata }: KubeObject): string {
  return `${metadata.namespace ?? ""}/${metadata.name ?? ""}`;
}

function haveSameController(a: KubeObject, b: KubeObject): boolean {
  const uid = controllerOf(a)?.uid;
  return uid !== undefined && uid === controllerOf(b)?.uid;
}

// The annotations that record the identity of an external resource, and how far its creation went.

export const externalAnnotations = {
  name: "crossplane.io/external-name",
  pending: "crossplane.io/external-create-pending",
  succeeded: "crossplane.io/external-create-succeeded",
  failed: "crossplane.io/external-create-failed",
} as const;

/** The name of the external resource; empty while it is unknown. */
export function externalNameOf(object: KubeObject): string {
  return annotationOf(object, externalAnnotations.name) ?? "";
}

function timeOf(object: KubeObject, annotation: string): number {
  const time = Date.parse(annotationOf(object, annotation) ?? "");
  return Number.isNaN(time) ? 0 : time;
}

/** Whether a creation was begun and its result is unknown: the process ended in between. */
export function isCreateIncomplete(object: KubeObject): boolean {
  const pending = timeOf(object, externalAnnotations.pending);
  const ended = Math.max(timeOf(object, externalAnnotations.succeeded), timeOf(object, externalAnnotations.failed));
  return pending > ended;
}

/** Whether the external resource was created within this time. */
export function wasCreatedWithin(object: KubeObject, periodMs: number, now: number): boolean {
  const succeeded = timeOf(object, externalAnnotations.succeeded);
  return succeeded > 0 && now - succeeded < periodMs;
}

/** A time as the annotations have it: seconds, as Go's RFC 3339. */
export function annotationTime(now: number): string {
  return `${new Date(now).toISOString().slice(0, 19)}Z`;
}
