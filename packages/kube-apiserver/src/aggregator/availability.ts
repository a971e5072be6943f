// SPDX-License-Identifier: Apache-2.0
// Whether the server of an APIService can be used. Reasons and texts are those of the reference.
import { goQuote, type JsonObject } from "@purlin/kube-objects/json";
import { memberAt, numberAt, objectsAt, stringAt, textsAt } from "@purlin/kube-objects/object";
import type { User } from "../auth/user.ts";
import { metaOf } from "../objects/object-meta.ts";
import type { Store } from "../store/store.ts";
import { goNetworkError } from "../webhooks/go-network-error.ts";
import type { RemoteApi } from "./api-service.ts";
import { type Backends, hostOf, TransportError, userHeaders } from "./backends.ts";

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
  return serviceProblem(remote, store) ?? (await discoveryProblem(remote, backends, signal));
}

function serviceProblem({ service }: RemoteApi, store: Store<JsonObject>): Availability | undefined {
  const { namespace, name, port } = service;
  const what = `service/${name} in ${goQuote(namespace)}`;
  const found = store.get(`//services/${namespace}/${name}`)?.value;
  if (found === undefined) return failed("ServiceNotFound", `${what} is not present`);
  if ((stringAt(found, ["spec", "type"]) || "ClusterIP") !== "ClusterIP") return undefined;
  const servicePort = objectsAt(found, ["spec", "ports"]).find((one) => numberAt(one, ["port"]) === port);
  if (servicePort === undefined) return failed("ServicePortError", `${what} is not listening on port ${port}`);
  const portName = stringAt(servicePort, ["name"]);
  const slices = store
    .list({ prefix: `/discovery.k8s.io/endpointslices/${namespace}/` })
    .entries.map(({ value }) => value)
    .filter((slice) => metaOf(slice).labels?.["kubernetes.io/service-name"] === name);
  if (slices.length === 0) return failed("EndpointsNotFound", `cannot find endpointslices for ${what}`);
  if (slices.some((slice) => hasAddress(slice, portName))) return undefined;
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
    url = `https://${hostOf(backends.address(remote))}${path}`;
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
