// SPDX-License-Identifier: Apache-2.0
import { type Clock, systemClock } from "@purlin/base";
import { create, Schema, Struct } from "@purlin/function-protocol";
import { isJsonObject } from "@purlin/kube-objects/json";
import { type GroupVersionKind, parseApiVersion } from "@purlin/kube-objects/object";
import {
  builtinOpenAPI,
  crdToOpenAPI,
  findSchema,
  inlineReferences,
  mergeOpenAPI,
  type OpenAPIDocument,
  type OpenAPIDocuments,
  type OpenAPISource,
  openAPIPathKey,
} from "@purlin/kube-objects/openapi";
import { RunnerError, wrapError } from "../function-runner.ts";
import type { FetchSchema } from "../requirements/settle-requirements.ts";

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

/** An index is read again at least this often: servers behind an aggregation layer do not announce changes. */
export const indexLifeMs: number = 5 * 60_000;
/** "There is no such kind" is not believed longer than this. */
export const negativeLifeMs = 5_000;
/** A server publishes a changed schema some time after it announced the change; for this long an index is not trusted. */
export const settlingMs = 30_000;

/** A server's index as it was at a moment. */
interface IndexSnapshot {
  readonly paths: ReadonlyMap<string, string>;
  /** When reading it began. */
  readonly readAt: number;
  readonly epoch: number;
}

/** How many kinds are remembered of a document before those it does not describe are looked for each time. */
const mostKinds = 1000;

interface CachedDocument {
  readonly source: Promise<OpenAPISource>;
  /** Inlined schemas by kind; undefined for kinds the document does not describe. */
  readonly schemas: Map<string, Schema | undefined>;
}

/**
 * Keeps a server's OpenAPI index and documents. Documents are kept by URL, which contains a hash of their content, so an
 * invalidation only costs those that changed. Failures are never kept, and concurrent readers share one request.
 */
export class OpenAPICache {
  readonly #reader: OpenAPIReader;
  readonly #clock: Clock;
  readonly #documents = new Map<string, CachedDocument>();
  #index: IndexSnapshot | undefined;
  #reading: { readonly epoch: number; readonly snapshot: Promise<IndexSnapshot> } | undefined;
  /** Counts invalidations; what was read in an earlier epoch may be stale. */
  #epoch = 0;
  #invalidatedAt = Number.NEGATIVE_INFINITY;

  constructor(reader: OpenAPIReader, clock: Clock) {
    this.#reader = reader;
    this.#clock = clock;
  }

  /** How many answers about kinds are remembered. */
  get remembered(): number {
    return [...this.#documents.values()].reduce((sum, { schemas }) => sum + schemas.size, 0);
  }

  invalidate(): void {
    this.#epoch++;
    this.#invalidatedAt = this.#clock.now();
  }

  /** The index, read again when it is stale or older than `maxAgeMs`. */
  async index(maxAgeMs: number = indexLifeMs): Promise<IndexSnapshot> {
    const known = this.#index;
    if (
      known !== undefined &&
      known.epoch === this.#epoch &&
      this.#clock.now() - known.readAt < this.#life(known, maxAgeMs)
    ) {
      return known;
    }
    return this.#readIndex();
  }

  #life({ readAt }: IndexSnapshot, maxAgeMs: number): number {
    return readAt - this.#invalidatedAt < settlingMs ? Math.min(negativeLifeMs, maxAgeMs) : maxAgeMs;
  }

  #readIndex(): Promise<IndexSnapshot> {
    if (this.#reading?.epoch === this.#epoch) return this.#reading.snapshot;
    const snapshot = this.#fetchIndex(this.#epoch, this.#clock.now());
    const reading = { epoch: this.#epoch, snapshot };
    this.#reading = reading;
    const done = (): void => {
      if (this.#reading === reading) this.#reading = undefined;
    };
    snapshot.then(done, done);
    return snapshot;
  }

  async #fetchIndex(epoch: number, readAt: number): Promise<IndexSnapshot> {
    let paths: ReadonlyMap<string, string>;
    try {
      paths = await this.#reader.index();
    } catch (error) {
      throw wrapError("FETCH", "cannot read the OpenAPI v3 index", error);
    }
    const snapshot = { paths, readAt, epoch };
    if (this.#index === undefined || this.#index.readAt <= readAt) {
      this.#index = snapshot;
      this.#forgetOthers(paths);
    }
    return snapshot;
  }

  /** What the index no longer names will not be asked for; what has no hash may have changed behind its URL. */
  #forgetOthers(paths: ReadonlyMap<string, string>): void {
    const current = new Set(paths.values());
    for (const url of this.#documents.keys()) {
      if (!current.has(url) || !/[?&]hash=/.test(url)) this.#documents.delete(url);
    }
  }

  /** The inlined schema of a kind, encoded once a document; undefined when the document does not describe it. */
  async schema(key: string, url: string, gvk: GroupVersionKind): Promise<Schema | undefined> {
    const document = this.#document(key, url);
    const source = await document.source;
    if (document.schemas.has(gvk.kind)) return document.schemas.get(gvk.kind);
    const component = findSchema(source, gvk);
    const schema = component === undefined ? undefined : inline(source, component, key);
    // Functions may ask for any kind, as often as they like; the number of those that a document describes is limited.
    if (schema !== undefined || document.schemas.size < mostKinds) document.schemas.set(gvk.kind, schema);
    return schema;
  }

