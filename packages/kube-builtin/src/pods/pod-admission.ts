// SPDX-License-Identifier: Apache-2.0
// The admission plugins that set the account, the tolerations, the priority and the runtime class of a new Pod.

import { memoize, type Work } from "@purlin/base";
import {
  type AdmissionPlugin,
  collecting,
  type Entry,
  listAt,
  metaOf,
  type Store,
  withNodeTopology,
} from "@purlin/kube-apiserver/kinds";
import { forbidden, unclassifiedError } from "@purlin/kube-objects/errors";
import { isJsonObject, isNumber, type JsonObject, jsonEqual, ownValue, printJson } from "@purlin/kube-objects/json";
import { generateName, pathSegmentName } from "@purlin/kube-objects/metadata";
import { memberAt, numberAt, objectAt, stringAt } from "@purlin/kube-objects/object";

/** Finds a ServiceAccount. */
type FindAccount = (namespace: string, name: string) => JsonObject | undefined;

const defaultAccount = "default";
const tokenPath = "/var/run/secrets/kubernetes.io/serviceaccount";
const tokenPrefix = "kube-api-access-";
const tokenSeconds = 3607;
const lostNodeSeconds = 300;

/** The plugins for new Pods. They refuse a Pod whose account or priority class does not exist. */
export function podAdmission(store: Store<JsonObject>): readonly AdmissionPlugin[] {
  const findAccount: FindAccount = (namespace, name) => store.get(`//serviceaccounts/${namespace}/${name}`)?.value;
  return [
    newPodPlugin("ServiceAccount", (pod) => withAccount(pod, findAccount)),
    newPodPlugin("DefaultTolerationSeconds", (pod) => withTolerations(objectAt(pod, ["spec"]))),
    {
      name: "Priority",
      handles: isNewPod,
      *admitting({ object }) {
        return { ...object, spec: yield* prioritizing(object, store) };
      },
    },
    {
      ...newPodPlugin("RuntimeClass", (pod) => withRuntimeClass(pod, store)),
      validate: ({ object }) => {
        if (object !== undefined) requireOverhead(object, store);
      },
    },
    {
      ...newPodPlugin("PodTopologyLabels", (pod) => pod),
      admit: ({ object }) => withNodeTopology(object, store, stringAt(object, ["spec", "nodeName"])),
    },
  ];
}

const isNewPod: AdmissionPlugin["handles"] = ({ operation, type, subresource }) =>
  operation === "CREATE" && type.group === "" && type.resource === "pods" && subresource === "";

function newPodPlugin(name: string, specOf: (pod: JsonObject) => JsonObject): AdmissionPlugin {
  return { name, handles: isNewPod, admit: ({ object }) => ({ ...object, spec: specOf(object) }) };
}

/** Why the reference cannot ask for an object of a name; undefined when it can. */
function unaskable(name: string): string | undefined {
  const problems = pathSegmentName(name, false);
  return problems.length === 0 ? undefined : `invalid resource name ${JSON.stringify(name)}: [${problems.join(" ")}]`;
}

/** The name of a Pod is generated later: until then the refusal has its prefix. */
function refused(pod: JsonObject, why: string): Error {
  const { name, generateName } = metaOf(pod);
  return forbidden({ group: "", resource: "pods" }, name || generateName || "", why);
}

function withAccount(pod: JsonObject, findAccount: FindAccount): JsonObject {
  const spec = objectAt(pod, ["spec"]);
  const { namespace = "" } = metaOf(pod);
  const name = stringAt(spec, ["serviceAccountName"]) || defaultAccount;
  const account = findAccount(namespace, name);
  // The default account comes a moment after its namespace.
  if (account === undefined && name !== defaultAccount) {
    const what = `service account ${namespace}/${name}`;
    const why = unaskable(name) ?? `serviceaccount ${JSON.stringify(name)} not found`;
    throw refused(pod, `error looking up ${what}: ${why}`);
  }
  const secrets = account === undefined ? [] : listAt(account, "imagePullSecrets");
  const hasSecrets = listAt(spec, "imagePullSecrets").length > 0 || secrets.length === 0;
  const named: JsonObject = {
    ...spec,
    serviceAccountName: name,
    serviceAccount: name,
    ...(hasSecrets ? {} : { imagePullSecrets: secrets }),
  };
  const mounts = memberAt(spec, ["automountServiceAccountToken"]) ?? account?.["automountServiceAccountToken"] ?? true;
  return mounts === false ? named : withToken(named);
}

