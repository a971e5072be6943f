// SPDX-License-Identifier: Apache-2.0
import { isJsonObject } from "@purlin/function-protocol";
import {
  createResourceFetcher,
  createSchemaFetcher,
  isClusterScoped,
  type KindScope,
  objectsReader,
  openAPIDocuments,
  type RequirementFetchers,
  type ScopeOf,
  scopesOfCrds,
} from "@purlin/function-runner";
import type { GroupVersionKind } from "@purlin/kube-objects/object";
import { builtinOpenAPI, crdToOpenAPI, findSchema, openAPIPathKey } from "@purlin/kube-objects/openapi";
import { type AuthoredObject, listFiles, readObjects } from "../files/read-objects.ts";
import { readText } from "../files/read-text.ts";
import { parseYaml } from "../files/yaml-file.ts";
import type { Io } from "../io.ts";
import { textOf, UserError } from "../user-error.ts";

/** Files and folders that stand for a cluster. */
export interface RequirementPaths {
  readonly requiredResources: string | undefined;
  readonly crds: string | undefined;
  readonly openapi: string | undefined;
}

/** Answers what functions require from files. Every file is read and checked before the first call. */
export async function fetchersFromFiles(paths: RequirementPaths, io: Io): Promise<RequirementFetchers> {
  const objects = paths.requiredResources === undefined ? [] : await readObjects(paths.requiredResources, io);
  const crds = paths.crds === undefined ? [] : await readCrds(paths.crds, io);
  const documents = paths.openapi === undefined ? [] : await readOpenAPI(paths.openapi, io);
  refuseTwins(objects);
  const reader = objectsReader(
    objects.map(({ object }) => object),
    { scopeOf: knownScopes(crds) },
  );
  return {
    resources: createResourceFetcher(reader),
    schema: createSchemaFetcher(openAPIDocuments({ documents, crds })).schema,
  };
}

async function readCrds(path: string, io: Io): Promise<unknown[]> {
  const objects = await readObjects(path, io);
  for (const { object, at } of objects) {
    try {
      crdToOpenAPI(object);
    } catch (error) {
      throw new UserError(`${at(["kind"])}: ${textOf(error)}: --crds takes CustomResourceDefinitions`, {
        cause: error,
      });
    }
  }
  return objects.map(({ object }) => object);
}

/** OpenAPI documents in a folder, as an API server serves them. */
export async function readOpenAPI(path: string, io: Io): Promise<unknown[]> {
  const documents: unknown[] = [];
  for (const file of await listFiles(path, io, [".json"])) {
    const text = await readText(file, io, { what: "OpenAPI document" });
    const value = parseJsonFast(text) ?? parseYaml(text, file)[0]?.value;
    try {
      openAPIDocuments({ documents: [value], withoutBuiltin: true });
    } catch (error) {
      const advice = "expected an OpenAPI v3 document as served at /openapi/v3/apis/<group>/<version>";
      throw new UserError(`${file}: no kinds found: ${advice}`, { cause: error });
    }
    documents.push(value);
  }
  return documents;
}

/** Documents of a server are large and correct; only a broken one is read again with positions. */
function parseJsonFast(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function refuseTwins(objects: readonly AuthoredObject[]): void {
  const seen = new Map<string, AuthoredObject>();
  for (const authored of objects) {
    const { apiVersion, kind, metadata } = authored.object;
    const { namespace, name } = isJsonObject(metadata) ? metadata : {};
    const key = JSON.stringify([apiVersion, kind, namespace ?? "", name]);
    const twin = seen.get(key);
    if (twin !== undefined) {
      throw new UserError(
        `${authored.at(["metadata", "name"])}: duplicate ${kind} "${name}", also defined at ${twin.at(["metadata", "name"])}: remove one`,
      );
    }
    seen.set(key, authored);
  }
}

/** The scopes of all kinds that exist without there being an object: built-in ones and those of the definitions. */
function knownScopes(crds: Iterable<unknown>): ScopeOf {
  const custom = scopesOfCrds(crds);
  return (gvk) => custom(gvk) ?? builtinScope(gvk);
}

function builtinScope(gvk: GroupVersionKind): KindScope | undefined {
  const document = builtinOpenAPI().document(openAPIPathKey(gvk));
  if (document === undefined || findSchema(document, gvk) === undefined) return undefined;
  return isClusterScoped(gvk) ? "Cluster" : "Namespaced";
}
