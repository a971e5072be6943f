// SPDX-License-Identifier: Apache-2.0

import { isJsonObject } from "@purlin/kube-objects/json";
import {
  builtinOpenAPI,
  crdToOpenAPI,
  mergeOpenAPI,
  type OpenAPIDocument,
  type OpenAPIDocuments,
  type OpenAPISource,
  openAPIPathKey,
} from "@purlin/kube-objects/openapi";
import { RunnerError } from "../runner-error.ts";
import type { OpenAPIReader } from "./schema-fetcher.ts";

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
