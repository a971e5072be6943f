// SPDX-License-Identifier: Apache-2.0
// The rules every object's metadata obeys, whatever its kind, with the reference's texts in the reference's order.
import {
  childPath,
  type FieldError,
  type FieldPath,
  firstErrors,
  firstErrorsByName,
  forbiddenValue,
  indexPath,
  invalidPrinted,
  invalidValue,
  requiredValue,
  tooLong,
} from "../errors/field-error.ts";
import { goJsonString, goQuote, isGoPrintable } from "../json/go-text.ts";
import { compareUtf8, type JsonValue, jsonEqual, utf8Length } from "../json/json-value.ts";
import type { ManagedFieldsEntry, ObjectMeta, OwnerReference } from "../object/kube-object.ts";
import { labelKeyProblems, labelName, labelValueProblems, type NameRule } from "./names.ts";

/** All annotations of an object together, keys and values, may not take more bytes than this. */
export const maxAnnotationsBytes: number = 256 * 1024;

/** How the metadata of a kind is validated. */
interface ObjectMetaRules {
  readonly namespaced: boolean;
  readonly name: NameRule;
}

/** What is wrong with the metadata of an object about to be created; a generated name must be in place already. */
export function validateObjectMeta(
  meta: ObjectMeta,
  rules: ObjectMetaRules,
  path: FieldPath = "metadata",
): FieldError[] {
  return [
    ...nameErrors(meta, rules.name, path),
    ...namespaceErrors(meta, rules.namespaced, path),
    ...generationErrors(meta, path),
    ...validateLabels(meta.labels ?? {}, childPath(path, "labels")),
    ...validateAnnotations(meta.annotations ?? {}, childPath(path, "annotations")),
    ...validateOwnerReferences(meta.ownerReferences ?? [], childPath(path, "ownerReferences")),
    ...validateFinalizers(meta.finalizers ?? [], childPath(path, "finalizers")),
    ...validateManagedFieldEntries(meta.managedFields ?? [], childPath(path, "managedFields")),
  ];
}

function nameErrors(meta: ObjectMeta, rule: NameRule, path: FieldPath): FieldError[] {
  const { name = "", generateName = "" } = meta;
  const errors =
    generateName === ""
      ? []
      : rule(generateName, true).map((text) => invalidValue(childPath(path, "generateName"), generateName, text));
  if (name === "") return [...errors, requiredValue(childPath(path, "name"), "name or generateName is required")];
  return [...errors, ...rule(name, false).map((text) => invalidValue(childPath(path, "name"), name, text))];
}

function namespaceErrors({ namespace = "" }: ObjectMeta, namespaced: boolean, path: FieldPath): FieldError[] {
  const field = childPath(path, "namespace");
  if (!namespaced) return namespace === "" ? [] : [forbiddenValue(field, "not allowed on this type")];
  if (namespace === "") return [requiredValue(field)];
  return labelName(namespace, false).map((text) => invalidValue(field, namespace, text));
}

function generationErrors({ generation = 0 }: ObjectMeta, path: FieldPath): FieldError[] {
  if (generation >= 0) return [];
  return [invalidValue(childPath(path, "generation"), generation, "must be greater than or equal to 0")];
}

/** What is wrong with a map of labels. */
export function validateLabels(labels: Readonly<Record<string, string>>, path: FieldPath): FieldError[] {
  return firstErrorsByName(labels, (key) => {
    const value = labels[key] ?? "";
    const [ofKey, ofValue] = [labelKeyProblems(key), labelValueProblems(value)];
    if (ofKey.length === 0 && ofValue.length === 0) return [];
    return [
      ...ofKey.map((text) => invalidValue(path, key, text)),
      ...ofValue.map((text) => invalidValue(path, value, text)),
    ];
  });
}

/** What is wrong with a map of annotations: keys are label keys in any case, values are free up to a total size. */
export function validateAnnotations(annotations: Readonly<Record<string, string>>, path: FieldPath): FieldError[] {
  const errors = firstErrorsByName(annotations, (key) =>
    labelKeyProblems(key.toLowerCase()).map((text) => invalidValue(path, key, text)),
  );
  if (annotationsBytes(annotations) > maxAnnotationsBytes) errors.push(tooLong(path, maxAnnotationsBytes));
  return errors;
}

/** How many bytes all annotations take together. */
export function annotationsBytes(annotations: Readonly<Record<string, string>>): number {
  let total = 0;
  for (const key of Object.keys(annotations)) total += utf8Length(key) + utf8Length(annotations[key] ?? "");
  return total;
}

/** What is wrong with a list of finalizers. */
function validateFinalizers(finalizers: readonly string[], path: FieldPath): FieldError[] {
  const errors = firstErrors(finalizers, (finalizer) =>
    labelKeyProblems(finalizer).map((text) => invalidValue(path, finalizer, text)),
  );
  if (finalizers.includes("orphan") && finalizers.includes("foregroundDeletion")) {
    errors.push(invalidValue(path, finalizers, "finalizer orphan and foregroundDeletion cannot be both set"));
  }
  return errors;
}

