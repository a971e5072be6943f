// SPDX-License-Identifier: Apache-2.0
import type { PathOperations } from "./operation.ts";
import { operationNames } from "./operation-names.ts";

const META = "io.k8s.apimachinery.pkg.apis.meta.v1";
const TYPES = ["application/json", "application/yaml"];

/** The root of the core group, of all others, of one group, or of one version of it. */
export function discoveryPath(path: string): PathOperations {
  const parts = path.split("/").filter((part) => part !== "");
  const [what, component] = answerOf(parts);
  return reading(path, what, { component: `${META}.${component}`, types: TYPES });
}

function answerOf(parts: readonly string[]): readonly [what: string, component: string] {
  if (parts.length === 1) {
    return parts[0] === "api" ? ["APIVersions", "APIVersions"] : ["APIVersions", "APIGroupList"];
  }
  const isGroup = parts[0] === "apis" && parts.length === 2;
  return isGroup ? ["APIGroup", "APIGroup"] : ["APIResources", "APIResourceList"];
}

/** Where the server says what it is. */
export function versionPath(): PathOperations {
  const component = "io.k8s.apimachinery.pkg.version.Info";
  return reading("/version/", "CodeVersion", { component, types: ["application/json"] });
}

function reading(
  path: string,
  what: string,
  { component, types }: { readonly component: string; readonly types: readonly string[] },
): PathOperations {
  const names = operationNames("get", what, path);
  const operation = {
    method: "get",
    ...names,
    parameters: [],
    consumes: types,
    produces: types,
    responses: { 200: { component } },
  } as const;
  return { path, operations: [operation] };
}
