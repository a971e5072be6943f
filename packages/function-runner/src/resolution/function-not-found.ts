// SPDX-License-Identifier: Apache-2.0

/** A pipeline step whose Function does not exist. */
interface MissingFunction {
  readonly functionName: string;
  readonly step: string;
  /** The Composition of the step; empty where it is not known. */
  readonly composition: string;
  /** The names of all Functions. */
  readonly installed: readonly string[];
}

const listedNames = 20;

/** The message about a step that names a Function which does not exist. */
export function functionNotFound({ functionName, step, composition, installed }: MissingFunction): string {
  const of = composition === "" ? "" : ` of Composition "${composition}"`;
  return `Function "${functionName}" not found; referenced by step "${step}"${of}. Installed: ${listOf(installed)}`;
}

function listOf(names: readonly string[]): string {
  if (names.length === 0) return "none";
  const sorted = names.toSorted();
  const more = sorted.length - listedNames;
  return sorted.slice(0, listedNames).join(", ") + (more > 0 ? ` and ${more} more` : "");
}
