// SPDX-License-Identifier: Apache-2.0

import { inTurns } from "@purlin/base";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { AdmissionAttributes, AdmissionOperation, WriteAdmission } from "../admission/admission.ts";
import { metaOf } from "../objects/object-members.ts";
import type { ApiRequest } from "../request/api-request.ts";
import type { RestRequest } from "./rest-context.ts";
import type { DeleteOptions } from "./write-options.ts";

/** What admits the write of a request; undefined when nothing does. */
export function admissionOf(rest: RestRequest, operation: AdmissionOperation): WriteAdmission | undefined {
  return rest.admission.find({ operation, type: rest.type, subresource: rest.target.subresource });
}

type Written = Pick<AdmissionAttributes, "operation" | "object" | "old" | "options" | "dryRun"> &
  Partial<Pick<AdmissionAttributes, "namespace" | "name">>;

/** The attributes of a write. The name and the namespace default to those of the object. */
export function admissionAttributes<W extends Written>(
  { type, target, request, notes }: RestRequest,
  written: W,
): AdmissionAttributes & W {
  const meta = metaOf(written.object ?? written.old ?? {});
  const name = target.name === "" ? (meta.name ?? "") : target.name;
  const isNamespace = type.group === "" && type.resource === "namespaces";
  return {
    name,
    namespace: isNamespace ? name : target.namespace,
    type,
    subresource: target.subresource,
    user: request.user,
    signal: request.signal,
    annotate: (key, value, how) => request.audit?.annotate(key, value, how),
    warn: (text) => {
      if (notes.length < maxNotes && !notes.includes(text)) notes.push(text);
    },
    ...written,
  };
}

/** Warnings of a response have 4096 characters together, so that more than these are never sent. */
const maxNotes = 4096;

const metaVersion = "meta.k8s.io/v1";

/** The options of a create or an update as admission sees them. */
export function admittedOptions({ query }: ApiRequest, kind: "CreateOptions" | "UpdateOptions"): JsonObject {
  const [fieldManager, fieldValidation] = [query.get("fieldManager"), query.get("fieldValidation")];
  const dryRun = query.getAll("dryRun");
  return {
    kind,
    apiVersion: metaVersion,
    ...(dryRun.length > 0 && { dryRun }),
    ...(fieldManager && { fieldManager }),
    ...(fieldValidation && { fieldValidation }),
  };
}

/** The options of a delete as admission sees them. */
export function admittedDeleteOptions(options: DeleteOptions): JsonObject {
  const { dryRun, propagation, orphanDependents, gracePeriodSeconds, uid, resourceVersion } = options;
  const preconditions = {
    ...(uid !== undefined && { uid }),
    ...(resourceVersion !== undefined && { resourceVersion }),
  };
  return {
    kind: "DeleteOptions",
    apiVersion: metaVersion,
    ...(gracePeriodSeconds !== undefined && { gracePeriodSeconds }),
    ...(Object.keys(preconditions).length > 0 && { preconditions }),
    ...(orphanDependents !== undefined && { orphanDependents }),
    ...(propagation !== undefined && { propagationPolicy: propagation }),
    ...(dryRun && { dryRun: ["All"] }),
  };
}

/** Admits an object that is created but not stored, such as a review. Returns the object after admission. */
export async function admitUnstored(rest: RestRequest, object: JsonObject, dryRun = false): Promise<JsonObject> {
  const admission = admissionOf(rest, "CREATE");
  if (admission === undefined) return object;
  const options = admittedOptions(rest.request, "CreateOptions");
  const written = { operation: "CREATE" as const, object, old: undefined, options, dryRun };
  const admitted = await inTurns(admission.mutating(admissionAttributes(rest, written)));
  await inTurns(admission.validating(admissionAttributes(rest, { ...written, object: admitted })));
  return admitted;
}
