// SPDX-License-Identifier: Apache-2.0

import type { Buffer } from "node:buffer";
import { isJsonObject, type JsonObject, type JsonValue } from "@purlin/function-protocol";

/** The sensitive fields of a kind: `true` where everything below is, otherwise by member, `*` for every member and item. */
export type SensitiveFields = true | { readonly [member: string]: SensitiveFields };

/** The kinds that have sensitive fields. */
export class SensitiveKinds {
  readonly #kinds = new Map<string, SensitiveFields>();
  #version = 0;

  /** Changes whenever another field of a kind becomes sensitive. */
  get version(): number {
    return this.#version;
  }

  set(apiVersion: string, kind: string, fields: SensitiveFields | undefined): void {
    const name = `${apiVersion}/${kind}`;
    if (fields === undefined) {
      this.#kinds.delete(name);
      return;
    }
    this.#kinds.set(name, fields);
    this.#version++;
  }

  get(apiVersion: string, kind: string): SensitiveFields | undefined {
    return this.#kinds.get(`${apiVersion}/${kind}`);
  }

  /** Whether encoded bytes may be of such a kind. */
  mayBeIn(bytes: Buffer): boolean {
    for (const name of this.#kinds.keys()) if (bytes.includes(name.slice(name.lastIndexOf("/") + 1))) return true;
    return false;
  }
}

const maxDepth = 64;

/** Fields may be called `__proto__` and `constructor`. */
const noFields = (): Record<string, SensitiveFields> => Object.create(null) as Record<string, SensitiveFields>;

/** The fields that an OpenAPI schema marks with `format: password`, `writeOnly` or `x-purlin-sensitive`. */
export function sensitiveFieldsIn(schema: unknown, depth = 0): SensitiveFields | undefined {
  if (!isJsonObject(schema as JsonValue) || depth > maxDepth) return undefined;
  const node = schema as JsonObject;
  if (node["format"] === "password" || node["writeOnly"] === true || node["x-purlin-sensitive"] === true) return true;
  const found = noFields();
  const properties = node["properties"];
  if (isJsonObject(properties as JsonValue)) {
    for (const [name, property] of Object.entries(properties as JsonObject)) {
      const inner = sensitiveFieldsIn(property, depth + 1);
      if (inner !== undefined) found[name] = inner;
    }
  }
  const every = sensitiveFieldsIn(node["additionalProperties"] ?? node["items"], depth + 1);
  if (every !== undefined) found["*"] = every;
  return Object.keys(found).length === 0 ? undefined : found;
}

/** The fields that paths such as `spec.users[*].token` name. A list index stands for every item. */
export function sensitiveFieldsAt(paths: readonly string[]): SensitiveFields | undefined {
  if (paths.length === 0) return undefined;
  const root = noFields();
  for (const path of paths) {
    let node = root;
    const members = membersOf(path);
    for (const [index, member] of members.entries()) {
      if (index === members.length - 1) node[member] = true;
      const next = node[member] ?? noFields();
      node[member] = next;
      if (next === true) break;
      node = next as Record<string, SensitiveFields>;
    }
  }
  return root;
}

function membersOf(path: string): readonly string[] {
  const members = [...path.matchAll(/\[(["']?)(.*?)\1\]|[^.[\]]+/g)].map(([whole, , inner]) => inner ?? whole);
  return members.map((member) => (/^(?:\d+|\*)$/.test(member) ? "*" : member));
}
