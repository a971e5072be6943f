// SPDX-License-Identifier: Apache-2.0
// The admission plugins that compare the change of a Pod with the node that it runs on.
import { type AdmissionPlugin, listAt, metaOf, type Store } from "@purlin/kube-apiserver/kinds";
import { forbidden, StatusError } from "@purlin/kube-objects/errors";
import { goQuote, isJsonObject, type JsonObject, jsonEqual } from "@purlin/kube-objects/json";
import { memberAt, stringAt, textsAt } from "@purlin/kube-objects/object";
import { compareQuantities, quantityNanos } from "@purlin/kube-objects/typed";
import { amountsAt } from "../checks/resource-names.ts";
import { chargedAmounts } from "./pod-charge.ts";

type Attributes = Parameters<NonNullable<AdmissionPlugin["validate"]>>[0];

const pods = { group: "", resource: "pods" };

/** The plugins that refuse changes of Pods that their node cannot make. */
export function resizeAdmission(store: Store<JsonObject>): readonly AdmissionPlugin[] {
  return [
    boundPodPlugin("NodeDeclaredFeatureValidator", ["", "resize"], (change) => requireFeatures(store, change)),
    boundPodPlugin("PodResizeValidator", ["resize"], (change) => requireRoom(store, change)),
  ];
}

/** A change of the spec of a Pod that has a node. */
interface Change {
  readonly pod: JsonObject;
  readonly old: JsonObject;
  readonly node: string;
  readonly refused: (why: string) => StatusError;
}

function boundPodPlugin(
  name: string,
  subresources: readonly string[],
  check: (change: Change) => void,
): AdmissionPlugin {
  return {
    name,
    handles: ({ operation, type, subresource }) =>
      operation === "UPDATE" && type.group === "" && type.resource === "pods" && subresources.includes(subresource),
    validate: ({ object: pod = {}, old = {}, name: podName }: Attributes) => {
      const node = stringAt(pod, ["spec", "nodeName"]);
      if (node === "" || metaOf(pod).generation === metaOf(old).generation) return;
      check({ pod, old, node, refused: (why) => forbidden(pods, podName, why) });
    },
  };
}

function nodeOf(store: Store<JsonObject>, { node, refused }: Change): JsonObject {
  const found = store.get(`//nodes/${node}`)?.value;
  if (found === undefined) throw refused(`node ${goQuote(node)} not found`);
  return found;
}

/** Features of a node that some changes need. The names are in the order in which they are reported. */
const features: Readonly<Record<string, (pod: JsonObject, old: JsonObject) => boolean>> = {
  InPlacePodLevelResourcesVerticalScaling: (pod, old) => {
    const [now, before] = [pod, old].map((one) => memberAt(one, ["spec", "resources"]));
    return isJsonObject(now) || isJsonObject(before) ? !jsonEqual(now ?? null, before ?? null) : false;
  },
  InPlacePodVerticalScalingInitContainers: (pod, old) =>
    listAt(old, "spec", "initContainers").some((before, index) => {
      const now = listAt(pod, "spec", "initContainers")[index] ?? {};
      const isSidecar = stringAt(before, ["restartPolicy"]) === "Always";
      return !isSidecar && !jsonEqual(now["resources"] ?? null, before["resources"] ?? null);
    }),
};

function requireFeatures(store: Store<JsonObject>, change: Change): void {
  const { pod, old, node, refused } = change;
  const needed = Object.keys(features).filter((name) => features[name]?.(pod, old));
  if (needed.length === 0) return;
  const declared = textsAt(nodeOf(store, change), ["status", "declaredFeatures"]);
  const missing = needed.filter((name) => !declared.includes(name));
  if (missing.length === 0) return;
  throw refused(`pod update requires features ${missing.join(", ")} which are not available on node ${goQuote(node)}`);
}

function requireRoom(store: Store<JsonObject>, change: Change): void {
  const { pod, node, refused } = change;
  const found = nodeOf(store, change);
  const system = metaOf(found).labels?.["kubernetes.io/os"] ?? "linux";
  if (system !== "linux") {
    const why = `pod resize is only supported on linux nodes, node ${goQuote(node)} is ${goQuote(system)}`;
    throw withCause(refused(why), "UnsupportedPlatform");
  }
  const problems = [overOf("cpu", 1_000_000n), overOf("memory", 1_000_000_000n)].flatMap((over) => over(pod, found));
  if (problems.length === 0) return;
  const why = `node didn't have enough allocatable resources: ${problems.join("; ")}`;
  throw withCause(refused(why), "NodeCapacity");
}

/** Finds whether a Pod requests more of a resource than a node has. `unit` is the unit of the message, in billionths; amounts are rounded up. */
function overOf(name: string, unit: bigint): (pod: JsonObject, node: JsonObject) => string[] {
  const shown = (amount: string): bigint => (quantityNanos(amount) + unit - 1n) / unit;
  return (pod, node) => {
    const requested = chargedAmounts({ spec: memberAt(pod, ["spec"]) ?? {} }, "requests")[name] ?? "0";
    const allocatable = amountsAt(node, ["status", "allocatable"])[name] ?? "0";
    if (compareQuantities(requested, allocatable) <= 0) return [];
    return [`${name}, requested: ${shown(requested)}, allocatable: ${shown(allocatable)}`];
  };
}

function withCause({ status }: StatusError, reason: string): StatusError {
  return new StatusError({ ...status, details: { ...status.details, causes: [{ reason }] } });
}
