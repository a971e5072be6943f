// SPDX-License-Identifier: Apache-2.0
// The rules of PriorityClasses, RuntimeClasses and Leases, and the default classes of claims and Ingresses.
import { memoize, type Work } from "@purlin/base";
import {
  type AdmissionPlugin,
  all,
  type Check,
  collecting,
  type Entry,
  type KindRules,
  listAt,
  metaOf,
  named,
  notNegative,
  type Store,
  within,
} from "@purlin/kube-apiserver/kinds";
import {
  duplicatePrinted,
  type FieldError,
  firstErrors,
  forbidden,
  forbiddenValue,
  invalidValue,
  requiredValue,
  unsupportedValue,
} from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { dns1123LabelProblems, validateLabels } from "@purlin/kube-objects/metadata";
import { memberAt, numberAt, objectAt, stringAt, withMember } from "@purlin/kube-objects/object";
import { compareQuantities } from "@purlin/kube-objects/typed";
import { atRoot, changes, deprecatedNodeLabel, goStruct, immutable, inMember } from "../checks/rule-checks.ts";
import { overheadErrors } from "../pods/containers.ts";
import { tolerationErrors } from "../pods/scheduling.ts";

const highestPriority = 1_000_000_000;
const systemValues: Readonly<Record<string, number>> = {
  "system-node-critical": 2_000_001_000,
  "system-cluster-critical": 2_000_000_000,
};
const policies = ["PreemptLowerPriority", "Never"];

function systemProblem(name: string, object: JsonObject): string | undefined {
  const value = systemValues[name];
  if (value === undefined) return `${name} is not a known system priority class`;
  if (numberAt(object, ["value"]) !== value) return `value of ${name} PriorityClass must be ${value}`;
  return object["globalDefault"] === true ? `globalDefault of ${name} PriorityClass must be false` : undefined;
}

function priorityErrors(object: JsonObject): FieldError[] {
  const [name, policy] = [metaOf(object).name ?? "", memberAt(object, ["preemptionPolicy"])];
  const isSystem = name.startsWith("system-");
  const problem = isSystem ? systemProblem(name, object) : undefined;
  const reserved = `priority class names with 'system-' prefix are reserved for system use only. error: ${problem}`;
  const highest = `maximum allowed value of a user defined priority is ${highestPriority}`;
  const isTooHigh = !isSystem && numberAt(object, ["value"]) > highestPriority;
  return [
    ...(problem === undefined ? [] : [forbiddenValue("metadata.name", reserved)]),
    ...(isTooHigh ? [forbiddenValue("value", highest)] : []),
    ...(policy === "" ? [requiredValue("preemptionPolicy")] : []),
    ...(typeof policy === "string" && policy !== "" && !policies.includes(policy)
      ? [unsupportedValue("preemptionPolicy", policy, policies)]
      : []),
  ];
}

/** The rules of PriorityClasses. */
export const priorityClassRules: KindRules = {
  validateNew: priorityErrors,
  validateChange: changes(
    (object, old) =>
      object["value"] === old["value"] ? [] : [forbiddenValue("value", "may not be changed in an update.")],
    immutable(["preemptionPolicy"]),
  ),
};

/** Tolerations of a list, each once. */
const tolerations: Check = (scheduling, path) => {
  const seen = new Set<string>();
  return firstErrors(listAt(scheduling, "tolerations"), (one, index) => {
    const key = ["key", "operator", "value", "effect"].map((name) => stringAt(one, [name])).join("\n");
    const isTaken = seen.has(key);
    seen.add(key);
    const at = `${path}.tolerations[${index}]`;
    return [...tolerationErrors(one, at), ...(isTaken ? [duplicatePrinted(at, goStruct(inGo(one)))] : [])];
  });
};

/** A toleration as the reference prints it. */
function inGo(one: JsonObject): JsonObject {
  return {
    Key: stringAt(one, ["key"]),
    Operator: stringAt(one, ["operator"]),
    Value: stringAt(one, ["value"]),
    Effect: stringAt(one, ["effect"]),
    TolerationSeconds: memberAt(one, ["tolerationSeconds"]) ?? null,
  };
}

const scheduling: Check = all(
  (one, path) => validateLabels(objectAt(one, ["nodeSelector"]) as Record<string, string>, `${path}.nodeSelector`),
  tolerations,
);

/** Nodes that are selected by old names of labels; the reference does not say by which. */
function selectorWarnings(runtimeClass: JsonObject): string[] {
  return Object.keys(objectAt(runtimeClass, ["scheduling", "nodeSelector"])).flatMap((label) => {
    const text = deprecatedNodeLabel(label);
    return text === undefined ? [] : [`scheduling.nodeSelector: ${text}`];
  });
}

/** The rules of RuntimeClasses. */
export const runtimeClassRules: KindRules = {
  warnings: selectorWarnings,
  acceptsAnyFinalizer: true,
  validate: atRoot(
    all(
      named("handler", dns1123LabelProblems),
      within("overhead", (overhead, path) => overheadErrors(objectAt(overhead, ["podFixed"]), path)),
      within("scheduling", scheduling),
    ),
  ),
  validateChange: immutable(["handler"]),
};

