// SPDX-License-Identifier: Apache-2.0
import { crossplaneAnnotations } from "@purlin/composition";
import {
  isJsonArray,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  jsonEqual,
  printJson,
} from "@purlin/kube-objects/json";
import { annotationOf, conditionsOf, type KubeObject, keyOf, objectAt, textAt } from "@purlin/kube-objects/object";
import { closestName } from "@purlin/kube-objects/schema";
import type { Session } from "@purlin/preview";
import { printYaml } from "../files/yaml-file.ts";
import { appliedResources, type CaseRecord, type CompositeRecord, outputsOf, withoutTimes } from "./case-record.ts";
import {
  contains,
  exactMismatches,
  judgeExpression,
  type Mismatch,
  matchesInTime,
  mismatch,
  mismatches,
  place,
} from "./match.ts";
import type { TestCase } from "./test-file.ts";
import { failedAssertions } from "./xprin-assertions.ts";

const { resourceName } = crossplaneAnnotations;

/** What a composite resource or Operation came to. */
export interface CaseState {
  readonly test: TestCase;
  readonly session: Session;
  readonly root: KubeObject;
  readonly caseRecord: CaseRecord;
  readonly xr: KubeObject | undefined;
  readonly claim: KubeObject | undefined;
  readonly operation: KubeObject | undefined;
  /** Composed, or applied, resources by name. */
  readonly resources: ReadonlyMap<string, KubeObject>;
  readonly record: CompositeRecord;
}

/** How files that expectations name are compared. */
export interface Expecting {
  golden(file: string, text: string, test: TestCase): Promise<string[]>;
  /** Reads a file by its path from the test file. */
  readFile(name: string, test: TestCase): Promise<string>;
}

interface StateOptions {
  readonly session: Session;
  readonly root: KubeObject;
  readonly record: CaseRecord;
  readonly test: TestCase;
}

/** Reads the state of a case. */
export async function stateOf({ session, root, record, test }: StateOptions): Promise<CaseState> {
  const stored = await session.client.get(root, keyOf(root));
  const shared = { test, session, root, caseRecord: record };
  if (test.kind === "OperationTest") {
    const own = record.of(root);
    const resources = await appliedResources(session, stored, own);
    return { ...shared, xr: undefined, claim: undefined, operation: stored, resources, record: own };
  }
  const isClaim = test.inputs["claim"] !== undefined;
  const xr = isClaim ? await boundTo(session, stored) : stored;
  const composed = xr === undefined ? [] : await session.composed(xr);
  const resources = new Map(
    composed.map((object) => [annotationOf(object, resourceName) ?? object.metadata.name ?? "", object]),
  );
  const claim = isClaim ? stored : undefined;
  return { ...shared, xr, claim, operation: undefined, resources, record: record.of(xr ?? root) };
}

async function boundTo(session: Session, claim: KubeObject | undefined): Promise<KubeObject | undefined> {
  const ref = (claim?.["spec"] as { readonly resourceRef?: Record<string, string> } | undefined)?.resourceRef;
  if (ref === undefined) return undefined;
  const { apiVersion = "", kind = "", name = "" } = ref;
  return await session.client.get({ apiVersion, kind }, { name });
}

type Expectation = (expected: JsonValue, state: CaseState, expecting: Expecting) => Mismatch[] | Promise<Mismatch[]>;

/** Lines about an expectation as a whole. */
const about = (name: string, texts: readonly string[]): Mismatch[] => texts.map((text) => ({ text, at: [name] }));

/** What is not as expected. Objects are expected to be valid, and reconciles to succeed, unless an expectation says otherwise. */
export async function expectationMismatches(
  expect: JsonObject,
  state: CaseState,
  expecting: Expecting,
): Promise<Mismatch[]> {
  const found = await namedMismatches(expect, state, expecting);
  return [...found, ...(await unexpected(namesIn(expect), state)).map((text) => ({ text, at: [] }))];
}

async function namedMismatches(expect: JsonObject, state: CaseState, expecting: Expecting): Promise<Mismatch[]> {
  const found: Mismatch[] = [];
  for (const [name, expected] of Object.entries(expect)) {
    found.push(...((await expectations[name]?.(expected as JsonValue, state, expecting)) ?? []));
  }
  return found;
}

/** The expectations that a case names, within `not` too. */
function namesIn(expect: JsonObject): ReadonlySet<string> {
  const negated = expect["not"] === undefined ? [] : namesIn(asObject(expect["not"]));
  return new Set([...Object.keys(expect), ...negated]);
}

/** A failure that a case is about is named by one of these. */
const namesOfFailures = ["fatal", "synced", "succeeded", "conditions", "results", "events", "valid"];

