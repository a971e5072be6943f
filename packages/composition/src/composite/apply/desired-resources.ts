// SPDX-License-Identifier: Apache-2.0
import { Turns } from "@purlin/base";
import { Ready, type Resource, type State } from "@purlin/function-protocol";
import type { RestMapper } from "@purlin/kube-client/objects";
import { isNotServed } from "@purlin/kube-client/objects";
import { during, textOf, wrapError } from "@purlin/kube-objects/errors";
import { compareUtf8, isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";
import {
  controllerReference,
  gvkOf,
  type KubeObject,
  labelOf,
  parseApiVersion,
  withMember,
  withOwner,
} from "@purlin/kube-objects/object";
import { annotations, labels } from "../../composite-resource/constants.ts";
import { requireValidName, withComposedName } from "../../composite-resource/crossplane-fields.ts";
import { described, kindAndName, type Observation, type Observed, sameKind } from "../observe/observe.ts";
import type { PipelineEvent } from "../run/step-results.ts";

/** A composed resource as it is to be applied. */
export interface DesiredResource {
  /** Its name in the pipeline. */
  readonly name: string;
  readonly object: KubeObject;
  /** Whether its function reports it as ready; there is no other check. */
  readonly ready: boolean;
}

/** The composed resources of a pipeline, and their events. */
export interface DesiredResources {
  readonly resources: readonly DesiredResource[];
  readonly events: readonly PipelineEvent[];
}

/** The inputs for turning a desired state into objects. */
interface DesiredContext {
  readonly xr: KubeObject;
  readonly observed: Observed;
  readonly mapper: RestMapper;
  readonly signal: AbortSignal;
  /** Called for a resource that a cluster would refuse; throws unless given. */
  readonly refuse?: Refuse | undefined;
}

/**
 * The objects of a desired state, sorted by name, complete with name, namespace, labels and owner.
 * Rejects when one of them cannot be an object of this XR.
 */
export async function desiredResources(state: State | undefined, context: DesiredContext): Promise<DesiredResources> {
  const { refuse = rethrow } = context;
  const entries = [...(state?.resources ?? [])].sort(([a], [b]) => compareUtf8(a, b));
  const resources: DesiredResource[] = [];
  const events: PipelineEvent[] = [];
  const turns = new Turns();
  for (const [name, resource] of entries) {
    if (turns.isOver) await turns.next();
    const identified = identify(decodeDesired(name, resource, refuse), context.observed.resources.get(name));
    const { object: placed, event } = await place(name, identified, { ...context, refuse });
    if (event !== undefined) events.push(event);
    const object = withComposedMetadata(name, placed, context.xr);
    requireValidName(name, object);
    resources.push({ name, object, ready: resource.ready === Ready.READY_TRUE });
  }
  requireDistinct(resources, context.xr, refuse);
  return { resources, events };
}

const rethrow: Refuse = (error) => {
  throw error;
};

/** An existing resource keeps its identity: a function can neither rename nor move it. */
function identify(object: KubeObject, observed: Observation | undefined): KubeObject {
  if (observed === undefined) return object;
  const { name, namespace, generateName } = observed.object.metadata;
  const identity = Object.entries({ name, namespace, generateName });
  return identity.reduce((o, [field, value]) => withMember(o, ["metadata", field], value || undefined), object);
}

/** An object in its namespace, and an event about that. */
interface Placed {
  readonly object: KubeObject;
  readonly event?: PipelineEvent | undefined;
}

/** A namespaced XR composes namespaced resources, in its own namespace. Cluster-scoped resources have none. */
async function place(
  name: string,
  object: KubeObject,
  context: DesiredContext & { readonly refuse: Refuse },
): Promise<Placed> {
  const own = context.xr.metadata.namespace;
  const wanted = object.metadata.namespace;
  if (!own && !wanted) return { object };
  const isNamespaced = await hasNamespace(name, object, context);
  if (!isNamespaced && !own) return { object: withMember(object, ["metadata", "namespace"], undefined) };
  if (!isNamespaced) {
    const text = `cannot apply cluster scoped ${described(name, object)} for a namespaced composite resource.`;
    context.refuse(new Error(text));
  }
  return { object, event: own && wanted ? overridden(name, wanted, own) : undefined };
}

async function hasNamespace(name: string, object: KubeObject, context: DesiredContext): Promise<boolean> {
  const { observed, mapper, signal } = context;
  // The kind of an object that was found in a namespace is namespaced.
  if (sameKind(observed.resources.get(name)?.object, object)?.metadata.namespace) return true;
  const question = `cannot check if composed resource "${name}" is namespaced ${kindAndName(object)}`;
  try {
    return (await during(question, () => mapper.mapping(object, signal))).namespaced;
  } catch (error) {
    // A function that sets a namespace is believed: the apply reports a kind that is not served.
    if (object.metadata.namespace && isNotServed(error)) return true;
    throw error;
  }
}

function overridden(name: string, wanted: string, own: string): PipelineEvent | undefined {
  if (wanted === own) return undefined;
  const text = `cannot create composed resource "${name}" in namespace "${wanted}", using XR namespace "${own}" instead`;
  return { type: "Warning", reason: "NamespaceOverridden", message: text, forClaim: false, detail: "" };
}

/**
 * Refuses two resources of one pipeline that are the same object, as each apply would undo the other for ever, and one
 * that is the XR itself, which would be deleted as soon as its function no longer wants it.
 */
function requireDistinct(
  resources: readonly { readonly name: string; readonly object: KubeObject }[],
  xr: KubeObject,
  refuse: Refuse,
): void {
  const names = new Map<string, string>();
  const own = identityOf(xr);
  for (const { name, object } of resources) {
    const identity = identityOf(object);
    if (identity === own) refuse(itself(name, object));
    const other = names.get(identity);
    if (other !== undefined) refuse(sameObject(other, name, object));
    names.set(identity, name);
  }
}

function identityOf(object: KubeObject): string {
  const { apiVersion, kind, metadata } = object;
  const { namespace = "", name = "" } = metadata;
  return JSON.stringify([parseApiVersion(apiVersion).group, kind, namespace, name]);
}

function itself(name: string, object: KubeObject): Error {
  return new Error(
    `composed resource "${name}" is the composite resource itself ${kindAndName(object)}: give it another metadata.name`,
  );
}

function sameObject(one: string, other: string, object: KubeObject): Error {
  const what = `composed resources "${one}" and "${other}" are the same object ${kindAndName(object)}`;
  return new Error(`${what}: give one of them another metadata.name`);
}

/** The object with everything that ties it to its XR: name, namespace, labels, annotation and controller. */
function withComposedMetadata(name: string, object: KubeObject, xr: KubeObject): KubeObject {
  try {
    const tree = labelOf(xr, labels.composite);
    if (tree === undefined) {
      throw new Error(
        `cannot find top-level composite resource name label "${labels.composite}" in composite resource metadata`,
      );
    }
    const placed = withNamespace(withPrefix(object, tree), xr);
    const marked =
      name === "" ? placed : withMember(placed, ["metadata", "annotations", annotations.resourceName], name);
    return withComposedName(name, withController(withTreeLabels(marked, tree, xr), xr));
  } catch (error) {
    throw wrapError(`cannot render metadata for composed resource "${name}"`, error);
  }
}

function withPrefix(object: KubeObject, tree: string): KubeObject {
  if (object.metadata.name || object.metadata.generateName) return object;
  return withMember(object, ["metadata", "generateName"], `${tree}-`);
}

function withNamespace(object: KubeObject, { metadata: { namespace } }: KubeObject): KubeObject {
  return namespace ? withMember(object, ["metadata", "namespace"], namespace) : object;
}

function withTreeLabels(object: KubeObject, tree: string, xr: KubeObject): KubeObject {
  const labelled = withMember(object, ["metadata", "labels", labels.composite], tree);
  const claim = labelOf(xr, labels.claimName);
  const namespace = labelOf(xr, labels.claimNamespace);
  if (claim === undefined || namespace === undefined) return labelled;
  const named = withMember(labelled, ["metadata", "labels", labels.claimName], claim);
  return withMember(named, ["metadata", "labels", labels.claimNamespace], namespace);
}

function withController(object: KubeObject, xr: KubeObject): KubeObject {
  try {
    return withOwner(object, controllerReference(xr));
  } catch (error) {
    throw new Error(`cannot set controller reference: ${textOf(error)}`, { cause: error });
  }
}

/** The types of the metadata fields that composition reads and changes. The API server validates the rest. */
const metadataShape: Readonly<Record<string, "string" | "object" | "list">> = {
  name: "string",
  generateName: "string",
  namespace: "string",
  labels: "object",
  annotations: "object",
  ownerReferences: "list",
};

/** Handles an error about a desired resource: throws it, or continues with a resource that a cluster would refuse. */
type Refuse = (error: Error) => void;

/** The object that a function desires under a name. Refuses an object that a cluster would refuse or that cannot be completed. */
function decodeDesired(name: string, { resource }: Resource, refuse: Refuse): KubeObject {
  const value: JsonObject = resource?.value ?? {};
  if (name === "") refuse(unnamed(value));
  const text = `cannot unmarshal desired composed resource "${name}" from RunFunctionResponse`;
  try {
    gvkOf(value);
  } catch (error) {
    refuse(wrapError(text, error));
  }
  try {
    return { ...value, ...typeIn(value), metadata: metadataOf(value) } as KubeObject;
  } catch (error) {
    throw wrapError(text, error);
  }
}

/** The next reconcile could not find out which resource of the pipeline it was. */
function unnamed({ kind }: JsonObject): Error {
  const what = typeof kind === "string" ? `a ${kind}` : "one of them";
  return new Error(`cannot use a desired composed resource without a name: ${what} has none`);
}

/** The type of an object; a missing field or an invalid apiVersion is empty. */
function typeIn({ apiVersion, kind }: JsonObject): { readonly apiVersion: string; readonly kind: string } {
  const type = { apiVersion: String(apiVersion ?? ""), kind: String(kind ?? "") };
  return type.apiVersion.split("/").length > 2 ? { apiVersion: "", kind: "" } : type;
}

function metadataOf({ metadata = {} }: JsonObject): JsonObject {
  requireShape("metadata", metadata, "object");
  const members = (metadata ?? {}) as JsonObject;
  for (const [field, wanted] of Object.entries(metadataShape)) {
    requireShape(`metadata.${field}`, members[field], wanted);
  }
  requireOwners(members["ownerReferences"]);
  return { ...members };
}

function requireOwners(owners: JsonValue | undefined): void {
  for (const [index, owner] of ((owners ?? []) as readonly JsonValue[]).entries()) {
    if (owner === null) throw new Error(`metadata.ownerReferences[${index}] must be an object, and is null`);
    requireShape(`metadata.ownerReferences[${index}]`, owner, "object");
  }
}

function requireShape(path: string, value: JsonValue | undefined, wanted: "string" | "object" | "list"): void {
  if (value === undefined || value === null || shapeOf(value) === wanted) return;
  throw new Error(`${path} must be ${withArticle(wanted)}, not ${withArticle(shapeOf(value))}`);
}

function withArticle(shape: string): string {
  return `${shape === "object" ? "an" : "a"} ${shape}`;
}

function shapeOf(value: JsonValue): string {
  if (Array.isArray(value)) return "list";
  return isJsonObject(value) ? "object" : typeof value;
}
