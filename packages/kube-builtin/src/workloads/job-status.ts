// SPDX-License-Identifier: Apache-2.0
// The status of a Job, which controllers of other programs may write: what contradicts itself, and what cannot be undone.
import { listAt } from "@purlin/kube-apiserver/kinds";
import {
  duplicateValue,
  type FieldError,
  firstErrors,
  invalidPrinted,
  invalidValue,
  requiredValue,
} from "@purlin/kube-objects/errors";
import { type JsonObject, type JsonValue, jsonEqual } from "@purlin/kube-objects/json";
import { memberAt, numberAt, objectAt, stringAt, textsAt } from "@purlin/kube-objects/object";
import { goStruct, notNegativeAt } from "../checks/rule-checks.ts";
import { countedIndexes, indexInterval } from "./pod-failure-policy.ts";

/** What the rules ask about a Job. */
class JobState {
  readonly spec: JsonObject;
  readonly status: JsonObject;
  readonly isComplete: boolean;
  readonly isFailed: boolean;

  constructor(job: JsonObject) {
    this.spec = objectAt(job, ["spec"]);
    this.status = objectAt(job, ["status"]);
    this.isComplete = this.has("Complete");
    this.isFailed = this.has("Failed");
  }

  get isFinished(): boolean {
    return this.isComplete || this.isFailed;
  }

  has(type: string, status = "True"): boolean {
    return listAt(this.status, "conditions").some(
      (one) => stringAt(one, ["type"]) === type && stringAt(one, ["status"]) === status,
    );
  }

  member(name: string): JsonValue {
    return memberAt(this.status, [name]) ?? null;
  }
}

/** A rule: it counts when what it is about has changed. */
interface StatusRule {
  readonly isAsked: boolean;
  readonly errors: () => readonly FieldError[];
}

const conditionError = (why: string): FieldError => invalidPrinted("status.conditions", "", why);
const given = (isWrong: boolean, error: FieldError): FieldError[] => (isWrong ? [error] : []);

/** Pods that have ended and are not counted yet, each once. */
function uncountedErrors(status: JsonObject): FieldError[] {
  const seen = new Set<string>();
  return ["succeeded", "failed"].flatMap((list) =>
    firstErrors(textsAt(status, ["uncountedTerminatedPods", list]), (uid, index) => {
      const at = `status.uncountedTerminatedPods.${list}[${index}]`;
      const isTaken = seen.has(uid);
      seen.add(uid);
      if (uid === "") return [invalidValue(at, uid, "must not be empty")];
      return isTaken ? [duplicateValue(at, uid)] : [];
    }),
  );
}

/** Rules about conditions, in the three places at which the reference reports them. */
interface ConditionRules {
  readonly ends: readonly StatusRule[];
  readonly causes: readonly StatusRule[];
  readonly criteria: readonly StatusRule[];
}

/** Conditions that exclude or need each other. */
function conditionRules(now: JobState, before: JobState): ConditionRules {
  const changed = (type: string): boolean => now.has(type) !== before.has(type);
  const [complete, failed, target, met] = ["Complete", "Failed", "FailureTarget", "SuccessCriteriaMet"].map(
    changed,
  ) as [boolean, boolean, boolean, boolean];
  const has = (type: string): boolean => now.has(type);
  const rule = (isAsked: boolean, isWrong: boolean, why: string): StatusRule => ({
    isAsked,
    errors: () => given(isWrong, conditionError(why)),
  });
  const ends = [
    rule(complete || failed, now.isComplete && now.isFailed, "cannot set Complete=True and Failed=true conditions"),
    rule(
      complete || target,
      now.isComplete && has("FailureTarget"),
      "cannot set Complete=True and FailureTarget=true conditions",
    ),
  ];
  const causes = [
    rule(
      failed || !jsonEqual(now.member("failedIndexes"), before.member("failedIndexes")),
      now.isFailed && !has("FailureTarget"),
      "cannot set Failed=True condition without the FailureTarget=true condition",
    ),
    rule(
      complete || met,
      now.isComplete && !has("SuccessCriteriaMet"),
      "cannot set Complete=True condition without the SuccessCriteriaMet=true condition",
    ),
  ];
  const criteria = [
    rule(
      true,
      has("SuccessCriteriaMet") && now.isFailed,
      "cannot set SuccessCriteriaMet=True and Failed=true conditions",
    ),
    rule(
      true,
      has("SuccessCriteriaMet") && has("FailureTarget"),
      "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions",
    ),
    rule(
      true,
      memberAt(now.spec, ["successPolicy"]) !== undefined && !has("SuccessCriteriaMet") && now.isComplete,
      "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True",
    ),
  ];
  return { ends, causes, criteria };
}

