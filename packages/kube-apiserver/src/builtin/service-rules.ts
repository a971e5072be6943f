// SPDX-License-Identifier: Apache-2.0
import { randomInt } from "node:crypto";
import { type FieldError, invalidValue, type JsonObject, requiredValue } from "@purlin/kube-objects";
import type { KindRules } from "./kind-rules.ts";
import { objectAt, textAt, textFields, valueAt } from "./read-field.ts";

/** The first two bytes of every address given to a Service: a range of its own that nothing routes. */
const RANGE = "10.96";

/** Knows whether an address is taken. */
export type IsTaken = (address: string) => boolean;

/** Rules of Services. Nothing proxies for them here, yet each gets an address, as clients expect. */
export function serviceRules(isTaken: IsTaken): KindRules {
  return {
    prepareCreate: (object) => withAddress(object, isTaken),
    prepareUpdate: (object, old, endpoint) => (endpoint === "status" ? object : withAddressOf(object, old, isTaken)),
    validate: portErrors,
    validateChange: (object, old) => addressErrors(object, old),
    fields: textFields("spec.clusterIP", "spec.type"),
  };
}

const hasAddress = (type: string): boolean => type !== "ExternalName";

function withAddress(object: JsonObject, isTaken: IsTaken): JsonObject {
  const spec = objectAt(object, "spec");
  const given = textAt(object, "spec", "clusterIP");
  if (!hasAddress(textAt(object, "spec", "type"))) {
    return object;
  }
  const address = given === "" ? freeAddress(isTaken) : given;
  const families = address === "None" || !address.includes(":") ? ["IPv4"] : ["IPv6"];
  return {
    ...object,
    spec: {
      ...spec,
      clusterIP: address,
      clusterIPs: [address],
      ipFamilies: spec["ipFamilies"] ?? families,
      ipFamilyPolicy: spec["ipFamilyPolicy"] ?? "SingleStack",
    },
  };
}

/** Whoever leaves out the address on an update means the one there is. */
function withAddressOf(object: JsonObject, old: JsonObject, isTaken: IsTaken): JsonObject {
  const before = textAt(old, "spec", "clusterIP");
  const wantsOne = hasAddress(textAt(object, "spec", "type"));
  if (!wantsOne || textAt(object, "spec", "clusterIP") !== "") {
    return object;
  }
  if (before === "") {
    return withAddress(object, isTaken);
  }
  const { clusterIPs, ipFamilies, ipFamilyPolicy } = objectAt(old, "spec");
  const kept = Object.entries({ clusterIPs, ipFamilies, ipFamilyPolicy }).filter(([, value]) => value !== undefined);
  return {
    ...object,
    spec: { ...Object.fromEntries(kept), ...objectAt(object, "spec"), clusterIP: before } as JsonObject,
  };
}

const ATTEMPTS = 100;

function freeAddress(isTaken: IsTaken): string {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const address = `${RANGE}.${randomInt(256)}.${randomInt(1, 255)}`;
    if (!isTaken(address)) {
      return address;
    }
  }
  throw new Error("no address is free for another Service");
}

function portErrors(object: JsonObject): FieldError[] {
  const ports = valueAt(object, "spec", "ports");
  const type = textAt(object, "spec", "type");
  const needsPorts = hasAddress(type) && textAt(object, "spec", "clusterIP") !== "None";
  if (!Array.isArray(ports) || ports.length === 0) {
    return needsPorts ? [requiredValue("spec.ports")] : [];
  }
  return ports.flatMap((port, index) => {
    const number = (port as JsonObject)["port"];
    const isValid = typeof number === "number" && number >= 1 && number <= 65_535;
    return isValid
      ? []
      : [invalidValue(`spec.ports[${index}].port`, number ?? 0, "must be between 1 and 65535, inclusive")];
  });
}

function addressErrors(object: JsonObject, old: JsonObject): FieldError[] {
  const [now, before] = [textAt(object, "spec", "clusterIP"), textAt(old, "spec", "clusterIP")];
  const bothHave = hasAddress(textAt(object, "spec", "type")) && hasAddress(textAt(old, "spec", "type"));
  if (!bothHave || before === "" || now === before) {
    return [];
  }
  return [invalidValue("spec.clusterIPs[0]", now, "may not change once set")];
}
