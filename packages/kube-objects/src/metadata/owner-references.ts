// SPDX-License-Identifier: Apache-2.0
import { type FieldError, invalidPrinted, invalidValue } from "../errors/field-error.ts";
import { childPath, type FieldPath } from "../errors/field-path.ts";
import { goJsonString } from "../json/go-text.ts";
import type { OwnerReference } from "../object/object-meta.ts";

/** Each of these errors shows the whole list, so of many controllers only the first ones are reported. */
const mostControllers = 10;

/** What is wrong with a list of owner references. Paths carry no index, as in the reference. */
export function validateOwnerReferences(references: readonly OwnerReference[], path: FieldPath): FieldError[] {
  const errors: FieldError[] = [];
  const [first, ...others] = references.filter(({ controller }) => controller === true);
  const reported = new Set(others.slice(0, mostControllers));
  const printed = reported.size === 0 ? "" : `[${references.map(printReference).join(",")}]`;
  for (const reference of references) {
    errors.push(...referenceErrors(reference, path));
    if (first === undefined || !reported.has(reference)) continue;
    const detail = `Only one reference can have Controller set to true. Found "true" in references for ${shortName(first)} and ${shortName(reference)}`;
    errors.push(invalidPrinted(path, printed, detail));
  }
  return errors;
}

function shortName({ kind = "", name = "" }: OwnerReference): string {
  return `${kind}/${name}`;
}

function referenceErrors(reference: OwnerReference, path: FieldPath): FieldError[] {
  const { apiVersion = "", kind = "", name = "", uid = "" } = reference;
  const errors: FieldError[] = [];
  if (versionOf(apiVersion) === "") {
    errors.push(invalidValue(childPath(path, "apiVersion"), apiVersion, "version must not be empty"));
  }
  if (kind === "") errors.push(invalidValue(childPath(path, "kind"), kind, "must not be empty"));
  if (name === "") errors.push(invalidValue(childPath(path, "name"), name, "must not be empty"));
  if (uid === "") errors.push(invalidValue(childPath(path, "uid"), uid, "must not be empty"));
  if ((apiVersion === "v1" || apiVersion === "/v1") && kind === "Event") {
    errors.push(invalidPrinted(path, printReference(reference), "/v1, Kind=Event is disallowed from being an owner"));
  }
  return errors;
}

// An apiVersion with two slashes names no version at all.
function versionOf(apiVersion: string): string {
  const parts = apiVersion.split("/");
  return parts.length > 2 ? "" : (parts.at(-1) ?? "");
}

// In the order of the reference's own printing, which is not alphabetical.
function printReference(reference: OwnerReference): string {
  const { apiVersion = "", kind = "", name = "", uid = "", controller, blockOwnerDeletion } = reference;
  const pairs = Object.entries({ apiVersion, kind, name, uid }).map(
    ([key, value]) => `"${key}":${goJsonString(value)}`,
  );
  if (typeof controller === "boolean") pairs.push(`"controller":${controller}`);
  if (typeof blockOwnerDeletion === "boolean") pairs.push(`"blockOwnerDeletion":${blockOwnerDeletion}`);
  return `{${pairs.join(",")}}`;
}