/** The spec with a volume that has a token of the account, mounted where programs look for it. */
function withToken(spec: JsonObject): JsonObject {
  const lists = ["containers", "initContainers"];
  const lacksToken = (one: JsonObject): boolean =>
    !listAt(one, "volumeMounts").some((mount) => stringAt(mount, ["mountPath"]) === tokenPath);
  if (!lists.some((name) => listAt(spec, name).some(lacksToken))) return spec;
  const volumes = listAt(spec, "volumes");
  // A copy of a Pod has the volume of the original.
  const existing = volumes.map((one) => stringAt(one, ["name"])).find((one) => one.startsWith(tokenPrefix));
  const name = existing ?? generateName(tokenPrefix);
  const mount = { name, readOnly: true, mountPath: tokenPath };
  const mounted = lists
    .filter((list) => listAt(spec, list).length > 0)
    .map((list) => [
      list,
      listAt(spec, list).map((one) =>
        lacksToken(one) ? { ...one, volumeMounts: [...listAt(one, "volumeMounts"), mount] } : one,
      ),
    ]);
  return {
    ...spec,
    volumes: existing === undefined ? [...volumes, tokenVolume(name)] : volumes,
    ...(Object.fromEntries(mounted) as JsonObject),
  };
}

function tokenVolume(name: string): JsonObject {
  const field = { apiVersion: "v1", fieldPath: "metadata.namespace" };
  return {
    name,
    projected: {
      sources: [
        { serviceAccountToken: { expirationSeconds: tokenSeconds, path: "token" } },
        { configMap: { name: "kube-root-ca.crt", items: [{ key: "ca.crt", path: "ca.crt" }] } },
        { downwardAPI: { items: [{ path: "namespace", fieldRef: field }] } },
      ],
      defaultMode: 420,
    },
  };
}

function withTolerations(spec: JsonObject): JsonObject {
  const own = listAt(spec, "tolerations");
  const added = ["not-ready", "unreachable"]
    .map((state) => `node.kubernetes.io/${state}`)
    .filter((key) => !own.some((one) => tolerates(one, key)))
    .map((key) => ({ key, operator: "Exists", effect: "NoExecute", tolerationSeconds: lostNodeSeconds }));
  return added.length === 0 ? spec : { ...spec, tolerations: [...own, ...added] };
}

function tolerates(toleration: JsonObject, taint: string): boolean {
  const [key, effect] = [stringAt(toleration, ["key"]), stringAt(toleration, ["effect"])];
  return (key === taint || key === "") && (effect === "NoExecute" || effect === "");
}

const classPrefix = "/scheduling.k8s.io/priorityclasses/";

/** What a Pod gets from its class. */
interface PriorityClass {
  readonly name: string;
  readonly value: number;
  /** Empty where the class has none. */
  readonly policy: string;
}

function priorityClassOf({ key, value }: Entry<JsonObject>): PriorityClass {
  const policy = stringAt(value, ["preemptionPolicy"]);
  return { name: key.slice(classPrefix.length), value: numberAt(value, ["value"]), policy };
}

/** The class of an entry when it is a default one. Found once for each entry: it may be large, and every Pod asks. */
const defaultClassOf = memoize((entry: Entry<JsonObject>): { readonly found?: PriorityClass } =>
  entry.value["globalDefault"] === true ? { found: priorityClassOf(entry) } : {},
);

