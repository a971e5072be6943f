// SPDX-License-Identifier: Apache-2.0
import { inOnePart, isPartDone, sorting, type Work } from "@purlin/base";
import { type AdmissionPlugin, type KindRules, listAt, type Store, withEmptyLists } from "@purlin/kube-apiserver/kinds";
import {
  duplicateValue,
  type FieldError,
  findingFirstErrors,
  firstErrors,
  forbidden,
  forbiddenValue,
  invalidValue,
  keyPath,
  requiredValue,
} from "@purlin/kube-objects/errors";
import { compareUtf8, type JsonObject, sortedKeys } from "@purlin/kube-objects/json";
import { labelKeyProblems } from "@purlin/kube-objects/metadata";
import { objectAt, stringAt } from "@purlin/kube-objects/object";
import { compareQuantities, quantityNanos } from "@purlin/kube-objects/typed";
import {
  type Amounts,
  amountsAt,
  containerResourceErrors,
  isHugePages,
  isNative,
  resourceNameErrors,
} from "../checks/resource-names.ts";
import { fillingContainers } from "./limit-defaults.ts";
import { NamespacedObjects, podAmounts } from "./object-usage.ts";

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
    *admitting({ object, namespace, type }) {
      return type.resource === "pods" ? yield* fillingContainers(object, ranges.in(namespace)) : object;
    },
    *validating({ object, namespace, type, name }) {
      if (object === undefined) return;
      const demands = type.resource === "pods" ? demandsOfPod(object) : demandsOfClaim(object);
      for (const range of ranges.in(namespace)) {
        const problems = yield* findingProblems(range, demands);
        if (problems.length > 0)
          throw forbidden(type, name, problems.length === 1 ? (problems[0] ?? "") : `[${problems.join(", ")}]`);
      }
    },
  };
}

interface Demand {
  readonly type: string;
  readonly requests: Amounts;
  readonly limits: Amounts;
}

/** What an object asks for, by the types of limits that concern it. Found when a limit asks for it, and once. */
type Demands = ReadonlyMap<string, () => Work<readonly Demand[]>>;

function demandsOfPod(pod: JsonObject): Demands {
  const containers = [...listAt(pod, "spec", "containers"), ...listAt(pod, "spec", "initContainers")];
  const ofContainer = (container: JsonObject): Demand => ({
    type: "Container",
    requests: amountsAt(container, ["resources", "requests"]),
    limits: amountsAt(container, ["resources", "limits"]),
  });
  return new Map([
    ["Pod", once(() => wholeDemand(pod))],
    ["Container", once(inOnePart(() => containers.map(ofContainer)))],
  ]);
}

/** A sum of the amounts of all containers is a part: they may be as many as fit into a request. */
function* wholeDemand(pod: JsonObject): Work<readonly Demand[]> {
  const requests = podAmounts(pod, "requests");
  yield;
  const limits = podAmounts(pod, "limits");
  yield;
  return [{ type: "Pod", requests, limits }];
}

function demandsOfClaim(claim: JsonObject): Demands {
  const type = "PersistentVolumeClaim";
  const requests = amountsAt(claim, ["spec", "resources", "requests"]);
  return new Map([[type, inOnePart(() => [{ type, requests, limits: {} }])]]);
}

function once<T>(make: () => Work<T>): () => Work<T> {
  let made: { readonly value: T } | undefined;
  return function* () {
    made ??= { value: yield* make() };
    return made.value;
  };
}

/** Most problems that one response lists. */
const mostProblems = 100;

/** The first problems of an object with a LimitRange, in the order of its limits. */
function* findingProblems(range: JsonObject, demands: Demands): Work<string[]> {
  const problems: string[] = [];
  for (const item of listAt(range, "spec", "limits")) {
    const find = demands.get(stringAt(item, ["type"]));
    const demanded = find === undefined ? [] : yield* find();
    const bounds = demanded.length === 0 ? [] : yield* boundsOf(item);
    for (const demand of demanded) {
      for (const { name, amount, problem } of bounds) {
        if (isPartDone()) yield;
        const found = problem(name, amount, demand);
        if (found !== undefined) problems.push(found);
        if (problems.length >= mostProblems) return problems;
      }
    }
  }
  return problems;
}

