// SPDX-License-Identifier: Apache-2.0
import { goQuote } from "../json/go-text.ts";
import { compareUtf8 } from "../json/utf8.ts";
import type { StatusError } from "../status-error.ts";
import { applyConflict } from "../status-error-constructors.ts";
import { emptySet, type FieldSet, fieldSetSize, isEmptySet } from "./field-set.ts";
import { difference, union } from "./field-set-algebra.ts";
import { printPaths } from "./field-set-paths.ts";
import type { ManagerIdentity } from "./managers.ts";

/** The fields another manager owns with other values. */
export interface ManagerConflict {
  readonly key: string;
  readonly manager: ManagerIdentity;
  readonly set: FieldSet;
}

const brand = Symbol.for("purlin.dev/kube-objects/ApplyConflicts");

/** An apply met fields that others own. Becomes a Status with {@link conflictStatus}. */
export class ApplyConflicts extends Error {
  readonly conflicts: readonly ManagerConflict[];

  constructor(conflicts: readonly ManagerConflict[]) {
    super("apply conflicts with other managers");
    this.name = "ApplyConflicts";
    this.conflicts = conflicts;
    Object.defineProperty(this, brand, { value: true });
  }
}

/** Whether the error says that an apply met fields others own. */
export function isApplyConflicts(error: unknown): error is ApplyConflicts {
  return typeof error === "object" && error !== null && brand in error;
}

/** All fields in conflict, whoever owns them. */
export function conflictingFields({ conflicts }: ApplyConflicts): FieldSet {
  return conflicts.reduce((set, conflict) => union(set, conflict.set), emptySet);
}

/** The conflicts that remain when those on the allowed fields do not count. */
export function withoutConflictsOn({ conflicts }: ApplyConflicts, allowed: FieldSet): ApplyConflicts {
  const rest = conflicts.map((conflict) => ({ ...conflict, set: difference(conflict.set, allowed) }));
  return new ApplyConflicts(rest.filter(({ set }) => !isEmptySet(set)));
}

/** Most fields of one manager that a conflict names. */
const mostFields = 100;

/** The 409 answer: one cause for each field, the message grouped by manager. Of very many fields only the first are named. */
export function conflictStatus({ conflicts }: ApplyConflicts): StatusError {
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