  #document(key: string, url: string): CachedDocument {
    const known = this.#documents.get(url);
    if (known !== undefined) return known;
    const document = { source: this.#fetchDocument(key, url), schemas: new Map<string, Schema | undefined>() };
    this.#documents.set(url, document);
    document.source.catch(() => {
      if (this.#documents.get(url) === document) this.#documents.delete(url);
    });
    return document;
  }

  async #fetchDocument(key: string, url: string): Promise<OpenAPISource> {
    try {
      const source: unknown = await this.#reader.document(url);
      if (!isJsonObject(source)) throw new RunnerError("FETCH", "it is not a JSON object");
      return source;
    } catch (error) {
      throw wrapError("FETCH", `cannot read the OpenAPI v3 document "${key}"`, error);
    }
  }
}

function inline(source: OpenAPISource, component: string, key: string): Schema {
  try {
    return create(Schema, { openapiV3: Struct.rounded(inlineReferences(source, component)) });
  } catch (error) {
    throw wrapError("FETCH", `cannot use the OpenAPI v3 document "${key}"`, error);
  }
}

/** What a reader in memory answers from. On a clash the first named wins. */
interface OpenAPIDocumentsOptions {
  /** Documents as `/openapi/v3/…` serves them. */
  readonly documents?: Iterable<unknown> | undefined;
  /** CustomResourceDefinitions; each stands for the documents a server would make of it. */
  readonly crds?: Iterable<unknown> | undefined;
  /** Leave out the schemas of built-in kinds, which otherwise always answer. */
  readonly withoutBuiltin?: boolean | undefined;
}

/**
 * A reader over documents in memory. Documents of the same group-version are answered as one. Throws when something is
 * not an OpenAPI document that describes a kind, or not a usable CustomResourceDefinition.
 */
export function openAPIDocuments(options: OpenAPIDocumentsOptions = {}): OpenAPIReader {
  const given = new Map<string, OpenAPIDocument[]>();
  const add = (key: string, document: OpenAPIDocument): void => {
    const documents = given.get(key);
    if (documents === undefined) given.set(key, [document]);
    else documents.push(document);
  };
  let number = 0;
  for (const document of options.documents ?? []) {
    number++;
    const schemas = schemasOf(document);
    for (const key of keysOf(schemas, number)) add(key, documentOf(schemas));
  }
  for (const crd of options.crds ?? []) for (const [key, document] of crdToOpenAPI(crd)) add(key, document);
  // The built-in kinds are parsed when the first schema is asked for: most runs ask for none.
  const builtin = (): OpenAPIDocuments | undefined => (options.withoutBuiltin ? undefined : builtinOpenAPI());
  return {
    async index() {
      const keys = new Set([...given.keys(), ...(builtin()?.keys ?? [])]);
      return new Map([...keys].map((key) => [key, urlOf(key)]));
    },
    async document(url) {
      const key = keyIn(url);
      const own = builtin()?.document(key);
      const [first, ...others] = [...(given.get(key) ?? []), ...(own === undefined ? [] : [own])];
      if (first === undefined) throw new RunnerError("FETCH", `there is no OpenAPI document "${key}"`);
      return mergeOpenAPI(first, ...others);
    },
  };
}

const kindsExtension = "x-kubernetes-group-version-kind";

// Documents in memory never change, so any hash will do.
const urlOf = (key: string): string => `/openapi/v3/${key}?hash=memory`;
const keyIn = (url: string): string => url.slice("/openapi/v3/".length, url.indexOf("?"));

/** The group-versions whose kinds a document describes. */
function keysOf(schemas: Schemas, number: number): Set<string> {
  const keys = new Set<string>();
  for (const schema of Object.values(schemas)) {
    const kinds = isJsonObject(schema) ? schema[kindsExtension] : undefined;
    if (!Array.isArray(kinds) || kinds.length !== 1 || !isJsonObject(kinds[0])) continue;
    const { group = "", version = "" } = kinds[0];
    keys.add(openAPIPathKey({ group: String(group), version: String(version) }));
  }
  if (keys.size > 0) return keys;
  const advice = "expected one as a server answers at /openapi/v3/apis/<group>/<version>";
  throw new RunnerError("FETCH", `OpenAPI document ${number} describes no kind: ${advice}`);
}

type Schemas = OpenAPIDocument["components"]["schemas"];

function schemasOf(document: unknown): Schemas {
  const { components } = (isJsonObject(document) ? document : {}) as OpenAPISource;
  const schemas = isJsonObject(components) ? components["schemas"] : undefined;
  return isJsonObject(schemas) ? (schemas as Schemas) : {};
}

/** Only the schemas of a document are read, so the rest of it may be missing. */
function documentOf(schemas: Schemas): OpenAPIDocument {
  return { openapi: "3.0.0", info: { title: "", version: "" }, paths: {}, components: { schemas } };
}
