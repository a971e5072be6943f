// SPDX-License-Identifier: Apache-2.0
// The volumes of Pods: where they come from, and where containers find them.
import { all, type Check, eachItem, listAt, named, needed, within } from "@purlin/kube-apiserver/kinds";
import {
  duplicateValue,
  type FieldError,
  firstErrors,
  forbiddenValue,
  invalidValue,
  notFoundValue,
  requiredValue,
  unsupportedValue,
} from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { dns1123LabelProblems, dns1123SubdomainProblems } from "@purlin/kube-objects/metadata";
import { memberAt, objectAt, stringAt } from "@purlin/kube-objects/object";
import { compareQuantities } from "@purlin/kube-objects/typed";
import { driverName, exactlyOneOf, hasObject } from "../checks/rule-checks.ts";
import { claimTemplateErrors } from "../storage/volume-rules.ts";
import { iscsiOfPod, storageOsOfPod, volumeSources } from "../storage/volume-sources.ts";
import { downwardFile, fileMode, keyToPath, projected } from "./projected-files.ts";

const files: Check = all(fileMode("defaultMode"), eachItem("items", keyToPath));

/** The reference gives the items of this source no path of their own. */
const downwardApi: Check = (source, path) => [
  ...fileMode("defaultMode")(source, path),
  ...firstErrors(listAt(source, "items"), (item) => downwardFile(item, path)),
];

const emptyDir: Check = (source, path) => {
  const limit = memberAt(source, ["sizeLimit"]);
  const isNegative = typeof limit === "string" && compareQuantities(limit, "0") < 0;
  return isNegative ? [forbiddenValue(`${path}.sizeLimit`, "SizeLimit field must be a valid resource quantity")] : [];
};

const gitRepo: Check = all(needed("repository"), (source, path) =>
  descendingPath(stringAt(source, ["directory"]), `${path}.directory`),
);

const csi: Check = all(driverName("driver"), (source, path) => {
  if (!hasObject(source, "nodePublishSecretRef")) return [];
  const name = stringAt(source, ["nodePublishSecretRef", "name"]);
  if (name === "") return [requiredValue(`${path}.nodePublishSecretRef.name`)];
  return dns1123SubdomainProblems(name).map((problem) => invalidValue(`${path}.name`, name, problem));
});

const ephemeral: Check = (source, path) =>
  hasObject(source, "volumeClaimTemplate")
    ? within("volumeClaimTemplate", claimTemplateErrors)(source, path)
    : [requiredValue(`${path}.volumeClaimTemplate`)];

/** The sources with rules of their own. The others have those of PersistentVolumes. */
const ownSources: Readonly<Record<string, Check>> = {
  emptyDir,
  gitRepo,
  secret: all(needed("secretName"), files),
  iscsi: iscsiOfPod,
  persistentVolumeClaim: needed("claimName"),
  cinder: all(needed("volumeID"), within("secretRef", needed("name"))),
  downwardAPI: downwardApi,
  configMap: all(needed("name"), files),
  storageos: storageOsOfPod,
  projected,
  csi,
  ephemeral,
  image: (source, path) =>
    stringAt(source, ["pullPolicy"]) === ""
      ? [requiredValue(`${path}.pullPolicy`)]
      : exactlyOneOf("pullPolicy", ["Always", "IfNotPresent", "Never"])(source, path),
};

/** The sources in the order in which the reference validates them. */
const sourceNames: readonly string[] = [
  ...["emptyDir", "hostPath", "gitRepo", "gcePersistentDisk", "awsElasticBlockStore", "secret", "nfs", "iscsi"],
  ...["glusterfs", "flocker", "persistentVolumeClaim", "rbd", "cinder", "cephfs", "quobyte", "downwardAPI", "fc"],
  ...["flexVolume", "configMap", "azureFile", "vsphereVolume", "photonPersistentDisk", "portworxVolume", "azureDisk"],
  ...["storageos", "projected", "scaleIO", "csi", "ephemeral", "image"],
];

const sourceOrder: ReadonlyMap<string, number> = new Map(sourceNames.map((name, index) => [name, index]));

/** The sources of a volume. It has few members, and there are many sources. */
function givenSources(volume: JsonObject): string[] {
  const given = Object.keys(volume).filter((name) => sourceOrder.has(name) && hasObject(volume, name));
  return given.sort((a, b) => (sourceOrder.get(a) ?? 0) - (sourceOrder.get(b) ?? 0));
}

function sourceErrors(volume: JsonObject, name: string, path: string): readonly FieldError[] {
  const check = ownSources[name] ?? volumeSources[name];
  return check?.(objectAt(volume, [name]), `${path}.${ownPaths[name] ?? name}`) ?? [];
}

/** Paths in errors that are not those of the members. */
const ownPaths: Readonly<Record<string, string>> = { gcePersistentDisk: "persistentDisk" };
const otherPaths: Readonly<Record<string, string>> = { cephfs: "cephFS", downwardAPI: "downwarAPI" };