type FindProblem = (name: string, amount: string, demand: Demand) => string | undefined;

/** One amount of a limit, and how to compare it. */
interface Bound {
  readonly name: string;
  readonly amount: string;
  readonly problem: FindProblem;
}

function* boundsOf(item: JsonObject): Work<Bound[]> {
  const isOfClaims = stringAt(item, ["type"]) === "PersistentVolumeClaim";
  const ofAll: readonly (readonly [member: string, problem: FindProblem])[] = [
    ["min", minProblem],
    ["max", isOfClaims ? maxRequestProblem : maxProblem],
  ];
  const bounds: Bound[] = [];
  for (const [member, problem] of isOfClaims ? ofAll : [...ofAll, ["maxLimitRequestRatio", ratioProblem] as const]) {
    const amounts = amountsAt(item, [member]);
    const names = yield* sorting(Object.keys(amounts), compareUtf8);
    for (const name of names) bounds.push({ name, amount: amounts[name] ?? "0", problem });
  }
  return bounds;
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

// The rules of LimitRanges.

const types = ["Pod", "Container", "PersistentVolumeClaim"];

function typeErrors(type: string, path: string): FieldError[] {
  const problems = labelKeyProblems(type).map((problem) => invalidValue(path, type, problem));
  if (problems.length > 0 || type.includes("/") || types.includes(type)) return problems;
  return [invalidValue(path, type, "must be a standard limit type or fully qualified")];
}

const lists = ["max", "min", "default", "defaultRequest", "maxLimitRequestRatio"] as const;
const defaults = ["default", "defaultRequest"] as const;
type List = (typeof lists)[number];

/** One limit: its amounts by list and name. */
interface Limit {
  readonly path: string;
  readonly amount: (list: List, name: string) => string | undefined;
}

interface Order {
  readonly low: List;
  readonly high: List;
  /** The list that the error names, and whose amount it prints. */
  readonly at: List;
  readonly shown: List;
  readonly text: (low: string, high: string) => string;
}

const orders: readonly Order[] = [
  { low: "min", high: "max", at: "min", shown: "min", text: (a, b) => `min value ${a} is greater than max value ${b}` },
  {
    low: "min",
    high: "defaultRequest",
    at: "defaultRequest",
    shown: "defaultRequest",
    text: (a, b) => `min value ${a} is greater than default request value ${b}`,
  },
  {
    low: "defaultRequest",
    high: "max",
    at: "defaultRequest",
    shown: "defaultRequest",
    text: (a, b) => `default request value ${a} is greater than max value ${b}`,
  },
  {
    low: "defaultRequest",
    high: "default",
    at: "defaultRequest",
    shown: "defaultRequest",
    text: (a, b) => `default request value ${a} is greater than default limit value ${b}`,
  },
  {
    low: "min",
    high: "default",
    at: "default",
    shown: "min",
    text: (a, b) => `min value ${a} is greater than default value ${b}`,
  },
  {
    low: "default",
    high: "max",
    at: "default",
    shown: "max",
    text: (a, b) => `default value ${a} is greater than max value ${b}`,
  },
];

function orderErrors({ path, amount }: Limit, name: string): FieldError[] {
  return orders.flatMap(({ low, high, at, shown, text }) => {
    const [least, most] = [amount(low, name), amount(high, name)];
    if (least === undefined || most === undefined || compareQuantities(least, most) <= 0) return [];
    return [invalidValue(keyPath(`${path}.${at}`, name), amount(shown, name) ?? "", text(least, most))];
  });
}

function ratioErrors({ path, amount }: Limit, name: string): FieldError[] {
  const [ratio, least, most] = [amount("maxLimitRequestRatio", name), amount("min", name), amount("max", name)];
  if (ratio === undefined) return [];
  const isSmall = compareQuantities(ratio, "1") < 0;
  if (!isSmall && (least === undefined || most === undefined)) return [];
  const at = keyPath(`${path}.maxLimitRequestRatio`, name);
  const small = isSmall ? [invalidValue(at, ratio, `ratio ${ratio} is less than 1`)] : [];
  if (least === undefined || most === undefined) return small;
  const bound = Number(quantityNanos(most)) / Number(quantityNanos(least));
  const isOver = Number(quantityNanos(ratio)) / 1e9 > bound;
  const text = Number.isFinite(bound) ? bound.toFixed(6) : bound > 0 ? "+Inf" : Number.isNaN(bound) ? "NaN" : "-Inf";
  return isOver ? [...small, invalidValue(at, ratio, `ratio ${ratio} is greater than max/min = ${text}`)] : small;
}

/** Defaults of a resource that cannot be overcommitted must be equal. */
function equalErrors({ path, amount }: Limit, name: string): FieldError[] {
  const [limit, request] = [amount("default", name), amount("defaultRequest", name)];
  const isFree = isNative(name) && !isHugePages(name);
  if (isFree || limit === undefined || request === undefined || compareQuantities(limit, request) === 0) return [];
  const text = `default value ${limit} must equal to defaultRequest value ${request} in ${name}`;
  return [invalidValue(keyPath(`${path}.defaultRequest`, name), request, text)];
}

/** What is wrong with one limit; each list of amounts is a part, and so is the comparison of each name. */
function* limitErrors(limit: JsonObject, path: string): Work<FieldError[]> {
  const type = stringAt(limit, ["type"]);
  const isForPods = type === "Pod";
  const read = lists.filter((list) => !isForPods || !(defaults as readonly string[]).includes(list));
  const nameErrors = isForPods || type === "Container" ? containerResourceErrors : resourceNameErrors;
  const amounts = new Map<string, JsonObject>(read.map((list) => [list, objectAt(limit, [list])]));
  const amount: Limit["amount"] = (list, name) => {
    const value = amounts.get(list)?.[name];
    return value === undefined ? undefined : String(value);
  };
  const keys = new Map(read.map((list) => [list, sortedKeys(objectAt(limit, [list]))]));
  // Amounts are compared with those of the same name in other lists; a ratio is checked by itself, too.
  const isInSeveral = (name: string): boolean => read.filter((list) => amount(list, name) !== undefined).length > 1;
  const isChecked = (name: string, list: string): boolean => list === "maxLimitRequestRatio" || isInSeveral(name);
  const names = new Set(read.flatMap((list) => (keys.get(list) ?? []).filter((name) => isChecked(name, list))));
  const forbidden = isForPods ? defaults.filter((list) => sortedKeys(objectAt(limit, [list])).length > 0) : [];
  const needsStorage = type === "PersistentVolumeClaim" && !amount("min", "storage") && !amount("max", "storage");
  const missing = "either minimum or maximum storage value is required, but neither was provided";
  const ofNames: FieldError[] = [];
  for (const list of read) {
    yield;
    ofNames.push(...firstErrors(keys.get(list) ?? [], (name) => nameErrors(name, keyPath(`${path}.${list}`, name))));
  }
  yield;
  return [
    ...ofNames,
    ...forbidden.map((list) => forbiddenValue(`${path}.${list}`, "may not be specified when `type` is 'Pod'")),
    ...(needsStorage ? [requiredValue(`${path}.limits`, missing)] : []),
    ...(yield* findingFirstErrors(
      names,
      inOnePart((name) =>
        (isInSeveral(name) ? [orderErrors, ratioErrors, equalErrors] : [ratioErrors]).flatMap((check) =>
          check({ path, amount }, name),
        ),
      ),
    )),
  ];
}

/** The rules of LimitRanges. */
export const limitRangeRules: KindRules = withEmptyLists(["spec.limits"], {
  validatingRest: (object) => {
    const seen = new Set<string>();
    return findingFirstErrors(listAt(object, "spec", "limits"), function* (limit, index) {
      const [path, type] = [`spec.limits[${index}]`, stringAt(limit, ["type"])];
      const isTaken = seen.has(type);
      seen.add(type);
      return [
        ...typeErrors(type, `${path}.type`),
        ...(isTaken ? [duplicateValue(`${path}.type`, type)] : []),
        ...(yield* limitErrors(limit, path)),
      ];
    });
  },
});