/** The rules of Leases. */
export const leaseRules: KindRules = {
  acceptsAnyFinalizer: true,
  droppedFields: [
    ["spec", "strategy"],
    ["spec", "preferredHolder"],
  ],
  validate: inMember(
    "spec",
    all((spec, path) => {
      const seconds = memberAt(spec, ["leaseDurationSeconds"]);
      return typeof seconds === "number" && seconds <= 0
        ? [invalidValue(`${path}.leaseDurationSeconds`, seconds, "must be greater than 0")]
        : [];
    }, notNegative("leaseTransitions")),
  ),
};

/** How a kind of objects gets the default one of its classes. */
interface DefaultClass {
  readonly name: string;
  readonly group: string;
  readonly resource: string;
  /** Where the store keeps the classes. */
  readonly classes: string;
  /** The annotations that make a class the default. */
  readonly annotations: readonly string[];
  /** The member of the spec that names the class. */
  readonly member: string;
  /** The annotation that named the class in the past. */
  readonly oldName: string;
}

/** New objects that name no class get the newest default class. */
function defaultClass(store: Store<JsonObject>, kind: DefaultClass): AdmissionPlugin {
  // Found once for each entry: a class may be large, and every object without a class asks.
  const defaultOf = memoize(({ key, value }: Entry<JsonObject>): { readonly found?: Aged } => {
    const { annotations, creationTimestamp } = metaOf(value);
    const isDefault = kind.annotations.some((name) => annotations?.[name] === "true");
    return isDefault ? { found: { name: key.slice(kind.classes.length), creationTimestamp } } : {};
  });
  function* findingNewest(): Work<string | undefined> {
    const { entries } = store.list({ prefix: kind.classes });
    const [newest] = (yield* collecting(entries, (entry) => defaultOf(entry).found)).sort(byAge);
    return newest?.name;
  }
  const path = ["spec", kind.member];
  return {
    name: kind.name,
    handles: ({ operation, type, subresource }) =>
      operation === "CREATE" && type.group === kind.group && type.resource === kind.resource && subresource === "",
    *admitting({ object }) {
      const isNamed = memberAt(object, path) !== undefined || metaOf(object).annotations?.[kind.oldName] !== undefined;
      if (isNamed) return object;
      const newest = yield* findingNewest();
      return newest === undefined ? object : withMember(object, path, newest);
    },
  };
}

/** The storage class of a new claim that names none. */
export function defaultStorageClass(store: Store<JsonObject>): AdmissionPlugin {
  return defaultClass(store, {
    name: "DefaultStorageClass",
    group: "",
    resource: "persistentvolumeclaims",
    classes: "/storage.k8s.io/storageclasses/",
    annotations: ["storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"],
    member: "storageClassName",
    oldName: "volume.beta.kubernetes.io/storage-class",
  });
}

const resizable =
  "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize";

/** Lets a claim ask for more storage only when it is bound, and its storage class allows volumes to grow. */
export function claimResize(store: Store<JsonObject>): AdmissionPlugin {
  const classOf = (claim: JsonObject): string =>
    metaOf(claim).annotations?.["volume.beta.kubernetes.io/storage-class"] ||
    stringAt(claim, ["spec", "storageClassName"]);
  const grows = (claim: JsonObject, old: JsonObject): boolean => {
    const name = classOf(claim);
    if (name === "" || name !== classOf(old)) return false;
    const storageClass = store.get(`/storage.k8s.io/storageclasses/${name}`)?.value;
    return storageClass !== undefined && memberAt(storageClass, ["allowVolumeExpansion"]) === true;
  };
  const sizeOf = (claim: JsonObject): string => stringAt(claim, ["spec", "resources", "requests", "storage"]) || "0";
  return {
    name: "PersistentVolumeClaimResize",
    handles: ({ operation, type, subresource }) =>
      operation === "UPDATE" && type.group === "" && type.resource === "persistentvolumeclaims" && subresource === "",
    validate: ({ object = {}, old = {}, name }) => {
      if (compareQuantities(sizeOf(object), sizeOf(old)) <= 0) return;
      const refused = (why: string): Error => forbidden({ group: "", resource: "persistentvolumeclaims" }, name, why);
      if (stringAt(old, ["status", "phase"]) !== "Bound") {
        throw refused("Only bound persistent volume claims can be expanded");
      }
      if (!grows(object, old)) throw refused(resizable);
    },
  };
}

/** The class of a new Ingress that names none. */
export function defaultIngressClass(store: Store<JsonObject>): AdmissionPlugin {
  return defaultClass(store, {
    name: "DefaultIngressClass",
    group: "networking.k8s.io",
    resource: "ingresses",
    classes: "/networking.k8s.io/ingressclasses/",
    annotations: ["ingressclass.kubernetes.io/is-default-class"],
    member: "ingressClassName",
    oldName: "kubernetes.io/ingress.class",
  });
}

interface Aged {
  readonly creationTimestamp?: string | null | undefined;
  readonly name: string;
}

function byAge(one: Aged, other: Aged): number {
  const [a, b] = [one.creationTimestamp ?? "", other.creationTimestamp ?? ""];
  if (a !== b) return a < b ? 1 : -1;
  return one.name < other.name ? -1 : 1;
}