const source: Check = (volume, path) => {
  const given = givenSources(volume);
  if (given.length === 0) return [requiredValue(path, "must specify a volume type")];
  return [
    ...firstErrors(given, (name, index) =>
      index === 0
        ? sourceErrors(volume, name, path)
        : [forbiddenValue(`${path}.${otherPaths[name] ?? name}`, "may not specify more than 1 volume type")],
    ),
    ...longIscsiName(volume, path),
  ];
};

const iscsiTooLong =
  "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.";

function longIscsiName(volume: JsonObject, path: string): FieldError[] {
  const name = stringAt(volume, ["name"]);
  const isLong = `${name}:${stringAt(volume, ["iscsi", "targetPortal"])}`.length > 64;
  const isNamed = typeof memberAt(volume, ["iscsi", "initiatorName"]) === "string";
  return isNamed && isLong ? [invalidValue(`${path}.name`, name, iscsiTooLong)] : [];
}

/** The volumes of a Pod that are valid, by name, and the errors of the others. */
interface Volumes {
  readonly valid: ReadonlyMap<string, JsonObject>;
  readonly errors: readonly FieldError[];
}

/** Validates the volumes of a spec. `podName` is that of the Pod itself; a template has none. */
export function volumesOf(spec: JsonObject, path: string, podName = ""): Volumes {
  const valid = new Map<string, JsonObject>();
  const list = listAt(spec, "volumes");
  const created = new Set(
    list.filter((volume) => hasObject(volume, "ephemeral")).map((volume) => claimName(podName, volume)),
  );
  const errors = firstErrors(list, (volume, index) => {
    const at = `${path}.volumes[${index}]`;
    const name = stringAt(volume, ["name"]);
    const own = [
      ...(podName === "" ? [] : imageErrors(volume, at)),
      ...source(volume, at),
      ...(podName === "" ? [] : claimNameErrors(volume, { at, podName })),
      ...named("name", dns1123LabelProblems)(volume, at),
      ...(valid.has(name) ? [duplicateValue(`${at}.name`, name)] : []),
    ];
    if (own.length === 0) valid.set(name, volume);
    const claim = stringAt(volume, ["persistentVolumeClaim", "claimName"]);
    const taken = "must not reference a PVC that gets created for an ephemeral volume";
    const isTaken = podName !== "" && hasObject(volume, "persistentVolumeClaim") && created.has(claim);
    return isTaken ? [...own, invalidValue(`${at}.persistentVolumeClaim.claimName`, claim, taken)] : own;
  });
  return { valid, errors };
}

/** A volume of a Pod itself names its image; a template may leave it out. */
function imageErrors(volume: JsonObject, at: string): readonly FieldError[] {
  return givenSources(volume)[0] === "image" ? within("image", needed("reference"))(volume, at) : [];
}

const claimName = (podName: string, volume: JsonObject): string => `${podName}-${stringAt(volume, ["name"])}`;

function claimNameErrors(
  volume: JsonObject,
  { at, podName }: { readonly at: string; readonly podName: string },
): FieldError[] {
  const [name, claim] = [stringAt(volume, ["name"]), claimName(podName, volume)];
  if (givenSources(volume)[0] !== "ephemeral" || name === "") return [];
  return dns1123SubdomainProblems(claim).map((problem) =>
    invalidValue(`${at}.name`, name, `PVC name ${JSON.stringify(claim)}: ${problem}`),
  );
}

/** A path that stays below where it starts. */
export function descendingPath(path: string, at: string): FieldError[] {
  return [
    ...(path.startsWith("/") ? [invalidValue(at, path, "must be a relative path")] : []),
    ...noBacksteps(path, at),
  ];
}

function noBacksteps(path: string, at: string): FieldError[] {
  return path.split("/").includes("..") ? [invalidValue(at, path, "must not contain '..'")] : [];
}

/** Where a container finds volumes and devices. */
export function volumeMounts(known: ReadonlyMap<string, JsonObject>): Check {
  return (container, path) => [...mountErrors(container, path, known), ...deviceErrors(container, path, known)];
}

const texts = (list: readonly JsonObject[], name: string): string[] => list.map((one) => stringAt(one, [name]));

