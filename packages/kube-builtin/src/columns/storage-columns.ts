// SPDX-License-Identifier: Apache-2.0
import {
  ageColumn,
  ageOfObject,
  at,
  column,
  count,
  integerColumn,
  items,
  nameColumn,
  nameOfObject,
  type TablePrinter,
  text,
  wideColumn,
} from "@purlin/kube-apiserver/kinds";
import { isJsonArray, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";

const shortModes: readonly (readonly [string, string])[] = [
  ["ReadWriteOnce", "RWO"],
  ["ReadOnlyMany", "ROX"],
  ["ReadWriteMany", "RWX"],
  ["ReadWriteOncePod", "RWOP"],
];

function accessModes(modes: JsonValue | undefined): string {
  const known = shortModes.filter(([mode]) => isJsonArray(modes) && modes.includes(mode));
  return known.map(([, short]) => short).join(",");
}

function phase(object: JsonObject): string {
  return at(object, "metadata", "deletionTimestamp") === undefined ? text(object, "status", "phase") : "Terminating";
}

const quantity = (value: JsonValue | undefined): string => (typeof value === "string" ? value : "0");
const set = (value: JsonValue | undefined): string => (typeof value === "string" ? value : "<unset>");
const legacyClass = "volume.beta.kubernetes.io/storage-class";

function storageClass(object: JsonObject): string {
  const legacy = at(object, "metadata", "annotations", legacyClass);
  return typeof legacy === "string" ? legacy : text(object, "spec", "storageClassName");
}

function claimCells(object: JsonObject, now: number): JsonValue[] {
  const isBound = text(object, "spec", "volumeName") !== "";
  return [
    nameOfObject(object),
    phase(object),
    text(object, "spec", "volumeName"),
    isBound ? quantity(at(object, "status", "capacity", "storage")) : "",
    isBound ? accessModes(at(object, "status", "accessModes")) : "",
    storageClass(object),
    set(at(object, "spec", "volumeAttributesClassName")),
    ageOfObject(object, now),
    set(at(object, "spec", "volumeMode")),
  ];
}

function volumeCells(object: JsonObject, now: number): JsonValue[] {
  const claim = at(object, "spec", "claimRef");
  return [
    nameOfObject(object),
    quantity(at(object, "spec", "capacity", "storage")),
    accessModes(at(object, "spec", "accessModes")),
    text(object, "spec", "persistentVolumeReclaimPolicy"),
    phase(object),
    claim === undefined ? "" : `${text(claim, "namespace")}/${text(claim, "name")}`,
    storageClass(object),
    set(at(object, "spec", "volumeAttributesClassName")),
    text(object, "status", "reason"),
    ageOfObject(object, now),
    set(at(object, "spec", "volumeMode")),
  ];
}

const defaultAnnotations = [
  "storageclass.kubernetes.io/is-default-class",
  "storageclass.beta.kubernetes.io/is-default-class",
];

function storageClassCells(object: JsonObject, now: number): JsonValue[] {
  const annotations = at(object, "metadata", "annotations");
  const isDefault = defaultAnnotations.some((name) => at(annotations, name) === "true");
  return [
    nameOfObject(object) + (isDefault ? " (default)" : ""),
    text(object, "provisioner"),
    text(object, "reclaimPolicy") || "Delete",
    text(object, "volumeBindingMode") || "Immediate",
    at(object, "allowVolumeExpansion") === true,
    ageOfObject(object, now),
  ];
}

function driverCells(object: JsonObject, now: number): JsonValue[] {
  const modes = at(object, "spec", "volumeLifecycleModes");
  const tokens = at(object, "spec", "tokenRequests");
  return [
    nameOfObject(object),
    at(object, "spec", "attachRequired") !== false,
    at(object, "spec", "podInfoOnMount") === true,
    at(object, "spec", "storageCapacity") === true,
    tokens === undefined
      ? "<unset>"
      : items(object, "spec", "tokenRequests")
          .map((one) => text(one, "audience"))
          .join(","),
    at(object, "spec", "requiresRepublish") === true,
    isJsonArray(modes) && modes.length > 0 ? modes.join(",") : "<none>",
    ageOfObject(object, now),
  ];
}

const booleanColumn = (title: string) => column(title, { type: "boolean" });
const texts = (...titles: readonly string[]) => titles.map((title) => column(title));

/** The printers of volumes, claims and the kinds of storage.k8s.io. */
export const storagePrinters: Readonly<Record<string, TablePrinter>> = {
  PersistentVolume: {
    columns: [
      nameColumn,
      ...texts("Capacity", "Access Modes", "Reclaim Policy", "Status", "Claim", "StorageClass"),
      ...texts("VolumeAttributesClass", "Reason"),
      ageColumn,
      wideColumn("VolumeMode"),
    ],
    cells: volumeCells,
  },
  PersistentVolumeClaim: {
    columns: [
      nameColumn,
      ...texts("Status", "Volume", "Capacity", "Access Modes", "StorageClass", "VolumeAttributesClass"),
      ageColumn,
      wideColumn("VolumeMode"),
    ],
    cells: claimCells,
  },
  StorageClass: {
    columns: [
      nameColumn,
      ...texts("Provisioner", "ReclaimPolicy", "VolumeBindingMode", "AllowVolumeExpansion"),
      ageColumn,
    ],
    cells: storageClassCells,
  },
  CSIDriver: {
    columns: [
      nameColumn,
      ...["AttachRequired", "PodInfoOnMount", "StorageCapacity"].map(booleanColumn),
      column("TokenRequests"),
      booleanColumn("RequiresRepublish"),
      column("Modes"),
      ageColumn,
    ],
    cells: driverCells,
  },
  CSINode: {
    columns: [nameColumn, integerColumn("Drivers"), ageColumn],
    cells: (object, now) => [nameOfObject(object), count(object, "spec", "drivers"), ageOfObject(object, now)],
  },
  VolumeAttachment: {
    columns: [
      nameColumn,
      column("Attacher", { format: "name" }),
      ...texts("PV", "Node"),
      booleanColumn("Attached"),
      ageColumn,
    ],
    cells: (object, now) => [
      nameOfObject(object),
      text(object, "spec", "attacher"),
      text(object, "spec", "source", "persistentVolumeName"),
      text(object, "spec", "nodeName"),
      at(object, "status", "attached") === true,
      ageOfObject(object, now),
    ],
  },
  VolumeAttributesClass: {
    columns: [nameColumn, column("DriverName"), ageColumn],
    cells: (object, now) => [nameOfObject(object), text(object, "driverName"), ageOfObject(object, now)],
  },
};
