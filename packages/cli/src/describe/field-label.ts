// SPDX-License-Identifier: Apache-2.0

const acronyms = new Set(["API", "URL", "UID", "OSB", "GUID"]);

/** `observedGeneration` as `Observed Generation`, the way kubectl titles the fields of custom objects. */
export function fieldLabel(field: string): string {
  const words = field.match(/\p{Lu}+(?!\p{Ll})|\p{Lu}?\p{Ll}+|\p{N}+|[^\p{L}\p{N}]+|\p{L}/gu) ?? [field];
  return words
    .filter((word) => word !== "_")
    .map((word) => (acronyms.has(word.toUpperCase()) ? word.toUpperCase() : titled(word)))
    .join(" ");
}

function titled(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1).toLowerCase();
}
