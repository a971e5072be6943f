// SPDX-License-Identifier: Apache-2.0
import { goQuote } from "../json/go-text.ts";
import { compareUtf8 } from "../json/utf8.ts";
import type { StatusError } from "../status-error.ts";
import { applyConflict } from "../status-error-constructors.ts";
import { emptySet, type FieldSet, isEmptySet } from "./field-set.ts";
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

/** The 409 answer: one cause for each field, the message grouped by manager. */
export function conflictStatus({ conflicts }: ApplyConflicts): StatusError {
  const groups = conflicts
    .toSorted((a, b) => compareUtf8(a.key, b.key))
    .map(({ manager, set }) => ({ who: managerText(manager), paths: printPaths(set) }));
  const causes = groups.flatMap(({ who, paths }) =>
    paths.map((field) => ({ reason: "FieldManagerConflict", message: `conflict with ${who}`, field })),
  );
  return applyConflict(conflictMessage(groups, causes.length), causes);
}

interface ConflictGroup {
  readonly who: string;
  readonly paths: readonly string[];
}

function conflictMessage(groups: readonly ConflictGroup[], count: number): string {
  const [only] = groups;
  if (count === 1 && only) return `Apply failed with 1 conflict: conflict with ${only.who}: ${only.paths[0]}`;
  const lines = groups.flatMap(({ who, paths }) => [`conflicts with ${who}:`, ...paths.map((path) => `- ${path}`)]);
  return `Apply failed with ${count} conflicts: ${lines.join("\n")}`;
}

function managerText({ manager, subresource, operation, apiVersion }: ManagerIdentity): string {
  const name = goQuote(manager) + (subresource === "" ? "" : ` with subresource ${goQuote(subresource)}`);
  return operation === "Update" ? `${name} using ${apiVersion}` : name;
}
