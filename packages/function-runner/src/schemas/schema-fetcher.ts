// SPDX-License-Identifier: Apache-2.0
import { type Clock, systemClock } from "@purlin/base";
import { create, Schema } from "@purlin/function-protocol";
import { type GroupVersionKind, parseApiVersion } from "@purlin/kube-objects/object";
import { type OpenAPISource, openAPIPathKey } from "@purlin/kube-objects/openapi";
import type { FetchSchema } from "../requirements/settle-requirements.ts";
import { type IndexSnapshot, negativeLifeMs, OpenAPICache } from "./open-api-cache.ts";

/** Answers schema selectors and drops cached kinds when they change. */
export interface SchemaFetcher {
  readonly schema: FetchSchema;
  /** Call it whenever a CustomResourceDefinition changes. It costs nothing by itself, however often it is called. */
  invalidate(): void;
}

/**
 * Answers schema selectors from OpenAPI v3 documents, references inlined. No such group-version or kind is an empty
 * Schema; an apiVersion with two slashes, or a document that cannot be read, rejects.
 */
export function createSchemaFetcher(reader: OpenAPIReader, clock: Clock = systemClock): SchemaFetcher {
  const cache = new OpenAPICache(reader, clock);
  const find = async ({ paths }: IndexSnapshot, gvk: GroupVersionKind): Promise<Schema | undefined> => {
    const key = openAPIPathKey(gvk);
    const url = paths.get(key);
    return url === undefined ? undefined : cache.schema(key, url, gvk);
  };
  return {
    async schema({ apiVersion, kind }) {
      const gvk = { ...parseApiVersion(apiVersion), kind };
      const found = await find(await cache.index(), gvk);
      // A kind that was missing a while ago may have been published since.
      return found ?? (await find(await cache.index(negativeLifeMs), gvk)) ?? create(Schema);
    },
    invalidate: () => cache.invalidate(),
  };
}

/** For places without an API server: no kind has a schema. */
export const noSchemas: FetchSchema = async () => create(Schema);

/** Where OpenAPI v3 documents are read from: a server's `/openapi/v3`, or memory. */
export interface OpenAPIReader {
  /**
   * The index of documents: path key (`api/v1`, `apis/apps/v1`) to server-relative URL. A URL with a `hash` in its query
   * stands for one content for ever.
   */
  index(): Promise<ReadonlyMap<string, string>>;
  /** The document at a URL of the index. */
  document(url: string): Promise<OpenAPISource>;
}
