// SPDX-License-Identifier: Apache-2.0
import { isProtocolError, ProtocolError } from "./protocol-error.ts";

/**
 * Adds the path of the offending member to an error met while encoding. Looking for it afterwards keeps the
 * encoder free of bookkeeping that a correct object never needs.
 */
export function explainUnencodable(root: object, error: unknown): unknown {
  if (error instanceof RangeError) {
    return new ProtocolError("TOO_DEEP", "the object is nested too deeply; does it contain itself?", { cause: error });
  }
  if (!isProtocolError(error) || error.code === "TOO_DEEP") return error;
  const path = findProblem(root, "", new Set());
  if (path === undefined) return error;
  return new ProtocolError(error.code, `${path || "the value"}: ${error.message}`, { cause: error, path });
}

/** The path of the last unencodable member in document order: the encoder walks backwards, so that is the one it met. */
function findProblem(value: unknown, path: string, parents: Set<object>): string | undefined {
  if (isUnencodable(value)) return path;
  if (typeof value !== "object" || value === null || parents.has(value)) return undefined;
  parents.add(value);
  for (const [key, member] of Object.entries(value).reverse()) {
    if (!key.isWellFormed()) return join(path, value, key);
    const found = member === undefined ? undefined : findProblem(member, join(path, value, key), parents);
    if (found !== undefined) return found;
  }
  parents.delete(value);
  return undefined;
}

function isUnencodable(value: unknown): boolean {
  switch (typeof value) {
    case "number":
      return !Number.isFinite(value);
    case "bigint":
      return BigInt(Number(value)) !== value;
    case "string":
      return !value.isWellFormed();
    case "function":
    case "symbol":
      return true;
    case "object":
      return value !== null && !Array.isArray(value) && !hasJsonForm(value);
    default:
      return false;
  }
}

function hasJsonForm(value: object): boolean {
  if (value instanceof Date || value instanceof Map || value instanceof Set) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === null || Object.getPrototypeOf(prototype) === null) return true;
  return value instanceof Uint8Array || "toJSON" in value;
}

function join(path: string, parent: object, key: string): string {
  if (Array.isArray(parent)) return `${path}[${key}]`;
  if (!/^[A-Za-z_][\w-]*$/.test(key)) return `${path}[${JSON.stringify(key)}]`;
  return path === "" ? key : `${path}.${key}`;
}
