// SPDX-License-Identifier: Apache-2.0
import { crossplaneAnnotations } from "@purlin/composition";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue, jsonEqual } from "@purlin/kube-objects/json";
import { annotationOf, conditionsOf, type KubeObject, keyOf } from "@purlin/kube-objects/object";
import type { Session } from "@purlin/preview";
import { printYaml } from "../files/yaml-file.ts";
import { type CaseRecord, type CompositeRecord, withoutTimes } from "./case-record.ts";
import { contains, mismatches } from "./match.ts";
import type { TestCase } from "./test-file.ts";

const { resourceName } = crossplaneAnnotations;

/** What a composite resource came to. */
export interface CaseState {
  readonly test: TestCase;
  readonly session: Session;
  readonly root: KubeObject;
  readonly caseRecord: CaseRecord;
  readonly xr: KubeObject | undefined;
  readonly claim: KubeObject | undefined;
  readonly resources: ReadonlyMap<string, KubeObject>;
  readonly record: CompositeRecord;
}

/** How files that expectations name are compared, and expressions evaluated. */
export interface Expecting {
  golden(file: string, text: string, test: TestCase): Promise<string[]>;
  cel(expression: string, variables: JsonObject): string | undefined;
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
  const isClaim = test.inputs["claim"] !== undefined;
  const xr = isClaim ? await boundTo(session, stored) : stored;
  const composed = xr === undefined ? [] : await session.composed(xr);
  const resources = new Map(
    composed.map((object) => [annotationOf(object, resourceName) ?? object.metadata.name ?? "", object]),
  );
  return {
    test,
    session,
    root,
    caseRecord: record,
    xr,
    claim: isClaim ? stored : undefined,
    resources,
    record: record.of(xr ?? root),
  };
}

async function boundTo(session: Session, claim: KubeObject | undefined): Promise<KubeObject | undefined> {
  const ref = (claim?.["spec"] as { readonly resourceRef?: Record<string, string> } | undefined)?.resourceRef;
  if (ref === undefined) return undefined;
  const { apiVersion = "", kind = "", name = "" } = ref;
  return await session.client.get({ apiVersion, kind }, { name });
}

type Expectation = (expected: JsonValue, state: CaseState, expecting: Expecting) => string[] | Promise<string[]>;

/** What is not as expected. Objects are expected to be valid, and reconciles to succeed, unless an expectation says otherwise. */
export async function expectationMismatches(
  expect: JsonObject,
  state: CaseState,
  expecting: Expecting,
): Promise<string[]> {
  const found: string[] = [];
  for (const [name, expected] of Object.entries(expect)) {
    found.push(...((await expectations[name]?.(expected as JsonValue, state, expecting)) ?? []));
  }
  return [...found, ...unexpected(expect, state)];
}

function unexpected(expect: JsonObject, { session, record }: CaseState): string[] {
  const refused = session.refusals().filter(({ isInvalid }) => isInvalid);
  const isValid = expect["valid"] ?? true;
  const invalid = isValid === true ? refused.map(({ text }) => `valid: expected true, got false: ${text}`) : [];
  const fatal = record.results.filter(({ severity }) => severity === "Fatal").map(({ message }) => String(message));
  // A failure that the case is about is named by one of these.
  const isAbout = ["fatal", "synced", "conditions", "results", "events", "valid", "not"].some(
    (name) => expect[name] !== undefined,
  );
  const failed = isAbout || refused.length > 0 ? [] : session.failures().map((text) => `reconcile failed: ${text}`);
  return [...invalid, ...failed, ...(isAbout || failed.length > 0 ? [] : fatal.map((text) => `fatal: ${text}`))];
}

const json = (object: KubeObject | undefined): JsonObject | undefined => object && withoutTimes(object);

