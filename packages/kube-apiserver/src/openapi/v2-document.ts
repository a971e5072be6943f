// SPDX-License-Identifier: Apache-2.0
import { createHash } from "node:crypto";
import type { JsonObject } from "@purlin/kube-objects/json";
import {
  bearerToken,
  documentVersion,
  type PublishedDocument,
  type PublishedDocuments,
} from "./published-documents.ts";
import { swaggerProtobuf } from "./swagger-protobuf.ts";
import { v2Paths } from "./v2-paths.ts";
import { builtinV2Schema, customV2Schema } from "./v2-schema.ts";

/** Everything that is served in one OpenAPI v2 document, in both of its forms. */
export interface V2Document {
  readonly value: JsonObject;
  readonly json: () => Uint8Array;
  readonly protobuf: () => Uint8Array;
  readonly hash: string;
}

/** Keeps the document of the served kinds. It is large and rarely requested, so it is made on the first request. */
export class PublishedV2Document {
  readonly #documents: PublishedDocuments;
  readonly #parts = new WeakMap<PublishedDocument, Part>();
  #made: { readonly from: readonly PublishedDocument[]; readonly document: V2Document } | undefined;

  constructor(documents: PublishedDocuments) {
    this.#documents = documents;
  }

  document(): V2Document {
    const from = this.#documents.keys().flatMap((key) => this.#documents.document(key) ?? []);
    const known = this.#made;
    if (known?.from.length === from.length && from.every((one, index) => one === known.from[index])) {
      return known.document;
    }
    const document = publish(from.map((one) => this.#part(one)));
    this.#made = { from, document };
    return document;
  }

  #part(document: PublishedDocument): Part {
    const part = this.#parts.get(document) ?? partOf(document);
    this.#parts.set(document, part);
    return part;
  }
}

/** What one v3 document contributes. */
interface Part {
  readonly paths: JsonObject;
  readonly definitions: Readonly<Record<string, JsonObject>>;
}

function partOf({ paths, schemas }: PublishedDocument): Part {
  const definitions = Object.entries(schemas).map(([name, schema]) => {
    return [name, name.startsWith("io.k8s.api") ? builtinV2Schema(schema) : customV2Schema(schema)] as const;
  });
  return { paths: v2Paths(paths), definitions: Object.fromEntries(definitions) };
}

function publish(parts: readonly Part[]): V2Document {
  const value: JsonObject = {
    swagger: "2.0",
    info: { title: "Kubernetes", version: documentVersion },
    paths: byName(parts.map(({ paths }) => paths)),
    definitions: byName(parts.map(({ definitions }) => definitions)),
    securityDefinitions: { BearerToken: bearerToken },
    security: [{ BearerToken: [] }],
  };
  const json = Buffer.from(JSON.stringify(value));
  let protobuf: Uint8Array | undefined;
  return {
    value,
    json: () => json,
    protobuf: () => (protobuf ??= swaggerProtobuf(value)),
    hash: createHash("sha512").update(json).digest("hex").toUpperCase(),
  };
}

const kindsExtension = "x-kubernetes-group-version-kind";

/** The same component is in many documents, and may list other kinds in each: here it lists them all. */
function byName(objects: readonly JsonObject[]): JsonObject {
  const found = new Map<string, JsonObject>();
  for (const [name, value] of objects.flatMap((object) => Object.entries(object as Record<string, JsonObject>))) {
    const known = found.get(name);
    found.set(name, known === undefined ? value : withKindsOf(known, value));
  }
  return Object.fromEntries([...found].sort(([a], [b]) => (a < b ? -1 : 1)));
}

function withKindsOf(schema: JsonObject, other: JsonObject): JsonObject {
  const [own, more] = [kindsOf(schema), kindsOf(other)];
  if (own.length < 2 && more.length < 2) return schema;
  const all = new Map([...own, ...more].map((kind) => [`${kind["group"]} ${kind["version"]}`, kind]));
  return { ...schema, [kindsExtension]: [...all].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, kind]) => kind) };
}

function kindsOf(schema: JsonObject): readonly JsonObject[] {
  const kinds = schema[kindsExtension];
  return Array.isArray(kinds) ? (kinds as readonly JsonObject[]) : [];
}
