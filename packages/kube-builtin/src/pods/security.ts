// SPDX-License-Identifier: Apache-2.0
// What Pods and containers may do on their node.
import { all, type Check, inRange, listAt, within } from "@purlin/kube-apiserver/kinds";
import {
  duplicateValue,
  type FieldError,
  firstErrors,
  forbiddenValue,
  invalidPrinted,
  invalidValue,
  requiredValue,
  tooLong,
  unsupportedValue,
} from "@purlin/kube-objects/errors";
import { goJson, isJsonObject, type JsonObject, type JsonValue, utf8Length } from "@purlin/kube-objects/json";
import { dns1123SubdomainProblems } from "@purlin/kube-objects/metadata";
import { memberAt, objectAt, stringAt, textsAt } from "@purlin/kube-objects/object";
import { hasObject, optionallyOneOf } from "../checks/rule-checks.ts";
import { descendingPath } from "./volumes.ts";

const maxId = 2 ** 31 - 1;
const profileTypes = ["Localhost", "RuntimeDefault", "Unconfined"];

const seccomp: Check = (profile, path) => {
  const [type, file] = [stringAt(profile, ["type"]), memberAt(profile, ["localhostProfile"])];
  const isLocal = type === "Localhost";
  const at = `${path}.localhostProfile`;
  const printed = `{"Type":${goJson(type)},"LocalhostProfile":${goJson(file ?? null)}}`;
  return [
    ...(type === "" ? [requiredValue(`${path}.type`, "type is required when seccompProfile is set")] : []),
    ...(type === "" || profileTypes.includes(type) ? [] : [unsupportedValue(`${path}.type`, type, profileTypes)]),
    ...(isLocal && typeof file !== "string" ? [requiredValue(at, "must be set when seccomp type is Localhost")] : []),
    ...(isLocal && typeof file === "string" ? descendingPath(file, at) : []),
    ...(!isLocal && typeof file === "string"
      ? [invalidPrinted(at, printed, "can only be set when seccomp type is Localhost")]
      : []),
  ];
};

/** The longest path of a file on Linux. */
const maxProfileBytes = 4095;

const appArmor: Check = (profile, path) => {
  const [type, file] = [stringAt(profile, ["type"]), memberAt(profile, ["localhostProfile"])];
  const at = `${path}.localhostProfile`;
  if (type === "") return [requiredValue(`${path}.type`, "type is required when appArmorProfile is set")];
  if (!profileTypes.includes(type)) return [unsupportedValue(`${path}.type`, type, profileTypes)];
  if (type !== "Localhost") {
    return typeof file === "string" ? [invalidValue(at, file, "can only be set when AppArmor type is Localhost")] : [];
  }
  const missing = requiredValue(at, "must be set when AppArmor type is Localhost");
  if (typeof file !== "string") return [missing];
  const isPadded = file !== file.trim();
  return [
    ...(isPadded ? [invalidValue(at, file, "must not be padded with whitespace")] : file === "" ? [missing] : []),
    ...(utf8Length(file) > maxProfileBytes ? [tooLong(at, maxProfileBytes)] : []),
  ];
};

