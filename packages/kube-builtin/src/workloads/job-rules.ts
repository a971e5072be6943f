// SPDX-License-Identifier: Apache-2.0
import type { Work } from "@purlin/base";
import { CronSyntaxError, isTimeZone, parseCron } from "@purlin/base";
import {
  type KindRules,
  metaOf,
  notNegative,
  selectorInGo,
  selectorProblems,
  withMeta,
} from "@purlin/kube-apiserver/kinds";
import {
  type FieldError,
  invalidPrinted,
  invalidValue,
  keyPath,
  requiredValue,
  tooLong,
  unsupportedPrinted,
  unsupportedValue,
} from "@purlin/kube-objects/errors";
import {
  goQuote,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  jsonEqual,
  utf8Length,
} from "@purlin/kube-objects/json";
import { dns1123SubdomainProblems } from "@purlin/kube-objects/metadata";
import { memberAt, objectAt, stringAt } from "@purlin/kube-objects/object";
import { type LabelSelectorObject, meetsLabelSelector } from "@purlin/kube-objects/selector";
import { optionallyOneOf } from "../checks/rule-checks.ts";
import { nameWarnings, podWarnings } from "../pods/pod-warnings.ts";
import { jobChangeErrors } from "./job-changes.ts";
import { jobStatusErrors } from "./job-status.ts";
import { failurePolicyErrors, successPolicyErrors } from "./pod-failure-policy.ts";
import { endingTemplateErrors } from "./template.ts";

const uidLabel = "batch.kubernetes.io/controller-uid";
const nameLabel = "batch.kubernetes.io/job-name";

/** A Job without labels has those of its Pods. */
function withLabels(job: JsonObject): JsonObject {
  const labels = memberAt(job, ["spec", "template", "metadata", "labels"]);
  const isBare = Object.keys(metaOf(job).labels ?? {}).length === 0;
  return isBare && isJsonObject(labels) ? withMeta(job, { labels: labels as Record<string, string> }) : job;
}

/** A Job that does not choose its Pods itself gets labels that pick exactly them. */
function withOwnSelector(job: JsonObject): JsonObject {
  const spec = objectAt(job, ["spec"]);
  if (spec["manualSelector"] === true) return job;
  const { uid = "", name = "" } = metaOf(job);
  const template = objectAt(spec, ["template"]);
  const own: JsonObject = { [uidLabel]: uid, [nameLabel]: name, "controller-uid": uid, "job-name": name };
  const labels = { ...own, ...objectAt(template, ["metadata", "labels"]), ...own };
  const metadata = { ...objectAt(template, ["metadata"]), labels };
  const selector = {
    ...objectAt(spec, ["selector"]),
    matchLabels: { ...objectAt(spec, ["selector", "matchLabels"]), [uidLabel]: uid },
  };
  const made = { ...job, spec: { ...spec, selector, template: { ...template, metadata } } };
  // Labels taken from the Pods follow them.
  const isShared = jsonEqual((metaOf(job).labels ?? {}) as JsonObject, objectAt(template, ["metadata", "labels"]));
  return isShared ? withMeta(made, { labels: labels as Record<string, string> }) : made;
}

const numbers = [
  "parallelism",
  "completions",
  "activeDeadlineSeconds",
  "backoffLimit",
  "ttlSecondsAfterFinished",
  "backoffLimitPerIndex",
  "maxFailedIndexes",
];

/** What is wrong with the spec of a Job, its selector aside; in parts. */
function* specErrors(spec: JsonObject, path: string): Work<FieldError[]> {
  const isIndexed = spec["completionMode"] === "Indexed";
  const isWatched = isJsonObject(memberAt(spec, ["podFailurePolicy"]));
  const needed = (name: string, why: string): FieldError[] =>
    memberAt(spec, [name]) === undefined ? [requiredValue(`${path}.${name}`, why)] : [];
  return [
    ...numbers.flatMap((name) => notNegative(name)(spec, path)),
    ...(memberAt(spec, ["maxFailedIndexes"]) === undefined
      ? []
      : needed("backoffLimitPerIndex", "when maxFailedIndexes is specified")),
    ...managerErrors(spec, `${path}.managedBy`),
    ...optionallyOneOf("completionMode", ["NonIndexed", "Indexed"])(spec, path),
    ...(isIndexed ? needed("completions", "when completion mode is Indexed") : []),
    ...(isIndexed ? indexErrors(spec, path) : []),
    ...((spec["completionMode"] ?? "NonIndexed") === "NonIndexed" ? onlyIndexed(spec, path) : []),
    ...optionallyOneOf("podReplacementPolicy", isWatched ? ["Failed"] : ["Failed", "TerminatingOrFailed"])(spec, path),
    ...(isWatched ? failurePolicyErrors(spec, path) : []),
    ...successPolicyErrors(spec, path),
    ...(yield* endingTemplateErrors(objectAt(spec, ["template"]), `${path}.template`)),
  ];
}

const maxManager = 63;
const pathPattern = "[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+";
const pathText = `Invalid path (regex used for validation is '${pathPattern}')`;
const pathRegExp = new RegExp(`^${pathPattern}$`);

