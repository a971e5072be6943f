// SPDX-License-Identifier: Apache-2.0
// The sources of volumes that Pods and PersistentVolumes have in common.
import { all, type Check, inRange, maybeNamed, named, needed, within } from "@purlin/kube-apiserver/kinds";
import { type FieldError, invalidValue, requiredValue, unsupportedValue } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { dns1123LabelProblems, dns1123SubdomainProblems } from "@purlin/kube-objects/metadata";
import { memberAt, numberAt, stringAt, textsAt } from "@purlin/kube-objects/object";
import { driverName, optionallyOneOf } from "../checks/rule-checks.ts";

const hostTypes = ["", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"];

function backsteps(place: string, path: string): FieldError[] {
  return place.split("/").includes("..") ? [invalidValue(`${path}.path`, place, "must not contain '..'")] : [];
}

/** A path of the node. It may not leave its directory. */
const hostPath: Check = (source, path) => {
  const [place, type] = [stringAt(source, ["path"]), stringAt(source, ["type"])];
  if (place === "") return [requiredValue(`${path}.path`)];
  return [
    ...backsteps(place, path),
    ...(hostTypes.includes(type) ? [] : [unsupportedValue(`${path}.type`, type, hostTypes)]),
  ];
};

const local: Check = (source, path) => {
  const place = stringAt(source, ["path"]);
  return place === "" ? [requiredValue(`${path}.path`)] : backsteps(place, path);
};

const nfs: Check = all(needed("server"), needed("path"), (source, path) => {
  const place = stringAt(source, ["path"]);
  return place.startsWith("/") ? [] : [invalidValue(`${path}.path`, place, "must be an absolute path")];
});

const items =
  (name: string): Check =>
  (source, path) =>
    textsAt(source, [name]).length === 0 ? [requiredValue(`${path}.${name}`)] : [];

const partition: Check = (source, path) => {
  const number = numberAt(source, ["partition"]);
  return number < 0 || number > 255
    ? [invalidValue(`${path}.partition`, number, "must be between 1 and 255, inclusive")]
    : [];
};

const secretName: Check = within("secretRef", needed("name"));
const secretOfNamespace: Check = within("secretRef", all(needed("name"), needed("namespace")));

const flocker: Check = (source, path) => {
  const [name, id] = [stringAt(source, ["datasetName"]), stringAt(source, ["datasetUUID"])];
  const both = "datasetName and datasetUUID can not be specified simultaneously";
  return [
    ...(name === "" && id === "" ? [requiredValue(path, "one of datasetName and datasetUUID is required")] : []),
    ...(name !== "" && id !== "" ? [invalidValue(path, "resource", both)] : []),
    ...(name.includes("/") ? [invalidValue(`${path}.datasetName`, name, "must not contain '/'")] : []),
  ];
};

const hostAndPort = "must be a host:port pair or multiple pairs separated by commas";
const pairPattern = /^(\[[^\]]*\]|[^:[\]]*):[^:]*$/;

const quobyte: Check = (source, path) => {
  const registry = stringAt(source, ["registry"]);
  if (registry === "") return [requiredValue(`${path}.registry`, hostAndPort)];
  if (stringAt(source, ["tenant"]).length >= 65) {
    return [requiredValue(`${path}.tenant`, "must be a UUID and may not exceed a length of 64 characters")];
  }
  return registry
    .split(",")
    .filter((pair) => !pairPattern.test(pair))
    .map(() => invalidValue(`${path}.registry`, registry, hostAndPort));
};

const iscsiNames = [
  /^iqn\.\d{4}-\d{2}\.([A-Za-z0-9-.]+)(:[^,;*&$|\s]+)$/,
  /^eui.[A-Za-z0-9]{16}$/,
  /^naa.[A-Za-z0-9]{32}$/,
];

const isIscsiName = (name: string): boolean => iscsiNames.some((pattern) => pattern.test(name));

const iscsi: Check = (source, path) => {
  const [name, initiator] = [stringAt(source, ["iqn"]), memberAt(source, ["initiatorName"])];
  const invalid = "must be valid format";
  const needsSecret = source["chapAuthDiscovery"] === true || source["chapAuthSession"] === true;
  const lun = numberAt(source, ["lun"]);
  return [
    ...needed("targetPortal")(source, path),
    ...needed("iqn")(source, path),
    ...(name === "" || isIscsiName(name) ? [] : [invalidValue(`${path}.iqn`, name, invalid)]),
    ...(lun < 0 || lun > 255 ? [invalidValue(`${path}.lun`, lun, "must be between 0 and 255, inclusive")] : []),
    ...(needsSecret && source["secretRef"] === undefined ? [requiredValue(`${path}.secretRef`)] : []),
    ...secretName(source, path),
    ...(typeof initiator === "string" && !isIscsiName(initiator)
      ? [invalidValue(`${path}.initiatorname`, initiator, invalid)]
      : []),
  ];
};

const startsRight = (name: string): boolean => /^(iqn|eui|naa)/.test(name);

function iscsiNameErrors(name: string, path: string): FieldError[] {
  if (!startsRight(name)) return [invalidValue(path, name, "must be valid format starting with iqn, eui, or naa")];
  return isIscsiName(name) ? [] : [invalidValue(path, name, "must be valid format")];
}