const expectations: Readonly<Record<string, Expectation>> = {
  resources: (expected, state) => resourceSet(expected, state),
  resource: (expected, { resources, record }) =>
    Object.entries(asObject(expected)).flatMap(([name, match]) =>
      oneResource(name, match as JsonValue, { resources, record }),
    ),
  xr: (expected, { xr }) => mismatches(expected, json(xr), "xr"),
  claim: (expected, { claim }) => mismatches(expected, json(claim), "claim"),
  nested: nestedMismatches,
  conditions: (expected, { xr }) =>
    contains(asList(expected), (json(xr)?.["status"] as JsonObject | undefined)?.["conditions"] ?? [], "conditions"),
  results: (expected, { record }) => contains(asList(expected), record.results, "results"),
  events: (expected, { caseRecord }) => contains(asList(expected), caseRecord.events, "events"),
  fatal: fatalMismatches,
  ready: (expected, state) => condition("ready", "Ready", { expected, state }),
  synced: (expected, state) => condition("synced", "Synced", { expected, state }),
  deleted: (expected, { record }) =>
    mismatches({ $exact: asList(expected).toSorted() }, [...new Set(record.deleted)].toSorted(), "deleted"),
  writes: (expected, { record }) => mismatches(expected, record.writes, "writes"),
  calls: (expected, { record }) => mismatches(expected, record.calls, "calls"),
  requirements: (expected, { record }) => mismatches(expected, record.requirements, "requirements"),
  context: (expected, { record }) => mismatches(expected, record.context, "context"),
  ttl: (expected, { record }) => mismatches(expected, record.ttl, "ttl"),
  cel: (expected, state, { cel }) => asList(expected).flatMap((text) => cel(String(text), variablesOf(state)) ?? []),
  golden: (expected, state, { golden }) => golden(String(expected), goldenText(state), state.test),
  unchanged: unchangedMismatches,
  valid: (expected, { session }) =>
    expected === false && !session.refusals().some(({ isInvalid }) => isInvalid)
      ? ["valid: expected false, got true"]
      : [],
  not: async (expected, state, expecting) => {
    const inner = await expectationMismatches(asObject(expected), state, expecting);
    return inner.length > 0 ? [] : [`not: ${JSON.stringify(expected)} holds`];
  },
};

const asObject = (value: JsonValue): JsonObject => (isJsonObject(value) ? value : {});
const asList = (value: JsonValue): readonly JsonValue[] => (isJsonArray(value) ? value : [value]);

function resourceSet(expected: JsonValue, { resources }: CaseState): string[] {
  const { count, only, kinds } = asObject(expected);
  const names = [...resources.keys()].toSorted();
  const found: string[] = [];
  if (count !== undefined) found.push(...mismatches(count, names.length, "resources.count"));
  if (isJsonArray(only)) found.push(...mismatches({ $exact: only.toSorted() }, names, "resources.only"));
  if (isJsonObject(kinds)) {
    const counted = [...resources.values()].map(({ kind }) => kind);
    const actual = Object.fromEntries(
      Object.keys(kinds).map((kind) => [kind, counted.filter((one) => one === kind).length]),
    );
    found.push(...mismatches(kinds, actual, "resources.kinds"));
  }
  return found;
}

function oneResource(
  name: string,
  match: JsonValue,
  { resources, record }: Pick<CaseState, "resources" | "record">,
): string[] {
  const object = resources.get(name);
  if (match === "absent") return object === undefined ? [] : [`resource.${name}: expected none, got ${object.kind}`];
  if (object === undefined) {
    return [
      `resource.${name}: resource is missing; composed: ${[...resources.keys()].toSorted().join(", ") || "none"}`,
    ];
  }
  const step = record.steps.get(name);
  const blame = step === undefined ? "" : ` (set by step "${step}")`;
  return mismatches(match, json(object), `resource.${name}`).map((line) => `${withoutSecret(line, object)}${blame}`);
}

const isSecret = ({ apiVersion, kind }: Pick<KubeObject, "apiVersion" | "kind">): boolean =>
  apiVersion === "v1" && kind === "Secret";

