// SPDX-License-Identifier: Apache-2.0

import { forEachLimited, Turns } from "@purlin/base";
import { create, Resource, State } from "@purlin/function-protocol";
import { observedStruct, type ResourceReader, secretData } from "@purlin/function-runner";
import { isNoMatch } from "@purlin/kube-client/objects";
import type { ControllerClient } from "@purlin/kube-controller";
import { during, ignoreNotFound } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import {
  annotationOf,
  controllerOf,
  formatApiVersion,
  type GroupVersionKind,
  type KubeObject,
  type ObjectKey,
} from "@purlin/kube-objects/object";
import { annotations, kinds } from "../../composite-resource/constants.ts";
import { connectionSecretRefOf, type ResourceRef, resourceRefsOf } from "../../composite-resource/crossplane-fields.ts";
import type { CompositeKind } from "../context.ts";

/** An observed object, with its connection details. */
export interface Observation {
  readonly object: KubeObject;
  readonly connectionDetails: ConnectionDetails;
}

/** The observed XR and its composed resources. */
export interface Observed {
  readonly composite: Observation;
  /** By name in the pipeline. */
  readonly resources: ReadonlyMap<string, Observation>;
}

/** Concurrent reads of composed resources that are not cached: an API server must not get one request per reference at once. */
const atOnce = 16;

interface Reader {
  readonly client: ControllerClient;
  readonly signal: AbortSignal;
}

/** Reads the composed resources the XR refers to, and the details that belong to them and to the XR. */
export async function observe(
  xr: KubeObject,
  { kind, client, signal }: Reader & { readonly kind: CompositeKind },
): Promise<Observed> {
  const resources = await during("cannot get existing composed resources", () =>
    observeResources(xr, resourceRefsOf(xr, kind.schema), { client, signal }),
  );
  const connectionDetails =
    kind.schema === "modern"
      ? noDetails
      : await during("cannot fetch composite resource connection details", () =>
          readConnectionDetails(xr, client, signal),
        );
  return { composite: { object: xr, connectionDetails }, resources };
}

async function observeResources(
  xr: KubeObject,
  refs: readonly ResourceRef[],
  { client, signal }: Reader,
): Promise<ReadonlyMap<string, Observation>> {
  const named = refs.filter(({ name }) => name !== undefined && name !== "");
  const objects = new Array<KubeObject | undefined>(named.length);
  await forEachLimited(named, atOnce, async (ref, index) => {
    objects[index] = await readComposed(xr, ref, { client, signal });
  });
  const resources = new Map<string, Observation>();
  const turns = new Turns();
  for (const object of objects) {
    if (turns.isOver) await turns.next();
    if (object === undefined || isForeign(object, xr)) continue;
    const name = resourceNameOf(object);
    const connectionDetails = await during(`cannot fetch connection details for ${described(name, object)}`, () =>
      during("cannot get connection secret of composed resource", () => readConnectionDetails(object, client, signal)),
    );
    resources.set(name, { object, connectionDetails });
  }
  return resources;
}

async function readComposed(
  xr: KubeObject,
  ref: ResourceRef,
  { client, signal }: Reader,
): Promise<KubeObject | undefined> {
  const namespace = xr.metadata.namespace || ref.namespace || undefined;
  const key: ObjectKey = { namespace, name: ref.name ?? "" };
  return during(`cannot get composed resource (a ${ref.kind} named ${key.name})`, async () => {
    try {
      // A cache may be behind: one more read is better than creating a resource again.
      const cached = await client.get(ref, key, { signal });
      return cached ?? (await ignoreNotFound(client.live.get(ref, key, { signal })));
    } catch (error) {
      // A kind that is not served has no objects; the apply reports it if one is still desired.
      if (isNoMatch(error)) return undefined;
      throw error;
    }
  });
}

/** Whether another owner controls the object: then a reference to it does not count. */
function isForeign(object: KubeObject, xr: KubeObject): boolean {
  const controller = controllerOf(object);
  return controller !== undefined && controller.uid !== xr.metadata.uid;
}

function resourceNameOf(object: KubeObject): string {
  const name = annotationOf(object, annotations.resourceName);
  if (name !== undefined) return name;
  const what = `encountered composed resource without required "${annotations.resourceName}" annotation`;
  const advice = "annotate it with its name in the pipeline, or take it out of the resourceRefs";
  throw new Error(`${what} ${kindAndName(object)}: ${advice}`);
}

/** The observed object when it is of the wanted kind; otherwise it is another one under the same name in the pipeline. */
export function sameKind(observed: KubeObject | undefined, { apiVersion, kind }: KubeObject): KubeObject | undefined {
  return observed?.apiVersion === apiVersion && observed.kind === kind ? observed : undefined;
}

/** A composed resource in messages. */
export function described(name: string, object: KubeObject): string {
  return `composed resource "${name}" ${kindAndName(object)}`;
}

/** The kind and name of an object, in messages. */
export function kindAndName({ kind, metadata }: KubeObject): string {
  return metadata.name ? `(a ${kind} named ${metadata.name})` : `(a ${kind})`;
}

/** The observed state as functions get it. Objects are encoded once for each version of theirs. */
export async function observedState({ composite, resources }: Observed): Promise<State> {
  const messages = new Map<string, Resource>();
  const turns = new Turns();
  for (const [name, observation] of resources) {
    messages.set(name, resourceMessage(observation));
    if (turns.isOver) await turns.next();
  }
  return create(State, { composite: resourceMessage(composite), resources: messages });
}

function resourceMessage({ object, connectionDetails }: Observation): Resource {
  return create(Resource, { resource: observedStruct(object), connectionDetails: new Map(connectionDetails) });
}

/** Secret values by key. */
export type ConnectionDetails = ReadonlyMap<string, Uint8Array>;

/** No details. */
export const noDetails: ConnectionDetails = new Map();

/** The contents of the Secret that an object names; no details when it names none, or the Secret does not exist yet. */
async function readConnectionDetails(
  object: KubeObject,
  client: ControllerClient,
  signal: AbortSignal,
): Promise<ConnectionDetails> {
  const ref = connectionSecretRefOf(object, "legacy");
  if (ref === undefined) return noDetails;
  const namespace = object.metadata.namespace || ref.namespace;
  const secret = await client.get(kinds.secret, { namespace, name: ref.name }, { signal });
  return secret === undefined ? noDetails : secretData(secret);
}

/** Reads required resources through a controller's client: from shared caches, and Secrets live. */
export function clientReader(client: Pick<ControllerClient, "get" | "list" | "mapper">): ResourceReader {
  return {
    async scopeOf(gvk, signal) {
      try {
        return (await client.mapper.mapping(typeOf(gvk), signal)).namespaced ? "Namespaced" : "Cluster";
      } catch (error) {
        if (isNoMatch(error)) return undefined;
        throw error;
      }
    },
    async get(gvk, { namespace, name, signal }) {
      return asJson(await client.get(typeOf(gvk), { namespace, name }, { signal }));
    },
    async list(gvk, { namespace, labels, limit, signal }) {
      const objects = await client.list(typeOf(gvk), { namespace, labels: Object.fromEntries(labels), limit, signal });
      return objects;
    },
  };
}

function typeOf(gvk: GroupVersionKind): { readonly apiVersion: string; readonly kind: string } {
  return { apiVersion: formatApiVersion(gvk), kind: gvk.kind };
}

function asJson(object: KubeObject | undefined): JsonObject | undefined {
  return object;
}
