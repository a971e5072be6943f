// SPDX-License-Identifier: Apache-2.0
import { createHash } from "node:crypto";
import {
  builtinOpenAPI,
  crdToOpenAPI,
  findSchema,
  type JsonObject,
  type JsonValue,
  mergeOpenAPI,
  type OpenAPIDocument,
  openAPIPathKey,
  parseOpenAPIPathKey,
} from "@purlin/kube-objects";
import type { Catalog } from "../registry/registry.ts";
import { operationPaths } from "./operation-paths.ts";

/** A document ready to be sent. */
export interface PublishedDocument {
  readonly value: JsonObject;
  readonly bytes: Uint8Array;
  /** SHA-512 of the bytes, in upper case: changes when and only when the document does. */
  readonly hash: string;
}

/** What is served now: the catalog, and the CRDs behind its custom part. */
export interface ServedNow {
  readonly catalog: Catalog;
  readonly crds: readonly JsonObject[];
}

/**
 * The OpenAPI v3 documents of everything that is served, one a group-version. A document is made when it is first asked
 * for, and again only when what it describes has changed.
 */
export class PublishedDocuments {
  readonly #now: () => ServedNow;
  readonly #made = new Map<string, { readonly from: readonly unknown[]; readonly document: PublishedDocument }>();

  constructor(now: () => ServedNow) {
    this.#now = now;
  }

  /** The keys of all documents: `api/v1`, `apis/apps/v1`, …, sorted. */
  keys(): string[] {
    const { groups } = this.#now().catalog;
    return groups
      .flatMap(({ name, versions }) => versions.map(({ version }) => openAPIPathKey({ group: name, version })))
      .sort();
  }

  document(key: string): PublishedDocument | undefined {
    const groupVersion = parseOpenAPIPathKey(key);
    const { catalog, crds } = this.#now();
    const served = catalog
      .group(groupVersion?.group ?? "")
      ?.versions.find(({ version }) => version === groupVersion?.version);
    if (groupVersion === undefined || served === undefined) return undefined;
    const own = crds.filter((crd) => (crd["spec"] as JsonObject | undefined)?.["group"] === groupVersion.group);
    const from = [...own, ...served.resources];
    const known = this.#made.get(key);
    if (known !== undefined && sameItems(known.from, from)) return known.document;
    const document = publish(describe(key, own, served.resources));
    this.#made.set(key, { from, document });
    return document;
  }

  /** Drops what is no longer served. */
  forgetUnserved(): void {
    const served = new Set(this.keys());
    for (const key of this.#made.keys()) if (!served.has(key)) this.#made.delete(key);
  }
}

function sameItems(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((item, index) => item === b[index]);
}

function describe(
  key: string,
  crds: readonly JsonObject[],
  resources: Parameters<typeof operationPaths>[0],
): OpenAPIDocument {
  const builtin = builtinOpenAPI().document(key);
  const custom = crds.flatMap((crd) => crdToOpenAPI(crd).get(key) ?? []);
  const [first, ...others] = builtin === undefined ? custom : [builtin, ...custom];
  const merged = first === undefined ? emptyDocument : mergeOpenAPI(first, ...others);
  return { ...merged, paths: operationPaths(resources, (kind) => findSchema(merged, kind)) };
}

const emptyDocument: OpenAPIDocument = {
  openapi: "3.0.0",
  info: { title: "Kubernetes", version: "unversioned" },
  paths: {},
  components: { schemas: {} },
};

function publish(document: OpenAPIDocument): PublishedDocument {
  const value = document as unknown as JsonObject;
  const bytes = Buffer.from(JSON.stringify(value as JsonValue));
  return { value, bytes, hash: createHash("sha512").update(bytes).digest("hex").toUpperCase() };
}
