// SPDX-License-Identifier: Apache-2.0
import type { GroupVersion } from "../object/gvk.ts";

/** The key of a group-version in the index at `/openapi/v3`: `apis/apps/v1`, or `api/v1` for the core group. */
export function openAPIPathKey({ group, version }: GroupVersion): string {
  return group === "" ? `api/${version}` : `apis/${group}/${version}`;
}

/** The group-version a key stands for; undefined for keys of other documents, such as `version` or `apis/apps`. */
export function parseOpenAPIPathKey(key: string): GroupVersion | undefined {
  const [root, first = "", second = "", ...rest] = key.split("/");
  if (rest.length > 0) return undefined;
  if (root === "api" && first !== "" && second === "") return { group: "", version: first };
  if (root === "apis" && first !== "" && second !== "") return { group: first, version: second };
  return undefined;
}
