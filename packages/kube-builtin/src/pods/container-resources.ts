// SPDX-License-Identifier: Apache-2.0
// What containers, and whole Pods, ask for and may use.
import { finish, inOnePart, isPartDone, sorting, type Work } from "@purlin/base";
import { type Check, listAt } from "@purlin/kube-apiserver/kinds";
import {
  duplicateValue,
  type FieldError,
  findingFirstErrors,
  firstErrors,
  forbiddenValue,
  invalidValue,
  keyPath,
  notFoundValue,
  requiredValue,
} from "@purlin/kube-objects/errors";
import { compareUtf8, type JsonObject, ownValue } from "@purlin/kube-objects/json";
import { dns1123LabelProblems } from "@purlin/kube-objects/metadata";
import { objectAt, stringAt } from "@purlin/kube-objects/object";
import { compareQuantities } from "@purlin/kube-objects/typed";
import { amountErrors, hugePageErrors, isHugePages, isNative } from "../checks/resource-names.ts";

const mayExceed = (name: string): boolean => isNative(name) && !isHugePages(name);

type NameErrors = (name: string, path: string) => FieldError[];

/** What is wrong with what a container, or the whole Pod, asks for and may use. */
export function resources(nameErrors: NameErrors, claims: readonly string[]): Check {
  return (container, path) => finish(checkingResources(container, path, { nameErrors, claims }));
}

interface ResourceRules {
  readonly nameErrors: NameErrors;
  /** The claims of the Pod. */
  readonly claims: readonly string[];
}

/** {@link resources} in parts: objects that were stored before there was a limit may have very many amounts. */
export function* checkingResources(
  container: JsonObject,
  path: string,
  { nameErrors, claims }: ResourceRules,
): Work<FieldError[]> {
  const own = objectAt(container, ["resources"]);
  const [limits, requests] = [objectAt(own, ["limits"]), objectAt(own, ["requests"])];
  const at = `${path}.resources`;
  const names = [...Object.keys(limits), ...Object.keys(requests)];
  const needsMore = names.some(isHugePages) && !names.some((name) => name === "cpu" || name === "memory");
  const errorsOf = (name: string, amount: string, place: string): FieldError[] => {
    const where = keyPath(place, name);
    return [...nameErrors(name, where), ...amountErrors(name, amount, where), ...hugePageErrors(name, amount, where)];
  };
  return [
    ...(yield* findingErrorsByName(limits, (name) => errorsOf(name, String(limits[name]), `${at}.limits`))),
    ...(yield* findingErrorsByName(requests, (name) => [
      ...errorsOf(name, String(requests[name]), `${at}.requests`),
      ...limitErrors({ requests, limits }, name, at),
    ])),
    ...(needsMore ? [forbiddenValue(at, "HugePages require cpu or memory")] : []),
    ...claimErrors(listAt(own, "claims"), `${at}.claims`, claims),
  ];
}

/** `firstErrorsByName` in parts. */
function* findingErrorsByName(map: object, errorsOf: (name: string) => readonly FieldError[]): Work<FieldError[]> {
  const names = Object.keys(map);
  for (const name of names) {
    if (isPartDone()) yield;
    if (errorsOf(name).length > 0) {
      return yield* findingFirstErrors(yield* sorting(names, compareUtf8), inOnePart(errorsOf));
    }
  }
  return [];
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

interface Amounts {
  readonly requests: JsonObject;
  readonly limits: JsonObject;
}

/** What is wrong with a request beside its limit. */
function limitErrors({ requests, limits }: Amounts, name: string, path: string): FieldError[] {
  const [asked, limit] = [String(requests[name]), ownValue(limits, name)];
  if (limit === undefined) {
    const why = "Limit must be set for non overcommitable resources";
    return mayExceed(name) ? [] : [requiredValue(`${path}.limits`, why)];
  }
  const order = compareQuantities(asked, String(limit));
  const at = `${path}.requests`;
  if (order !== 0 && !mayExceed(name)) {
    return [invalidValue(at, asked, `must be equal to ${name} limit of ${String(limit)}`)];
  }
  return order > 0 ? [invalidValue(at, asked, `must be less than or equal to ${name} limit of ${String(limit)}`)] : [];
}
