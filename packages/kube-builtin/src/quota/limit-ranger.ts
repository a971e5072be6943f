// SPDX-License-Identifier: Apache-2.0
import { type AdmissionPlugin, listAt, metaOf, type Store, withMeta } from "@purlin/kube-apiserver/kinds";
import { forbidden } from "@purlin/kube-objects/errors";
import { type JsonObject, sortedKeys } from "@purlin/kube-objects/json";
import { objectAt, stringAt } from "@purlin/kube-objects/object";
import { compareQuantities, quantityNanos } from "@purlin/kube-objects/typed";
import { NamespacedObjects } from "./followed-objects.ts";
import { type Amounts, amountsAt, podAmounts } from "./object-usage.ts";

const annotation = "kubernetes.io/limit-ranger";

/** The plugin that gives new Pods the default limits and requests of LimitRanges, and refuses objects outside the limits. */
export function limitRanger(store: Store<JsonObject>): AdmissionPlugin {
  const ranges = new NamespacedObjects(store, "//limitranges/");
  return {
    name: "LimitRanger",
    handles: ({ operation, type, subresource }) =>
      type.group === "" &&
      subresource === "" &&
      ((type.resource === "pods" && operation === "CREATE") ||
        (type.resource === "persistentvolumeclaims" && (operation === "CREATE" || operation === "UPDATE"))),
    admit: ({ object, namespace, type }) =>
      type.resource === "pods" ? ranges.in(namespace).reduce(withContainerDefaults, object) : object,
    validate: ({ object, namespace, type, name }) => {
      for (const range of object === undefined ? [] : ranges.in(namespace)) {
        const problems =
          type.resource === "pods" ? podProblems(range, object ?? {}) : claimProblems(range, object ?? {});
        if (problems.length > 0)
          throw forbidden(type, name, problems.length === 1 ? (problems[0] ?? "") : `[${problems.join(", ")}]`);
      }
    },
  };
}

const limitsOf = (range: JsonObject, type: string): JsonObject[] =>
  listAt(range, "spec", "limits").filter((item) => stringAt(item, ["type"]) === type);

/** The Pod with the defaults of a LimitRange, and an annotation that lists them. */
function withContainerDefaults(pod: JsonObject, range: JsonObject): JsonObject {
  const items = limitsOf(range, "Container");
  const merged = (name: string): Amounts =>
    Object.assign({}, ...items.map((item) => amountsAt(item, [name]))) as Amounts;
  const [limits, requests] = [merged("default"), merged("defaultRequest")];
  const notes: string[] = [];
  const filled = (list: string, noun: string): JsonObject[] =>
    listAt(pod, "spec", list).map((container) => filledContainer(container, { limits, requests, noun, notes }));
  const containers = filled("containers", "container");
  const initContainers = filled("initContainers", "init container");
  if (notes.length === 0) return pod;
  const spec = {
    ...objectAt(pod, ["spec"]),
    containers,
    ...(initContainers.length > 0 && { initContainers }),
  };
  const text = `LimitRanger plugin set: ${notes.join("; ")}`;
  return withMeta({ ...pod, spec }, { annotations: { ...metaOf(pod).annotations, [annotation]: text } });
}

interface Filling {
  readonly limits: Amounts;
  readonly requests: Amounts;
  readonly noun: string;
  readonly notes: string[];
}

function filledContainer(container: JsonObject, { limits, requests, noun, notes }: Filling): JsonObject {
  const resources = objectAt(container, ["resources"]);
  const fill = (member: "requests" | "limits", defaults: Amounts): JsonObject => {
    const own = amountsAt(resources, [member]);
    const missing = Object.keys(defaults).filter((name) => own[name] === undefined);
    if (missing.length > 0) {
      const word = member === "requests" ? "request" : "limit";
      notes.push(`${missing.sort().join(", ")} ${word} for ${noun} ${stringAt(container, ["name"])}`);
    }
    const all = { ...defaults, ...own };
    return Object.keys(all).length === 0 ? {} : { [member]: all };
  };
  return {
    ...container,
    resources: { ...resources, ...fill("requests", requests), ...fill("limits", limits) },
  };
}

