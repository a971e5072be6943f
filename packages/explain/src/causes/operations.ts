// SPDX-License-Identifier: Apache-2.0
// Operations, CronOperations and WatchOperations.
import { type Condition, conditionsOf, type KubeObject, stringAt, type TypeRef } from "@purlin/kube-objects/object";
import { argumentOf, condition, conditionEvidence, isTrue, refOf, refText } from "../inspect/facts.ts";
import { found, type Inspection, messageContext, rule, type TextRule } from "../inspect/inspection.ts";
import type { Edge, Finding, NodeReport } from "../model/explanation.ts";
import { deletionReport } from "./deletion.ts";
import { resourceRules } from "./resources.ts";
import { notReconciled, paused } from "./state.ts";
import { stepRules } from "./steps.ts";

/** Whether a kind is one of operations. */
export function isOperationKind({ apiVersion }: TypeRef): boolean {
  return apiVersion.startsWith("ops.crossplane.io/");
}

/** The state of an operation: its own, then that of the newest Operation that it created. */
export async function operationReport(object: KubeObject, inspection: Inspection): Promise<NodeReport> {
  const pause = paused(object);
  if (pause !== undefined) return { findings: [pause] };
  if (object.metadata.deletionTimestamp) return deletionReport(object, inspection);
  if (conditionsOf(object).length === 0) return absentReport(object, inspection);
  const bad = ["Synced", "Scheduling", "Watching", "Succeeded"].flatMap((type) => failedCondition(object, type));
  const edges = await failedOperation(object, inspection);
  const [first] = bad;
  if (first !== undefined) return { ...(await conditionReport(object, first, inspection)), edges };
  const running = condition(object, "Succeeded");
  if (object.kind !== "Operation" || running?.status === "True") return { edges };
  return { waiting: [{ since: running?.lastTransitionTime, text: "its pipeline is running" }] };
}

function failedCondition(object: KubeObject, type: string): readonly Condition[] {
  const one = condition(object, type);
  return one?.status === "False" ? [one] : [];
}

/** E09: the feature is disabled, or no control plane runs. */
async function absentReport(object: KubeObject, inspection: Inspection): Promise<NodeReport> {
  const events = await inspection.reader.eventsOf(object);
  const disabled = events.find((event) => stringAt(event, ["reason"]) === "FeatureDisabled");
  const absent = await notReconciled(object, inspection);
  if (absent === "young" || absent === undefined) {
    return {
      waiting: [{ since: object.metadata.creationTimestamp ?? undefined, text: "waits for its first reconcile" }],
    };
  }
  if (disabled === undefined) return { findings: [absent] };
  const sentence = `${refText(refOf(object))} is not reconciled: ${stringAt(disabled, ["message"])}`;
  return { findings: [{ ...absent, sentence, next: ["start the control plane with --enable-operations"] }] };
}

async function conditionReport(object: KubeObject, one: Condition, inspection: Inspection): Promise<NodeReport> {
  const context = messageContext(object, one, inspection);
  for (const recognize of operationRules) {
    const recognized = await recognize(context);
    if (recognized === undefined) continue;
    if ("code" in recognized) return { findings: [withRun(recognized, object)] };
    // An Operation that has failed never runs again, whatever was repaired since.
    return { notes: [{ text: `was: ${recognized.healed}` }], unknown: [conditionEvidence(object, one)] };
  }
  return { unknown: [conditionEvidence(object, one)] };
}

/** An Operation that has failed does not run again: a new one is needed after the repair. */
function withRun(finding: Finding, object: KubeObject): Finding {
  if (condition(object, "Succeeded")?.status !== "False") return finding;
  return {
    ...finding,
    next: [...finding.next, `then run it again: purlin operation run with the file of ${argumentOf(refOf(object))}`],
  };
}

/** E68: the schedule cannot be parsed, or never comes. */
const invalidSchedule: TextRule = (context) =>
  context.condition.reason === "ScheduleInvalid" ||
  /cannot parse cron schedule|^schedule ".*" never comes/.test(context.text)
    ? found("E68", context, {
        path: "spec.schedule",
        sentence: `${refText(refOf(context.object))} creates no Operations: ${context.text}`,
        next: [
          "correct spec.schedule: five fields (minute hour day-of-month month day-of-week), a descriptor such as @daily, or @every 1h",
        ],
      })
    : undefined;

/** E07: a function does not serve operations. */
const missingCapability = rule(
  /function "([^"]+)" .*is missing required capabilities: operation/,
  ([text = "", name = ""], context) =>
    found("E07", context, {
      sentence: `The pipeline of ${refText(refOf(context.object))} is invalid: ${text}`,
      next: [`use a version of Function ${name} whose package lists the capability operation`],
    }),
);

/** The name of a WatchOperation or CronOperation is a label of its Operations. */
const longName = rule(/metadata\.name must have no more than 63 characters/, (_, context) =>
  found("E43", context, {
    path: "metadata.name",
    sentence: `${refText(refOf(context.object))} creates no Operations: its name is longer than 63 characters`,
    next: ["create it again under a shorter name"],
  }),
);

const operationRules: readonly TextRule[] = [
  longName,
  invalidSchedule,
  missingCapability,
  ...stepRules,
  ...resourceRules,
];

const labels: Readonly<Record<string, string>> = {
  CronOperation: "ops.crossplane.io/cronoperation",
  WatchOperation: "ops.crossplane.io/watchoperation",
};

/** The newest Operation of a CronOperation or WatchOperation, if it fails. */
async function failedOperation(owner: KubeObject, { reader }: Inspection): Promise<readonly Edge[]> {
  const label = labels[owner.kind];
  if (label === undefined) return [];
  const type = { apiVersion: owner.apiVersion, kind: "Operation" };
  const all = (await reader.list(type, { labelSelector: `${label}=${owner.metadata.name}` })) ?? [];
  const created = (one: KubeObject): string => `${one.metadata.creationTimestamp} ${one.metadata.name}`;
  const [first, ...others] = all;
  if (first === undefined) return [];
  const newest = others.reduce((a, b) => (created(b) > created(a) ? b : a), first);
  const isFailing =
    condition(newest, "Succeeded")?.status === "False" || condition(newest, "Synced")?.status === "False";
  return isFailing && !isTrue(newest, "Succeeded") ? [{ to: refOf(newest), via: "its newest Operation" }] : [];
}
