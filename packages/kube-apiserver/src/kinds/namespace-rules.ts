// SPDX-License-Identifier: Apache-2.0
import { type FieldError, forbidden, invalidValue } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { memberAt, objectAt, stringAt } from "@purlin/kube-objects/object";
import { isDeleting, metaOf, textFields, withMember, withMeta } from "../objects/object-meta.ts";
import { type KindRules, wholeMetaChecks } from "../strategy/kind-rules.ts";

const finalizer = "kubernetes";
const nameLabel = "kubernetes.io/metadata.name";
const undeletable: ReadonlySet<string> = new Set(["default", "kube-system", "kube-public"]);

/** Every namespace carries its name as a label, so that selectors can pick it. */
function withNameLabel(object: JsonObject): JsonObject {
  const { name = "", labels } = metaOf(object);
  return name === "" ? object : withMeta(object, { labels: { ...labels, [nameLabel]: name } });
}

/** The same for an object without a name yet, whose name the server generates. */
function withNameLabelAlways(object: JsonObject): JsonObject {
  const metadata = objectAt(object, ["metadata"]);
  const labels = { ...objectAt(metadata, ["labels"]), [nameLabel]: metadata["name"] ?? "" };
  return { ...object, metadata: { ...metadata, labels } };
}

function finalizers(object: JsonObject): readonly unknown[] {
  const value = memberAt(object, ["spec", "finalizers"]);
  return Array.isArray(value) ? value : [];
}

/** Rules of Namespaces. */
export const namespaceRules: KindRules = {
  decode: withNameLabel,
  defaults: withNameLabelAlways,
  metaChecks: wholeMetaChecks,
  prepareCreate: (object) => {
    const own = finalizers(object);
    const spec = own.includes(finalizer)
      ? objectAt(object, ["spec"])
      : { ...objectAt(object, ["spec"]), finalizers: [...own, finalizer] };
    return { ...object, spec: spec as JsonObject, status: { phase: "Active" } };
  },
  prepareUpdate: (object, old, endpoint) => {
    switch (endpoint) {
      case "finalize":
        return withMember(object, "status", old["status"]);
      case "status":
        // The default phase is Active.
        return withMember(
          { ...object, status: { phase: "Active", ...objectAt(object, ["status"]) } },
          "spec",
          old["spec"],
        );
      default:
        return withMember(
          { ...object, spec: { ...objectAt(object, ["spec"]), ...finalizersOf(old) } },
          "status",
          old["status"],
        );
    }
  },
  validate: specErrors,
  validateChange: phaseErrors,
  requireDeletable: (object) => {
    const { name = "" } = metaOf(object);
    if (undeletable.has(name)) {
      throw forbidden({ group: "", resource: "namespaces" }, name, "this namespace may not be deleted");
    }
  },
  markDeleted: (object) => ({ ...object, status: { ...objectAt(object, ["status"]), phase: "Terminating" } }),
  // Its content goes first; the controller that sees to it then takes this away.
  blocksDeletion: (object) => finalizers(object).length > 0,
  fields: textFields("status.phase"),
  fieldProblem: (field) => (field === "metadata.namespace" ? `field label not supported: ${field}` : undefined),
};

/** Finalizers of a namespace name whose they are. */
function specErrors(object: JsonObject): FieldError[] {
  const why = "name is neither a standard finalizer name nor is it fully qualified";
  return finalizers(object)
    .map(String)
    .filter((name) => name !== finalizer && !name.includes("/"))
    .map((name) => invalidValue("spec.finalizers", name, why));
}

/** The phase follows from whether the namespace is being deleted. */
function phaseErrors(object: JsonObject): FieldError[] {
  const phase = stringAt(object, ["status", "phase"]);
  const isGoing = isDeleting(object);
  if (isGoing && phase !== "Terminating") {
    return [invalidValue("status.Phase", phase, "may only be 'Terminating' if `deletionTimestamp` is not empty")];
  }
  if (!isGoing && phase !== "Active") {
    return [invalidValue("status.Phase", phase, "may only be 'Active' if `deletionTimestamp` is empty")];
  }
  return [];
}

/** Only the finalize subresource changes the finalizers of a namespace. */
function finalizersOf(old: JsonObject): JsonObject {
  const value = memberAt(old, ["spec", "finalizers"]);
  return value === undefined ? {} : { finalizers: value };
}
