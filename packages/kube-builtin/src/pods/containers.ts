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
  findingFirstErrors,
  firstErrors,
  firstErrorsByName,
  forbiddenValue,
  invalidValue,
  keyPath,
  notFoundValue,
  requiredValue,
  tooMany,
  unsupportedValue,
} from "@purlin/kube-objects/errors";
import { isJsonObject, type JsonObject, type JsonValue, ownValue } from "@purlin/kube-objects/json";
import { dns1123LabelProblems } from "@purlin/kube-objects/metadata";
import { memberAt, objectAt, stringAt } from "@purlin/kube-objects/object";
import { compareQuantities } from "@purlin/kube-objects/typed";
import {
  amountErrors,
  containerResourceErrors,
  hugePageErrors,
  isHugePages,
  isNative,
} from "../checks/resource-names.ts";
import { exactlyOneOf } from "../checks/rule-checks.ts";
import { env, envFrom, lifeOfContainer, noLifeOfInitContainer } from "./container-parts.ts";
import { containerSecurity } from "./security.ts";
import { volumeMounts } from "./volumes.ts";

const mayExceed = (name: string): boolean => isNative(name) && !isHugePages(name);

/** What is wrong with what a container, or the whole Pod, asks for and may use. */
export function resources(nameErrors: (name: string, path: string) => FieldError[], claims: readonly string[]): Check {
  return (container, path) => {
    const own = objectAt(container, ["resources"]);
    const [limits, requests] = [objectAt(own, ["limits"]), objectAt(own, ["requests"])];
    const at = `${path}.resources`;
    const names = [...Object.keys(limits), ...Object.keys(requests)];
    const needsMore = names.some(isHugePages) && !names.some((name) => name === "cpu" || name === "memory");
    return [
      ...amountsOf(limits, `${at}.limits`, nameErrors),
      ...requestErrors({ requests, limits }, at, nameErrors),
      ...(needsMore ? [forbiddenValue(at, "HugePages require cpu or memory")] : []),
      ...claimErrors(listAt(own, "claims"), `${at}.claims`, claims),
    ];
  };
}

/** The names of the claims of a Pod. A claim without a name is refused elsewhere. */
export function claimNames(spec: JsonObject): string[] {
  return [...new Set(listAt(spec, "resourceClaims").flatMap((claim) => stringAt(claim, ["name"]) || []))];
}

/** The claims of the Pod that a container uses. */
function claimErrors(claims: readonly JsonObject[], path: string, known: readonly string[]): FieldError[] {
  const taken = new Set<string>();
  const where = known.length === 0 ? " which is empty" : `: ${known.toSorted().join(", ")}`;
  return firstErrors(claims, (claim, index) => {
    const [name, request, at] = [stringAt(claim, ["name"]), stringAt(claim, ["request"]), `${path}[${index}]`];
    if (name === "") return [requiredValue(at)];
    const missing = { ...notFoundValue(at, name) };
    const body = `${missing.body}: must be one of the names in pod.spec.resourceClaims${where}`;
    return [...takenClaim({ name, request }, at, taken), ...(known.includes(name) ? [] : [{ ...missing, body }])];
  });
}

function takenClaim(
  { name, request }: { readonly name: string; readonly request: string },
  at: string,
  taken: Set<string>,
): FieldError[] {
  if (taken.has(name)) return [duplicateValue(at, name)];
  const key = request === "" ? name : `${name}/${request}`;
  const invalid =
    request === "" ? [] : dns1123LabelProblems(request).map((text) => invalidValue(`${at}.request`, request, text));
  const doubled = taken.has(key) ? [key] : request === "" ? [...taken].filter((one) => one.startsWith(`${name}/`)) : [];
  taken.add(key);
  return [...invalid, ...doubled.map((one) => duplicateValue(at, one === key ? key : name))];
}

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

/** What all containers have in common. */
function common(spec: JsonObject, mounts: Check): Check {
  const claims = claimNames(spec);
  return all(
    named("name", dns1123LabelProblems),
    needed("image"),
    oneOf("terminationMessagePolicy", ["File", "FallbackToLogsOnError"]),
    ports,
    env,
    envFrom,
    mounts,
    oneOf("imagePullPolicy", ["Always", "IfNotPresent", "Never"]),
    resources(containerResourceErrors, claims),
    resizePolicy(stringAt(spec, ["restartPolicy"])),
    containerSecurity(spec),
  );
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
  const shared = common(spec, volumeMounts(volumes));
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
  const at = (list: string, index: number): string => `${path}.${list}[${index}]`;
  const ofMain = [
    ...(main.length === 0 ? [requiredValue(`${path}.containers`)] : []),
    ...(yield* findingFirstErrors(main, (one, index) =>
      all(shared, unique, life, restartPolicy({ isInit: false }))(one, at("containers", index)),
    )),
    ...hostPortConflicts(main, `${path}.containers`),
  ];
  yield;
  const ofInit = yield* findingFirstErrors(listAt(spec, "initContainers"), (one, index) => [
    ...all(shared, restartPolicy({ isInit: true }), uniqueInit)(one, at("initContainers", index)),
    ...hostPortConflicts([one], `${path}.initContainers`),
    ...(isSidecar(one) ? life : all(noLifeOfInitContainer, noRestart))(one, at("initContainers", index)),
  ]);
  yield;
  const ofEphemeral = yield* findingFirstErrors(listAt(spec, "ephemeralContainers"), (one, index) =>
    all(shared, trimmedImage, unique, debugging)(one, at("ephemeralContainers", index)),
  );
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

type NameErrors = (name: string, path: string) => FieldError[];

function amountsOf(amounts: JsonObject, path: string, nameErrors: NameErrors): FieldError[] {
  return firstErrorsByName(amounts, (name) => {
    const [at, amount] = [keyPath(path, name), String(amounts[name])];
    return [...nameErrors(name, at), ...amountErrors(name, amount, at), ...hugePageErrors(name, amount, at)];
  });
}

interface Amounts {
  readonly requests: JsonObject;
  readonly limits: JsonObject;
}

function requestErrors({ requests, limits }: Amounts, path: string, nameErrors: NameErrors): FieldError[] {
  return firstErrorsByName(requests, (name) => {
    const own = amountsOf({ [name]: requests[name] ?? "0" }, `${path}.requests`, nameErrors);
    const [asked, limit] = [String(requests[name]), ownValue(limits, name)];
    if (limit === undefined) {
      const why = "Limit must be set for non overcommitable resources";
      return mayExceed(name) ? own : [...own, requiredValue(`${path}.limits`, why)];
    }
    const order = compareQuantities(asked, String(limit));
    if (order !== 0 && !mayExceed(name)) {
      return [...own, invalidValue(`${path}.requests`, asked, `must be equal to ${name} limit of ${String(limit)}`)];
    }
    return order > 0
      ? [
          ...own,
          invalidValue(`${path}.requests`, asked, `must be less than or equal to ${name} limit of ${String(limit)}`),
        ]
      : own;
  });
}
