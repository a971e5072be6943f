// SPDX-License-Identifier: Apache-2.0
import { type Condition, isFatal, type RunFunctionResponse, Severity, Status, Target } from "@purlin/function-protocol";

/** One line of a table of conditions. */
export interface ConditionRow {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  readonly reason: string;
  readonly message: string;
}

/** One event, as `kubectl describe` lists it. */
export interface EventRow {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
}

/** The conditions of a response that reach the claim, in order; of one type, the last. */
export function claimConditions(response: RunFunctionResponse): ConditionRow[] {
  const byType = new Map<string, ConditionRow>();
  for (const condition of response.conditions) {
    if (condition.target === Target.TARGET_COMPOSITE_AND_CLAIM) byType.set(condition.type, toRow(condition));
  }
  return [...byType.values()];
}

function toRow({ type, status, reason, message }: Condition): ConditionRow {
  const names: Readonly<Record<number, ConditionRow["status"]>> = {
    [Status.STATUS_CONDITION_TRUE]: "True",
    [Status.STATUS_CONDITION_FALSE]: "False",
  };
  return { type, status: names[status] ?? "Unknown", reason, message: message ?? "" };
}

/** A severity of a later protocol is for the platform team to look into. */
const known: ReadonlySet<number> = new Set([
  Severity.SEVERITY_FATAL,
  Severity.SEVERITY_WARNING,
  Severity.SEVERITY_NORMAL,
]);

/** The events of a response: those the claim's user sees, and those only the platform team sees on the composite. */
export function events(response: RunFunctionResponse): { readonly claim: EventRow[]; readonly composite: EventRow[] } {
  const claim: EventRow[] = [];
  const composite: EventRow[] = [];
  for (const { severity, reason, message, target } of untilFatal(response)) {
    const fallback = severity === Severity.SEVERITY_FATAL ? "ReconcileError" : "ComposeResources";
    const type = severity === Severity.SEVERITY_NORMAL ? "Normal" : "Warning";
    const isForClaim = target === Target.TARGET_COMPOSITE_AND_CLAIM && known.has(severity);
    (isForClaim ? claim : composite).push({ type, reason: reason || fallback, message });
  }
  return { claim, composite };
}

/** A fatal result ends the pipeline; what comes after it is dropped. */
function untilFatal(response: RunFunctionResponse): RunFunctionResponse["results"] {
  const fatal = response.results.findIndex(({ severity }) => severity === Severity.SEVERITY_FATAL);
  return fatal === -1 ? response.results : response.results.slice(0, fatal + 1);
}

/** What becomes of the composed resources: nothing after a fatal result, else what is wanted and whether it is ready. */
export function outcome(response: RunFunctionResponse): string {
  if (isFatal(response)) return "The function stopped the pipeline: nothing is applied.";
  const resources = [...(response.desired?.resources ?? [])].map(([name, { resource, ready }]) => {
    const kind = String(resource?.value["kind"] ?? "resource");
    return `${kind} "${name}" (${ready === 1 ? "ready" : "not ready yet"})`;
  });
  return resources.length === 0 ? "Nothing is to be applied." : `To be applied: ${resources.join(", ")}.`;
}