async function unexpected(names: ReadonlySet<string>, { session, record }: CaseState): Promise<string[]> {
  const refused = invalidTexts(session);
  const invalid = names.has("valid") ? [] : refused;
  const fatal = record.results.filter(({ severity }) => severity === "Fatal").map(({ message }) => String(message));
  const isAbout = namesOfFailures.some((name) => names.has(name));
  const failures = await session.failures();
  // Objects that never stop changing are as expected by chance at most.
  const unsettled = names.has("fatal") ? [] : failures.filter(({ isUnsettled }) => isUnsettled).map(({ text }) => text);
  if (unsettled.length > 0) return [...invalid, ...unsettled];
  const failed = isAbout || refused.length > 0 ? [] : failures.map(({ text }) => `reconcile failed: ${text}`);
  return [...invalid, ...failed, ...(isAbout || failed.length > 0 ? [] : fatal.map((text) => `fatal: ${text}`))];
}

/** A line for each object that the API server refused as invalid. */
function invalidTexts(session: CaseState["session"]): string[] {
  const refused = session.refusals().filter(({ isInvalid }) => isInvalid);
  return refused.map(({ text }) => `valid: expected true, got false: ${text}`);
}

const json = (object: KubeObject | undefined): JsonObject | undefined => object && withoutTimes(object);

const expectations: Readonly<Record<string, Expectation>> = {
  resources: (expected, state) => resourceSet(expected, state),
  resource: (expected, state) =>
    Object.entries(asObject(expected)).flatMap(([name, match]) => oneResource(name, match as JsonValue, state)),
  desired: desiredMismatches,
  /** The assertions of a suite of xprin; files of ours cannot have this key. */
  xprin: async (expected, { xr, resources, test }, { readFile }) =>
    about(
      "xprin",
      await failedAssertions(asList(expected), {
        objects: [xr, ...resources.values()].filter((one) => one !== undefined),
        readFile: (name) => readFile(name, test),
      }),
    ),
  xr: (expected, { xr }) => mismatches(expected, json(xr), place("xr")),
  claim: (expected, { claim }) => mismatches(expected, json(claim), place("claim")),
  operation: (expected, { operation }) => mismatches(expected, json(operation), place("operation")),
  outputs: (expected, { operation }) => mismatches(expected, outputsOf(operation), place("outputs")),
  nested: nestedMismatches,
  conditions: (expected, { xr, operation }) =>
    contains(
      asList(expected),
      (json(operation ?? xr)?.["status"] as JsonObject | undefined)?.["conditions"] ?? [],
      place("conditions"),
    ),
  results: (expected, { record }) => contains(asList(expected), record.results, place("results")),
  events: (expected, { caseRecord }) => contains(asList(expected), caseRecord.events, place("events")),
  fatal: fatalMismatches,
  ready: (expected, state) => condition("ready", "Ready", { expected, state }),
  synced: (expected, state) => condition("synced", "Synced", { expected, state }),
  succeeded: (expected, state) => condition("succeeded", "Succeeded", { expected, state }),
  deleted: (expected, { record }) =>
    mismatches({ $exact: asList(expected).toSorted() }, [...new Set(record.deleted)].toSorted(), place("deleted")),
  writes: (expected, { record }) => mismatches(expected, record.writes, place("writes")),
  calls: (expected, { record }) => mismatches(expected, record.calls, place("calls")),
  requirements: (expected, { record }) => mismatches(expected, record.requirements, place("requirements")),
  context: (expected, { record }) => mismatches(expected, record.context, place("context")),
  ttl: (expected, { record }) => mismatches(expected, record.ttl, place("ttl")),
  cel: (expected, state) =>
    asList(expected).flatMap((text, index) => {
      const problem = judgeExpression(String(text), variablesOf(state));
      return problem === undefined ? [] : [{ text: `cel: ${problem}`, at: ["cel", index] }];
    }),
  golden: async (expected, state, { golden }) =>
    about("golden", await golden(String(expected), goldenText(state), state.test)),
  unchanged: unchangedMismatches,
  valid: (expected, { session }) => {
    const refused = invalidTexts(session);
    if (expected !== false) return about("valid", refused);
    return refused.length > 0 ? [] : about("valid", ["valid: expected false, got true"]);
  },
  not: async (expected, state, expecting) => {
    const inner = await namedMismatches(asObject(expected), state, expecting);
    return inner.length > 0 ? [] : about("not", [`not: ${printJson(expected)} holds`]);
  },
};

const asObject = (value: JsonValue): JsonObject => (isJsonObject(value) ? value : {});
const asList = (value: JsonValue): readonly JsonValue[] => (isJsonArray(value) ? value : [value]);