/** The controller of a Job that is not one of Kubernetes has a domain and a path. */
function managerErrors(spec: JsonObject, path: string): FieldError[] {
  const manager = memberAt(spec, ["managedBy"]);
  if (typeof manager !== "string") return [];
  const long = utf8Length(manager) > maxManager ? [tooLong(path, maxManager)] : [];
  if (manager === "") return [requiredValue(path)];
  const [, domain = "", rest = ""] = /^([^/]*)\/(.*)$/s.exec(manager) ?? [];
  if (domain === "" || rest === "") {
    return [invalidValue(path, manager, 'must be a domain-prefixed path (such as "acme.io/foo")'), ...long];
  }
  return [
    ...dns1123SubdomainProblems(domain).map((problem) => invalidValue(path, domain, problem)),
    ...(pathRegExp.test(rest) ? [] : [invalidValue(path, rest, pathText)]),
    ...long,
  ];
}

/** Limits by index mean something for indexed Jobs alone. */
function onlyIndexed(spec: JsonObject, path: string): FieldError[] {
  return ["backoffLimitPerIndex", "maxFailedIndexes"].flatMap((name) => {
    const value = memberAt(spec, [name]);
    return typeof value === "number"
      ? [invalidValue(`${path}.${name}`, value, "requires indexed completion mode")]
      : [];
  });
}

const most = 100_000;
const mostOfMany = 10_000;

/** The limits of indexed Jobs, which are lower when there are many indexes. */
function indexErrors(spec: JsonObject, path: string): FieldError[] {
  const number = (name: string): number => Number(memberAt(spec, [name]) ?? 0);
  const above = (name: string, limit: number, text: string): FieldError[] =>
    typeof memberAt(spec, [name]) === "number" && number(name) > limit
      ? [invalidValue(`${path}.${name}`, number(name), `must be less than or equal to ${text}`)]
      : [];
  const hasCompletions = typeof memberAt(spec, ["completions"]) === "number";
  const isLarge = number("completions") > most && typeof memberAt(spec, ["backoffLimitPerIndex"]) === "number";
  const limit = `${mostOfMany} when completions are above ${most} and used with backoff limit per index`;
  const missing = `must be specified when completions is above ${most}`;
  return [
    ...above("parallelism", most, `${most} when completion mode is Indexed`),
    ...(hasCompletions ? above("maxFailedIndexes", number("completions"), "completions") : []),
    ...above("maxFailedIndexes", most, `${most}`),
    ...(isLarge && memberAt(spec, ["maxFailedIndexes"]) === undefined
      ? [requiredValue(`${path}.maxFailedIndexes`, missing)]
      : []),
    ...(isLarge ? [...above("parallelism", mostOfMany, limit), ...above("maxFailedIndexes", mostOfMany, limit)] : []),
  ];
}

/** A Job that does not choose its Pods itself has labels and a selector that the server made. */
function generatedErrors(job: JsonObject, selector: JsonObject, picks: Picks): FieldError[] {
  const [spec, { uid = "", name = "" }] = [objectAt(job, ["spec"]), metaOf(job)];
  if (spec["manualSelector"] === true) return [];
  const expected = { "controller-uid": uid, "job-name": name, [uidLabel]: uid, [nameLabel]: name };
  const labels = objectAt(spec, ["template", "metadata", "labels"]);
  const why = "`selector` not auto-generated";
  return [
    ...Object.entries(expected).flatMap(([key, value]) => labelErrors(labels, key, value)),
    ...(picks(expected) ? [] : [invalidPrinted("spec.selector", selectorInGo(selector), why)]),
  ];
}

function labelErrors(labels: JsonObject, key: string, value: string): FieldError[] {
  const path = keyPath("spec.template.metadata.labels", key);
  if (labels[key] === undefined) return [requiredValue(path, `must be '${value}'`)];
  return labels[key] === value ? [] : [invalidValue(path, labels, `must be '${value}'`)];
}

/** Whether the selector of a Job matches labels; one that is malformed is reported as that alone. */
type Picks = (labels: Readonly<Record<string, string>>) => boolean;

function picksOf(selector: JsonObject, problems: readonly FieldError[]): Picks {
  return (labels) => problems.length > 0 || meetsLabelSelector(selector as LabelSelectorObject, labels);
}

/** In parts: a selector may be as long as a request. */
function* ownSelectorErrors(job: JsonObject): Work<FieldError[]> {
  const selector = memberAt(job, ["spec", "selector"]);
  const labels = memberAt(job, ["spec", "template", "metadata", "labels"]) ?? null;
  const mismatch = invalidValue("spec.template.metadata.labels", labels, "`selector` does not match template `labels`");
  if (!isJsonObject(selector)) return [requiredValue("spec.selector"), mismatch];
  const problems = selectorProblems(selector, "spec.selector");
  yield;
  const own = isJsonObject(labels) ? (labels as Record<string, string>) : {};
  const picks = picksOf(selector, problems);
  const generated = generatedErrors(job, selector, picks);
  yield;
  return [...generated, ...problems, ...(picks(own) ? [] : [mismatch])];
}

const many =
  "In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes fail";

