// SPDX-License-Identifier: Apache-2.0
// The admission plugins that set the account, the tolerations and the priority of a new Pod.

import { type AdmissionPlugin, listAt, metaOf } from "@purlin/kube-apiserver/kinds";
import { forbidden } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { generateName } from "@purlin/kube-objects/metadata";
import { memberAt, objectAt, stringAt } from "@purlin/kube-objects/object";

/** Finds a ServiceAccount. */
type FindAccount = (namespace: string, name: string) => JsonObject | undefined;

const defaultAccount = "default";
const tokenPath = "/var/run/secrets/kubernetes.io/serviceaccount";
const tokenSeconds = 3607;
const lostNodeSeconds = 300;

/** The plugins for new Pods. They refuse a Pod whose account or priority class does not exist. */
export function podAdmission(findAccount: FindAccount): readonly AdmissionPlugin[] {
  return [
    newPodPlugin("ServiceAccount", (pod) => withAccount(pod, findAccount)),
    newPodPlugin("DefaultTolerationSeconds", (pod) => withTolerations(objectAt(pod, ["spec"]))),
    newPodPlugin("Priority", (pod) => withPriority(pod, objectAt(pod, ["spec"]))),
  ];
}

function newPodPlugin(name: string, specOf: (pod: JsonObject) => JsonObject): AdmissionPlugin {
  return {
    name,
    handles: ({ operation, type, subresource }) =>
      operation === "CREATE" && type.group === "" && type.resource === "pods" && subresource === "",
    admit: ({ object }) => ({ ...object, spec: specOf(object) }),
  };
}

function refused(pod: JsonObject, why: string): Error {
  return forbidden({ group: "", resource: "pods" }, metaOf(pod).name ?? "", why);
}

function withAccount(pod: JsonObject, findAccount: FindAccount): JsonObject {
  const spec = objectAt(pod, ["spec"]);
  const { namespace = "" } = metaOf(pod);
  const name = stringAt(spec, ["serviceAccountName"]) || defaultAccount;
  const account = findAccount(namespace, name);
  // The default account comes a moment after its namespace.
  if (account === undefined && name !== defaultAccount) {
    const what = `service account ${namespace}/${name}`;
    throw refused(pod, `error looking up ${what}: serviceaccount ${JSON.stringify(name)} not found`);
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
  const name = generateName("kube-api-access-");
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
    volumes: [...listAt(spec, "volumes"), tokenVolume(name)],
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

/** Classes of priority are not served, but for the two that are always there. */
const priorities: Readonly<Record<string, number>> = {
  "": 0,
  "system-cluster-critical": 2_000_000_000,
  "system-node-critical": 2_000_001_000,
};

function withPriority(pod: JsonObject, spec: JsonObject): JsonObject {
  const name = stringAt(spec, ["priorityClassName"]);
  const priority = Object.hasOwn(priorities, name) ? priorities[name] : undefined;
  if (priority === undefined) throw refused(pod, `no PriorityClass with name ${name} was found`);
  const given = memberAt(spec, ["priority"]);
  if (typeof given === "number" && given !== priority) {
    const why = `the integer value of priority (${given}) must not be provided in pod spec; priority admission controller computed ${priority} from the given PriorityClass name`;
    throw refused(pod, why);
  }
  return { ...spec, priority, preemptionPolicy: stringAt(spec, ["preemptionPolicy"]) || "PreemptLowerPriority" };
}
