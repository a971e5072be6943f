// SPDX-License-Identifier: Apache-2.0
import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import type { DefinitionFinding, Plan, PlanError, PlannedChange, PlannedComposite } from "../plan/plan.ts";

/** A plan as one document: that of crossplane-diff, with more fields. */
export function planReport(plan: Plan): JsonObject {
  const counted = plan.composites.filter(({ isDeferred }) => !isDeferred);
  const changes = [...plan.inputs, ...counted.flatMap((one) => one.changes)];
  return defined({
    apiVersion: "cli.purlin.dev/v1",
    kind: "DiffReport",
    hash: plan.hash,
    stale: plan.isStale,
    baseline: plan.hasBaseline,
    examined: plan.examined,
    summary: { ...plan.summary },
    changes: changes.map(changeReport),
    xrs: plan.composites.map(compositeReport),
    compositions: compositionReports(plan),
    definitions: definitionReports(plan.findings),
    functions: plan.functions.map((one) => defined({ ...one })),
    warnings: [...plan.warnings],
    errors: [...plan.errors.map((error) => errorReport(error)), ...plan.composites.flatMap(compositeErrors)],
  });
}

function compositeErrors(composite: PlannedComposite): JsonObject[] {
  return composite.errors.map((error) => errorReport(error, `${composite.kind}/${composite.name}`));
}

function errorReport({ text, isInvalid }: PlanError, resourceID?: string): JsonObject {
  return defined({ resourceID, message: text, ...(isInvalid && { validationFailures: [text] }) });
}

function compositeReport(composite: PlannedComposite): JsonObject {
  const { apiVersion, kind, namespace, name, changes, pending, errors } = composite;
  return defined({
    xr: defined({ apiVersion, kind, name, namespace }),
    status: errors.length > 0 ? "error" : changes.length > 0 ? "changed" : "unchanged",
    composition: composite.composition,
    revision: composite.revision && defined({ ...composite.revision }),
    adoption: composite.adoption,
    held: composite.held && defined({ ...composite.held }),
    deferred: composite.isDeferred || undefined,
    rounds: composite.rounds,
    incomplete: composite.incomplete,
    summary: countsOf(composite),
    changes: changes.map(changeReport),
    pending: pending.map(changeReport),
    ...(errors.length > 0 && { errors: compositeErrors(composite) }),
  });
}

function countsOf({ changes }: PlannedComposite): JsonObject {
  const count = (type: string): number => changes.filter((one) => typeOf(one) === type).length;
  return { added: count("added"), modified: count("modified"), removed: count("removed") };
}

function typeOf({ old, new: next }: PlannedChange): "added" | "modified" | "removed" {
  if (old === undefined && next !== undefined) return "added";
  return next === undefined ? "removed" : "modified";
}

function changeReport(change: PlannedChange): JsonObject {
  const { apiVersion, kind, name, namespace, old, new: next, fields, approximate } = change;
  const whole = old === undefined ? next : next === undefined ? old : undefined;
  return defined({
    type: typeOf(change),
    class: change.class,
    apiVersion,
    kind,
    name,
    namespace,
    generated: change.isNameGenerated || undefined,
    resource: change.resource,
    step: change.step,
    round: change.round,
    after: change.after,
    exactness: approximate.length === 0 ? "exact" : "local",
    approximate: [...approximate],
    external: change.external,
    refusal: change.refusal?.text,
    waitsFor: change.waitsFor && [...change.waitsFor],
    unstable: change.unstable && [...change.unstable],
    destructive: change.isDestructive,
    replaces: change.replaces,
    replacedBy: change.replacedBy,
    fields: fields.map((field) => defined({ ...field })),
    diff: whole === undefined ? defined({ old, new: next }) : { spec: whole },
  });
}

/** What happens to the composite resources of each changed Composition. */
function compositionReports({ inputs, composites }: Plan): JsonObject[] {
  return inputs
    .filter(({ kind }) => kind === "Composition")
    .map((change) => {
      const users = composites.filter(
        ({ composition, adoption }) => composition === change.name || adoption === "leaves",
      );
      const count = (accepts: (one: PlannedComposite) => boolean): number => users.filter(accepts).length;
      return {
        name: change.name,
        ...(change.refusal !== undefined && { error: change.refusal.text }),
        compositionChanges: changeReport(change),
        affectedResources: {
          total: users.length,
          withChanges: count(({ changes }) => changes.length > 0),
          unchanged: count(({ changes, errors }) => changes.length + errors.length === 0),
          withErrors: count(({ errors }) => errors.length > 0),
          filteredByPolicy: count(({ adoption }) => adoption === "pinned"),
          filteredBySelector: count(({ adoption }) => adoption === "selector"),
          filteredByDeletion: count(({ adoption }) => adoption === "deleting"),
        },
        impactAnalysis: users.map(impactOf),
      };
    });
}

const filterReasons: Readonly<Record<string, string>> = {
  pinned: "manual_policy",
  selector: "revision_selector_mismatch",
  deleting: "deleting",
};

function impactOf(composite: PlannedComposite): JsonObject {
  const { apiVersion, kind, name, namespace, adoption, changes, errors } = composite;
  const filterReason = filterReasons[adoption];
  const status =
    filterReason !== undefined
      ? "filtered"
      : errors.length > 0
        ? "error"
        : changes.length > 0
          ? "changed"
          : "unchanged";
  return defined({
    apiVersion,
    kind,
    name,
    namespace,
    status,
    filterReason,
    adoption,
    error: errors[0]?.text,
    ...(changes.length > 0 && {
      downstreamChanges: { summary: countsOf(composite), changes: changes.map(changeReport) },
    }),
  });
}

function definitionReports(findings: readonly DefinitionFinding[]): JsonObject[] {
  return [...new Set(findings.map(({ definition }) => definition))].map((name) => ({
    name,
    findings: findings
      .filter(({ definition }) => definition === name)
      .map(({ path, level, text, objects }) => ({ path, level, text, objects: [...objects] })),
  }));
}

function defined(members: Readonly<Record<string, JsonValue | undefined>>): JsonObject {
  return Object.fromEntries(
    Object.entries(members).filter((entry): entry is [string, JsonValue] => entry[1] !== undefined),
  );
}