/** Warnings about the spec of a Job, its template included. */
function specWarnings(spec: JsonObject, path: string): string[] {
  const above = (name: string, limit: number): boolean => Number(memberAt(spec, [name]) ?? 0) > limit;
  const isMuch = spec["completionMode"] === "Indexed" && above("completions", 100_000) && above("parallelism", 10_000);
  return [...(isMuch ? [`${path}: ${many}`] : []), ...podWarnings(objectAt(spec, ["template"]), `${path}.template`)];
}

/** Warnings about a new object, or about a changed spec. */
function warningsAt(...path: readonly string[]) {
  return (object: JsonObject, old: JsonObject | undefined): string[] => {
    const name = old === undefined ? nameWarnings(object, "Pod names and hostnames") : [];
    const isChanged = old === undefined || metaOf(object).generation !== metaOf(old).generation;
    return [...name, ...(isChanged ? specWarnings(objectAt(object, path), path.join(".")) : [])];
  };
}

const selectable: ReadonlySet<string> = new Set(["metadata.name", "metadata.namespace", "status.successful"]);

export const jobRules: KindRules = {
  warnings: warningsAt("spec"),
  decode: withLabels,
  prepareCreate: withOwnSelector,
  *validatingRest(job) {
    const errors = yield* specErrors(objectAt(job, ["spec"]), "spec");
    yield;
    return [...errors, ...(yield* ownSelectorErrors(job))];
  },
  validateChange: (job, old, endpoint) =>
    endpoint === "status" ? jobStatusErrors(job, old) : jobChangeErrors(job, old),
  fields: { "status.successful": (job) => String(memberAt(job, ["status", "succeeded"]) ?? 0) },
  fieldProblem: (field) => (selectable.has(field) ? undefined : `field label ${goQuote(field)} not supported for Job`),
};

function scheduleErrors(spec: JsonObject): FieldError[] {
  const schedule = stringAt(spec, ["schedule"]);
  if (schedule === "") return [requiredValue("spec.schedule")];
  if (schedule.includes("TZ")) {
    return [
      invalidValue("spec.schedule", schedule, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"),
    ];
  }
  const problem = scheduleProblem(schedule);
  return problem === undefined ? [] : [invalidValue("spec.schedule", schedule, problem)];
}

function zoneErrors(spec: JsonObject): FieldError[] {
  const zone = memberAt(spec, ["timeZone"]);
  if (typeof zone !== "string") return [];
  return zoneProblems(zone).map((problem) => invalidValue("spec.timeZone", zone, problem));
}

/** Why a text is not the name of a time zone. */
function zoneProblems(zone: string): string[] {
  if (zone === "") return ["timeZone must be nil or non-empty string"];
  const explicit = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones";
  return [
    ...(zone.toLowerCase() === "local" ? [explicit] : []),
    ...(zone === "Local" || isTimeZone(zone) ? [] : [`unknown time zone ${zone}`]),
  ];
}

/** Why a text is not a cron schedule; undefined when it is one. */
function scheduleProblem(schedule: string): string | undefined {
  try {
    parseCron(schedule);
    return undefined;
  } catch (error) {
    if (error instanceof CronSyntaxError) return error.message;
    throw error;
  }
}

/** The names of its Jobs are eleven characters longer. */
function nameErrors(cron: JsonObject): FieldError[] {
  const { name = "" } = metaOf(cron);
  return utf8Length(name) > 52 ? [invalidValue("metadata.name", name, "must be no more than 52 characters")] : [];
}

/** The Jobs of a CronJob get their selectors when they are made. */
function templateSelectorErrors(selector: JsonValue | undefined): FieldError[] {
  if (!isJsonObject(selector)) return [];
  const why = "`selector` will be auto-generated";
  return [invalidPrinted("spec.jobTemplate.spec.selector", selectorInGo(selector), why)];
}

const concurrency = ["Allow", "Forbid", "Replace"];

export const cronJobRules: KindRules = {
  warnings: warningsAt("spec", "jobTemplate", "spec"),
  validateNew: nameErrors,
  *validatingRest(cron) {
    const spec = objectAt(cron, ["spec"]);
    const policy = stringAt(spec, ["concurrencyPolicy"]);
    return [
      ...scheduleErrors(spec),
      ...notNegative("startingDeadlineSeconds")(spec, "spec"),
      ...zoneErrors(spec),
      ...(concurrency.includes(policy) ? [] : [unsupportedValue("spec.concurrencyPolicy", policy, concurrency)]),
      ...(yield* specErrors(objectAt(spec, ["jobTemplate", "spec"]), "spec.jobTemplate.spec")),
      ...templateSelectorErrors(memberAt(spec, ["jobTemplate", "spec", "selector"])),
      ...(memberAt(spec, ["jobTemplate", "spec", "manualSelector"]) === true
        ? [unsupportedPrinted("spec.jobTemplate.spec.manualSelector", "true", ["nil", "false"])]
        : []),
      ...notNegative("successfulJobsHistoryLimit")(spec, "spec"),
      ...notNegative("failedJobsHistoryLimit")(spec, "spec"),
    ];
  },
};
