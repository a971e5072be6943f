// SPDX-License-Identifier: Apache-2.0
import { createHash } from "node:crypto";

/** Context key of the composition environment, an object. */
export const KEY_ENVIRONMENT = "apiextensions.crossplane.io/environment";

/** Context key under which functions hand on resources they selected: an object of lists. */
export const KEY_EXTRA_RESOURCES = "apiextensions.crossplane.io/extra-resources";

/** Requirement name of the object that triggered a WatchOperation. */
export const WATCHED_RESOURCE = "ops.crossplane.io/watched-resource";

const longestLabel = 63;
const hashLength = 5;

/**
 * A name for a child object made from parts such as a parent's name and a suffix: the same parts give the same name,
 * different parts different ones, and it never exceeds the 63 characters a DNS label may have. It ends in a short hash,
 * always, so that long and short names look alike. Equal to `child_name` of the Python SDK.
 */
export function childName(parts: readonly string[], separator = "-"): string {
  const full = parts.join(separator);
  const hash = createHash("sha256").update(full).digest("hex").slice(0, hashLength);
  const prefix = [...full].slice(0, longestLabel - hashLength - 1).join("");
  return `${trimEnd(prefix, separator)}${separator}${hash}`;
}

/** A loop rather than a regular expression, so that no separator needs escaping. */
function trimEnd(text: string, separator: string): string {
  let end = text.length;
  while (separator !== "" && end > 0 && separator.includes(text.charAt(end - 1))) end--;
  return text.slice(0, end);
}