/** What is wrong with the metadata of an object about to replace `old`. */
export function validateObjectMetaUpdate(
  meta: ObjectMeta,
  old: ObjectMeta,
  path: FieldPath = "metadata",
): FieldError[] {
  return [
    ...newFinalizerErrors(meta, old, childPath(path, "finalizers")),
    ...versionErrors(meta, old, path),
    ...immutableErrors(meta, old, path),
    ...validateLabels(meta.labels ?? {}, childPath(path, "labels")),
    ...validateAnnotations(meta.annotations ?? {}, childPath(path, "annotations")),
    ...validateOwnerReferences(meta.ownerReferences ?? [], childPath(path, "ownerReferences")),
    ...validateManagedFieldEntries(meta.managedFields ?? [], childPath(path, "managedFields")),
  ];
}

function newFinalizerErrors(meta: ObjectMeta, old: ObjectMeta, path: FieldPath): FieldError[] {
  if (old.deletionTimestamp === undefined || old.deletionTimestamp === null) return [];
  const before = new Set(old.finalizers ?? []);
  const added = [...new Set(meta.finalizers ?? [])].filter((finalizer) => !before.has(finalizer)).sort(compareUtf8);
  if (added.length === 0) return [];
  const list = `[]string{${added.map(goQuote).join(", ")}}`;
  const detail = `no new finalizers can be added if the object is being deleted, found new finalizers ${list}`;
  return [forbiddenValue(path, detail)];
}

function versionErrors(meta: ObjectMeta, old: ObjectMeta, path: FieldPath): FieldError[] {
  const errors: FieldError[] = [];
  const { resourceVersion = "", generation = 0 } = meta;
  if (resourceVersion === "") {
    errors.push(invalidValue(childPath(path, "resourceVersion"), resourceVersion, "must be specified for an update"));
  }
  if (generation < (old.generation ?? 0)) {
    errors.push(invalidValue(childPath(path, "generation"), generation, "must not be decremented"));
  }
  return errors;
}

function immutableErrors(meta: ObjectMeta, old: ObjectMeta, path: FieldPath): FieldError[] {
  const pairs: ReadonlyArray<readonly [string, JsonValue, JsonValue]> = [
    ["name", meta.name ?? "", old.name ?? ""],
    ["namespace", meta.namespace ?? "", old.namespace ?? ""],
    ["uid", meta.uid ?? "", old.uid ?? ""],
    ["creationTimestamp", meta.creationTimestamp ?? null, old.creationTimestamp ?? null],
    ["deletionTimestamp", meta.deletionTimestamp ?? null, old.deletionTimestamp ?? null],
    ["deletionGracePeriodSeconds", meta.deletionGracePeriodSeconds ?? null, old.deletionGracePeriodSeconds ?? null],
  ];
  return pairs
    .filter(([, value, before]) => !jsonEqual(value, before))
    .map(([name, value]) => invalidValue(childPath(path, name), value, "field is immutable"));
}

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

/** A field manager's name may not take more bytes than this. */
export const maxFieldManagerBytes = 128;

const maxSubresourceBytes = 256;

/** What is wrong with a field manager's name: its length, and characters that do not print. */
export function validateFieldManager(manager: string, path: FieldPath): FieldError[] {
  const errors = utf8Length(manager) > maxFieldManagerBytes ? [tooLong(path, maxFieldManagerBytes)] : [];
  let offset = 0;
  for (const char of manager) {
    if (!isGoPrintable(char)) {
      const code = (char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
      errors.push(invalidValue(path, manager, `invalid character U+${code} (at position ${offset})`));
    }
    offset += utf8Length(char);
  }
  return errors;
}

/** What is wrong with a list of managedFields entries, without looking into the field sets. */
export function validateManagedFieldEntries(entries: readonly ManagedFieldsEntry[], path: FieldPath): FieldError[] {
  return entries.flatMap((entry, index) => entryErrors(entry, indexPath(path, index)));
}

function entryErrors(entry: ManagedFieldsEntry, path: FieldPath): FieldError[] {
  const { operation = "", fieldsType = "", manager = "", subresource = "" } = entry;
  const errors: FieldError[] = [];
  if (operation !== "Apply" && operation !== "Update") {
    errors.push(invalidValue(childPath(path, "operation"), operation, "must be `Apply` or `Update`"));
  }
  if (fieldsType !== "" && fieldsType !== "FieldsV1") {
    errors.push(invalidValue(childPath(path, "fieldsType"), fieldsType, "must be `FieldsV1`"));
  }
  errors.push(...validateFieldManager(manager, childPath(path, "manager")));
  if (utf8Length(subresource) > maxSubresourceBytes) {
    errors.push(tooLong(childPath(path, "subresource"), maxSubresourceBytes));
  }
  return errors;
}