function mountErrors(container: JsonObject, path: string, known: ReadonlyMap<string, JsonObject>): FieldError[] {
  const devices = listAt(container, "volumeDevices");
  const taken = new Set<string>();
  const list = `${path}.volumeMounts`;
  return firstErrors(listAt(container, "volumeMounts"), (mount, index) => {
    const at = `${list}[${index}]`;
    const [name, where] = [stringAt(mount, ["name"]), stringAt(mount, ["mountPath"])];
    const isTaken = taken.has(where);
    taken.add(where);
    const isDevice = texts(devices, "name").includes(name);
    const isDevicePath = texts(devices, "devicePath").includes(where);
    return [
      ...(name === "" ? [requiredValue(`${at}.name`)] : []),
      ...(known.has(name) ? [] : [notFoundValue(`${at}.name`, name)]),
      ...(where === "" ? [requiredValue(`${at}.mountPath`)] : []),
      ...(isTaken ? [invalidValue(`${at}.mountPath`, where, "must be unique")] : []),
      ...(isDevice ? [invalidValue(`${at}.name`, name, "must not already exist in volumeDevices")] : []),
      ...(isDevicePath
        ? [invalidValue(`${at}.mountPath`, where, "must not already exist as a path in volumeDevices")]
        : []),
      ...subPaths(mount, at, list),
      ...propagation(mount, container, `${list}.mountPropagation`),
      ...recursion(mount, `${list}.recursiveReadOnly`),
    ];
  });
}

function subPaths(mount: JsonObject, at: string, list: string): FieldError[] {
  const [plain, expanded] = [stringAt(mount, ["subPath"]), stringAt(mount, ["subPathExpr"])];
  const both = "subPathExpr and subPath are mutually exclusive";
  return [
    ...(plain === "" ? [] : descendingPath(plain, `${list}.subPath`)),
    ...(plain !== "" && expanded !== "" ? [invalidValue(`${at}.subPathExpr`, expanded, both)] : []),
    ...(expanded === "" ? [] : descendingPath(expanded, `${list}.subPathExpr`)),
  ];
}

const propagations = ["Bidirectional", "HostToContainer", "None"];

function propagation(mount: JsonObject, container: JsonObject, at: string): FieldError[] {
  const mode = memberAt(mount, ["mountPropagation"]);
  if (typeof mode !== "string") return [];
  const isPrivileged = memberAt(container, ["securityContext", "privileged"]) === true;
  const why = "Bidirectional mount propagation is available only to privileged containers";
  return [
    ...(propagations.includes(mode) ? [] : [unsupportedValue(at, mode, propagations)]),
    ...(mode === "Bidirectional" && !isPrivileged ? [forbiddenValue(at, why)] : []),
  ];
}

const recursions = ["Disabled", "Enabled", "IfPossible"];

function recursion(mount: JsonObject, at: string): FieldError[] {
  const mode = memberAt(mount, ["recursiveReadOnly"]);
  if (typeof mode !== "string" || mode === "Disabled") return [];
  if (!recursions.includes(mode)) return [unsupportedValue(at, mode, recursions)];
  const propagates = memberAt(mount, ["mountPropagation"]);
  const isPropagated = typeof propagates === "string" && propagates !== "None";
  return [
    ...(mount["readOnly"] === true ? [] : [forbiddenValue(at, "may only be specified when readOnly is true")]),
    ...(isPropagated
      ? [forbiddenValue(at, "may only be specified when mountPropagation is None or not specified")]
      : []),
  ];
}

function deviceErrors(container: JsonObject, path: string, known: ReadonlyMap<string, JsonObject>): FieldError[] {
  const mounts = listAt(container, "volumeMounts");
  const [names, paths] = [new Set<string>(), new Set<string>()];
  return firstErrors(listAt(container, "volumeDevices"), (device, index) => {
    const at = `${path}.volumeDevices[${index}]`;
    const [name, where] = [stringAt(device, ["name"]), stringAt(device, ["devicePath"])];
    const volume = known.get(name);
    const isClaim =
      volume !== undefined && (hasObject(volume, "persistentVolumeClaim") || hasObject(volume, "ephemeral"));
    const notClaim = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode";
    const hasBacksteps = noBacksteps(where, at).length > 0;
    const found = [
      ...(name === "" ? [requiredValue(`${at}.name`)] : []),
      ...(names.has(name) ? [invalidValue(`${at}.name`, name, "must be unique")] : []),
      ...(volume !== undefined && !isClaim ? [invalidValue(`${at}.name`, name, notClaim)] : []),
      ...(volume === undefined ? [notFoundValue(`${at}.name`, name)] : []),
      ...(where === "" ? [requiredValue(`${at}.devicePath`)] : []),
      ...(paths.has(where) ? [invalidValue(`${at}.devicePath`, where, "must be unique")] : []),
      ...(hasBacksteps ? [invalidValue(`${at}.devicePath`, where, "can not contain backsteps ('..')")] : []),
      ...(texts(mounts, "name").includes(name)
        ? [invalidValue(`${at}.name`, name, "must not already exist in volumeMounts")]
        : []),
      ...(texts(mounts, "mountPath").includes(where)
        ? [invalidValue(`${at}.devicePath`, where, "must not already exist as a path in volumeMounts")]
        : []),
    ];
    if (!hasBacksteps) paths.add(where);
    if (name !== "") names.add(name);
    return found;
  });
}