function resourceSet(expected: JsonValue, { resources }: CaseState): Mismatch[] {
  const { count, only, kinds } = asObject(expected);
  const names = [...resources.keys()].toSorted();
  const found: Mismatch[] = [];
  if (count !== undefined) found.push(...mismatches(count, names.length, place("resources", "count")));
  if (isJsonArray(only)) found.push(...mismatches({ $exact: only.toSorted() }, names, place("resources", "only")));
  if (isJsonObject(kinds)) {
    const counted = [...resources.values()].map(({ kind }) => kind);
    const actual = Object.fromEntries(
      Object.keys(kinds).map((kind) => [kind, counted.filter((one) => one === kind).length]),
    );
    found.push(...mismatches(kinds, actual, place("resources", "kinds")));
  }
  return found;
}

function oneResource(
  name: string,
  match: JsonValue,
  { resources, record, operation }: Pick<CaseState, "resources" | "record" | "operation">,
): Mismatch[] {
  const object = resources.get(name);
  const at = place("resource", name);
  if (match === "absent") return object === undefined ? [] : [mismatch(at, `expected none, got ${object.kind}`)];
  const adjective = operation === undefined ? "composed" : "applied";
  if (object === undefined) return [mismatch(at, missingText(name, [...resources.keys()].toSorted(), adjective))];
  return mismatches(match, json(object), at).map((one) => blamed(one, object, record.steps.get(name)));
}

/** A difference with the step that set the resource, and without values of Secrets. */
function blamed(one: Mismatch, object: Pick<KubeObject, "apiVersion" | "kind">, step: string | undefined): Mismatch {
  const blame = step === undefined ? "" : ` (set by step "${step}")`;
  return { ...one, text: `${withoutSecret(one.text, object)}${blame}` };
}

/** What functions want: exactly these resources with exactly these fields, before the API server sets defaults. */
function desiredMismatches(expected: JsonValue, { record }: CaseState): Mismatch[] {
  const { composite, resources } = asObject(expected);
  const found: Mismatch[] = [];
  if (composite !== undefined)
    found.push(...exactMismatches(composite, record.desiredComposite, place("desired", "composite")));
  if (resources === undefined) return found;
  const wanted = asObject(resources);
  for (const name of new Set([...Object.keys(wanted), ...Object.keys(record.desired)])) {
    const object = objectAt(record.desired, [name, "resource"]);
    const lines = desiredResource(name, wanted[name], Object.hasOwn(record.desired, name) ? object : undefined);
    found.push(...lines.map((one) => blamed(one, object as KubeObject, record.steps.get(name))));
  }
  return found;
}

function desiredResource(name: string, expected: JsonValue | undefined, actual: JsonObject | undefined): Mismatch[] {
  const at = place("desired", "resources", name);
  if (expected === undefined)
    return [{ ...mismatch(at, `expected none, got ${textAt(actual ?? {}, ["kind"])}`), at: at.at.slice(0, 2) }];
  if (actual === undefined) return [mismatch(at, "no step wants this resource")];
  return exactMismatches(expected, actual, at);
}

function missingText(name: string, names: readonly string[], adjective = "composed"): string {
  const closest = closestName(name, names);
  const advice = closest === undefined ? "" : `; did you mean ${closest}?`;
  return `resource is missing; ${adjective}: ${names.join(", ") || "none"}${advice}`;
}

const isSecret = ({ apiVersion, kind }: Pick<KubeObject, "apiVersion" | "kind">): boolean =>
  apiVersion === "v1" && kind === "Secret";

/** The values of Secrets are not printed. */
function withoutSecret(line: string, object: Pick<KubeObject, "apiVersion" | "kind">): string {
  const [, path] = /^((?:resource|desired\.resources)\..+?\.(?:data|stringData)\S*): /.exec(line) ?? [];
  return isSecret(object) && path !== undefined ? `${path}: another value (sensitive)` : line;
}

/** A Secret whose values are hidden. */
function masked(object: KubeObject): KubeObject {
  const { data } = object;
  if (!isSecret(object) || !isJsonObject(data)) return object;
  return { ...object, data: Object.fromEntries(Object.keys(data).map((key) => [key, "(sensitive)"])) };
}

async function nestedMismatches(expected: JsonValue, state: CaseState, expecting: Expecting): Promise<Mismatch[]> {
  const found: Mismatch[] = [];
  for (const [name, expect] of Object.entries(asObject(expected))) {
    const xr = state.resources.get(name);
    if (xr === undefined) {
      found.push(mismatch(place("nested", name), missingText(name, [...state.resources.keys()].toSorted())));
      continue;
    }
    const inputs: JsonObject = { xr: {} };
    const test = { ...state.test, inputs };
    const inner = await stateOf({ session: state.session, root: xr, record: state.caseRecord, test });
    const lines = await expectationMismatches(asObject(expect as JsonValue), inner, expecting);
    found.push(...lines.map(({ text, at }) => ({ text: `nested.${name}.${text}`, at: ["nested", name, ...at] })));
  }
  return found;
}

