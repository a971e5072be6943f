// SPDX-License-Identifier: Apache-2.0
import { Buffer } from "node:buffer";
import { inTurns, type Work } from "@purlin/base";
import { type FieldError, invalidValue, requiredValue } from "@purlin/kube-objects/errors";
import { goQuote, isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";
import { dns1035LabelProblems, dns1123SubdomainProblems } from "@purlin/kube-objects/metadata";
import { memberAt, numberAt, objectAt, objectsAt, stringAt, textsAt } from "@purlin/kube-objects/object";
import type { User } from "../auth/user.ts";
import { isPort, portRange } from "../objects/checks.ts";
import { metaOf } from "../objects/object-members.ts";
import type { Store } from "../store/store.ts";
import type { KindRules } from "../strategy/kind-rules.ts";
import { ageColumn, ageOfObject, column, nameColumn, nameOfObject } from "../table/table.ts";
import { goNetworkError } from "../webhooks/go-network-error.ts";
import { type Backends, hostOf, TransportError, userHeaders } from "./backends.ts";

/** The group of APIServices. */
export const registrationGroup = "apiregistration.k8s.io";
/** The keys of APIServices in the store. */
export const apiServicesPrefix: string = `/${registrationGroup}/apiservices/`;

/** A group version that another server serves. */
export interface RemoteApi {
  /** The name of the APIService. */
  readonly name: string;
  readonly group: string;
  readonly version: string;
  readonly groupPriority: number;
  readonly versionPriority: number;
  readonly service: { readonly namespace: string; readonly name: string; readonly port: number };
  /** PEM in base64; empty for the authorities of the system. */
  readonly caBundle: string;
  readonly skipsVerification: boolean;
}

/** What an APIService says about another server; undefined for an APIService of this server. */
export function remoteApiOf(object: JsonObject): RemoteApi | undefined {
  const spec = objectAt(object, ["spec"]);
  if (!isJsonObject(spec["service"])) return undefined;
  return {
    name: metaOf(object).name ?? "",
    group: stringAt(spec, ["group"]),
    version: stringAt(spec, ["version"]),
    groupPriority: numberAt(spec, ["groupPriorityMinimum"]) ?? 0,
    versionPriority: numberAt(spec, ["versionPriority"]) ?? 0,
    service: {
      namespace: stringAt(spec, ["service", "namespace"]),
      name: stringAt(spec, ["service", "name"]),
      port: numberAt(spec, ["service", "port"]) || defaultPort,
    },
    caBundle: stringAt(spec, ["caBundle"]),
    skipsVerification: spec["insecureSkipTLSVerify"] === true,
  };
}

const defaultPort = 443;

/** The `Available` condition of an APIService. */
export function availableCondition(object: JsonObject): JsonObject | undefined {
  return objectsAt(object, ["status", "conditions"]).find((one) => one["type"] === "Available");
}

/** The rules of APIServices. */
export const apiServiceRules: KindRules = {
  defaults: withDefaultPort,
  validate: apiServiceErrors,
  printer: {
    columns: [nameColumn, column("Service"), column("Available"), ageColumn],
    cells: (object, now) => [
      nameOfObject(object),
      serviceCell(object),
      availableCell(object),
      ageOfObject(object, now),
    ],
  },
};

function withDefaultPort(object: JsonObject): JsonObject {
  const service = memberAt(object, ["spec", "service"]);
  if (!isJsonObject(service) || service["port"] !== undefined) return object;
  return { ...object, spec: { ...objectAt(object, ["spec"]), service: { ...service, port: defaultPort } } };
}

function serviceCell(object: JsonObject): string {
  const remote = remoteApiOf(object);
  return remote === undefined ? "Local" : `${remote.service.namespace}/${remote.service.name}`;
}

function availableCell(object: JsonObject): string {
  const condition = availableCondition(object);
  if (condition === undefined) return "Unknown";
  const status = stringAt(condition, ["status"]);
  return status === "True" ? status : `${status} (${stringAt(condition, ["reason"])})`;
}

function apiServiceErrors(object: JsonObject): FieldError[] {
  const spec = objectAt(object, ["spec"]);
  const [group, version] = [stringAt(spec, ["group"]), stringAt(spec, ["version"])];
  const name = metaOf(object).name ?? "";
  const wanted = `${version}.${group}`;
  return [
    ...(name === wanted
      ? []
      : [invalidValue("metadata.name", name, `must be \`spec.version+"."+spec.group\`: ${JSON.stringify(wanted)}`)]),
    ...groupErrors(group, version),
    ...dns1035LabelProblems(version).map((problem) => invalidValue("spec.version", version, problem)),
    ...priorityErrors(spec, "groupPriorityMinimum", 20_000),
    ...priorityErrors(spec, "versionPriority", 1_000),
    ...(isJsonObject(spec["service"]) ? serviceErrors(spec["service"]) : localErrors(spec)),
    ...(spec["insecureSkipTLSVerify"] === true && stringAt(spec, ["caBundle"]) !== "" && isJsonObject(spec["service"])
      ? [invalidValue("spec.insecureSkipTLSVerify", true, "may not be true if caBundle is present")]
      : []),
  ];
}

function groupErrors(group: string, version: string): FieldError[] {
  if (group !== "") return dns1123SubdomainProblems(group).map((problem) => invalidValue("spec.group", group, problem));
  if (version === "v1") return [];
  return [requiredValue("spec.group", "only v1 may have an empty group and it better be legacy kube")];
}

function priorityErrors(spec: JsonObject, field: string, most: number): FieldError[] {
  const value = numberAt(spec, [field]) ?? 0;
  if (value > 0 && value <= most) return [];
  return [invalidValue(`spec.${field}`, value, `must be positive and less than ${most}`)];
}

function serviceErrors(service: JsonObject): FieldError[] {
  const port: JsonValue | undefined = service["port"];
  return [
    ...["namespace", "name"].flatMap((field) =>
      stringAt(service, [field]) === "" ? [requiredValue(`spec.service.${field}`)] : [],
    ),
    ...(port === undefined || isPort(port)
      ? []
      : [invalidValue("spec.service.port", port, `port is not valid: ${portRange}`)]),
  ];
}

function localErrors(spec: JsonObject): FieldError[] {
  const bytes = Buffer.from(stringAt(spec, ["caBundle"]), "base64").length;
  return [
    ...(bytes === 0
      ? []
      : [invalidValue("spec.caBundle", `${bytes} bytes`, "local APIServices may not have a caBundle")]),
    ...(spec["insecureSkipTLSVerify"] === true
      ? [invalidValue("spec.insecureSkipTLSVerify", true, "local APIServices may not have insecureSkipTLSVerify")]
      : []),
  ];
}

// Whether the server of an APIService can be used. Reasons and texts are those of the reference.

/** The state of an APIService, as its condition says it. */
export interface Availability {
  readonly status: "True" | "False";
  readonly reason: string;
  readonly message: string;
}

/** The state of an APIService without a Service. */
export const localAvailability: Availability = {
  status: "True",
  reason: "Local",
  message: "Local APIServices are always available",
};

const passed: Availability = { status: "True", reason: "Passed", message: "all checks passed" };
const failed = (reason: string, message: string): Availability => ({ status: "False", reason, message });

const checkMs = 5_000;

/** The user of the server's own requests to a backend. */
export const aggregatorUser: User = { name: "system:kube-aggregator", groups: ["system:masters"] };

/** Looks for the Service and its endpoints, then requests discovery. Undefined when the APIService itself is wrong: nothing is known then. */
export async function checkAvailability(
  remote: RemoteApi,
  {
    store,
    backends,
    signal,
  }: { readonly store: Store<JsonObject>; readonly backends: Backends; readonly signal: AbortSignal },
): Promise<Availability | undefined> {
  return (await inTurns(findingServiceProblem(remote, store))) ?? (await discoveryProblem(remote, backends, signal));
}

function* findingServiceProblem({ service }: RemoteApi, store: Store<JsonObject>): Work<Availability | undefined> {
  const { namespace, name, port } = service;
  const what = `service/${name} in ${goQuote(namespace)}`;
  const found = store.get(`//services/${namespace}/${name}`)?.value;
  if (found === undefined) return failed("ServiceNotFound", `${what} is not present`);
  if ((stringAt(found, ["spec", "type"]) || "ClusterIP") !== "ClusterIP") return undefined;
  const servicePort = objectsAt(found, ["spec", "ports"]).find((one) => numberAt(one, ["port"]) === port);
  if (servicePort === undefined) return failed("ServicePortError", `${what} is not listening on port ${port}`);
  const portName = stringAt(servicePort, ["name"]);
  let hasSlice = false;
  for (const { value } of store.list({ prefix: `/discovery.k8s.io/endpointslices/${namespace}/` }).entries) {
    const isOfService = metaOf(value).labels?.["kubernetes.io/service-name"] === name;
    if (isOfService && hasAddress(value, portName)) return undefined;
    hasSlice ||= isOfService;
    yield;
  }
  if (!hasSlice) return failed("EndpointsNotFound", `cannot find endpointslices for ${what}`);
  const message = `endpointslices for ${what} have no addresses with port name ${goQuote(portName)}`;
  return failed("MissingEndpoints", message);
}

function hasAddress(slice: JsonObject, portName: string): boolean {
  const isReady = (endpoint: JsonObject): boolean =>
    memberAt(endpoint, ["conditions", "ready"]) !== false && textsAt(endpoint, ["addresses"]).length > 0;
  return (
    objectsAt(slice, ["ports"]).some((port) => stringAt(port, ["name"]) === portName) &&
    objectsAt(slice, ["endpoints"]).some(isReady)
  );
}

async function discoveryProblem(
  remote: RemoteApi,
  backends: Backends,
  signal: AbortSignal,
): Promise<Availability | undefined> {
  const path = remote.group === "" ? `/api/${remote.version}` : `/apis/${remote.group}/${remote.version}`;
  const limit = AbortSignal.timeout(checkMs);
  let url = "";
  try {
    url = `https://${hostOf(await backends.address(remote))}${path}`;
    const response = await backends.send(remote, {
      method: "GET",
      path,
      headers: { "user-agent": "kube-apiserver", ...userHeaders(aggregatorUser) },
      signal: AbortSignal.any([signal, limit]),
    });
    // Only the code counts here, so the body is not read.
    response.destroy();
    const code = response.statusCode ?? 0;
    if (code >= 200 && code < 300) return passed;
    return discoveryFailed(url, `bad status from ${url}: ${code}`);
  } catch (error) {
    if (error instanceof TransportError) return undefined;
    if (url === "") return failed("FailedDiscoveryCheck", error instanceof Error ? error.message : String(error));
    const text = limit.aborted
      ? "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
      : goNetworkError(error);
    return discoveryFailed(url, `Get ${JSON.stringify(url)}: ${text}`);
  }
}

function discoveryFailed(url: string, text: string): Availability {
  return failed("FailedDiscoveryCheck", `failing or missing response from ${url}: ${text}`);
}
