// SPDX-License-Identifier: Apache-2.0

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
