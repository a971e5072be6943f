// SPDX-License-Identifier: Apache-2.0
import { type FieldError, invalidValue, type JsonObject } from "@purlin/kube-objects";
import type { KindRules } from "./kind-rules.ts";
import { objectAt, textAt, textFields } from "./read-field.ts";
import { allocated, needsAddress, nodePortErrors, type TakenPlaces } from "./services/allocation.ts";
import { serviceErrors } from "./services/service-errors.ts";
import { settled } from "./services/type-change.ts";

/** Rules of Services. Nothing proxies for them here, yet each gets an address, and ports where it is to be reached by them. */
export function serviceRules(taken: TakenPlaces): KindRules {
  return {
    prepareCreate: (object) => ({ ...object, spec: allocated(objectAt(object, "spec"), taken) }),
    prepareUpdate: (object, old, endpoint) =>
      endpoint === "status"
        ? object
        : { ...object, spec: allocated(settled(objectAt(object, "spec"), objectAt(old, "spec")), taken) },
    validate: serviceErrors,
    validateNew: (object) => nodePortErrors(objectAt(object, "spec"), {}, taken),
    validateChange: (object, old) => [
      ...addressErrors(objectAt(object, "spec"), objectAt(old, "spec")),
      ...nodePortErrors(objectAt(object, "spec"), objectAt(old, "spec"), taken),
    ],
    warnings: (object) =>
      textAt(object, "spec", "type") !== "ExternalName" && textAt(object, "spec", "externalName") !== ""
        ? ['spec.externalName is ignored when spec.type is not "ExternalName"']
        : [],
    fields: textFields("spec.clusterIP", "spec.type"),
  };
}

function addressErrors(spec: JsonObject, old: JsonObject): FieldError[] {
  const [now, before] = [textAt(spec, "clusterIP"), textAt(old, "clusterIP")];
  const isKept = !needsAddress(spec) || !needsAddress(old) || before === "" || now === before;
  return isKept ? [] : [invalidValue("spec.clusterIPs[0]", [now], "may not change once set")];
}