/** The class that Pods without a class have: of several default classes the one with the lowest value. */
function* findingDefaultClass(store: Store<JsonObject>): Work<PriorityClass | undefined> {
  const { entries } = store.list({ prefix: classPrefix });
  const defaults = yield* collecting(entries, (entry) => defaultClassOf(entry).found);
  return defaults.reduce<PriorityClass | undefined>(
    (lowest, one) => (lowest === undefined || one.value < lowest.value ? one : lowest),
    undefined,
  );
}

/** The spec with the priority of its class. */
function* prioritizing(pod: JsonObject, store: Store<JsonObject>): Work<JsonObject> {
  const name = stringAt(pod, ["spec", "priorityClassName"]);
  if (name === "") return withPriority(pod, yield* findingDefaultClass(store));
  const entry = store.get(`${classPrefix}${name}`);
  if (entry === undefined) throw refused(pod, `no PriorityClass with name ${name} was found`);
  return withPriority(pod, priorityClassOf(entry));
}

function withPriority(pod: JsonObject, found: PriorityClass | undefined): JsonObject {
  const spec = objectAt(pod, ["spec"]);
  const { value: priority, policy } = found ?? { value: 0, policy: "PreemptLowerPriority" };
  const computed = "priority admission controller computed";
  const given = memberAt(spec, ["priority"]);
  if (typeof given === "number" && given !== priority) {
    const rule = `the integer value of priority (${given}) must not be provided in pod spec`;
    throw refused(pod, `${rule}; ${computed} ${priority} from the given PriorityClass name`);
  }
  const sent = memberAt(spec, ["preemptionPolicy"]);
  if (typeof sent === "string" && policy !== "" && sent !== policy) {
    const rule = `the string value of PreemptionPolicy (${sent}) must not be provided in pod spec`;
    throw refused(pod, `${rule}; ${computed} ${policy} from the given PriorityClass name`);
  }
  const className = found === undefined ? {} : { priorityClassName: found.name };
  return { ...spec, ...className, priority, ...(policy !== "" && { preemptionPolicy: policy }) };
}

const notItsOverhead = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead";
const noOverhead = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead";

/** The spec with the overhead, the node selector and the tolerations of its runtime class. */
function withRuntimeClass(pod: JsonObject, store: Store<JsonObject>): JsonObject {
  const spec = objectAt(pod, ["spec"]);
  const name = stringAt(spec, ["runtimeClassName"]);
  const found = name === "" ? undefined : store.get(`/node.k8s.io/runtimeclasses/${name}`)?.value;
  if (memberAt(spec, ["runtimeClassName"]) === "") throw unclassifiedError("resource name may not be empty");
  const unasked = name === "" ? undefined : unaskable(name);
  if (unasked !== undefined) throw unclassifiedError(unasked);
  if (found === undefined && name !== "") {
    throw refused(pod, `pod rejected: RuntimeClass ${JSON.stringify(name)} not found`);
  }
  const own = memberAt(spec, ["overhead"]);
  const fixed = memberAt(found ?? {}, ["overhead", "podFixed"]);
  if (isJsonObject(fixed) && isJsonObject(own) && !jsonEqual(own, fixed)) throw refused(pod, notItsOverhead);
  const charged = isJsonObject(fixed) ? { ...spec, overhead: fixed } : spec;
  const scheduling = memberAt(found ?? {}, ["scheduling"]);
  return isJsonObject(scheduling) ? withScheduling(pod, charged, scheduling) : charged;
}

/** Only a runtime class gives a Pod overhead. That is checked after the Pod itself. */
function requireOverhead(pod: JsonObject, store: Store<JsonObject>): void {
  const name = stringAt(pod, ["spec", "runtimeClassName"]);
  const found = name === "" ? undefined : store.get(`/node.k8s.io/runtimeclasses/${name}`)?.value;
  const isFixed = isJsonObject(memberAt(found ?? {}, ["overhead", "podFixed"]));
  if (!isFixed && isJsonObject(memberAt(pod, ["spec", "overhead"]))) throw refused(pod, noOverhead);
}

