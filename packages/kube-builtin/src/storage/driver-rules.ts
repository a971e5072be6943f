// SPDX-License-Identifier: Apache-2.0
// The rules of CSIDrivers, CSINodes and VolumeAttachments.
import { inOnePart, type Work } from "@purlin/base";
import { all, type Check, type KindRules, listAt, withEmptyLists, within } from "@purlin/kube-apiserver/kinds";
import {
  duplicateValue,
  type FieldError,
  findingFirstErrors,
  firstErrors,
  forbiddenValue,
  invalidPrinted,
  invalidValue,
  repeatsIn,
  requiredValue,
  tooLong,
  unsupportedValue,
} from "@purlin/kube-objects/errors";
import { isNumber, type JsonObject, jsonEqual, utf8Length } from "@purlin/kube-objects/json";
import { dns1123SubdomainProblems, labelKeyProblems } from "@purlin/kube-objects/metadata";
import { memberAt, numberAt, objectAt, stringAt, textsAt } from "@purlin/kube-objects/object";
import { goForm } from "../checks/go-form.ts";
import {
  changes,
  driverName,
  goStruct,
  hasObject,
  immutable,
  inMember,
  notNegativeAt,
  optionallyOneOf,
} from "../checks/rule-checks.ts";
import { inlineVolume } from "./volume-spec.ts";

const tokens: Check = (spec, path) => {
  const audiences = new Set<string>();
  return firstErrors(listAt(spec, "tokenRequests"), (request, index) => {
    const [at, audience] = [`${path}.tokenRequests[${index}]`, stringAt(request, ["audience"])];
    if (audiences.has(audience)) return [duplicateValue(`${at}.audience`, audience)];
    audiences.add(audience);
    return expirationErrors(request, at);
  });
};

const leastSeconds = 600;

function expirationErrors(request: JsonObject, path: string): FieldError[] {
  const [seconds, at] = [memberAt(request, ["expirationSeconds"]), `${path}.expirationSeconds`];
  if (!isNumber(seconds)) return [];
  return [
    ...(seconds < leastSeconds ? [invalidValue(at, seconds, "may not specify a duration less than 10 minutes")] : []),
    ...(seconds > 2 ** 32 ? [invalidValue(at, seconds, "may not specify a duration larger than 2^32 seconds")] : []),
  ];
}

const modes = ["Persistent", "Ephemeral"];

const driver: Check = all(
  optionallyOneOf("fsGroupPolicy", ["File", "None", "ReadWriteOnceWithFSType"]),
  tokens,
  (spec, path) =>
    firstErrors(textsAt(spec, ["volumeLifecycleModes"]), (mode) =>
      modes.includes(mode) ? [] : [unsupportedValue(`${path}.volumeLifecycleModes`, mode, modes)],
    ),
  (spec, path) => {
    const period = memberAt(spec, ["nodeAllocatableUpdatePeriodSeconds"]);
    return isNumber(period) && period < 10
      ? [
          invalidValue(
            `${path}.nodeAllocatableUpdatePeriodSeconds`,
            period,
            "must be greater than or equal to 10 seconds",
          ),
        ]
      : [];
  },
  (spec, path) => {
    const inSecrets = memberAt(spec, ["serviceAccountTokenInSecrets"]);
    const why = "serviceAccountTokenInSecrets is set but no tokenRequests are specified";
    return typeof inSecrets === "boolean" && listAt(spec, "tokenRequests").length === 0
      ? [invalidValue(`${path}.serviceAccountTokenInSecrets`, inSecrets, why)]
      : [];
  },
);

const secretsAdvice =
  "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible logging of tokens in volume attributes";

/** The rules of CSIDrivers. */
export const driverRules: KindRules = {
  warnings: (object, old) =>
    !jsonEqual(listAt(object, "spec", "tokenRequests"), listAt(old ?? {}, "spec", "tokenRequests")) &&
    listAt(object, "spec", "tokenRequests").length > 0 &&
    memberAt(object, ["spec", "serviceAccountTokenInSecrets"]) === undefined
      ? [secretsAdvice]
      : [],
  droppedFields: [["spec", "preventPodSchedulingIfMissing"]],
  validate: inMember("spec", driver),
  validateChange: changes(
    immutable(["spec", "attachRequired"], "spec.attachedRequired"),
    immutable(["spec", "volumeLifecycleModes"]),
  ),
};

const maxNodeId = 256;

