// SPDX-License-Identifier: Apache-2.0
import { Buffer } from "node:buffer";
import { hash, randomBytes } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
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

/** Replaces a secret value in a record. */
export type Mark = (value: Uint8Array) => string;

const keyBytes = 32;
const shownDigits = 8;

/** The mark of Crossplane's pipeline inspector, the same for all values. */
export const plainMark: Mark = () => "**REDACTED**";

/** Marks with the first eight digits of an HMAC: a value that changed has another mark, and the mark does not reveal the value. */
export function keyedMark(key: Uint8Array): Mark {
  const hmac = hmacOf(key);
  return (value) => `**REDACTED:${hmac(value).slice(0, shownDigits)}**`;
}

const blockBytes = 64;

/** HMAC-SHA-256 (RFC 2104) of two calls that hash at once: an Hmac object costs several times as much as hashing a short value. */
function hmacOf(key: Uint8Array): (value: Uint8Array) => string {
  const block = Buffer.alloc(blockBytes);
  block.set(key.length > blockBytes ? hash("sha256", key, "buffer") : key);
  const [inner, outer] = [block.map((byte) => byte ^ 0x36), block.map((byte) => byte ^ 0x5c)];
  return (value) =>
    hash("sha256", Buffer.concat([outer, hash("sha256", Buffer.concat([inner, value]), "buffer")]), "hex");
}

/** The key of a store, from a file that only its owner can read. Creates the file when it does not exist. */
export function readMarkKey(path: string): Buffer {
  if (!existsSync(path)) writeFileSync(path, randomBytes(keyBytes), { mode: 0o600, flag: "wx" });
  const key = readFileSync(path);
  if (key.length < keyBytes) throw new Error(`${path} is not a key of ${keyBytes} bytes: remove it`);
  return key;
}

/** A mark anywhere in a text. */
export const markPattern: RegExp = /\*\*REDACTED(?::[0-9a-f]{8})?\*\*/g;

/** Whether a text is a mark and nothing else: an object that was redacted before. */
export function isMark(text: string): boolean {
  return /^\*\*REDACTED(?::[0-9a-f]{8})?\*\*$/.test(text);
}
