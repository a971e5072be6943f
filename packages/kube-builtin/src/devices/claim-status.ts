// SPDX-License-Identifier: Apache-2.0
// The status of a ResourceClaim: which devices it got, who uses them, and what their drivers report.
import { formatIpAddress, isMappedIPv4 } from "@purlin/base";
import { all, type Check, eachItem, listAt, needed } from "@purlin/kube-apiserver/kinds";
import {
  duplicatePrinted,
  type FieldError,
  firstErrors,
  forbiddenValue,
  invalidPrinted,
  invalidValue,
  repeatsIn,
  requiredValue,
  tooLong,
  tooMany,
  unsupportedValue,
} from "@purlin/kube-objects/errors";
import { goQuote, type JsonObject, jsonEqual, printJson, utf8Length } from "@purlin/kube-objects/json";
import { memberAt, objectAt, stringAt, textsAt, withMember } from "@purlin/kube-objects/object";
import { rangeOf } from "../checks/addresses.ts";
import { goForm } from "../checks/go-form.ts";
import { driverName, goStruct, hasObject, sharedConditions } from "../checks/rule-checks.ts";
import { nodeSelector } from "../storage/volume-spec.ts";
import {
  bindingConditions,
  configuration,
  labelAt,
  limited,
  maxItems,
  poolName,
  rawObjectErrors,
  repeated,
  requestErrors,
  requestNames,
  unique,
} from "./device-parts.ts";

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const plainUuid =
  "uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase hexadecimal characters";

/** The identity of a share of a device. */
const shareId: Check = (object, path) => {
  const [id, at] = [memberAt(object, ["shareID"]), `${path}.shareID`];
  if (typeof id !== "string") return [];
  const problem = uuidProblem(id);
  if (problem !== undefined) return [invalidValue(at, id, `error validating uid: ${problem}`)];
  return id.length === 36 && id === id.toLowerCase() ? [] : [invalidValue(at, id, plainUuid)];
};

/** Three other forms of an identity are read, and then refused as not plain. */
function uuidProblem(id: string): string | undefined {
  const isUuid = (text: string): string | undefined => (uuidPattern.test(text) ? undefined : "invalid UUID format");
  switch (utf8Length(id)) {
    case 36:
      return isUuid(id);
    case 45:
      return /^urn:uuid:/i.test(id) ? isUuid(id.slice(9)) : `invalid urn prefix: ${goQuote(id.slice(0, 9))}`;
    case 38:
      return /^\{.*\}$/.test(id) ? isUuid(id.slice(1, -1)) : "invalid bracketed UUID format";
    case 32:
      return /^[0-9a-f]{32}$/i.test(id) ? undefined : "invalid UUID format";
    default:
      return `invalid UUID length: ${utf8Length(id)}`;
  }
}

const deviceKey = (one: JsonObject): string =>
  JSON.stringify(["driver", "pool", "device", "shareID"].map((name) => stringAt(one, [name])));

const results = (claim: JsonObject): JsonObject[] => listAt(claim, "status", "allocation", "devices", "results");

/** The identity of a device, as the reference prints it. */
function shownKey(one: JsonObject): string {
  const names = { Driver: "driver", Pool: "pool", Device: "device", ShareID: "shareID" };
  return goStruct(mapValues(names, (name) => stringAt(one, [name])));
}

const mapValues = (names: Readonly<Record<string, string>>, read: (name: string) => string): JsonObject =>
  Object.fromEntries(Object.entries(names).map(([shown, name]) => [shown, read(name)]));

const maxReferences = 256;
const maxConditions = 8;
const maxInterface = 256;
const maxHardware = 128;
const maxAddresses = 16;

/** An address with the length of its network, in the one form it has. */
function interfaceErrors(text: string, path: string): FieldError[] {
  const range = rangeOf(text);
  if (range === undefined) {
    return [invalidValue(path, text, "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)")];
  }
  const isMapped = isMappedIPv4(range.address);
  const address = isMapped ? { bits: 32 as const, value: range.address.value & 0xffff_ffffn, zone: "" } : range.address;
  const length = isMapped && range.length > 32 ? range.length - 96 : range.length;
  const plain = `${formatIpAddress(address)}/${length}`;
  return text === plain ? [] : [invalidValue(path, text, `must be in canonical form (${goQuote(plain)})`)];
}

const network: Check = (data, path) => {
  const [ips, at] = [textsAt(data, ["ips"]), `${path}.ips`];
  return [
    ...(utf8Length(stringAt(data, ["interfaceName"])) > maxInterface
      ? [tooLong(`${path}.interfaceName`, maxInterface)]
      : []),
    ...(utf8Length(stringAt(data, ["hardwareAddress"])) > maxHardware
      ? [tooLong(`${path}.hardwareAddress`, maxHardware)]
      : []),
    ...(ips.length > maxAddresses
      ? [tooMany(at, ips.length, maxAddresses)]
      : [...firstErrors(ips, (ip, index) => interfaceErrors(ip, `${at}[${index}]`)), ...repeated(ips, at)]),
  ];
};

