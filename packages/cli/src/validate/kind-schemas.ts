// SPDX-License-Identifier: Apache-2.0

import { compositionCrds, keptCrds } from "@purlin/composition";
import { createMemoryServer, mastersGroup } from "@purlin/kube-apiserver";
import { builtinKinds } from "@purlin/kube-builtin";
import { createDirectTransport, createKubeClient, type KubeClient } from "@purlin/kube-client";
import type { KubeObject, TypeRef } from "@purlin/kube-objects/object";
import { builtinSchema, servedVersions } from "@purlin/kube-objects/openapi";
import { closestName, type Schema } from "@purlin/kube-objects/schema";
import { packageCrds } from "@purlin/package-manager";
import type { PathSegment } from "../files/yaml-position.ts";

/** The schemas of kinds: built-in ones and those of CRDs. */
class KindSchemas {
  readonly #custom = new Map<string, Schema>();

  /** Adds the served versions of a CRD. */
  add(crd: KubeObject): void {
    for (const { group, version, kind, schema } of servedVersions(crd)) {
      this.#custom.set(`${group}/${version} ${kind}`, (schema ?? {}) as Schema);
    }
  }

  /** The kind of the same group and version whose name is closest to that of an unknown one; undefined when none is close. */
  closest({ apiVersion, kind }: TypeRef): string | undefined {
    const prefix = `${apiVersion.includes("/") ? apiVersion : `/${apiVersion}`} `;
    const kinds = [...this.#custom.keys()].filter((key) => key.startsWith(prefix));
    return closestName(
      kind,
      kinds.map((key) => key.slice(prefix.length)),
    );
  }

  /** The schema of a kind; undefined when it is unknown. */
  of({ apiVersion, kind }: TypeRef): Schema | undefined {
    const [version = "", group = ""] = apiVersion.split("/").reverse();
    return (
      this.#custom.get(`${group}/${version} ${kind}`) ?? (builtinSchema({ group, version, kind }) as Schema | undefined)
    );
  }
}

/** What a path leads to. */
export type Found =
  /** A field; its schema is undefined where the kind takes any field. */
  | { readonly isKnown: true; readonly schema: Schema | undefined }
  /** No field: the name that is unknown, and the closest one that exists. */
  | { readonly isKnown: false; readonly name: PathSegment; readonly closest: string | undefined };

const objectMeta = (): Schema | undefined =>
  (builtinSchema({ group: "", version: "v1", kind: "ConfigMap" }) as Schema | undefined)?.properties?.["metadata"];

/** Follows a path through the schema of a kind. `*` stands for every item. */
export function lookUp(root: Schema, path: readonly PathSegment[]): Found {
  let schema: Schema | undefined = root;
  for (const [depth, segment] of path.entries()) {
    if (depth === 0 && segment === "metadata") {
      schema = objectMeta();
      continue;
    }
    if (depth === 0 && (segment === "apiVersion" || segment === "kind"))
      return { isKnown: true, schema: { type: "string" } };
    if (schema === undefined || isFree(schema)) return { isKnown: true, schema: undefined };
    const next = childOf(schema, segment);
    if (next === undefined) return { isKnown: false, name: segment, closest: closestOf(schema, segment) };
    schema = next;
  }
  return { isKnown: true, schema };
}

/** Whether fields that the schema does not name are kept. */
function isFree(schema: Schema): boolean {
  const hasShape =
    schema.properties !== undefined || schema.additionalProperties !== undefined || schema.items !== undefined;
  const isObject = schema.type === undefined || schema.type === "object";
  return (
    schema["x-kubernetes-preserve-unknown-fields"] === true ||
    schema["x-kubernetes-embedded-resource"] === true ||
    (isObject && !hasShape)
  );
}

function childOf(schema: Schema, segment: PathSegment): Schema | undefined {
  if (typeof segment === "number" || segment === "*") {
    const values = schema.items ?? schema.additionalProperties;
    return values === true ? {} : values || undefined;
  }
  const { properties = {} } = schema;
  if (Object.hasOwn(properties, segment)) return properties[segment];
  const others = schema.additionalProperties;
  return others === true ? {} : others || undefined;
}

function closestOf(schema: Schema, segment: PathSegment): string | undefined {
  return typeof segment === "string" ? closestName(segment, Object.keys(schema.properties ?? {})) : undefined;
}

/** An API server in memory: objects are judged by the code that would store them. */
export interface ScratchServer extends AsyncDisposable {
  readonly client: KubeClient;
  readonly schemas: KindSchemas;
  /** Serves the kinds of valid CRDs. */
  define(crds: readonly KubeObject[]): Promise<void>;
  /** Makes a namespace unless it is there. */
  ensureNamespace(name: string): Promise<void>;
}

const operator = { name: "admin", groups: [mastersGroup] };
const settings = { developmentFunctions: true, functionRevisionSelectors: true, functionRollouts: true };

/** Starts one that serves the built-in kinds and those of Crossplane. */
export async function startScratchServer(): Promise<ScratchServer> {
  const server = createMemoryServer({ kinds: builtinKinds });
  const client = createKubeClient(createDirectTransport(server.handle, operator));
  const schemas = new KindSchemas();
  const define = async (crds: readonly KubeObject[]): Promise<void> => {
    for (const crd of crds) {
      await server.put(crd);
      schemas.add(crd);
    }
    await server.served();
    client.mapper.forget();
  };
  await define([...compositionCrds(), ...keptCrds(), ...packageCrds(settings)]);
  return {
    client,
    schemas,
    define,
    async ensureNamespace(name) {
      await server.put({ apiVersion: "v1", kind: "Namespace", metadata: { name }, status: { phase: "Active" } });
    },
    async [Symbol.asyncDispose]() {
      await client.close();
      await server.close();
    },
  };
}
