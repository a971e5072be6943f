// SPDX-License-Identifier: Apache-2.0
import { isStatusError } from "@purlin/kube-objects/errors";
import { exactFieldValue, parseFieldSelector } from "@purlin/kube-objects/selector";
import type { AccessAttributes } from "../auth/authorizer.ts";

/** What a request is for, read from its method and URL alone. */
export type RequestTarget = AccessAttributes;

interface Location {
  /** `/watch/` before the resource: the old way to ask for a watch, whatever the method and the query say. */
  readonly isWatchPath: boolean;
  readonly group: string;
  readonly version: string;
  readonly namespace: string;
  readonly resource: string;
  readonly name: string;
  readonly subresource: string;
}

/** Below a namespace these belong to the namespace itself; anything else is a resource in it. */
const namespaceSubresources: ReadonlySet<string> = new Set(["status", "finalize"]);

/** Reads the target of a request. Paths outside the resource grammar, malformed escapes included, are plain paths. */
export function requestTarget(method: string, path: string, query: URLSearchParams): RequestTarget {
  const location = locate(path);
  if (location === undefined) return { kind: "path", verb: method.toLowerCase(), path: unescaped(path) };
  const { isWatchPath, ...place } = location;
  const verb = isWatchPath ? "watch" : verbOf(method, location, query);
  return { kind: "resource", verb, ...place, name: place.name || pinnedName(verb, query) };
}

/** The object that the path of a deprecated watch names, empty for a collection; undefined for any other path. */
export function watchedName(path: string): string | undefined {
  const location = locate(path);
  return location?.isWatchPath ? location.name : undefined;
}

/** `/api/v1/…` and `/apis/<group>/<version>/…`, then `[watch/][namespaces/<namespace>/]<resource>[/<name>[/<subresource>]]`. */
function locate(path: string): Location | undefined {
  const [root, ...rest] = segments(path) ?? [];
  if (root !== "api" && root !== "apis") return undefined;
  const group = root === "api" ? "" : (rest.shift() ?? "");
  const [version = "", ...below] = rest;
  const isWatchPath = below[0] === "watch";
  const place = isWatchPath ? below.slice(1) : below;
  return place.length === 0 ? undefined : { group, version, isWatchPath, ...within(place) };
}

function within(parts: readonly string[]): Omit<Location, "group" | "version" | "isWatchPath"> {
  const [first = "", second = "", third = "", fourth = "", ...rest] = parts;
  if (first !== "namespaces" || second === "") {
    return {
      namespace: "",
      resource: first,
      name: second,
      subresource: [third, fourth, ...rest].filter(Boolean).join("/"),
    };
  }
  if (third === "" || namespaceSubresources.has(third)) {
    return { namespace: second, resource: "namespaces", name: second, subresource: third };
  }
  return { namespace: second, resource: third, name: fourth, subresource: rest.join("/") };
}

function segments(path: string): string[] | undefined {
  const parts = path.split("/").filter((part) => part !== "");
  if (!path.includes("%")) return parts;
  try {
    return parts.map(decodeURIComponent);
  } catch {
    return undefined;
  }
}

/** The path without escapes, which rules and denials are about; one with malformed escapes stays as it is. */
export function unescaped(path: string): string {
  if (!path.includes("%")) return path;
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

function verbOf(method: string, { name }: Location, query: URLSearchParams): string {
  switch (method) {
    case "POST":
      return "create";
    case "PUT":
      return "update";
    case "PATCH":
      return "patch";
    case "DELETE":
      return name === "" ? "deletecollection" : "delete";
    case "GET":
    case "HEAD":
      return readVerb(name, query);
    default:
      // No verb stands for any other method.
      return "";
  }
}

function readVerb(name: string, query: URLSearchParams): string {
  if (name !== "") return "get";
  const watch = query.get("watch");
  if (watch !== null && watch !== "false" && watch !== "0") return "watch";
  return "list";
}

/** A user that may list the one object of a name may select it with a field selector. */
function pinnedName(verb: string, query: URLSearchParams): string {
  const selector = query.get("fieldSelector");
  if (selector === null || (verb !== "list" && verb !== "watch" && verb !== "deletecollection")) return "";
  try {
    return exactFieldValue(parseFieldSelector(selector), "metadata.name") ?? "";
  } catch (error) {
    if (isStatusError(error)) {
      // A malformed selector is refused where it is used; here it pins nothing.
      return "";
    }
    throw error;
  }
}
