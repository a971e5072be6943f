// SPDX-License-Identifier: Apache-2.0

import type { Work } from "@purlin/base";
import {
  all,
  type Check,
  isPort,
  listAt,
  named,
  needed,
  oneOf,
  portNameProblems,
  portRange,
} from "@purlin/kube-apiserver/kinds";
import {
  duplicateValue,
  type FieldError,
  firstErrors,
  forbiddenValue,
  invalidValue,
  notFoundValue,
  requiredValue,
  tooMany,
  unsupportedValue,
} from "@purlin/kube-objects/errors";
import { isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";
import { dns1123LabelProblems } from "@purlin/kube-objects/metadata";
import { memberAt, stringAt } from "@purlin/kube-objects/object";
import { containerResourceErrors } from "../checks/resource-names.ts";
import { exactlyOneOf } from "../checks/rule-checks.ts";
import { env, envFrom, lifeOfContainer, noLifeOfInitContainer } from "./container-parts.ts";
import { checkingResources, claimNames, resources } from "./container-resources.ts";
import { containerSecurity } from "./security.ts";
import { volumeMounts } from "./volumes.ts";

const ports: Check = (container, path) => {
  const names = new Set<string>();
  return firstErrors(listAt(container, "ports"), (port, index) => portErrors(port, `${path}.ports[${index}]`, names));
};

function portErrors(port: JsonObject, path: string, names: Set<string>): FieldError[] {
  const [name, number, host] = [
    stringAt(port, ["name"]),
    memberAt(port, ["containerPort"]),
    memberAt(port, ["hostPort"]),
  ];
  const nameProblems =
    name === "" ? [] : portNameProblems(name).map((text) => invalidValue(`${path}.name`, name, text));
  const isTaken = nameProblems.length === 0 && names.has(name);
  if (name !== "" && nameProblems.length === 0) names.add(name);
  return [
    ...nameProblems,
    ...(isTaken ? [duplicateValue(`${path}.name`, name)] : []),
    ...(!number
      ? [requiredValue(`${path}.containerPort`)]
      : isPort(number)
        ? []
        : [invalidValue(`${path}.containerPort`, number, portRange)]),
    ...(!host || isPort(host) ? [] : [invalidValue(`${path}.hostPort`, host, portRange)]),
    ...oneOf("protocol", ["SCTP", "TCP", "UDP"])(port, path),
  ];
}

const resized = ["cpu", "memory"];
const resizePolicies = ["NotRequired", "RestartContainer"];

/** What happens to a container whose resources change. The reference gives most of these errors the path of the list. */
function resizePolicy(podPolicy: string): Check {
  return (container, path) => {
    const at = `${path}.resizePolicy`;
    const seen = new Set<string>();
    return firstErrors(listAt(container, "resizePolicy"), (one, index) => {
      const [name, policy] = [stringAt(one, ["resourceName"]), stringAt(one, ["restartPolicy"])];
      const isTaken = seen.has(name);
      seen.add(name);
      const never = "must be 'NotRequired' when pod `restartPolicy` is 'Never'";
      return [
        ...(isTaken ? [duplicateValue(`${at}[${index}]`, name)] : []),
        ...knownText(name, resized, at),
        ...knownText(policy, resizePolicies, at),
        ...(podPolicy === "Never" && policy !== "NotRequired" ? [invalidValue(at, policy, never)] : []),
      ];
    });
  };
}

function knownText(text: string, known: readonly string[], at: string): FieldError[] {
  if (text === "") return [requiredValue(at)];
  return known.includes(text) ? [] : [unsupportedValue(at, text, known)];
}

/** What all containers have in common, in parts. */
function checkingCommon(spec: JsonObject, mounts: Check): (container: JsonObject, path: string) => Work<FieldError[]> {
  const rules = { nameErrors: containerResourceErrors, claims: claimNames(spec) };
  const before = all(
    named("name", dns1123LabelProblems),
    needed("image"),
    oneOf("terminationMessagePolicy", ["File", "FallbackToLogsOnError"]),
    ports,
    env,
    envFrom,
    mounts,
    oneOf("imagePullPolicy", ["Always", "IfNotPresent", "Never"]),
  );
  const after = all(resizePolicy(stringAt(spec, ["restartPolicy"])), containerSecurity(spec));
  return function* (container, path) {
    const first = before(container, path);
    const ofResources = yield* checkingResources(container, path, rules);
    return [...first, ...ofResources, ...after(container, path)];
  };
}

/** Most errors of one list of containers that are reported. */
const mostErrors = 100;

/** The first errors of containers whose checks are done in parts. */
function* findingErrors(
  containers: readonly JsonObject[],
  checking: (container: JsonObject, index: number) => Work<readonly FieldError[]>,
): Work<FieldError[]> {
  const errors: FieldError[] = [];
  for (const [index, container] of containers.entries()) {
    if (errors.length >= mostErrors) break;
    errors.push(...(yield* checking(container, index)));
    yield;
  }
  return errors;
}

/** Ports of the host that two containers want. */
function hostPortConflicts(containers: readonly JsonObject[], path: string): FieldError[] {
  const taken = new Set<string>();
  return firstErrors(containers, (container, index) =>
    firstErrors(listAt(container, "ports"), (port, at) => {
      const host = memberAt(port, ["hostPort"]);
      if (!host) return [];
      const key = `${stringAt(port, ["protocol"])}/${stringAt(port, ["hostIP"])}/${String(host)}`;
      const isTaken = taken.has(key);
      taken.add(key);
      return isTaken ? [duplicateValue(`${path}[${index}].ports[${at}].hostPort`, key)] : [];
    }),
  );
}

/** What is wrong with the containers of a Pod, and with those that run before them; each container is a part. */
export function* checkingContainers(
  spec: JsonObject,
  path: string,
  volumes: ReadonlyMap<string, JsonObject>,
): Work<FieldError[]> {
  const main = listAt(spec, "containers");
  const shared = checkingCommon(spec, volumeMounts(volumes));
  const life = lifeOfContainer(spec);
  const debugging = ephemeral(spec);
  const names = new Set<string>();
  const unique: Check = (container, at) => {
    const name = stringAt(container, ["name"]);
    const isTaken = names.has(name);
    names.add(name);
    return isTaken ? [duplicateValue(`${at}.name`, name)] : [];
  };
  // An init container without a name is not a duplicate of another one.
  const areNamed = main.every((one) => stringAt(one, ["name"]) !== "");
  const uniqueInit: Check = (container, at) => {
    const errors = unique(container, at);
    return areNamed && stringAt(container, ["name"]) === "" ? [] : errors;
  };
  /** Finds the errors of one list: those of all containers, then those of this list alone. */
  const ofList = (list: string, own: Check): Work<FieldError[]> =>
    findingErrors(listAt(spec, list), function* (one, index) {
      const at = `${path}.${list}[${index}]`;
      return [...(yield* shared(one, at)), ...own(one, at)];
    });
  const ofMain = [
    ...(main.length === 0 ? [requiredValue(`${path}.containers`)] : []),
    ...(yield* ofList("containers", all(unique, life, restartPolicy({ isInit: false })))),
    ...hostPortConflicts(main, `${path}.containers`),
  ];
  yield;
  const ownPorts: Check = (one) => hostPortConflicts([one], `${path}.initContainers`);
  const initLife: Check = (one, at) => (isSidecar(one) ? life : all(noLifeOfInitContainer, noRestart))(one, at);
  const ofInit = yield* ofList("initContainers", all(restartPolicy({ isInit: true }), uniqueInit, ownPorts, initLife));
  yield;
  const ofEphemeral = yield* ofList("ephemeralContainers", all(trimmedImage, unique, debugging));
  return [...ofMain, ...ofInit, ...ofEphemeral];
}

/** A container that ends is not restarted when its resources change. */
const noRestart: Check = (container, path) =>
  firstErrors(listAt(container, "resizePolicy"), (one, index) => {
    const policy = stringAt(one, ["restartPolicy"]);
    const why = "must not be set to 'RestartContainer' for non-sidecar initContainers";
    return policy === "RestartContainer"
      ? [invalidValue(`${path}.resizePolicy[${index}].restartPolicy`, policy, why)]
      : [];
  });

/** The image of a container of a Pod itself, not of a template. */
export const trimmedImage: Check = (container, path) => {
  const image = stringAt(container, ["image"]);
  return image === image.trim()
    ? []
    : [invalidValue(`${path}.image`, image, "must not have leading or trailing whitespace")];
};

const notEphemeral: readonly string[] = [
  ...["ports", "resources", "resizePolicy", "restartPolicyRules"],
  ...["restartPolicy", "livenessProbe", "readinessProbe", "startupProbe", "lifecycle"],
];
/** Members that count as set although they are empty. */
const optional: ReadonlySet<string> = new Set(["livenessProbe", "readinessProbe", "startupProbe", "lifecycle"]);
const notEphemeralText = "cannot be set for an Ephemeral Container";

const isSet = (value: JsonValue | undefined): boolean =>
  Array.isArray(value) || (isJsonObject(value) ? Object.keys(value).length > 0 : value !== undefined && value !== null);

/** A container for debugging has no lifecycle of its own. */
function ephemeral(spec: JsonObject): Check {
  const others = [...listAt(spec, "containers"), ...listAt(spec, "initContainers")];
  const names = new Set(others.map(({ name }) => name));
  return (one, path) => {
    const target = stringAt(one, ["targetContainerName"]);
    const isKnown = target === "" || names.has(target);
    const mounts = listAt(one, "volumeMounts");
    return [
      ...(isKnown ? [] : [notFoundValue(`${path}.targetContainerName`, target)]),
      ...notEphemeral
        .filter((name) => (optional.has(name) ? isJsonObject(one[name]) : isSet(one[name])))
        .map((name) => forbiddenValue(`${path}.${name}`, notEphemeralText)),
      ...firstErrors(mounts, (mount, index) =>
        ["subPath", "subPathExpr"]
          .filter((name) => stringAt(mount, [name]) !== "")
          .map((name) => forbiddenValue(`${path}.volumeMounts[${index}].${name}`, notEphemeralText)),
      ),
    ];
  };
}

const restartPolicies = ["Always", "Never", "OnFailure"];

function isSidecar(container: JsonObject): boolean {
  return stringAt(container, ["restartPolicy"]) === "Always";
}

const ruleActions = ["Restart", "RestartAllContainers"];
const exitOperators = ["In", "NotIn"];

/** When a container is restarted, and by which exit codes. */
const restartPolicy =
  ({ isInit }: { readonly isInit: boolean }): Check =>
  (container, path) => {
    const policy = memberAt(container, ["restartPolicy"]);
    const rules = listAt(container, "restartPolicyRules");
    const [at, list] = [`${path}.restartPolicy`, `${path}.restartPolicyRules`];
    const missing = requiredValue(at, "must specify restartPolicy when restart rules are used");
    if (typeof policy !== "string" && (rules.length === 0 || isInit)) return rules.length === 0 ? [] : [missing];
    return [
      ...(typeof policy !== "string" ? [missing] : []),
      ...(typeof policy !== "string" || restartPolicies.includes(policy)
        ? []
        : [unsupportedValue(at, policy, restartPolicies)]),
      ...(rules.length > 20 ? [tooMany(list, rules.length, 20)] : []),
      ...firstErrors(rules, (rule, index) => restartRule(rule, `${list}[${index}]`)),
    ];
  };

const restartRule: Check = (rule, path) => {
  const codes = memberAt(rule, ["exitCodes"]);
  const values = memberAt(rule, ["exitCodes", "values"]);
  const at = `${path}.exitCodes`;
  return [
    ...exactlyOneOf("action", ruleActions)(rule, path),
    ...(isJsonObject(codes) ? exactlyOneOf("operator", exitOperators)(codes, at) : []),
    ...(Array.isArray(values) && values.length > 255 ? [tooMany(`${at}.values`, values.length, 255)] : []),
    ...(isJsonObject(codes) ? [] : [requiredValue(at, "must be specified")]),
  ];
};

/** The errors of what a Pod costs beyond its containers. */
export function overheadErrors(amounts: JsonObject, path: string): FieldError[] {
  return resources(containerResourceErrors, [])({ resources: { limits: amounts } }, "").map((error) => ({
    ...error,
    field: error.field.replace(".resources", path),
  }));
}
