// SPDX-License-Identifier: Apache-2.0
import type { PathSegment } from "../files/yaml-position.ts";
import type { Manifest } from "../manifests/manifest.ts";

/** How bad a finding is. `--strict` makes errors of warnings. */
export type Level = "error" | "warning";

/** What kind of rule was broken. The first four are those of `crossplane resource validate`. */
type FindingType =
  | "schema"
  | "unknownField"
  | "cel"
  | "defaulting"
  | "missingSchema"
  | "reference"
  | "patch"
  | "syntax";

/** The checks, by the codes that findings have. */
export const checks = {
  V01: "values match the schema: types, required fields, enums, formats, unique list keys",
  V02: "fields are known",
  V03: "CEL rules hold",
  V04: "definitions are valid: structural schemas, names, one referenceable version, CEL that compiles; with --old, they break no objects",
  V05: "metadata is valid: names, labels, annotations, and a namespace where the scope wants one",
  V06: "Compositions compose a kind and version that a definition offers, and their steps have names",
  V07: "the input of a step is of a kind that its function takes, and matches the schema in the package",
  V08: "steps name functions that are among the objects, and whose packages can compose",
  V09: "required resources and schemas of steps are of known kinds",
  V10: "patches and transforms: paths exist, types agree, patch sets exist, bases are complete",
  V11: "Go templates and CEL filters of steps have valid syntax",
  V12: "steps fit together: one kind for each resource name, none is added after a step that drops resources, readiness is decided",
  V13: "claims have no fields of composite resources alone",
} as const;

export type CheckCode = keyof typeof checks;

/** One thing that is wrong with an object of a file. */
export interface Finding {
  readonly code: CheckCode;
  readonly level: Level;
  readonly type: FindingType;
  readonly manifest: Manifest;
  readonly path: readonly PathSegment[];
  readonly text: string;
}

/** Where a finding is, by line and column from 1. */
export interface Place {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** The place of the field, or of the last one above it that exists. */
export function placeOf({ manifest, path }: Pick<Finding, "manifest" | "path">): Place {
  const [, file = manifest.file, line = "1", column = "1"] = /^(.*):(\d+):(\d+)$/s.exec(manifest.at(path)) ?? [];
  return { file, line: Number(line), column: Number(column) };
}