/** The source of a volume of a Pod: its texts are not those of a PersistentVolume. */
export const iscsiOfPod: Check = (source, path) => {
  const [name, initiator] = [stringAt(source, ["iqn"]), memberAt(source, ["initiatorName"])];
  const needsSecret = source["chapAuthDiscovery"] === true || source["chapAuthSession"] === true;
  const lun = numberAt(source, ["lun"]);
  return [
    ...needed("targetPortal")(source, path),
    ...needed("iqn")(source, path),
    ...(name === "" ? [] : iscsiNameErrors(name, `${path}.iqn`)),
    ...(lun < 0 || lun > 255 ? [invalidValue(`${path}.lun`, lun, "must be between 0 and 255, inclusive")] : []),
    ...(needsSecret && source["secretRef"] === undefined ? [requiredValue(`${path}.secretRef`)] : []),
    ...(typeof initiator === "string" ? iscsiNameErrors(initiator, `${path}.initiatorname`) : []),
  ];
};

const fibre: Check = (source, path) => {
  const [targets, ids] = [textsAt(source, ["targetWWNs"]), textsAt(source, ["wwids"])];
  const at = `${path}.targetWWNs`;
  const isBoth = targets.length > 0 && ids.length > 0;
  const needsLun = targets.length > 0 && typeof source["lun"] !== "number";
  return [
    ...(targets.length + ids.length === 0
      ? [requiredValue(at, "must specify either targetWWNs or wwids, but not both")]
      : []),
    ...(isBoth ? [invalidValue(at, targets, "targetWWNs and wwids can not be specified simultaneously")] : []),
    ...(needsLun ? [requiredValue(`${path}.lun`, "lun is required if targetWWNs is specified")] : []),
    ...(targets.length > 0 ? inRange("lun", 0, 255)(source, path) : []),
  ];
};

const flex: Check = all(needed("driver"), (source, path) =>
  Object.keys((source["options"] as JsonObject | undefined) ?? {})
    .filter((key) => /\.(kubernetes|k8s)\.io$/.test(`.${key.split("/", 1)[0]?.toLowerCase()}`))
    .map((key) => invalidValue(`${path}.options[${key}]`, key, "kubernetes.io and k8s.io namespaces are reserved")),
);

const managedDisk = "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}";
const blobDisk = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd";

const azureDisk: Check = all(
  needed("diskName"),
  needed("diskURI"),
  optionallyOneOf("cachingMode", ["None", "ReadOnly", "ReadWrite"]),
  optionallyOneOf("kind", ["Dedicated", "Managed", "Shared"]),
  (source, path) => {
    const [kind, uri] = [memberAt(source, ["kind"]), stringAt(source, ["diskURI"])];
    if (typeof kind !== "string") return [];
    const isManaged = kind === "Managed";
    return uri.startsWith(isManaged ? "/subscriptions/" : "https://")
      ? []
      : [unsupportedValue(`${path}.diskURI`, uri, [isManaged ? managedDisk : blobDisk])];
  },
);

const secretReference: Check = all(named("name", dns1123SubdomainProblems), named("namespace", dns1123LabelProblems));
const secretReferences = ["controllerPublish", "controllerExpand", "nodePublish", "nodeExpand"];

const csi: Check = all(
  driverName("driver"),
  needed("volumeHandle"),
  ...secretReferences.map((name) => within(`${name}SecretRef`, secretReference)),
);

const storageOs: Check = all(
  named("volumeName", dns1123LabelProblems),
  maybeNamed("volumeNamespace", dns1123LabelProblems),
);

export const storageOsOfPod: Check = all(storageOs, secretName);

const endpointsNamespace: Check = (source, path) => {
  const name = memberAt(source, ["endpointsNamespace"]);
  const at = `${path}.endpointsNamespace`;
  const empty = "if the endpointnamespace is set, it must be a valid namespace name";
  if (name === "") return [invalidValue(at, "", empty)];
  return typeof name === "string" ? dns1123LabelProblems(name).map((text) => invalidValue(at, name, text)) : [];
};

/** The sources of PersistentVolumes, in the order in which the reference validates them. */
export const volumeSources: Readonly<Record<string, Check>> = {
  hostPath,
  gcePersistentDisk: all(needed("pdName"), partition),
  awsElasticBlockStore: all(needed("volumeID"), partition),
  glusterfs: all(needed("endpoints"), needed("path"), endpointsNamespace),
  flocker,
  nfs,
  rbd: all(items("monitors"), needed("image")),
  quobyte: all(quobyte, needed("volume")),
  cephfs: items("monitors"),
  iscsi,
  cinder: all(needed("volumeID"), secretOfNamespace),
  fc: fibre,
  flexVolume: flex,
  azureFile: all(needed("secretName"), needed("shareName"), (source, path) =>
    source["secretNamespace"] === "" ? [requiredValue(`${path}.secretNamespace`)] : [],
  ),
  vsphereVolume: needed("volumePath"),
  photonPersistentDisk: needed("pdID"),
  portworxVolume: needed("volumeID"),
  azureDisk,
  scaleIO: all(needed("gateway"), needed("system"), needed("volumeName")),
  local,
  storageos: all(storageOs, secretOfNamespace),
  csi,
};
