// SPDX-License-Identifier: Apache-2.0
import { inTurns, type Work } from "@purlin/base";
import { goQuote, isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import { memberAt, objectsAt, stringAt, textsAt } from "@purlin/kube-objects/object";
import { metaOf } from "../objects/object-members.ts";
import type { Store } from "../store/store.ts";
import type { ResolveService, ServiceAddress } from "./webhook-client.ts";

/**
 * Finds the address of a Service in the store: the external name, or the first ready endpoint. Cluster IPs lead nowhere here, as nothing
 * routes them. `overrides` come first: addresses of programs that run beside the server.
 */
export function serviceResolver(
  store: Store<JsonObject>,
  overrides: ReadonlyMap<string, ServiceAddress>,
): ResolveService {
  return (service) => inTurns(resolving(service));

  function* resolving({ namespace, name, port }: Parameters<ResolveService>[0]): Work<ServiceAddress> {
    const override = overrides.get(`${namespace}/${name}:${port}`);
    if (override !== undefined) return override;
    const service = store.get(`//services/${namespace}/${name}`)?.value;
    if (service === undefined) throw new Error(`service ${goQuote(name)} not found`);
    const externalName = stringAt(service, ["spec", "externalName"]);
    if (stringAt(service, ["spec", "type"]) === "ExternalName") return { host: externalName, port };
    const servicePort = objectsAt(service, ["spec", "ports"]).find((one) => one["port"] === port);
    if (servicePort === undefined) throw new Error(`no service port ${port} found for service ${goQuote(name)}`);
    const found = yield* findingEndpoint(store, { namespace, name }, stringAt(servicePort, ["name"]));
    if (found === undefined) throw new Error(`no endpoints available for service ${goQuote(name)}`);
    return found;
  }
}

interface ServiceName {
  readonly namespace: string;
  readonly name: string;
}

/** The slices of a namespace are looked at one by one: there may be many, of many Services. */
function* findingEndpoint(
  store: Store<JsonObject>,
  service: ServiceName,
  portName: string,
): Work<ServiceAddress | undefined> {
  for (const { value } of store.list({ prefix: `/discovery.k8s.io/endpointslices/${service.namespace}/` }).entries) {
    const isOfService = metaOf(value).labels?.["kubernetes.io/service-name"] === service.name;
    const found = isOfService ? endpointOf(value, portName) : undefined;
    if (found !== undefined) return found;
    yield;
  }
  const endpoints = store.get(`//endpoints/${service.namespace}/${service.name}`)?.value;
  for (const subset of endpoints === undefined ? [] : objectsAt(endpoints, ["subsets"])) {
    const port = portOf(objectsAt(subset, ["ports"]), portName);
    const [address] = objectsAt(subset, ["addresses"]).filter(isJsonObject);
    if (address !== undefined && port !== undefined) return { host: stringAt(address, ["ip"]), port };
  }
  return undefined;
}

function endpointOf(slice: JsonObject, portName: string): ServiceAddress | undefined {
  const port = portOf(objectsAt(slice, ["ports"]), portName);
  const endpoint = objectsAt(slice, ["endpoints"]).find((one) => memberAt(one, ["conditions", "ready"]) !== false);
  const [host] = endpoint === undefined ? [] : textsAt(endpoint, ["addresses"]);
  return host === undefined || port === undefined ? undefined : { host, port };
}

function portOf(ports: readonly JsonObject[], name: string): number | undefined {
  const port = ports.find((one) => stringAt(one, ["name"]) === name)?.["port"];
  return typeof port === "number" ? port : undefined;
}
