// SPDX-License-Identifier: Apache-2.0
import {
  childPath,
  type FieldError,
  type FieldPath,
  indexPath,
  invalidValue,
  requiredValue,
} from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { dns1035LabelProblems } from "@purlin/kube-objects/metadata";
import { stringAt, textsAt } from "@purlin/kube-objects/object";

/** What is missing among the names of a spec. */
export function* missingNames(names: JsonObject, path: FieldPath): Generator<FieldError> {
  for (const name of ["plural", "singular", "kind", "listKind"]) {
    if (stringAt(names, [name]) === "") yield requiredValue(childPath(path, name));
  }
}

/** What is wrong with names that are there. */
export function* nameProblems(names: JsonObject, path: FieldPath): Generator<FieldError> {
  for (const name of ["plural", "singular"]) {
    if (stringAt(names, [name]) !== "") yield* labelProblems(stringAt(names, [name]), childPath(path, name));
  }
  for (const name of ["kind", "listKind"]) yield* kindProblems(stringAt(names, [name]), childPath(path, name));
  for (const [index, name] of textsAt(names, ["shortNames"]).entries()) {
    yield* labelProblems(name, indexPath(childPath(path, "shortNames"), index));
  }
  const kind = stringAt(names, ["kind"]);
  if (kind !== "" && kind === stringAt(names, ["listKind"])) {
    yield invalidValue(childPath(path, "listKind"), kind, "kind and listKind may not be the same");
  }
  for (const [index, name] of textsAt(names, ["categories"]).entries()) {
    yield* labelProblems(name, indexPath(childPath(path, "categories"), index));
  }
}

function* labelProblems(name: string, path: FieldPath): Generator<FieldError> {
  const problems = dns1035LabelProblems(name);
  if (problems.length > 0) yield invalidValue(path, name, problems.join(","));
}

function* kindProblems(kind: string, path: FieldPath): Generator<FieldError> {
  const problems = kind === "" ? [] : dns1035LabelProblems(kind.toLowerCase());
  if (problems.length === 0) return;
  yield invalidValue(path, kind, `may have mixed case, but should otherwise match: ${problems.join(",")}`);
}