function withScheduling(pod: JsonObject, spec: JsonObject, scheduling: JsonObject): JsonObject {
  const [own, wanted] = [objectAt(spec, ["nodeSelector"]), objectAt(scheduling, ["nodeSelector"])];
  for (const [key, value] of Object.entries(wanted)) {
    const given = ownValue(own, key);
    if (given === undefined || given === value) continue;
    const ofClass = `runtimeClass.scheduling.nodeSelector[${key}] = ${String(value)}`;
    const ofPod = `pod.spec.nodeSelector[${key}] = ${String(given)}`;
    throw refused(pod, `conflict: ${ofClass}; ${ofPod}`);
  }
  const tolerations = mergedTolerations([...listAt(spec, "tolerations"), ...listAt(scheduling, "tolerations")]);
  return {
    ...spec,
    ...(Object.keys(wanted).length > 0 && { nodeSelector: { ...own, ...wanted } }),
    ...(tolerations.length > 0 && { tolerations }),
  };
}

/** The tolerations of which each is compared with all others. A Pod with more of them has only those left out that come twice. */
const maxCompared = 1000;

/** Leaves out tolerations that another one covers: of equal ones the first stays, of others that cover each other the last. */
function mergedTolerations(all: readonly JsonObject[]): JsonObject[] {
  const distinct = [...new Map(all.map((one) => [printJson(tolerationOf(one)), one])).values()];
  if (distinct.length > maxCompared) return distinct;
  const read = distinct.map(tolerationOf);
  const kept: Toleration[] = [];
  return distinct.filter((_, at) => {
    const one = read[at];
    if (one === undefined || kept.some((other) => covers(other, one))) return false;
    for (let later = at + 1; later < read.length; later++) {
      const other = read[later];
      if (other !== undefined && covers(other, one)) return false;
    }
    kept.push(one);
    return true;
  });
}

interface Toleration {
  readonly key: string;
  readonly operator: string;
  readonly value: string;
  readonly effect: string;
  readonly seconds: number | bigint | null;
}

function tolerationOf(toleration: JsonObject): Toleration {
  const seconds = memberAt(toleration, ["tolerationSeconds"]);
  const text = (name: string): string => stringAt(toleration, [name]);
  const texts = { key: text("key"), operator: text("operator"), value: text("value"), effect: text("effect") };
  return { ...texts, seconds: isNumber(seconds) ? seconds : null };
}

/** Whether a toleration covers another one. One without an operator covers only those that state `Equal`. */
function covers(wide: Toleration, narrow: Toleration): boolean {
  const isAnyKey = wide.key === "" && wide.operator === "Exists";
  if (wide.key !== narrow.key && !isAnyKey) return false;
  if (wide.effect !== narrow.effect && wide.effect !== "") return false;
  const isShort = narrow.seconds !== null && wide.seconds !== null && narrow.seconds <= wide.seconds;
  if (wide.effect === "NoExecute" && wide.seconds !== null && !isShort) return false;
  if (wide.operator === "Exists") return true;
  const isEqual = wide.operator === "Equal" || wide.operator === "";
  return isEqual && narrow.operator === "Equal" && narrow.value === wide.value;
}

/** The plugin that refuses a second default class. */
export function priorityClassAdmission(store: Store<JsonObject>): AdmissionPlugin {
  return {
    name: "Priority",
    handles: ({ operation, type, subresource }) =>
      type.resource === "priorityclasses" && subresource === "" && (operation === "CREATE" || operation === "UPDATE"),
    isLong: () => true,
    *validating({ object, operation, type, name }) {
      if (object?.["globalDefault"] !== true) return;
      const current = (yield* findingDefaultClass(store))?.name;
      if (current === undefined || (operation === "UPDATE" && current === name)) return;
      throw forbidden(type, name, `PriorityClass ${current} is already marked as default. Only one default can exist`);
    },
  };
}
