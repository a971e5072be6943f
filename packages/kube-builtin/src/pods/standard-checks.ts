// SPDX-License-Identifier: Apache-2.0
// The rules of the Pod Security Standards: what a Pod may not ask for. Texts are those of the reference.
import { listAt } from "@purlin/kube-apiserver/kinds";
import { goQuote, isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import { memberAt, numberAt, objectAt, stringAt, textsAt } from "@purlin/kube-objects/object";

/** A Pod, or the template of one. */
interface PodForm {
  readonly annotations: Readonly<Record<string, string>>;
  readonly spec: JsonObject;
  /** Its containers of all kinds, in the order in which they are named. */
  readonly containers: readonly JsonObject[];
}

/** Why a Pod does not meet a standard, and which of its parts do not. */
export interface Violation {
  readonly reason: string;
  readonly detail: string;
}

export type Check = (pod: PodForm) => Violation | undefined;

const plural = (count: number, one: string, many = `${one}s`): string => (count === 1 ? one : many);
const quoted = (texts: readonly string[]): string => `"${texts.join('", "')}"`;
const sorted = (texts: Iterable<string>): string[] => [...new Set(texts)].toSorted();
const nameOf = (part: JsonObject): string => stringAt(part, ["name"]);
const inContext = (part: JsonObject, ...path: readonly string[]): unknown =>
  memberAt(part, ["securityContext", ...path]);

function namesOf(containers: readonly JsonObject[]): string {
  return `${plural(containers.length, "container")} ${quoted(containers.map(nameOf))}`;
}

/** The Pod itself and the containers for which a statement about a security context holds, as they are named; empty for none. */
function settersOf({ spec, containers }: PodForm, isBad: (part: JsonObject) => boolean): string {
  const bad = containers.filter(isBad);
  return [...(isBad(spec) ? ["pod"] : []), ...(bad.length > 0 ? [namesOf(bad)] : [])].join(" and ");
}

/** A rule about containers alone: the ones that break it, and the detail with their names. */
function ofContainers(
  reason: string,
  isBad: (container: JsonObject) => boolean,
  detail: (names: string, bad: readonly JsonObject[]) => string,
): Check {
  return ({ containers }) => {
    const bad = containers.filter(isBad);
    return bad.length === 0 ? undefined : { reason, detail: detail(namesOf(bad), bad) };
  };
}

/** The values that some parts have and that are not allowed, sorted. */
function valuesOf(
  parts: readonly JsonObject[],
  path: readonly string[],
  isAllowed: (value: string) => boolean,
): string[] {
  const values = parts.map((part) => inContext(part, ...path));
  return sorted(values.filter((value) => typeof value === "string").filter((value) => !isAllowed(value)));
}

export const isWindows = ({ spec }: PodForm): boolean => stringAt(spec, ["os", "name"]) === "windows";
export const hasOwnUsers = ({ spec }: PodForm): boolean => memberAt(spec, ["hostUsers"]) === false;
export const unless =
  (isExempt: (pod: PodForm) => boolean, check: Check): Check =>
  (pod) =>
    isExempt(pod) ? undefined : check(pod);

const isProfile = (type: string): boolean => type === "RuntimeDefault" || type === "Localhost";
const armorPrefix = "container.apparmor.security.beta.kubernetes.io/";

export const appArmor: Check = (pod) => {
  const path = ["appArmorProfile", "type"];
  const isBad = (part: JsonObject): boolean => valuesOf([part], path, isProfile).length > 0;
  const isAllowed = (value: string): boolean =>
    value === "" || value === "runtime/default" || value.startsWith("localhost/");
  const annotations = Object.entries(pod.annotations)
    .filter(([key, value]) => key.startsWith(armorPrefix) && !isAllowed(value))
    .map(([key, value]) => `${key}=${goQuote(value)}`)
    .toSorted();
  const values = [...valuesOf([pod.spec, ...pod.containers], path, isProfile), ...annotations];
  if (values.length === 0) return undefined;
  const parts = settersOf(pod, isBad);
  const marks = annotations.length > 0 ? [plural(annotations.length, "annotation")] : [];
  const setters = [...(parts === "" ? [] : [parts]), ...marks].join(" and ");
  return {
    reason: plural(values.length, "forbidden AppArmor profile"),
    detail: `${setters} must not set AppArmor profile type to ${quoted(values)}`,
  };
};

const capabilities: ReadonlySet<string> = new Set(
  "AUDIT_WRITE CHOWN DAC_OVERRIDE FOWNER FSETID KILL MKNOD NET_BIND_SERVICE SETFCAP SETGID SETPCAP SETUID SYS_CHROOT".split(
    " ",
  ),
);

function addedBeyond(containers: readonly JsonObject[], isAllowed: (name: string) => boolean): string[] {
  const added = containers.flatMap((one) => textsAt(one, ["securityContext", "capabilities", "add"]));
  return sorted(added.filter((name) => !isAllowed(name)));
}

const mustNotAdd = (names: string, added: readonly string[]): string =>
  `${names} must not include ${quoted(added)} in securityContext.capabilities.add`;

export const fewCapabilities: Check = ofContainers(
  "non-default capabilities",
  (one) => addedBeyond([one], (name) => capabilities.has(name)).length > 0,
  (names, bad) =>
    mustNotAdd(
      names,
      addedBeyond(bad, (name) => capabilities.has(name)),
    ),
);

export const noCapabilities: Check = ({ containers }) => {
  const isBindService = (name: string): boolean => name === "NET_BIND_SERVICE";
  const keeping = containers.filter(
    (one) => !textsAt(one, ["securityContext", "capabilities", "drop"]).includes("ALL"),
  );
  const adding = containers.filter((one) => addedBeyond([one], isBindService).length > 0);
  const details = [
    ...(keeping.length > 0 ? [`${namesOf(keeping)} must set securityContext.capabilities.drop=["ALL"]`] : []),
    ...(adding.length > 0 ? [mustNotAdd(namesOf(adding), addedBeyond(adding, isBindService))] : []),
  ];
  return details.length === 0 ? undefined : { reason: "unrestricted capabilities", detail: details.join("; ") };
};

export const hostNamespaces: Check = ({ spec }) => {
  const used = ["hostNetwork", "hostPID", "hostIPC"].filter((name) => memberAt(spec, [name]) === true);
  const detail = used.map((name) => `${name}=true`).join(", ");
  return used.length === 0 ? undefined : { reason: "host namespaces", detail };
};

export const hostPaths: Check = ({ spec }) => {
  const found = listAt(spec, "volumes").filter((volume) => isJsonObject(volume["hostPath"]));
  const detail = `${plural(found.length, "volume")} ${quoted(found.map(nameOf))}`;
  return found.length === 0 ? undefined : { reason: "hostPath volumes", detail };
};

const portsOf = (container: JsonObject): string[] =>
  listAt(container, "ports").flatMap((port) => String(numberAt(port, ["hostPort"]) || "") || []);

export const hostPorts: Check = ofContainers(
  "hostPort",
  (one) => portsOf(one).length > 0,
  (names, bad) => {
    const ports = sorted(bad.flatMap(portsOf));
    return `${names} ${plural(bad.length, "uses", "use")} ${plural(ports.length, "hostPort")} ${ports.join(", ")}`;
  },
);

const handlers = [
  ...["livenessProbe", "readinessProbe", "startupProbe"].map((name) => [name]),
  ...["postStart", "preStop"].map((name) => ["lifecycle", name]),
];

function hostsOf(container: JsonObject): string[] {
  const paths = handlers.flatMap((path) => ["httpGet", "tcpSocket"].map((kind) => [...path, kind, "host"]));
  return paths.map((path) => stringAt(container, path)).filter((host) => host !== "");
}

export const probeHosts: Check = ({ containers }) => {
  const bad = containers.filter((one) => hostsOf(one).length > 0);
  if (bad.length === 0) return undefined;
  const names = sorted(bad.map(nameOf));
  const hosts = sorted(bad.flatMap(hostsOf));
  const who = `${plural(names.length, "container")} ${quoted(names)} ${plural(names.length, "uses", "use")}`;
  const reason = "probe or lifecycle host";
  return { reason, detail: `${who} ${plural(hosts.length, reason)} ${quoted(hosts)}` };
};

const isUsualMount = (type: string): boolean => type === "Default";

export const procMount: Check = ofContainers(
  "procMount",
  (one) => valuesOf([one], ["procMount"], isUsualMount).length > 0,
  (names, bad) =>
    `${names} must not set securityContext.procMount to ${quoted(valuesOf(bad, ["procMount"], isUsualMount))}`,
);

export const linuxTypes: readonly string[] = ["", "container_t", "container_init_t", "container_kvm_t"];

export const linuxOptions =
  (allowed: readonly string[]): Check =>
  (pod) => {
    const isType = (type: string): boolean => allowed.includes(type);
    const sets = (part: JsonObject, name: string): boolean => (inContext(part, "seLinuxOptions", name) ?? "") !== "";
    const parts = [pod.spec, ...pod.containers];
    const types = valuesOf(parts, ["seLinuxOptions", "type"], isType);
    const setters = settersOf(
      pod,
      (part) =>
        valuesOf([part], ["seLinuxOptions", "type"], isType).length > 0 || sets(part, "user") || sets(part, "role"),
    );
    if (setters === "") return undefined;
    const problems = [
      ...(types.length > 0 ? [`${plural(types.length, "type")} ${quoted(types)}`] : []),
      ...["user", "role"]
        .filter((name) => parts.some((part) => sets(part, name)))
        .map((name) => `${name} may not be set`),
    ];
    const detail = `${setters} set forbidden securityContext.seLinuxOptions: ${problems.join("; ")}`;
    return { reason: "seLinuxOptions", detail };
  };

export const oldSeccomp: Check = ({ annotations, containers }) => {
  const prefix = "seccomp.security.alpha.kubernetes.io/";
  const keys = [`${prefix}pod`, ...containers.map((one) => `container.${prefix}${nameOf(one)}`)];
  const isAllowed = (value: string): boolean =>
    value === "runtime/default" || value === "docker/default" || value.startsWith("localhost/");
  const found = keys.filter((key) => annotations[key] !== undefined && !isAllowed(annotations[key]));
  const shown = sorted(found.map((key) => `${key}=${goQuote(annotations[key] ?? "")}`));
  if (shown.length === 0) return undefined;
  return { reason: "seccompProfile", detail: `forbidden ${plural(shown.length, "annotation")} ${shown.join(", ")}` };
};

const seccompPath = ["seccompProfile", "type"];

export const seccomp: Check = (pod) => {
  const setters = settersOf(pod, (part) => valuesOf([part], seccompPath, isProfile).length > 0);
  const values = valuesOf([pod.spec, ...pod.containers], seccompPath, isProfile);
  const detail = `${setters} must not set securityContext.seccompProfile.type to ${quoted(values)}`;
  return setters === "" ? undefined : { reason: "seccompProfile", detail };
};

export const someSeccomp: Check = (pod) => {
  const wrong = seccomp(pod);
  if (wrong !== undefined || inContext(pod.spec, "seccompProfile") !== undefined) return wrong;
  const without = pod.containers.filter((one) => inContext(one, "seccompProfile") === undefined);
  const wanted = 'must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"';
  return without.length === 0
    ? undefined
    : { reason: "seccompProfile", detail: `pod or ${namesOf(without)} ${wanted}` };
};

export const sysctls =
  (allowed: readonly string[]): Check =>
  ({ spec }) => {
    const names = listAt(objectAt(spec, ["securityContext"]), "sysctls").map(nameOf);
    const detail = names.filter((name) => !allowed.includes(name)).join(", ");
    return detail === "" ? undefined : { reason: "forbidden sysctls", detail };
  };

export const kernelOptions: readonly string[] = [
  "kernel.shm_rmid_forced",
  ...["ip_local_port_range", "tcp_syncookies", "ping_group_range", "ip_unprivileged_port_start"].map(ipv4),
];
export const kernelOptions27: readonly string[] = [...kernelOptions, ipv4("ip_local_reserved_ports")];
export const kernelOptions29: readonly string[] = [
  ...kernelOptions27,
  ...["tcp_keepalive_time", "tcp_fin_timeout", "tcp_keepalive_intvl", "tcp_keepalive_probes"].map(ipv4),
];
export const kernelOptions32: readonly string[] = [...kernelOptions29, ...["tcp_rmem", "tcp_wmem"].map(ipv4)];

function ipv4(name: string): string {
  return `net.ipv4.${name}`;
}

/** A rule that the Pod and its containers break by setting a member of their security context to a value. */
function ofSetters(reason: string, isBad: (part: JsonObject) => boolean, detail: string): Check {
  return (pod) => {
    const setters = settersOf(pod, isBad);
    return setters === "" ? undefined : { reason, detail: `${setters} must not set ${detail}` };
  };
}

const volumeSources: ReadonlySet<string> = new Set(
  "configMap csi downwardAPI emptyDir ephemeral image persistentVolumeClaim projected secret".split(" "),
);

export const fewVolumes: Check = ({ spec }) => {
  const sourceOf = (volume: JsonObject): string => Object.keys(volume).find((name) => name !== "name") ?? "unknown";
  const bad = listAt(spec, "volumes").filter((volume) => !volumeSources.has(sourceOf(volume)));
  if (bad.length === 0) return undefined;
  const types = sorted(bad.map(sourceOf));
  const who = `${plural(bad.length, "volume")} ${quoted(bad.map(nameOf))} ${plural(bad.length, "uses", "use")}`;
  const detail = `${who} ${plural(types.length, "restricted volume type")} ${quoted(types)}`;
  return { reason: "restricted volume types", detail };
};

const nonRootReason = "runAsNonRoot != true";
const isRoot = ofSetters(
  nonRootReason,
  (part) => inContext(part, "runAsNonRoot") === false,
  "securityContext.runAsNonRoot=false",
);

export const nonRoot: Check = (pod) => {
  const wrong = isRoot(pod);
  if (wrong !== undefined || inContext(pod.spec, "runAsNonRoot") === true) return wrong;
  const unset = pod.containers.filter((one) => typeof inContext(one, "runAsNonRoot") !== "boolean");
  const detail = `pod or ${namesOf(unset)} must set securityContext.runAsNonRoot=true`;
  return unset.length === 0 ? undefined : { reason: nonRootReason, detail };
};

export const noRootUser: Check = ofSetters(
  "runAsUser=0",
  (part) => isZero(inContext(part, "runAsUser")),
  "runAsUser=0",
);
const isZero = (value: unknown): boolean => value === 0 || value === 0n;

export const noEscalation: Check = ofContainers(
  "allowPrivilegeEscalation != false",
  (one) => inContext(one, "allowPrivilegeEscalation") !== false,
  (names) => `${names} must set securityContext.allowPrivilegeEscalation=false`,
);

export const notPrivileged: Check = ofContainers(
  "privileged",
  (one) => inContext(one, "privileged") === true,
  (names) => `${names} must not set securityContext.privileged=true`,
);

export const noHostProcess: Check = ofSetters(
  "hostProcess",
  (part) => inContext(part, "windowsOptions", "hostProcess") === true,
  "securityContext.windowsOptions.hostProcess=true",
);