async function fatalMismatches(expected: JsonValue, { record, session }: CaseState): Promise<Mismatch[]> {
  const texts = [
    ...record.results.filter(({ severity }) => severity === "Fatal").map(({ message }) => String(message)),
    ...(await session.failures()).map(({ text }) => text),
  ];
  const answers = texts.map((text) => matchesInTime(String(expected), text));
  if (answers.includes(true)) return [];
  const problem = answers.find((one) => typeof one === "string");
  const got = texts.length === 0 ? "none" : texts.join("; ");
  const text = problem ?? `expected a fatal result that matches ${printJson(expected)}, got ${got}`;
  return [mismatch(place("fatal"), text)];
}

interface ConditionCheck {
  readonly expected: JsonValue;
  readonly state: CaseState;
}

function condition(name: string, type: string, { expected, state }: ConditionCheck): Mismatch[] {
  const subject = state.operation ?? state.xr;
  const conditions = subject === undefined ? [] : conditionsOf(subject);
  const found = conditions.find((one) => one.type === type);
  const actual = found?.status === "True";
  if (actual === expected) return [];
  // An Operation that will be retried has not failed yet; why the attempt failed is in another condition.
  const cause = found?.status === "Unknown" ? conditions.find((one) => one.type === "Synced") : undefined;
  const shown = cause?.status === "False" ? cause : found;
  const why = shown === undefined ? "no condition" : [shown.reason, shown.message].filter(Boolean).join(": ");
  return [mismatch(place(name), `expected ${String(expected)}, got ${String(actual)} (${why})`)];
}

/** The composite resource or Operation, its conditions, and its resources, a line each. */
export async function stateTree({ xr, claim, operation, resources, session }: CaseState): Promise<string> {
  const roots = [claim, xr, operation].filter((one) => one !== undefined).map((one) => treeLine(one));
  const branches = [...resources].toSorted(([a], [b]) => (a < b ? -1 : 1));
  const lines: string[] = [];
  for (const [index, [name, object]] of branches.entries()) {
    const isLast = index === branches.length - 1;
    lines.push(`${isLast ? "└─" : "├─"} ${treeLine(object)}  ${name}`);
    const inner = await session.composed(object);
    lines.push(
      ...inner.map((one, at) => `${isLast ? "  " : "│ "} ${at === inner.length - 1 ? "└─" : "├─"} ${treeLine(one)}`),
    );
  }
  return [...roots, ...lines].join("\n");
}

function treeLine(object: KubeObject): string {
  const conditions = conditionsOf(object).map(({ type, status, reason = "" }) => ` ${type}=${status} (${reason})`);
  return `${object.kind}/${object.metadata.name ?? ""}${conditions.join("")}`;
}

async function unchangedMismatches(expected: JsonValue, state: CaseState): Promise<Mismatch[]> {
  if (expected !== true) return [];
  const { session, root, caseRecord, test, xr } = state;
  caseRecord.clear();
  await session.step(root);
  const after = await stateOf({ session, root, record: caseRecord, test });
  const isSame = jsonEqual((json(xr) ?? null) as JsonValue, (json(after.xr) ?? null) as JsonValue);
  if (after.record.writes === 0 && isSame) return [];
  const also = isSame ? "" : " and changed the composite resource";
  return [mismatch(place("unchanged"), `one more reconcile wrote ${after.record.writes} composed resources${also}`)];
}

function variablesOf({ xr, claim, operation, resources, record }: CaseState): JsonObject {
  const objects = Object.fromEntries([...resources].map(([name, object]) => [name, withoutTimes(object)]));
  if (operation !== undefined) {
    const outputs = outputsOf(operation);
    return { operation: withoutTimes(operation), resources: objects, results: record.results, outputs };
  }
  return { xr: json(xr) ?? null, claim: json(claim) ?? null, resources: objects, results: record.results };
}

/** The composite resource or Operation, its resources by name, and results, as YAML documents. */
function goldenText({ xr, operation, resources, record }: CaseState): string {
  const root = operation ?? xr;
  const objects = [
    ...(root === undefined ? [] : [root]),
    ...[...resources].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, object]) => object),
  ];
  const results = record.results.map((result) => ({
    apiVersion: "render.crossplane.io/v1beta1",
    kind: "Result",
    ...result,
  }));
  return [...objects.map(masked).map(withoutTimes), ...results].map((object) => `---\n${printYaml(object)}`).join("");
}