/** Rules about times and counts, in the three places at which the reference reports them. */
interface EndRules {
  readonly times: readonly StatusRule[];
  readonly finished: readonly StatusRule[];
  readonly pods: readonly StatusRule[];
}

/** Times and counts of a Job that has ended, and of one that has not. */
function endRules(now: JobState, before: JobState): EndRules {
  const changed = (name: string): boolean => !jsonEqual(now.member(name), before.member(name));
  const [ended, completed] = [now.isFinished !== before.isFinished, now.isComplete !== before.isComplete];
  const [start, end] = [now.member("startTime"), now.member("completionTime")];
  const [hasStart, hasEnd] = [start !== null, end !== null];
  const isEmptySuspended = now.spec["suspend"] === true && now.spec["completions"] === 0;
  const uncounted = objectAt(now.status, ["uncountedTerminatedPods"]);
  const isUncounted = textsAt(uncounted, ["succeeded"]).length + textsAt(uncounted, ["failed"]).length > 0;
  const number = (name: string): number => numberAt(now.status, [name]);
  const at = (name: string): string => `status.${name}`;
  const rule = (isAsked: boolean, isWrong: boolean, error: FieldError): StatusRule => ({
    isAsked,
    errors: () => given(isWrong, error),
  });
  const noEnd = "cannot set completionTime when there is no Complete=True condition";
  const times = [
    rule(
      completed || changed("completionTime"),
      hasEnd && !now.isComplete,
      invalidValue(at("completionTime"), end, noEnd),
    ),
    rule(
      completed || changed("completionTime"),
      !hasEnd && now.isComplete,
      requiredValue(at("completionTime"), "completionTime is required for Complete jobs"),
    ),
    rule(
      changed("startTime") || changed("completionTime"),
      hasStart && hasEnd && Date.parse(String(end)) < Date.parse(String(start)),
      invalidValue(at("completionTime"), end, "must be equal to or after `startTime`"),
    ),
  ];
  const finished = [
    rule(
      ended || number("active") !== numberAt(before.status, ["active"]),
      number("active") > 0 && now.isFinished,
      invalidValue(at("active"), number("active"), "active>0 is invalid for finished job"),
    ),
    rule(
      (ended || changed("startTime")) && !isEmptySuspended,
      !hasStart && now.isFinished,
      requiredValue(at("startTime"), "startTime is required for finished job"),
    ),
    rule(
      ended || changed("uncountedTerminatedPods"),
      now.isFinished && isUncounted,
      invalidPrinted(
        at("uncountedTerminatedPods"),
        goStruct({ Succeeded: uncounted["succeeded"] ?? null, Failed: uncounted["failed"] ?? null }),
        "must be empty for finished job",
      ),
    ),
  ];
  const pods = [
    rule(
      ended || changed("terminating"),
      number("terminating") > 0 && now.isFinished,
      invalidValue(at("terminating"), number("terminating"), "terminating>0 is invalid for finished job"),
    ),
    rule(
      changed("ready") || number("active") !== numberAt(before.status, ["active"]),
      typeof now.status["ready"] === "number" && number("ready") > number("active"),
      invalidValue(at("ready"), number("ready"), "cannot set more ready pods than active"),
    ),
  ];
  return { times, finished, pods };
}

/** The indexes of an indexed Job that have ended. */
function indexRules(now: JobState, before: JobState): StatusRule[] {
  const [completed, failed] = [stringAt(now.status, ["completedIndexes"]), now.member("failedIndexes")];
  const isOther = completed !== stringAt(before.status, ["completedIndexes"]);
  const isOtherFailed = !jsonEqual(failed, before.member("failedIndexes"));
  const completions = memberAt(now.spec, ["completions"]);
  const hasLimit = typeof memberAt(now.spec, ["backoffLimitPerIndex"]) === "number";
  const [at, failedAt] = ["status.completedIndexes", "status.failedIndexes"];
  const format = (text: string, path: string): FieldError[] => {
    const found = typeof completions === "number" ? countedIndexes(text, completions) : { total: 0 };
    const name = path.split(".")[1];
    return "problem" in found ? [invalidValue(path, text, `error parsing ${name}: ${found.problem}`)] : [];
  };
  const onlyIndexed = "cannot set non-empty completedIndexes when non-indexed completion mode";
  const onlyLimited = "cannot set non-null failedIndexes when backoffLimitPerIndex is null";
  return [
    { isAsked: isOther, errors: () => format(completed, at) },
    {
      isAsked: isOtherFailed && hasLimit && typeof failed === "string",
      errors: () => format(String(failed), failedAt),
    },
    {
      isAsked: isOther,
      errors: () =>
        given(completed !== "" && now.spec["completionMode"] !== "Indexed", invalidValue(at, completed, onlyIndexed)),
    },
    {
      isAsked: isOtherFailed,
      errors: () => given(!hasLimit && failed !== null, invalidValue(failedAt, failed, onlyLimited)),
    },
    {
      isAsked: (isOther || isOtherFailed) && typeof failed === "string" && typeof completions === "number",
      errors: () => overlapErrors(completed, String(failed), Number(completions)),
    },
  ];
}