/** The values of Secrets are not printed. */
function withoutSecret(line: string, object: KubeObject): string {
  const [, path] = /^(resource\..+?\.(?:data|stringData)\S*): /.exec(line) ?? [];
  return isSecret(object) && path !== undefined ? `${path}: another value (sensitive)` : line;
}

/** A Secret whose values are hidden. */
function masked(object: KubeObject): KubeObject {
  const { data } = object;
  if (!isSecret(object) || !isJsonObject(data)) return object;
  return { ...object, data: Object.fromEntries(Object.keys(data).map((key) => [key, "(sensitive)"])) };
}

async function nestedMismatches(expected: JsonValue, state: CaseState, expecting: Expecting): Promise<string[]> {
  const found: string[] = [];
  for (const [name, expect] of Object.entries(asObject(expected))) {
    const xr = state.resources.get(name);
    if (xr === undefined) {
      found.push(`nested.${name}: resource is missing`);
      continue;
    }
    const inputs: JsonObject = { xr: {} };
    const test = { ...state.test, inputs };
    const inner = await stateOf({ session: state.session, root: xr, record: state.caseRecord, test });
    const lines = await expectationMismatches(asObject(expect as JsonValue), inner, expecting);
    found.push(...lines.map((line) => `nested.${name}.${line}`));
  }
  return found;
}

function fatalMismatches(expected: JsonValue, { record, session }: CaseState): string[] {
  const texts = [
    ...record.results.filter(({ severity }) => severity === "Fatal").map(({ message }) => String(message)),
    ...session.failures(),
  ];
  const pattern = new RegExp(String(expected));
  if (texts.some((text) => pattern.test(text))) return [];
  return [
    `fatal: expected a fatal result that matches ${JSON.stringify(expected)}, got ${texts.length === 0 ? "none" : texts.join("; ")}`,
  ];
}

interface ConditionCheck {
  readonly expected: JsonValue;
  readonly state: CaseState;
}

function condition(name: string, type: string, { expected, state: { xr } }: ConditionCheck): string[] {
  const found = xr === undefined ? undefined : conditionsOf(xr).find((one) => one.type === type);
  const actual = found?.status === "True";
  if (actual === expected) return [];
  const why = found === undefined ? "no condition" : [found.reason, found.message].filter(Boolean).join(": ");
  return [`${name}: expected ${String(expected)}, got ${String(actual)} (${why})`];
}

async function unchangedMismatches(expected: JsonValue, state: CaseState): Promise<string[]> {
  if (expected !== true) return [];
  const { session, root, caseRecord, test, xr } = state;
  caseRecord.clear();
  await session.step(root);
  const after = await stateOf({ session, root, record: caseRecord, test });
  const isSame = jsonEqual((json(xr) ?? null) as JsonValue, (json(after.xr) ?? null) as JsonValue);
  if (after.record.writes === 0 && isSame) return [];
  return [
    `unchanged: one more reconcile wrote ${after.record.writes} composed resources${isSame ? "" : " and changed the composite resource"}`,
  ];
}

function variablesOf({ xr, claim, resources, record }: CaseState): JsonObject {
  const objects = Object.fromEntries([...resources].map(([name, object]) => [name, withoutTimes(object)]));
  return { xr: json(xr) ?? null, claim: json(claim) ?? null, resources: objects, results: record.results };
}

/** The composite resource, its composed resources by name, and results, as YAML documents. */
function goldenText({ xr, resources, record }: CaseState): string {
  const objects = [
    ...(xr === undefined ? [] : [xr]),
    ...[...resources].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, object]) => object),
  ];
  const results = record.results.map((result) => ({
    apiVersion: "render.crossplane.io/v1beta1",
    kind: "Result",
    ...result,
  }));
  return [...objects.map(masked).map(withoutTimes), ...results].map((object) => `---\n${printYaml(object)}`).join("");
}
