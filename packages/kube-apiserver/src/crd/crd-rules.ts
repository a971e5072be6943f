// SPDX-License-Identifier: Apache-2.0
import { checkingRules, declaresRules } from "@purlin/cel";
import { timestamp } from "@purlin/kube-objects/apply";
import type { FieldError } from "@purlin/kube-objects/errors";
import { goQuote, type JsonObject, ownValue } from "@purlin/kube-objects/json";
import { objectAt, objectsAt, optionalObjectAt, stringAt, textsAt } from "@purlin/kube-objects/object";
import { isCheckedFormat, type Schema } from "@purlin/kube-objects/schema";
import type { RuleMetrics } from "../metrics/request-metrics.ts";
import { isDeleting, metaOf, withMeta } from "../objects/object-members.ts";
import type { KindRules } from "../strategy/kind-rules.ts";
import { withCondition } from "./crd-conditions.ts";
import { initialCrdStatus, withCrdDefaults } from "./crd-spec.ts";
import { pause, pausing, type SchemaProps, schemaProps } from "./schema-props.ts";
import {
  type CheckRules,
  requiredCrdName,
  validateCrdStatus,
  validatingCrd,
  validatingCrdUpdate,
} from "./validate-crd.ts";

/** The finalizer that holds a CRD until its objects are gone. */
export const cleanupFinalizer = "customresourcecleanup.apiextensions.k8s.io";

/** What is particular about CustomResourceDefinitions. */
export function crdRules(now: () => Date, metrics?: RuleMetrics): KindRules {
  const check: CheckRules = function* (schema, options) {
    const compiling = checkingRules(schema as Schema, options);
    const isMeasured = metrics !== undefined && declaresRules(schema as Schema);
    yield pause;
    const problems = yield* pausing(isMeasured ? metrics.compiling(compiling) : compiling);
    yield* problems;
  };
  return {
    decode: (crd, sent) => withCrdDefaults(withEmptyVersions(crd, sent)),
    prepareCreate: (crd) => ({ ...crd, status: initialCrdStatus(crd) }),
    prepareUpdate: (crd, old, endpoint) => (endpoint === "" ? withStoredVersion(crd, old) : crd),
    *validating(crd, old, endpoint) {
      if (old === undefined) return [...nameProblems(crd), ...(yield* validatingCrd(crd, check))];
      return endpoint === "status" ? validateCrdStatus(crd, old) : yield* validatingCrdUpdate(crd, old, check);
    },
    warnings: formatWarnings,
    markDeleted: (crd) => marked(crd, timestamp(now())),
  };
}

/** No versions at all are refused in other words than versions that are not given; the typed form has one word for both. */
function withEmptyVersions(crd: JsonObject, sent: JsonObject): JsonObject {
  const [spec, versions] = [optionalObjectAt(crd, ["spec"]), ownValue(objectAt(sent, ["spec"]), "versions")];
  return spec !== undefined && Array.isArray(versions) && versions.length === 0
    ? { ...crd, spec: { ...spec, versions } }
    : crd;
}

function nameProblems(crd: JsonObject): FieldError[] {
  const { name = "" } = metaOf(crd);
  if (name === requiredCrdName(crd)) return [];
  const body = `Invalid value: ${JSON.stringify(name)}: must be spec.names.plural+"."+spec.group`;
  return [{ type: "FieldValueInvalid", field: "metadata.name", body }];
}

/** A version that becomes the one to store in is remembered: objects may be in it from now on. */
function withStoredVersion(crd: JsonObject, old: JsonObject): JsonObject {
  const status = objectAt(old, ["status"]);
  const storage = objectsAt(crd, ["spec", "versions"]).find((version) => version["storage"] === true);
  const name = stringAt(storage ?? {}, ["name"]);
  const stored = textsAt(status, ["storedVersions"]);
  if (name === "" || stored.includes(name)) return { ...crd, status };
  return { ...crd, status: { ...status, storedVersions: [...stored, name] } };
}

function marked(crd: JsonObject, time: string): JsonObject {
  const finalizers = metaOf(crd).finalizers ?? [];
  if (isDeleting(crd) && finalizers.includes(cleanupFinalizer)) return crd;
  const held = finalizers.includes(cleanupFinalizer)
    ? crd
    : withMeta(crd, { finalizers: [...finalizers, cleanupFinalizer] });
  const pending = {
    type: "Terminating",
    status: "True",
    reason: "InstanceDeletionPending",
    message: "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
  } as const;
  return withCondition(held, pending, time);
}

/** Warnings about unsupported formats, except those that the definition had before. */
export function formatWarnings(crd: JsonObject, old: JsonObject | undefined): string[] {
  const before = new Set(old === undefined ? [] : uncheckedFormats(old));
  return uncheckedFormats(crd)
    .filter((format) => !before.has(format))
    .map((format) => `unrecognized format ${goQuote(format)}`);
}

function uncheckedFormats(crd: JsonObject): string[] {
  const found: string[] = [];
  for (const version of objectsAt(crd, ["spec", "versions"])) {
    const schema = optionalObjectAt(version, ["schema", "openAPIV3Schema"]);
    if (schema !== undefined) collect(schemaProps(schema), found);
  }
  return found;
}

function collect(schema: SchemaProps, found: string[]): void {
  const format = schema.text("format");
  if (format !== "" && !isCheckedFormat(format, schema.type === "" ? [] : [schema.type])) found.push(format);
  for (const child of childrenOf(schema)) collect(child, found);
}

function childrenOf(schema: SchemaProps): SchemaProps[] {
  const single = [schema.items?.schema, schema.not, schema.additionalProperties?.schema];
  return [
    ...single.filter((one) => one !== undefined),
    ...(schema.items?.schemas ?? []),
    ...schema.allOf,
    ...schema.anyOf,
    ...schema.oneOf,
    ...[...schema.properties, ...schema.definitions].map(([, property]) => property),
  ];
}