/** What a driver reports about a device. */
function deviceStatus(allocated: ReadonlySet<string>): Check {
  return all(
    driverName("driver"),
    poolName("pool"),
    labelAt("device"),
    shareId,
    (one, path) =>
      allocated.has(deviceKey(one))
        ? []
        : [invalidPrinted(path, shownKey(one), "must be an allocated device in the claim")],
    (one, path) => {
      const count = listAt(one, "conditions").length;
      return count > maxConditions ? [tooMany(`${path}.conditions`, count, maxConditions)] : [];
    },
    sharedConditions,
    (one, path) => {
      const data = memberAt(one, ["data"]);
      return data === undefined || data === null ? [] : rawObjectErrors(data, `${path}.data`);
    },
    (one, path) =>
      hasObject(one, "networkData") ? network(objectAt(one, ["networkData"]), `${path}.networkData`) : [],
  );
}

const sources = ["FromClaim", "FromClass"];

const source: Check = (config, path) => {
  const [text, at] = [stringAt(config, ["source"]), `${path}.source`];
  if (text === "") return [requiredValue(at)];
  return sources.includes(text) ? [] : [unsupportedValue(at, text, sources)];
};

/** The devices that a claim got, and the parameters for them. */
function allocation(claim: JsonObject): Check {
  const result: Check = all(
    (one, path) => requestErrors(claim, stringAt(one, ["request"]), `${path}.request`),
    driverName("driver"),
    poolName("pool"),
    labelAt("device"),
    bindingConditions,
    shareId,
  );
  const config: Check = all(source, requestNames(claim), configuration);
  return all(
    (one, path) =>
      all(
        limited("results", maxItems, eachItem("results", result)),
        limited("config", 2 * maxItems, eachItem("config", config)),
      )(objectAt(one, ["devices"]), `${path}.devices`),
    (one, path) =>
      hasObject(one, "nodeSelector") ? nodeSelector(objectAt(one, ["nodeSelector"]), `${path}.nodeSelector`) : [],
  );
}

/** A claim without devices is used by nothing, and one that is being deleted gets no new users. */
function reservationErrors(claim: JsonObject, old: JsonObject): FieldError[] {
  const [users, at] = [listAt(claim, "status", "reservedFor"), "status.reservedFor"];
  if (users.length === 0) return [];
  if (!hasObject(objectAt(claim, ["status"]), "allocation")) {
    return [forbiddenValue(at, "may not be specified when `allocated` is not set")];
  }
  if (stringAt(claim, ["metadata", "deletionTimestamp"]) === "") return [];
  const before = new Set(listAt(old, "status", "reservedFor").map(userKey));
  const why = "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set";
  return users.every((user) => before.has(userKey(user))) ? [] : [forbiddenValue(at, why)];
}

const userKey = (user: JsonObject): string =>
  printJson(["apiGroup", "resource", "name", "uid"].map((name) => stringAt(user, [name])));

function allocationErrors(claim: JsonObject, old: JsonObject): FieldError[] {
  const path = ["status", "allocation"];
  const [now, before] = [memberAt(claim, path), memberAt(old, path)];
  if (now === undefined || now === null) return [];
  if (before === undefined || before === null) {
    return [...allocation(objectAt(claim, ["spec", "devices"]))(objectAt(claim, path), "status.allocation")];
  }
  return jsonEqual(now, before)
    ? []
    : [invalidPrinted("status.allocation", goForm("AllocationResult", now), "field is immutable")];
}

const user: Check = all(needed("resource"), needed("name"), needed("uid"));

/** The errors of a status that replaces another. */
export function claimStatusErrors(claim: JsonObject, old: JsonObject): FieldError[] {
  const status = objectAt(claim, ["status"]);
  const allocated = new Set(results(claim).map(deviceKey));
  const devices = listAt(status, "devices");
  const isRepeated = repeatsIn(devices.map(deviceKey));
  return [
    ...limited(
      "reservedFor",
      maxReferences,
      all(eachItem("reservedFor", user), unique("reservedFor", "uid")),
    )(status, "status"),
    ...eachItem("devices", deviceStatus(allocated))(status, "status"),
    ...firstErrors(devices, (one, index) =>
      isRepeated(index) ? [duplicatePrinted(`status.devices[${index}]`, shownKey(one))] : [],
    ),
    ...reservationErrors(claim, old),
    ...allocationErrors(claim, old),
  ];
}

/** What drivers reported about devices goes when the claim no longer has them. */
export function withoutDeallocated(claim: JsonObject, old: JsonObject): JsonObject {
  const kept = new Set(results(claim).map(deviceKey));
  const gone = new Set(results(old).map(deviceKey)).difference(kept);
  const devices = listAt(claim, "status", "devices");
  if (devices.length === 0 || gone.size === 0) return claim;
  const left = devices.filter((one) => !gone.has(deviceKey(one)));
  return withMember(claim, ["status", "devices"], left.length === 0 ? undefined : left);
}
