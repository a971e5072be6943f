// SPDX-License-Identifier: Apache-2.0
import { createErrorBrand, type Work } from "@purlin/base";
import type { StatusError } from "../errors/status-error.ts";
import { applyConflict } from "../errors/status-error-constructors.ts";
import { goQuote } from "../json/go-text.ts";
import { compareUtf8 } from "../json/json-value.ts";
import { difference, emptySet, type FieldSet, fieldSetSize, hasChildren, isEmptySet, union } from "./field-set.ts";
import { printItem, sortItemKeys } from "./item-key.ts";
import type { ManagerIdentity } from "./managers.ts";

interface Collection {
  readonly paths: string[];
  readonly most: number;
}

/** The fields another manager owns with other values. */
export interface ManagerConflict {
  readonly key: string;
  readonly manager: ManagerIdentity;
  readonly set: FieldSet;
}

const brand = createErrorBrand<ApplyConflictsError>("purlin.dev/kube-objects/ApplyConflictsError");

/** An apply met fields that others own. Becomes a Status with {@link conflictStatus}. */
export class ApplyConflictsError extends Error {
  readonly conflicts: readonly ManagerConflict[];

  constructor(conflicts: readonly ManagerConflict[]) {
    super("apply conflicts with other managers");
    this.name = "ApplyConflictsError";
    this.conflicts = conflicts;
    brand.mark(this);
  }
}

/** Whether the error says that an apply met fields others own. */
export function isApplyConflicts(error: unknown): error is ApplyConflictsError {
  return brand.has(error);
}

/** All fields in conflict, of all managers. */
export function conflictingFields({ conflicts }: ApplyConflictsError): FieldSet {
  return conflicts.reduce((set, conflict) => union(set, conflict.set), emptySet);
}

/** The conflicts that remain when those on the allowed fields do not count. */
export function withoutConflictsOn({ conflicts }: ApplyConflictsError, allowed: FieldSet): ApplyConflictsError {
  const rest = conflicts.map((conflict) => ({ ...conflict, set: difference(conflict.set, allowed) }));
  return new ApplyConflictsError(rest.filter(({ set }) => !isEmptySet(set)));
}

/** Most fields of one manager that a conflict names. */
const mostFields = 100;

/** The 409 answer: one cause for each field, the message grouped by manager. Of very many fields only the first are named. */
export function conflictStatus({ conflicts }: ApplyConflictsError): StatusError {
  const groups = conflicts
    .toSorted((a, b) => compareUtf8(a.key, b.key))
    .map(({ manager, set }) => groupOf(managerText(manager), set));
  const causes = groups.flatMap(({ who, paths }) =>
    paths.map((field) => ({ reason: "FieldManagerConflict", message: `conflict with ${who}`, field })),
  );
  const more = groups.reduce((sum, group) => sum + group.more, 0);
  return applyConflict(conflictMessage(groups, causes.length + more), causes);
}

interface ConflictGroup {
  readonly who: string;
  readonly paths: readonly string[];
  /** How many fields are not named. */
  readonly more: number;
}

function groupOf(who: string, set: FieldSet): ConflictGroup {
  const paths = printPaths(set, mostFields);
  return { who, paths, more: paths.length < mostFields ? 0 : fieldSetSize(set) - paths.length };
}

function conflictMessage(groups: readonly ConflictGroup[], count: number): string {
  const [only] = groups;
  if (count === 1 && only) return `Apply failed with 1 conflict: conflict with ${only.who}: ${only.paths[0]}`;
  const lines = groups.flatMap(({ who, paths, more }) => [
    `conflicts with ${who}:`,
    ...paths.map((path) => `- ${path}`),
    ...(more === 0 ? [] : [`- and ${more} more`]),
  ]);
  return `Apply failed with ${count} conflicts: ${lines.join("\n")}`;
}

function managerText({ manager, subresource, operation, apiVersion }: ManagerIdentity): string {
  const name = goQuote(manager) + (subresource === "" ? "" : ` with subresource ${goQuote(subresource)}`);
  return operation === "Update" ? `${name} using ${apiVersion}` : name;
}

/**
 * The paths of a set as messages print them, `.spec.ports[port=80,protocol="TCP"].name`, in the reference's order: all
 * members of a node before anything below them. Only the first `most`.
 */
export function printPaths(set: FieldSet, most: number = Number.POSITIVE_INFINITY): string[] {
  const paths: string[] = [];
  collect(set, "", { paths, most });
  return paths;
}

function collect(node: FieldSet, prefix: string, into: Collection): void {
  const { paths, most } = into;
  if (paths.length >= most || !hasChildren(node)) return;
  const left = most - paths.length;
  if ((node.fields?.size ?? 0) > left) {
    const members = [...(node.fields ?? [])].filter(([, child]) => child.member).map(([name]) => name);
    if (members.length >= left) {
      for (const name of firstInOrder(members, left)) paths.push(`${prefix}.${name}`);
      return;
    }
  }
  const children = orderedChildren(node);
  for (const [name, child] of children) if (child.member && paths.length < most) paths.push(prefix + name());
  for (const [name, child] of children)
    if (hasChildren(child) && paths.length < most) collect(child, prefix + name(), into);
}

/** The first of very many names, without putting all of them in order. */
function firstInOrder(names: readonly string[], count: number): string[] {
  const first = names.slice(0, count).sort(compareUtf8);
  for (const name of names.slice(count)) {
    if (compareUtf8(name, first.at(-1) ?? "") >= 0) continue;
    first.splice(placeOf(name, first), 0, name);
    first.pop();
  }
  return first;
}

function placeOf(name: string, sorted: readonly string[]): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (compareUtf8(sorted[middle] ?? "", name) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

function orderedChildren(node: FieldSet): Array<readonly [() => string, FieldSet]> {
  const out: Array<readonly [() => string, FieldSet]> = [];
  for (const name of [...(node.fields?.keys() ?? [])].sort(compareUtf8)) {
    const child = node.fields?.get(name);
    if (child) out.push([() => `.${name}`, child]);
  }
  for (const key of sortItemKeys(node.items?.keys() ?? [])) {
    const child = node.items?.get(key);
    if (child) out.push([() => printItem(key), child]);
  }
  return out;
}

/** Runs `work`; what it throws comes out as `<context>: <text>` with the cause kept. */
export function wrapErrors<T>(context: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw wrapped(context, error);
  }
}

/** {@link wrapErrors} for work that is done in parts. */
export function* wrapWork<T>(context: string, work: Work<T>): Work<T> {
  try {
    return yield* work;
  } catch (error) {
    throw wrapped(context, error);
  }
}

function wrapped(context: string, error: unknown): Error {
  const text = error instanceof Error ? error.message : String(error);
  return new Error(`${context}: ${text}`, { cause: error });
}
