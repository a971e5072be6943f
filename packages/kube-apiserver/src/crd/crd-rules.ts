// SPDX-License-Identifier: Apache-2.0
import { checkRules, type Schema } from "@purlin/cel";
import { type FieldError, type JsonObject, timestamp } from "@purlin/kube-objects";
import type { KindRules } from "../builtin/kind-rules.ts";
import { isDeleting, metaOf, withMeta } from "../rest/object-meta.ts";
import { withCondition } from "./crd-conditions.ts";
import { initialCrdStatus, withCrdDefaults } from "./crd-defaults.ts";
import { objectAt, objectsAt, textAt, textsAt } from "./crd-spec.ts";
import { type CompileRules, requiredCrdName, validateCrd, validateCrdUpdate } from "./validate-crd.ts";

/** The finalizer that holds a CRD until its objects are gone. */
export const cleanupFinalizer = "customresourcecleanup.apiextensions.k8s.io";

const compileRules: CompileRules = (schema, path) =>
  checkRules(schema as unknown as Schema, { path }) as readonly FieldError[];

/** What is particular about CustomResourceDefinitions. */
export function crdRules(now: () => Date): KindRules {
  return {
    decode: withCrdDefaults,
    prepareCreate: (crd) => ({ ...crd, status: initialCrdStatus(crd) }),
    prepareUpdate: (crd, old, endpoint) => (endpoint === "" ? withStoredVersion(crd, old) : crd),
    validate: (crd) => nameProblems(crd),
    validateNew: (crd) => validateCrd(crd, compileRules),
    validateChange: (crd, old) => validateCrdUpdate(crd, old, compileRules),
    markDeleted: (crd) => marked(crd, timestamp(now())),
  };
}

function nameProblems(crd: JsonObject): FieldError[] {
  const { name = "" } = metaOf(crd);
  if (name === requiredCrdName(crd)) return [];
  const body = `Invalid value: ${JSON.stringify(name)}: must be spec.names.plural+"."+spec.group`;
  return [{ type: "FieldValueInvalid", field: "metadata.name", body }];
}

/** A version that becomes the one to store in is remembered: objects may be in it from now on. */
function withStoredVersion(crd: JsonObject, old: JsonObject): JsonObject {
  const status = objectAt(old, "status") ?? {};
  const storage = objectsAt(objectAt(crd, "spec") ?? {}, "versions").find((version) => version["storage"] === true);
  const name = textAt(storage ?? {}, "name");
  const stored = textsAt(status, "storedVersions");
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