const nodeDriver: Check = all(
  driverName("name"),
  (one, path) => {
    const id = stringAt(one, ["nodeID"]);
    const at = `${path}.nodeID`;
    if (id === "") return [requiredValue(at)];
    return utf8Length(id) > maxNodeId ? [invalidValue(at, id, `must be ${maxNodeId} characters or less`)] : [];
  },
  within("allocatable", notNegativeAt("count")),
  (one, path) => {
    const keys = textsAt(one, ["topologyKeys"]);
    const isRepeated = repeatsIn(keys);
    return firstErrors(keys, (key, index) => [
      ...(key === "" ? [requiredValue(path)] : []),
      ...(isRepeated(index) ? [duplicateValue(path, key)] : []),
      ...labelKeyProblems(key).map((problem) => invalidValue(path, key, problem)),
    ]);
  },
);

function nodeErrors(object: JsonObject): Work<FieldError[]> {
  const names = new Set<string>();
  const errorsOf = (one: JsonObject, index: number): readonly FieldError[] => {
    const [at, name] = [`spec.drivers[${index}]`, stringAt(one, ["name"])];
    const isTaken = names.has(name);
    names.add(name);
    return [...nodeDriver(one, at), ...(isTaken ? [duplicateValue(`${at}.name`, name)] : [])];
  };
  return findingFirstErrors(listAt(object, "spec", "drivers"), inOnePart(errorsOf));
}

/** A driver as the reference prints it. */
function inGo(one: JsonObject): JsonObject {
  const keys = memberAt(one, ["topologyKeys"]);
  return {
    Name: stringAt(one, ["name"]),
    NodeID: stringAt(one, ["nodeID"]),
    TopologyKeys: Array.isArray(keys) && keys.length > 0 ? keys : null,
    Allocatable: null,
  };
}

/** A driver of a node changes only what the node can hold. */
function* nodeChange(object: JsonObject, old: JsonObject | undefined): Work<FieldError[]> {
  if (old === undefined) return [];
  const byName = Map.groupBy(listAt(object, "spec", "drivers"), (now) => stringAt(now, ["name"]));
  yield;
  const errorsOf = (before: JsonObject): readonly FieldError[] =>
    firstErrors(byName.get(stringAt(before, ["name"])) ?? [], (now) =>
      jsonEqual(inGo(now), inGo(before))
        ? []
        : [invalidPrinted("spec.drivers", goStruct(inGo(now)), "field is immutable")],
    );
  return yield* findingFirstErrors(listAt(old, "spec", "drivers"), inOnePart(errorsOf));
}

/** The rules of CSINodes: each driver is a part. */
export const csiNodeRules: KindRules = withEmptyLists(["spec.drivers"], {
  validatingRest: nodeErrors,
  validating: nodeChange,
});

const oneSource = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";

const source: Check = (one, path) => {
  const [name, isInline] = [memberAt(one, ["persistentVolumeName"]), hasObject(one, "inlineVolumeSpec")];
  if (typeof name === "string" && isInline) return [forbiddenValue(path, oneSource)];
  if (isInline) return inlineVolume(objectAt(one, ["inlineVolumeSpec"]), `${path}.inlineVolumeSpec`);
  if (typeof name !== "string") return [requiredValue(path, oneSource)];
  return name === ""
    ? [requiredValue(`${path}.persistentVolumeName`, "must specify non empty persistentVolumeName")]
    : [];
};

const attachment: Check = all(
  driverName("attacher"),
  (spec, path) => source(objectAt(spec, ["source"]), `${path}.source`),
  (spec, path) => {
    const node = stringAt(spec, ["nodeName"]);
    return dns1123SubdomainProblems(node).map((problem) => invalidValue(`${path}.nodeName`, node, problem));
  },
  (spec) => {
    const name = memberAt(spec, ["source", "persistentVolumeName"]);
    return typeof name === "string"
      ? dns1123SubdomainProblems(name).map((problem) => invalidValue("spec.source.persistentVolumeName", name, problem))
      : [];
  },
);

const maxMetadata = 256 * 1024;

const volumeError: Check = (one, path) => {
  const code = numberAt(one, ["errorCode"]);
  return [
    ...(utf8Length(stringAt(one, ["message"])) > 1024 ? [tooLong(`${path}.message`, maxMetadata)] : []),
    ...(code < 0 ? [invalidValue(`${path}.errorCode`, code, "must be between 0 and 2147483647, inclusive")] : []),
  ];
};

/** The rules of VolumeAttachments. */
export const attachmentRules: KindRules = {
  validate: (object) => [
    ...inMember("spec", attachment)(object),
    ...inMember("status", all(within("attachError", volumeError), within("detachError", volumeError)))(object),
  ],
  validateChange: (object, old) => {
    const [now, before] = [object, old].map((one) => goForm("VolumeAttachmentSpec", memberAt(one, ["spec"])));
    return now === before ? [] : [invalidPrinted("spec", now ?? "", "field is immutable")];
  },
};
