// SPDX-License-Identifier: Apache-2.0
// The plugin PodSecurity: labels of a namespace say which of the Pod Security Standards its Pods meet. Texts are those of the reference.
import type { Work } from "@purlin/base";
import {
  type AdmissionAttributes,
  type AdmissionPlugin,
  type Entry,
  listAt,
  metaOf,
  type Store,
} from "@purlin/kube-apiserver/kinds";
import {
  childPath,
  type FieldError,
  fieldErrorsText,
  forbidden,
  invalid,
  invalidValue,
  keyPath,
} from "@purlin/kube-objects/errors";
import { isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";
import { memberAt, objectAt, stringAt } from "@purlin/kube-objects/object";
import {
  appArmor,
  type Check,
  fewCapabilities,
  fewVolumes,
  hasOwnUsers,
  hostNamespaces,
  hostPaths,
  hostPorts,
  isWindows,
  kernelOptions,
  kernelOptions27,
  kernelOptions29,
  kernelOptions32,
  linuxOptions,
  linuxTypes,
  noCapabilities,
  noEscalation,
  noHostProcess,
  nonRoot,
  noRootUser,
  notPrivileged,
  oldSeccomp,
  probeHosts,
  procMount,
  seccomp,
  someSeccomp,
  sysctls,
  unless,
  type Violation,
} from "./standard-checks.ts";

/** One rule, by the minor version from which a check of it counts. */
interface Standard {
  readonly level: "baseline" | "restricted";
  readonly since: readonly (readonly [minor: number, check: Check])[];
  /** The rule of the level baseline that it replaces. */
  readonly replaces?: string;
}

const baseline = "baseline";
const restricted = "restricted";

/** All rules, in the order in which violations are listed. */
const standards: Readonly<Record<string, Standard>> = {
  appArmorProfile: { level: baseline, since: [[0, appArmor]] },
  capabilities_baseline: { level: baseline, since: [[0, fewCapabilities]] },
  hostNamespaces: { level: baseline, since: [[0, hostNamespaces]] },
  hostPathVolumes: { level: baseline, since: [[0, hostPaths]] },
  hostPorts: { level: baseline, since: [[0, hostPorts]] },
  hostProbesAndHostLifecycle: { level: baseline, since: [[34, probeHosts]] },
  privileged: { level: baseline, since: [[0, notPrivileged]] },
  procMount: {
    level: baseline,
    since: [
      [0, procMount],
      [35, unless(hasOwnUsers, procMount)],
    ],
  },
  seLinuxOptions: {
    level: baseline,
    since: [
      [0, linuxOptions(linuxTypes)],
      [31, linuxOptions([...linuxTypes, "container_engine_t"])],
    ],
  },
  seccompProfile_baseline: {
    level: baseline,
    since: [
      [0, oldSeccomp],
      [19, seccomp],
    ],
  },
  sysctls: {
    level: baseline,
    since: [
      [0, sysctls(kernelOptions)],
      [27, sysctls(kernelOptions27)],
      [29, sysctls(kernelOptions29)],
      [32, sysctls(kernelOptions32)],
    ],
  },
  windowsHostProcess: { level: baseline, since: [[0, noHostProcess]] },
  allowPrivilegeEscalation: {
    level: restricted,
    since: [
      [8, noEscalation],
      [25, unless(isWindows, noEscalation)],
    ],
  },
  capabilities_restricted: {
    level: restricted,
    since: [
      [22, noCapabilities],
      [25, unless(isWindows, noCapabilities)],
    ],
    replaces: "capabilities_baseline",
  },
  procMount_restricted: { level: restricted, since: [[35, procMount]], replaces: "procMount" },
  restrictedVolumes: { level: restricted, since: [[0, fewVolumes]], replaces: "hostPathVolumes" },
  runAsNonRoot: {
    level: restricted,
    since: [
      [0, nonRoot],
      [35, unless(hasOwnUsers, nonRoot)],
    ],
  },
  runAsUser: {
    level: restricted,
    since: [
      [23, noRootUser],
      [35, unless(hasOwnUsers, noRootUser)],
    ],
  },
  seccompProfile_restricted: {
    level: restricted,
    since: [
      [19, someSeccomp],
      [25, unless(isWindows, someSeccomp)],
    ],
    replaces: "seccompProfile_baseline",
  },
};

/** The check of a rule in a version of the standards; undefined where the version does not have the rule. */
function checkOf({ since }: Standard, minor: number): Check | undefined {
  return since.findLast(([from]) => from <= minor)?.[1];
}

/** A level of the standards in a minor version; Infinity for the latest. */
interface StandardLevel {
  readonly level: "privileged" | "baseline" | "restricted";
  readonly minor: number;
}

/** How a Pod, or the template of one, breaks the standards of a level. */
function violationsOf(pod: JsonObject, { level, minor }: StandardLevel): readonly Violation[] {
  if (level === "privileged") return [];
  const spec = objectAt(pod, ["spec"]);
  const containers = ["initContainers", "containers", "ephemeralContainers"].flatMap((list) => listAt(spec, list));
  const annotations = objectAt(pod, ["metadata", "annotations"]) as Readonly<Record<string, string>>;
  const counting = Object.entries(standards).filter(
    ([, one]) => (one.level === baseline || level === restricted) && checkOf(one, minor) !== undefined,
  );
  const replaced = new Set(counting.map(([, { replaces }]) => replaces));
  return counting.flatMap(([name, one]) =>
    replaced.has(name) ? [] : (checkOf(one, minor)?.({ annotations, spec, containers }) ?? []),
  );
}

const levels = ["privileged", "baseline", "restricted"] as const;
const prefix = "pod-security.kubernetes.io/";
const latest = Number.POSITIVE_INFINITY;

type Mode = "enforce" | "audit" | "warn";

/** What the labels of a namespace ask for. */
interface NamespacePolicy extends Readonly<Record<Mode, StandardLevel>> {
  readonly errors: readonly FieldError[];
}

const labelsPath = childPath(childPath(undefined, "metadata"), "labels");

/** The policy of a namespace. A wrong level is restricted for the enforcement, and privileged for warnings and the audit log. */
function policyOf(namespace: JsonObject): NamespacePolicy {
  const labels = metaOf(namespace).labels ?? {};
  const errors: FieldError[] = [];
  const refuse = (name: string, why: string): void => {
    errors.push(invalidValue(keyPath(labelsPath, `${prefix}${name}`), labels[`${prefix}${name}`] ?? "", why));
  };
  const read = (mode: Mode): StandardLevel => {
    const given = labels[`${prefix}${mode}`];
    const level = given === undefined ? "privileged" : levels.find((one) => one === given);
    if (level === undefined) refuse(mode, `must be one of ${levels.join(", ")}`);
    const version = labels[`${prefix}${mode}-version`] ?? "latest";
    const minor = version === "latest" ? latest : Number(/^v1\.(\d|[1-9]\d*)$/.exec(version)?.[1] ?? Number.NaN);
    if (Number.isNaN(minor)) refuse(`${mode}-version`, 'must be "latest" or "v1.x"');
    return {
      level: level ?? (mode === "enforce" ? "restricted" : "privileged"),
      minor: Number.isNaN(minor) ? latest : minor,
    };
  };
  const [enforce, audit, warn] = [read("enforce"), read("audit"), read("warn")];
  return { enforce, audit, warn: withEnforced(labels, { enforce, warn }), errors };
}

/** Without a level for warnings, users are warned as the enforcement refuses: about workloads whose Pods would be refused. */
function withEnforced(
  labels: Readonly<Record<string, string>>,
  { enforce, warn }: { readonly enforce: StandardLevel; readonly warn: StandardLevel },
): StandardLevel {
  const isEnforced = levels.some((one) => one === labels[`${prefix}enforce`]);
  if (labels[`${prefix}warn`] !== undefined || !isEnforced || rankOf(enforce) <= rankOf(warn)) return warn;
  return { level: enforce.level, minor: labels[`${prefix}warn-version`] === undefined ? enforce.minor : warn.minor };
}

const rankOf = ({ level }: StandardLevel): number => levels.indexOf(level);

const shown = ({ level, minor }: StandardLevel): string => `${level}:${minor === latest ? "latest" : `v1.${minor}`}`;

const detailOf = (violations: readonly Violation[]): string =>
  violations.map(({ reason, detail }) => (detail === "" ? reason : `${reason} (${detail})`)).join(", ");

/** Where the Pods of workloads have their template, by group and resource. */
const templates: Readonly<Record<string, readonly string[]>> = {
  "/replicationcontrollers": ["spec", "template"],
  "/podtemplates": ["template"],
  "apps/replicasets": ["spec", "template"],
  "apps/deployments": ["spec", "template"],
  "apps/statefulsets": ["spec", "template"],
  "apps/daemonsets": ["spec", "template"],
  "batch/jobs": ["spec", "template"],
  "batch/cronjobs": ["spec", "jobTemplate", "spec", "template"],
};

const checkedSubresources = ["", "ephemeralcontainers", "resize"];

/** Refuses Pods that do not meet the standards of their namespace, and warns about workloads that make such Pods. */
export function podSecurity(store: Store<JsonObject>): AdmissionPlugin {
  return {
    name: "PodSecurity",
    handles: ({ operation, type: { group, resource }, subresource }) => {
      if (operation !== "CREATE" && operation !== "UPDATE") return false;
      if (group === "" && resource === "pods") return checkedSubresources.includes(subresource);
      const isNamespace = group === "" && resource === "namespaces";
      return subresource === "" && (isNamespace || templates[`${group}/${resource}`] !== undefined);
    },
    isLong: ({ type: { resource } }) => resource === "namespaces",
    *validating(attributes) {
      const { group, resource } = attributes.type;
      if (attributes.object === undefined) return;
      if (group === "" && resource === "namespaces") {
        yield* checkingNamespace(attributes, store);
        return;
      }
      const namespace = store.get(`//namespaces/${attributes.namespace}`)?.value ?? {};
      const path = templates[`${group}/${resource}`];
      if (path === undefined) checkPod(attributes, policyOf(namespace));
      else checkTemplate(attributes, policyOf(namespace), memberAt(attributes.object, path));
    },
  };
}

function checkPod(attributes: AdmissionAttributes, policy: NamespacePolicy): void {
  const { object: pod = {}, old, annotate, type, name } = attributes;
  const isPrivileged = [policy.enforce, policy.audit, policy.warn].every(({ level }) => level === "privileged");
  if (!isPrivileged && old !== undefined && !isOther(pod, old)) return;
  annotate(`${prefix}enforce-policy`, shown(policy.enforce));
  const violations = violationsOf(pod, policy.enforce);
  noteAudit(attributes, policy, pod);
  if (violations.length > 0) {
    const why = `violates PodSecurity "${shown(policy.enforce)}": ${detailOf(violations)}`;
    throw forbidden({ group: type.group, resource: type.resource }, name, why);
  }
  warnAbout(attributes, policy, pod);
}

function checkTemplate(
  attributes: AdmissionAttributes,
  policy: NamespacePolicy,
  template: JsonValue | undefined,
): void {
  if (!isJsonObject(template)) return;
  noteAudit(attributes, policy, template);
  warnAbout(attributes, policy, template);
}

function noteAudit({ annotate }: AdmissionAttributes, { audit, errors }: NamespacePolicy, pod: JsonObject): void {
  if (errors.length > 0) annotate(`${prefix}error`, `Failed to parse policy: ${fieldErrorsText(errors)}`);
  const violations = violationsOf(pod, audit);
  if (violations.length === 0) return;
  annotate(`${prefix}audit-violations`, `would violate PodSecurity "${shown(audit)}": ${detailOf(violations)}`);
}

function warnAbout(attributes: AdmissionAttributes, { warn }: NamespacePolicy, pod: JsonObject): void {
  const violations = violationsOf(pod, warn);
  if (violations.length > 0) attributes.warn(`would violate PodSecurity "${shown(warn)}": ${detailOf(violations)}`);
}

/** Whether an update of a Pod changes what it runs: its containers or their images. */
function isOther(pod: JsonObject, old: JsonObject): boolean {
  const images = (object: JsonObject, list: string): string[] =>
    listAt(objectAt(object, ["spec"]), list).map((one) => stringAt(one, ["image"]));
  const isSame = (list: string): boolean => images(pod, list).join("\n") === images(old, list).join("\n");
  const added = "ephemeralContainers";
  return !isSame("containers") || !isSame("initContainers") || !isSame(added);
}

function* checkingNamespace(attributes: AdmissionAttributes, store: Store<JsonObject>): Work<void> {
  const { object = {}, old, name, warn } = attributes;
  const policy = policyOf(object);
  const before = old === undefined ? undefined : policyOf(old);
  const hasNewErrors = fieldErrorsText(policy.errors) !== fieldErrorsText(before?.errors ?? []);
  if (policy.errors.length > 0 && hasNewErrors) throw invalid({ group: "", kind: "Namespace" }, name, policy.errors);
  if (before === undefined) return;
  const { enforce } = policy;
  const isRelaxed = enforce.minor === before.enforce.minor && rankOf(enforce) <= rankOf(before.enforce);
  if (enforce.level === "privileged" || isRelaxed) return;
  for (const text of yield* findingViolations(store, name, enforce)) warn(text);
}

/** Most Pods of a namespace that are checked when its labels change, as in the reference. */
const mostPods = 3000;

/** What is wrong with the Pods of a namespace that has a new policy. */
function* findingViolations(store: Store<JsonObject>, namespace: string, enforce: StandardLevel): Work<string[]> {
  const { entries } = store.list({ prefix: `//pods/${namespace}/` });
  const names = new Map<string, string[]>();
  for (const { name, text } of yield* checkingPods(entries, enforce)) {
    if (text === "") continue;
    const known = names.get(text);
    if (known === undefined) names.set(text, [name]);
    else known.push(name);
  }
  const found = [...names].map(([text, of]) => `${namesText(of)}: ${text}`).toSorted();
  const limited = `new PodSecurity enforce level only checked against the first ${mostPods} of ${entries.length} existing pods`;
  return [
    ...(entries.length > mostPods ? [limited] : []),
    ...(found.length > 0
      ? [`existing pods in namespace "${namespace}" violate the new PodSecurity enforce level "${shown(enforce)}"`]
      : []),
    ...found,
  ];
}

function namesText(names: readonly string[]): string {
  const [first = ""] = names.toSorted();
  const others = names.length - 1;
  return others === 0 ? first : `${first} (and ${others} other ${others === 1 ? "pod" : "pods"})`;
}

/** A Pod, and how it breaks a level: empty where it does not. */
interface CheckedPod {
  readonly name: string;
  readonly text: string;
}

/**
 * The Pods that are checked. Those whose controller has another Pod before them come last: they are probably like it. Of the Pods only this is
 * kept: together they may be larger than the memory.
 */
function* checkingPods(entries: readonly Entry<JsonObject>[], level: StandardLevel): Work<CheckedPod[]> {
  const seen = new Set<string>();
  const [first, rest]: [CheckedPod[], CheckedPod[]] = [[], []];
  for (const { value: pod } of entries) {
    const owner = metaOf(pod).ownerReferences?.find(({ controller }) => controller === true)?.uid;
    const checked = owner !== undefined && seen.has(owner) ? rest : first;
    if (owner !== undefined) seen.add(owner);
    if (checked.length < mostPods) checked.push(checkedPod(pod, level));
    yield;
    if (first.length === mostPods) break;
  }
  return [...first, ...rest].slice(0, mostPods);
}

function checkedPod(pod: JsonObject, level: StandardLevel): CheckedPod {
  const text = violationsOf(pod, level)
    .map(({ reason }) => reason)
    .join(", ");
  return { name: metaOf(pod).name ?? "", text };
}