interface Demand {
  readonly type: string;
  readonly requests: Amounts;
  readonly limits: Amounts;
}

function podProblems(range: JsonObject, pod: JsonObject): string[] {
  const containers = [...listAt(pod, "spec", "containers"), ...listAt(pod, "spec", "initContainers")];
  return listAt(range, "spec", "limits").flatMap((item) => {
    const type = stringAt(item, ["type"]);
    if (type === "Pod") {
      return demandProblems(item, { type, requests: podAmounts(pod, "requests"), limits: podAmounts(pod, "limits") });
    }
    if (type !== "Container") return [];
    return containers.flatMap((container) =>
      demandProblems(item, {
        type,
        requests: amountsAt(container, ["resources", "requests"]),
        limits: amountsAt(container, ["resources", "limits"]),
      }),
    );
  });
}

function claimProblems(range: JsonObject, claim: JsonObject): string[] {
  const type = "PersistentVolumeClaim";
  const requests = amountsAt(claim, ["spec", "resources", "requests"]);
  return limitsOf(range, type).flatMap((item) => [
    ...each(item, "min", (name, least) => minProblem(name, least, { type, requests, limits: {} })),
    ...each(item, "max", (name, most) => maxRequestProblem(name, most, { type, requests })),
  ]);
}

function demandProblems(item: JsonObject, demand: Demand): string[] {
  return [
    ...each(item, "min", (name, least) => minProblem(name, least, demand)),
    ...each(item, "max", (name, most) => maxProblem(name, most, demand)),
    ...each(item, "maxLimitRequestRatio", (name, most) => ratioProblem(name, most, demand)),
  ];
}

function each(item: JsonObject, member: string, check: (name: string, value: string) => string | undefined): string[] {
  const amounts = amountsAt(item, [member]);
  return sortedKeys(objectAt(item, [member])).flatMap((name) => check(name, amounts[name] ?? "0") ?? []);
}

function minProblem(name: string, least: string, { type, requests, limits }: Demand): string | undefined {
  const [request, limit] = [requests[name], limits[name]];
  const rule = `minimum ${name} usage per ${type} is ${least}`;
  if (request === undefined) return `${rule}.  No request is specified`;
  if (compareQuantities(request, least) < 0) return `${rule}, but request is ${request}`;
  return limit !== undefined && compareQuantities(limit, least) < 0 ? `${rule}, but limit is ${limit}` : undefined;
}

function maxRequestProblem(name: string, most: string, { type, requests }: Omit<Demand, "limits">): string | undefined {
  const rule = `maximum ${name} usage per ${type} is ${most}`;
  const request = requests[name];
  if (request === undefined) return `${rule}.  No request is specified`;
  return compareQuantities(request, most) > 0 ? `${rule}, but request is ${request}` : undefined;
}

function maxProblem(name: string, most: string, { type, requests, limits }: Demand): string | undefined {
  const [request, limit] = [requests[name], limits[name]];
  const rule = `maximum ${name} usage per ${type} is ${most}`;
  if (limit === undefined) return `${rule}.  No limit is specified`;
  if (compareQuantities(limit, most) > 0) return `${rule}, but limit is ${limit}`;
  return request !== undefined && compareQuantities(request, most) > 0
    ? `${rule}, but request is ${request}`
    : undefined;
}

function ratioProblem(name: string, most: string, { type, requests, limits }: Demand): string | undefined {
  const [request, limit] = [requests[name], limits[name]].map((one) => quantityNanos(one ?? "0")) as [bigint, bigint];
  const rule = `${name} max limit to request ratio per ${type} is ${most}`;
  if (request === 0n) return `${rule}, but no request is specified or request is 0`;
  if (limit === 0n) return `${rule}, but no limit is specified or limit is 0`;
  const isOver = limit * 1_000_000_000n > request * quantityNanos(most);
  return isOver ? `${rule}, but provided ratio is ${(Number(limit) / Number(request)).toFixed(6)}` : undefined;
}