function overlapErrors(completed: string, failed: string, completions: number): FieldError[] {
  const [ended, broken] = [completed, failed].map((text) =>
    text.split(",").flatMap((part) => {
      const interval = indexInterval(part, completions);
      return "problem" in interval ? [] : [interval];
    }),
  ) as [Interval[], Interval[]];
  const shared = ended.flatMap((one) =>
    broken
      .filter((other) => one.first <= other.last && other.first <= one.last)
      .map((other) => Math.max(one.first, other.first)),
  );
  const [first] = shared.sort((a, b) => a - b);
  if (completed === "" || first === undefined) return [];
  return [
    invalidValue("status.failedIndexes", failed, `failedIndexes and completedIndexes overlap at index: ${first}`),
  ];
}

type Interval = Exclude<ReturnType<typeof indexInterval>, { readonly problem: string }>;

/** What a later status cannot take back. */
function changeRules(now: JobState, before: JobState): StatusRule[] {
  const isIndexed = now.spec["completionMode"] === "Indexed";
  const isScaled = isIndexed && jsonEqual(now.spec["completions"] ?? null, now.spec["parallelism"] ?? null);
  const isResumed = before.has("Suspended") && now.has("Suspended", "False");
  const fewer = (name: string): boolean => numberAt(now.status, [name]) < numberAt(before.status, [name]);
  const counter = (name: string): FieldError =>
    invalidValue(`status.${name}`, numberAt(now.status, [name]), `cannot decrease the ${name} counter`);
  const [end, oldEnd] = [now.member("completionTime"), before.member("completionTime")];
  const [start, oldStart] = [now.member("startTime"), before.member("startTime")];
  const lateMet = "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions";
  const rule = (isWrong: boolean, error: FieldError): StatusRule => ({
    isAsked: true,
    errors: () => given(isWrong, error),
  });
  const met = "SuccessCriteriaMet";
  return [
    ...["Failed", "Complete", "FailureTarget"].map((type) =>
      rule(before.has(type) && !now.has(type), conditionError(`cannot disable the terminal ${type}=True condition`)),
    ),
    rule(fewer("failed"), counter("failed")),
    rule(!isScaled && fewer("succeeded"), counter("succeeded")),
    rule(
      end !== null && oldEnd !== null && end !== oldEnd,
      invalidValue("status.completionTime", end, "field is immutable"),
    ),
    rule(
      !isResumed && oldStart !== null && start !== oldStart && now.spec["suspend"] !== true,
      invalidValue("status.startTime", start, "field is immutable for unsuspended job once set"),
    ),
    rule(before.has(met) && !now.has(met), conditionError(`cannot disable the ${met}=True condition`)),
    rule(before.isComplete && !before.has(met) && now.has(met), conditionError(lateMet)),
  ];
}

/** The errors of a status that replaces another. */
export function jobStatusErrors(job: JsonObject, old: JsonObject): FieldError[] {
  const [now, before] = [new JobState(job), new JobState(old)];
  const { ends, causes, criteria } = conditionRules(now, before);
  const { times, finished, pods } = endRules(now, before);
  const rules = [
    ends,
    times,
    causes,
    finished,
    indexRules(now, before),
    pods,
    criteria,
    changeRules(now, before),
  ].flat();
  return [
    ...notNegativeAt("active", "succeeded", "failed", "ready", "terminating")(now.status, "status"),
    ...uncountedErrors(now.status),
    ...rules.flatMap(({ isAsked, errors }) => (isAsked ? errors() : [])),
  ];
}