const maxCredentialKiB = 64;
const maxDomain = 256;
const maxUser = 104;
const netBios = /^[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}$/u;
const dnsDomain = /^[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*$/;

const windows: Check = (options, path) => {
  const [name, spec, user] = ["gmsaCredentialSpecName", "gmsaCredentialSpec", "runAsUserName"].map((member) =>
    memberAt(options, [member]),
  );
  const at = `${path}.gmsaCredentialSpec`;
  const isLong = typeof spec === "string" && utf8Length(spec) > maxCredentialKiB * 1024;
  return [
    ...(typeof name === "string"
      ? dns1123SubdomainProblems(name).map((text) => invalidValue(`${path}.gmsaCredentialSpecName`, name, text))
      : []),
    ...(spec === "" ? [invalidValue(at, "", "gmsaCredentialSpec cannot be an empty string")] : []),
    ...(isLong ? [invalidValue(at, spec, `gmsaCredentialSpec size must be under ${maxCredentialKiB} KiB`)] : []),
    ...(typeof user === "string"
      ? userProblems(user).map((text) => invalidValue(`${path}.runAsUserName`, user, `runAsUserName${text}`))
      : []),
  ];
};

function userProblems(name: string): string[] {
  if (name === "") return [" cannot be an empty string"];
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what the rule is about.
  if (/[\u0000-\u001f\u007f]/.test(name)) return [" cannot contain control characters"];
  const parts = name.split("\\");
  if (parts.length > 2) return [" cannot contain more than one backslash"];
  const [domain, user] = parts.length === 2 ? [parts[0] ?? "", parts[1] ?? ""] : [undefined, name];
  const isDomain = domain === undefined || netBios.test(domain) || dnsDomain.test(domain);
  return [
    ...(utf8Length(domain ?? "") >= maxDomain ? [`'s Domain length must be under ${maxDomain} characters`] : []),
    ...(isDomain ? [] : ["'s Domain doesn't match the NetBios nor the DNS format"]),
    ...(user === "" ? ["'s User cannot be empty"] : []),
    ...(utf8Length(user) > maxUser ? [`'s User length must not be longer than ${maxUser} characters`] : []),
    ...(/^[. ]+$/.test(user) ? ["'s User cannot contain only periods or spaces"] : []),
    ...(/["/\\:;|=,+*?<>@[\]]/.test(user)
      ? [`'s User cannot contain the following characters: "/\\:;|=,+*?<>@[]`]
      : []),
  ];
}

const ids: Check = all(inRange("runAsUser", 0, maxId), inRange("runAsGroup", 0, maxId));

const escalation: Check = (context, path) => {
  if (context["allowPrivilegeEscalation"] !== false) return [];
  const adds = textsAt(context, ["capabilities", "add"]).filter((one) => one === "CAP_SYS_ADMIN");
  const start = "cannot set `allowPrivilegeEscalation` to false and";
  const invalid = (text: string): FieldError => invalidPrinted(path, printedContext(context), `${start} ${text}`);
  return [
    ...(context["privileged"] === true ? [invalid("`privileged` to true")] : []),
    ...adds.map(() => invalid("`capabilities.Add` CAP_SYS_ADMIN")),
  ];
};

/** A security context as the reference prints its Go type. */
function printedContext(context: JsonObject): string {
  return printedAs(context, {
    capabilities: { add: "", drop: "" },
    privileged: "",
    seLinuxOptions: { user: "text", role: "text", type: "text", level: "text" },
    windowsOptions: { gmsaCredentialSpecName: "", gmsaCredentialSpec: "", runAsUserName: "", hostProcess: "" },
    runAsUser: "",
    runAsGroup: "",
    runAsNonRoot: "",
    readOnlyRootFilesystem: "",
    allowPrivilegeEscalation: "",
    procMount: "",
    seccompProfile: { type: "text", localhostProfile: "" },
    appArmorProfile: { type: "text", localhostProfile: "" },
  });
}

/** The members of a Go type in their order; a text is printed as an empty one when it is missing. */
interface Members {
  readonly [name: string]: "" | "text" | Members;
}

/** Names in Go that are not those of JSON with an upper-case letter. */
const goNames: Readonly<Record<string, string>> = {
  seLinuxOptions: "SELinuxOptions",
  gmsaCredentialSpecName: "GMSACredentialSpecName",
  gmsaCredentialSpec: "GMSACredentialSpec",
};

function printedAs(object: JsonObject, members: Members): string {
  const printed = Object.entries(members).map(([name, kind]) => {
    const value = object[name];
    const shown =
      typeof kind === "object"
        ? isJsonObject(value)
          ? printedAs(value, kind)
          : "null"
        : goJson(value ?? (kind === "text" ? "" : null));
    return `"${goNames[name] ?? name.slice(0, 1).toUpperCase() + name.slice(1)}":${shown}`;
  });
  return `{${printed.join(",")}}`;
}

/** The security context of a container. */
function ofContainer(sharesUsers: boolean): Check {
  const procMount: Check = (context, path) => {
    const at = `${path}.procMount`;
    const isShared = sharesUsers && context["procMount"] === "Unmasked";
    return [
      ...optionallyOneOf("procMount", ["Default", "Unmasked"])(context, path),
      ...(isShared ? [invalidValue(at, "Unmasked", "`hostUsers` must be false to use `Unmasked`")] : []),
    ];
  };
  return all(
    ids,
    procMount,
    within("seccompProfile", seccomp),
    escalation,
    within("windowsOptions", windows),
    within("appArmorProfile", appArmor),
  );
}

/** The security context of the containers of a spec. */
export function containerSecurity(spec: JsonObject): Check {
  return within("securityContext", ofContainer(spec["hostUsers"] !== false));
}

const sysctlName = /^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$/;
const maxSysctl = 253;
const sysctlText = `must have at most ${maxSysctl} characters and match regex ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$`;

function sysctls(spec: JsonObject, path: string): FieldError[] {
  const names = new Set<string>();
  return firstErrors(listAt(spec, "securityContext", "sysctls"), (one, index) => {
    const [name, at] = [stringAt(one, ["name"]), `${path}.sysctls[${index}].name`];
    const isValid = name.length <= maxSysctl && sysctlName.test(name);
    const isTaken = names.has(name);
    names.add(name);
    if (name === "") return [requiredValue(at)];
    return [
      ...(isValid ? (isTaken ? [duplicateValue(at, name)] : []) : [invalidValue(at, name, sysctlText)]),
      ...hostSysctl(spec, name, at),
    ];
  });
}

/** Parameters of the kernel that a Pod shares with its node are not the Pod's to set. */
function hostSysctl(spec: JsonObject, name: string, at: string): FieldError[] {
  const dotted = name.replaceAll("/", ".");
  const isIpc = /^(kernel\.shm|kernel\.msg|fs\.mqueue\.)/.test(dotted) || dotted === "kernel.sem";
  if (dotted.startsWith("net.") && spec["hostNetwork"] === true) {
    return [invalidValue(at, name, "may not be specified when 'hostNetwork' is true")];
  }
  return isIpc && spec["hostIPC"] === true
    ? [invalidValue(at, name, "may not be specified when 'hostIPC' is true")]
    : [];
}

function groups(spec: JsonObject, path: string): FieldError[] {
  const given = memberAt(spec, ["securityContext", "supplementalGroups"]);
  const list: readonly JsonValue[] = Array.isArray(given) ? given : [];
  return firstErrors(list, (id, index) =>
    Number(id) >= 0 && Number(id) <= maxId
      ? []
      : [invalidValue(`${path}.supplementalGroups[${index}]`, id, `must be between 0 and ${maxId}, inclusive`)],
  );
}

/** The security context of a Pod. */
export const podSecurity: Check = (spec, path) => {
  const [context, at] = [objectAt(spec, ["securityContext"]), `${path}.securityContext`];
  const shared = "ShareProcessNamespace and HostPID cannot both be enabled";
  const isBoth = spec["shareProcessNamespace"] === true && spec["hostPID"] === true;
  return [
    ...inRange("fsGroup", 0, maxId)(context, at),
    ...ids(context, at),
    ...groups(spec, at),
    ...(isBoth ? [invalidValue(`${at}.shareProcessNamespace`, true, shared)] : []),
    ...sysctls(spec, at),
    ...optionallyOneOf("fsGroupChangePolicy", ["Always", "OnRootMismatch"])(context, at),
    ...within("seccompProfile", seccomp)(context, at),
    ...within("windowsOptions", windows)(context, at),
    ...within("appArmorProfile", appArmor)(context, at),
    ...optionallyOneOf("supplementalGroupsPolicy", ["Merge", "Strict"])(context, at),
    ...optionallyOneOf("seLinuxChangePolicy", ["Recursive"])(context, at),
  ];
};

/** Calls a check for each container of a spec, of all lists. */
export function eachContainer(spec: JsonObject, path: string, check: Check): FieldError[] {
  return ["initContainers", "containers", "ephemeralContainers"].flatMap((list) =>
    firstErrors(listAt(spec, list), (one, index) => check(one, `${path}.${list}[${index}]`)),
  );
}

/** Containers that are processes of a Windows node. */
export const hostProcesses: Check = (spec, path) => {
  const ofPod = memberAt(spec, ["securityContext", "windowsOptions", "hostProcess"]);
  let [count, hosts] = [0, 0];
  const errors = eachContainer(spec, path, (one, at) => {
    const own = memberAt(one, ["securityContext", "windowsOptions", "hostProcess"]);
    count += 1;
    if ((own ?? ofPod) === true) hosts += 1;
    const why = `pod hostProcess value must be identical if both are specified, was ${String(ofPod)}`;
    const differs = typeof ofPod === "boolean" && typeof own === "boolean" && ofPod !== own;
    return differs ? [invalidValue(`${at}.securityContext.windowsOptions.hostProcess`, own, why)] : [];
  });
  if (hosts === 0) return errors;
  const some = "If pod contains any hostProcess containers then all containers must be HostProcess containers";
  const network = "hostNetwork must be true if pod contains any hostProcess containers";
  return [
    ...errors,
    ...(hosts === count ? [] : [invalidValue(path, "", some)]),
    ...(spec["hostNetwork"] === true ? [] : [invalidValue(`${path}.hostNetwork`, false, network)]),
  ];
};

/** A Pod with users of its own has more of its own too. */
export const ownUsers: Check = (spec, path) => {
  if (spec["hostUsers"] !== false) return [];
  const shared: readonly (readonly [member: string, shown: string])[] = [
    ["hostNetwork", "hostNetwork"],
    ["hostPID", "HostPID"],
    ["hostIPC", "HostIPC"],
  ];
  const why = "when `hostUsers` is false";
  return [
    ...shared.filter(([member]) => spec[member] === true).map(([, shown]) => forbiddenValue(`${path}.${shown}`, why)),
    ...eachContainer(spec, path, (one, at) =>
      listAt(one, "volumeDevices").length > 0 ? [forbiddenValue(`${at}.volumeDevices`, why)] : [],
    ),
  ];
};

const systems = ["linux", "windows"];
const notForWindows = "cannot be set for a windows pod";
const notForLinux = "windows options cannot be set for a linux pod";
const windowsPod: readonly (readonly [path: readonly string[], shown: string])[] = [
  ...["appArmorProfile", "seLinuxOptions"].map(inContext),
  ...["hostUsers", "hostPID", "hostIPC"].map(inSpec),
  ...["seccompProfile", "fsGroup", "fsGroupChangePolicy", "sysctls"].map(inContext),
  inSpec("shareProcessNamespace"),
  ...["runAsUser", "runAsGroup", "supplementalGroups", "supplementalGroupsPolicy", "seLinuxChangePolicy"].map(
    inContext,
  ),
];
const windowsContainer: readonly string[] = [
  ...["appArmorProfile", "seLinuxOptions", "seccompProfile", "capabilities", "readOnlyRootFilesystem", "privileged"],
  ...["allowPrivilegeEscalation", "procMount", "runAsUser", "runAsGroup"],
];

function inContext(name: string): readonly [readonly string[], string] {
  return [["securityContext", name], `securityContext.${name}`];
}

function inSpec(name: string): readonly [readonly string[], string] {
  return [[name], name];
}

/** Set by a client: `false` is as good as nothing for what is not optional. */
function isGiven(object: JsonObject, path: readonly string[]): boolean {
  const value = memberAt(object, path) ?? null;
  const isPlain = path.length === 1 && (path[0] === "hostPID" || path[0] === "hostIPC");
  return value !== null && !(isPlain && value === false) && !(Array.isArray(value) && value.length === 0);
}

/** The operating system of a Pod, and what it excludes. */
export const operatingSystem: Check = (spec, path) => {
  if (!hasObject(spec, "os")) return [];
  const name = stringAt(spec, ["os", "name"]);
  if (name === "") return [requiredValue(`${path}.os.name`)];
  if (!systems.includes(name)) return [unsupportedValue(`${path}.os`, name, systems)];
  return name === "linux" ? linuxErrors(spec, path) : windowsErrors(spec, path);
};

function linuxErrors(spec: JsonObject, path: string): FieldError[] {
  const check: Check = (one, at) =>
    isJsonObject(memberAt(one, ["securityContext", "windowsOptions"]))
      ? [forbiddenValue(`${at}.securityContext.windowsOptions`, notForLinux)]
      : [];
  return [...check(spec, path), ...eachContainer(spec, path, check)];
}

function windowsErrors(spec: JsonObject, path: string): FieldError[] {
  return [
    ...windowsPod
      .filter(([member]) => isGiven(spec, member))
      .map(([, shown]) => forbiddenValue(`${path}.${shown}`, notForWindows)),
    ...eachContainer(spec, path, (one, at) =>
      windowsContainer
        .filter((name) => (memberAt(one, ["securityContext", name]) ?? null) !== null)
        .map((name) => forbiddenValue(`${at}.securityContext.${name}`, notForWindows)),
    ),
  ];
}
