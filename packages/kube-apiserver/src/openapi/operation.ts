// SPDX-License-Identifier: Apache-2.0
// The operations of the server, for both versions of OpenAPI.
import type { GroupVersionKind } from "@purlin/kube-objects/object";

/** Something in the URL that changes an answer. */
export interface Parameter {
  readonly name: string;
  readonly in: "query" | "path";
  readonly type: "string" | "integer" | "boolean";
}

/** What a body or an answer is: a component, or anything where none describes it. */
export interface Content {
  readonly component: string | undefined;
}

/** One method of a path. */
export interface Operation {
  readonly method: "get" | "post" | "put" | "patch" | "delete";
  readonly id: string;
  readonly tag: string;
  /** The verb and kind of the operation; absent for paths outside the resources. */
  readonly action?: string;
  readonly kind?: GroupVersionKind;
  readonly parameters: readonly Parameter[];
  readonly body?: Content & { readonly required: boolean };
  readonly consumes: readonly string[];
  readonly produces: readonly string[];
  /** What comes with which code, besides 401. */
  readonly responses: Readonly<Record<number, Content>>;
}

/** A path and its operations. */
export interface PathOperations {
  readonly path: string;
  readonly operations: readonly Operation[];
}

/** The short words for codes that every answer needs. */
export const codeTexts: Readonly<Record<number, string>> = {
  200: "OK",
  201: "Created",
  202: "Accepted",
  401: "Unauthorized",
};

/** What all operations of a path take, and what only one of them does; both by name. */
export function sharedParameters(operations: readonly Operation[]): {
  readonly shared: readonly Parameter[];
  readonly own: (operation: Operation) => readonly Parameter[];
} {
  const [first, ...others] = operations;
  const isShared = ({ name }: Parameter): boolean =>
    others.every(({ parameters }) => parameters.some((one) => one.name === name));
  const shared = (first?.parameters ?? []).filter(isShared);
  const names = new Set(shared.map(({ name }) => name));
  return {
    shared: byName(shared),
    own: ({ parameters }) => byName(parameters.filter(({ name }) => !names.has(name))),
  };
}

function byName(parameters: readonly Parameter[]): readonly Parameter[] {
  return parameters.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** How an operation is called and filed: `listAppsV1NamespacedDeployment` under `apps_v1`. */
interface OperationNames {
  readonly id: string;
  readonly tag: string;
}

/**
 * Names an operation on a path after its verb, the group and version in the path, and what it is done to. Generated clients are
 * called by these names.
 */
export function operationNames(verb: string, what: string, path: string): OperationNames {
  const [root = "", group = "", version = ""] = pathParts(path);
  if (root !== "apis" || group === "") return { id: `${verb}${camelCase(what, true)}`, tag: camelCase(root, false) };
  const trimmed = group.replace(/\.k8s\.io$/, "");
  const tag = camelCase(trimmed, false);
  return {
    id: `${verb}${camelCase(trimmed, true)}${camelCase(version, true)}${camelCase(what, true)}`,
    tag: version === "" ? tag : `${tag}_${camelCase(version, false)}`,
  };
}

/** The core group has a root of its own, and is named as if it had not. */
function pathParts(path: string): string[] {
  const [root = "", ...rest] = path.split("/").filter((part) => part !== "");
  return root === "api" ? ["apis", "core", ...rest] : [root, ...rest];
}

/** Letters and digits only, each that follows something else in upper case. */
function camelCase(text: string, capital: boolean): string {
  let made = "";
  let isUpper = capital;
  for (const [index, character] of [...text].entries()) {
    if (!/[\p{L}_]/u.test(character) && (index === 0 || !/\d/.test(character))) {
      isUpper = true;
      continue;
    }
    made += isUpper ? character.toUpperCase() : character;
    isUpper = false;
  }
  return made;
}
