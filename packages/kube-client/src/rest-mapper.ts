// SPDX-License-Identifier: Apache-2.0
import { createErrorBrand, isNotFound } from "@purlin/kube-objects/errors";
import type { TypeRef } from "@purlin/kube-objects/object";
import type { KubeTransport } from "./transport.ts";

/** Where the objects of a type live on an API server. */
export interface RestMapping extends TypeRef {
  /** The collection's last path segment, such as `deployments`. */
  readonly resource: string;
  readonly namespaced: boolean;
}

/** A type the API server does not serve. */
export class NoMatchError extends Error {
  readonly type: TypeRef;

  constructor(type: TypeRef, options?: ErrorOptions) {
    super(`no matches for kind "${type.kind}" in version "${type.apiVersion}"`, options);
    this.name = "NoMatchError";
    this.type = type;
    noMatch.mark(this);
  }
}

const noMatch = createErrorBrand<NoMatchError>("purlin.dev/kube-client/no-match");

/** Whether an error says that the server does not serve a type. */
export function isNoMatch(error: unknown): error is NoMatchError {
  return noMatch.has(error);
}

/** Whether an error was caused by a kind that the API server does not serve, not yet or no longer. */
export function isNotServed(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) if (isNoMatch(cause)) return true;
  return false;
}

/** Whether the server serves a type. */
export async function isServed(mapper: RestMapper, type: TypeRef, signal: AbortSignal): Promise<boolean> {
  try {
    await mapper.mapping(type, signal);
    return true;
  } catch (error) {
    if (isNoMatch(error)) return false;
    throw error;
  }
}

/** Maps types to the REST paths of their objects. */
export interface RestMapper {
  /** Throws a NoMatchError for a type the server does not serve. */
  mapping(type: TypeRef, signal?: AbortSignal): Promise<RestMapping>;
  /** Drops the cached mappings of a group version, or all of them. */
  forget(apiVersion?: string): void;
}

type ApiResource = {
  readonly name: string;
  readonly kind: string;
  readonly namespaced: boolean;
};

type Mappings = ReadonlyMap<string, RestMapping>;

/**
 * A mapper that asks the server for a group version when one of its kinds is first used, and again when a kind is not
 * among those it knows: a CRD may have come since.
 */
export function createRestMapper(transport: KubeTransport): RestMapper {
  const known = new Map<string, Promise<Mappings>>();

  async function discover(apiVersion: string, signal: AbortSignal | undefined): Promise<Mappings> {
    const path = groupVersionPath(apiVersion);
    try {
      const { body } = await transport.request({ method: "GET", path, signal });
      return mappingsOf(apiVersion, (body as { resources?: readonly ApiResource[] }).resources ?? []);
    } catch (error) {
      if (isNotFound(error)) return new Map();
      throw error;
    }
  }

  function lookUp(apiVersion: string, signal: AbortSignal | undefined): Promise<Mappings> {
    const found = discover(apiVersion, signal);
    known.set(apiVersion, found);
    // What failed, or was empty because nothing is served yet, is asked for again next time.
    const drop = (): boolean => known.get(apiVersion) === found && known.delete(apiVersion);
    found.then((mappings) => mappings.size === 0 && drop(), drop);
    return found;
  }

  return {
    async mapping(type, signal) {
      const cached = await known.get(type.apiVersion)?.catch(() => undefined);
      const mapping = cached?.get(type.kind) ?? (await lookUp(type.apiVersion, signal)).get(type.kind);
      if (mapping === undefined) throw new NoMatchError(type);
      return mapping;
    },
    forget(apiVersion) {
      if (apiVersion === undefined) known.clear();
      else known.delete(apiVersion);
    },
  };
}

/** Functions name kinds: a group or version may hold anything, and must not lead to another path. */
function groupVersionPath(apiVersion: string): string {
  const path = apiVersion.split("/").map(encodeURIComponent).join("/");
  return apiVersion.includes("/") ? `/apis/${path}` : `/api/${path}`;
}

function mappingsOf(apiVersion: string, resources: readonly ApiResource[]): Mappings {
  const main = resources.filter(({ name }) => !name.includes("/"));
  return new Map(
    main.map(({ name, kind, namespaced }) => [kind, { apiVersion, kind, resource: name, namespaced }] as const),
  );
}

/** The path of a collection, or of one object in it. */
export function resourcePath(
  mapping: RestMapping,
  key?: { namespace?: string | undefined; name?: string | undefined },
): string {
  const namespace = mapping.namespaced && key?.namespace ? `/namespaces/${encodeURIComponent(key.namespace)}` : "";
  const name = key?.name === undefined ? "" : `/${encodeURIComponent(key.name)}`;
  return `${groupVersionPath(mapping.apiVersion)}${namespace}/${mapping.resource}${name}`;
}
