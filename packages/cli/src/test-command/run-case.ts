// SPDX-License-Identifier: Apache-2.0
import {
  crossplaneAnnotations,
  definitionFacts,
  deriveCrds,
  storedDefinition,
  withCrossplaneFields,
} from "@purlin/composition";
import type { RunStep } from "@purlin/function-runner";
import { isNoMatch } from "@purlin/kube-client";
import type { ControllerClient } from "@purlin/kube-controller";
import { isInvalid } from "@purlin/kube-objects/errors";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";
import {
  annotationOf,
  controllerOf,
  type KubeObject,
  keyOf,
  parseApiVersion,
  textAt,
} from "@purlin/kube-objects/object";
import { openSession, type Session, type SessionBase } from "@purlin/preview";
import { textOf, UserError } from "../user-error.ts";
import { asRendered } from "./case-outputs.ts";
import { CaseRecord, runUntilDone } from "./case-record.ts";
import type { Coverage } from "./coverage.ts";
import { type CaseState, type Expecting, expectationMismatches, stateOf, stateTree } from "./expectations.ts";
import {
  type CaseInputs,
  defines,
  type InputReader,
  patched,
  permissiveClaimDefinition,
  permissiveCrd,
  permissiveDefinition,
} from "./inputs.ts";
import type { FailureLine } from "./report-cases.ts";
import type { Reconcile, TestCase } from "./test-file.ts";
import { asTestFunction, type PendingCall, type TestFunctions, testManager } from "./test-functions.ts";

const { resourceName } = crossplaneAnnotations;
const maxRounds = 100;

/** What a case waits for. */
export interface CaseProgress {
  call?: PendingCall;
}

/** What a case came to. */
export interface CaseResult {
  /** What is not as expected. */
  readonly lines: readonly FailureLine[];
  /** The objects of a case that failed. */
  readonly tree?: string | undefined;
  /** What it rendered, where another case may need it. */
  readonly outputs?: readonly KubeObject[] | undefined;
}

/** The kinds of a case. */
export interface CaseKinds {
  readonly definitions: readonly KubeObject[];
  readonly crds: readonly KubeObject[];
  /** The scope of kinds that no file defines, unless an object has a namespace. */
  readonly isNamespaced: boolean;
  /** The names of definitions that no file has. Their kinds accept any field. */
  readonly openDefinitions: ReadonlySet<string>;
}

/** What cases share. */
export interface CaseDeps {
  readonly inputs: InputReader;
  readonly functions: TestFunctions;
  /** The server from which cases with these definitions begin. */
  readonly baseOf: (kinds: CaseKinds) => Promise<SessionBase>;
  readonly expecting: Expecting;
  readonly coverage: Coverage;
  readonly progress: CaseProgress;
  readonly signal: AbortSignal;
  /** Called when the time limit of the case begins: what cases share is ready. */
  readonly onStart: () => void;
}

/** Runs a case in objects of its own. */
export async function runCase(test: TestCase, deps: CaseDeps): Promise<CaseResult> {
  const inputs = await deps.inputs.read(test);
  const unrendered = mismatchedComposition(test, inputs);
  if (unrendered !== undefined) return { lines: [{ text: unrendered, at: test.at }] };
  const kinds = kindsOf(test, inputs);
  const { definitions, openDefinitions } = kinds;
  const base = await deps.baseOf(kinds);
  deps.onStart();
  const record = new CaseRecord();
  const { signal, coverage } = deps;
  const operations = test.kind === "OperationTest" ? [inputs.root] : [];
  coverage.expect([...inputs.compositions, ...operations], inputs.definitions);
  const open = (client: ControllerClient): ReturnType<TestFunctions["open"]> => {
    const functions = deps.functions.open({ client, server: base.client, asCrossplane: inputs.asCrossplane });
    const runStep = noting(record.recording(functions.runStep, inputs.root), deps, inputs.root);
    return { ...functions, close: () => functions.close(), runStep: definingKinds(runStep, { base, inputs, test }) };
  };
  await using session = await openSession({
    base,
    signal,
    functions: open,
    settings: { developmentFunctions: true, developmentTrust: { managers: [testManager] }, openDefinitions },
    parallel: 1,
    maxRounds,
    events: record.recorder(),
    context: inputs.context,
    onWrite: (change, writer) => record.wrote(change, writer, inputs.root),
  });
  const running: Running = { test, inputs, session, record, base, deps };
  const invalid = await setUp(running, definitions);
  if (invalid !== undefined) return { lines: invalidMismatches(running, invalid) };
  const result = await reconcileAll(running);
  const missing = missingSchema(running);
  return { ...result, lines: [...missing, ...result.lines], outputs: await outputsOf(running) };
}

/** xprin validates a composite resource against the files that a test names, if it names any. */
function missingSchema({ test, inputs }: Running): FailureLine[] {
  const { root, definitions, crds } = inputs;
  const { group } = parseApiVersion(root.apiVersion);
  const isCrdOf = (crd: KubeObject): boolean =>
    textAt(crd, ["spec", "group"]) === group && textAt(crd, ["spec", "names", "kind"]) === root.kind;
  const isMissing = !definitions.some((one) => defines(one, root)) && !crds.some(isCrdOf);
  if (test.xprin?.isValidated !== true || !isMissing) return [];
  return [{ text: `could not find CRD/XRD for: ${root.apiVersion}, Kind=${root.kind}`, at: test.at }];
}

async function outputsOf(running: Running): Promise<readonly KubeObject[] | undefined> {
  const { id, hooks } = running.test.xprin ?? {};
  if (id === undefined && hooks === undefined) return undefined;
  const { xr, resources } = await currentState(running);
  if (xr === undefined) return undefined;
  const given = running.inputs.root["spec"];
  return [
    asRendered(xr, isJsonObject(given) ? given : {}),
    ...[...resources.values()].map((object) => asRendered(object, undefined)),
  ];
}

/** Notes which call a case waits for, and what it covers. */
function noting(runStep: RunStep, { progress, coverage }: CaseDeps, root: KubeObject): RunStep {
  return async (reference, request, call) => {
    const { step, functionName } = reference;
    progress.call = { step, functionName };
    const run = await runStep(reference, request, call);
    delete progress.call;
    coverage.step(step, request, { response: run.response, root });
    const xr = request.observed?.composite?.resource?.value as KubeObject | undefined;
    // What a composite resource composes is set by the composition, not by the case.
    if (xr !== undefined && controllerOf(xr) !== undefined) coverage.composite(xr);
    return run;
  };
}

interface Running {
  readonly test: TestCase;
  readonly inputs: CaseInputs;
  readonly session: Session;
  readonly record: CaseRecord;
  readonly base: SessionBase;
  readonly deps: CaseDeps;
}

/** The namespace of what is composed; undefined for a claim, whose composite resource has none. */
function namespaceOf(test: TestCase, { root }: CaseInputs): string | undefined {
  return test.inputs["claim"] === undefined ? root.metadata.namespace : undefined;
}

/** xprin renders with the Composition that a test names, and with no other. */
function mismatchedComposition(test: TestCase, { root, compositions }: CaseInputs): string | undefined {
  if (test.xprin === undefined || test.inputs["xr"] === undefined) return undefined;
  for (const composition of compositions) {
    for (const field of ["apiVersion", "kind"] as const) {
      const wanted = textAt(composition, ["spec", "compositeTypeRef", field]) ?? "";
      if (wanted === root[field]) continue;
      return `composition's compositeTypeRef.${field} (${wanted}) does not match XR's ${field} (${root[field]})`;
    }
  }
  return undefined;
}

function kindsOf(test: TestCase, inputs: CaseInputs): CaseKinds {
  const isNamespaced = namespaceOf(test, inputs) !== undefined;
  const scene = { crds: inputs.crds, isNamespaced };
  if (test.kind === "OperationTest") return { ...scene, definitions: [], openDefinitions: new Set() };
  const definitions = withDefinition(test, inputs);
  const openDefinitions = namesOf(definitions).difference(namesOf(inputs.definitions));
  if (test.xprin === undefined) return { ...scene, definitions, openDefinitions };
  const own = definitions.filter((one) => defines(one, inputs.root));
  const others = definitions.filter((one) => !own.includes(one));
  const plain = others.flatMap((one) => deriveCrds(one, { functionRevisions: false })).map(withoutOwner);
  return { ...scene, definitions: own, crds: [...inputs.crds, ...plain], openDefinitions };
}

const namesOf = (objects: readonly KubeObject[]): ReadonlySet<string> =>
  new Set(objects.map(({ metadata }) => metadata.name ?? ""));

function withoutOwner({ metadata: { ownerReferences: _, ...metadata }, ...object }: KubeObject): KubeObject {
  return { ...object, metadata };
}

function withDefinition(test: TestCase, inputs: CaseInputs): readonly KubeObject[] {
  const { root, definitions } = inputs;
  const isDefined = definitions.some((one) => defines(one, root));
  return (isDefined ? definitions : [...definitions, missingDefinition(test, inputs)]).map(
    (one) => storedDefinition(one) ?? one,
  );
}

/** The kind of a claim's composite resource is that of a Composition of the same group. */
function missingDefinition(test: TestCase, { root, compositions }: CaseInputs): KubeObject {
  if (test.inputs["claim"] === undefined) return permissiveDefinition(root);
  const kinds = compositions
    .filter((one) => textAt(one, ["spec", "compositeTypeRef", "apiVersion"]) === root.apiVersion)
    .map((one) => textAt(one, ["spec", "compositeTypeRef", "kind"]));
  return permissiveClaimDefinition(root, kinds.find((kind) => kind !== undefined) ?? `X${root.kind}`);
}

/** Makes the objects that exist before the first reconcile. Resolves to why the composite resource or claim is refused, if it is. */
async function setUp(running: Running, definitions: readonly KubeObject[]): Promise<string | undefined> {
  const { session, inputs, test } = running;
  const { client } = session;
  const apply = { fieldManager: testManager, force: true } as const;
  try {
    for (const object of [inputs.root, ...inputs.others, ...inputs.observed]) await defineKind(object, running);
    await session.start();
    for (const object of [...inputs.functions.map(asTestFunction), ...inputs.compositions])
      await client.apply(object, apply);
    for (const object of inputs.others) await storeOther(object, running);
    await session.settle();
  } catch (error) {
    throw new UserError(`${test.at}: case "${test.name}": ${textOf(error)}`, { exitCode: 2, cause: error });
  }
  try {
    const { status, ...written } = inputs.root;
    running.deps.coverage.composite(inputs.root);
    const stored = await client.create(written, { fieldManager: testManager, fieldValidation: "Strict" });
    const root = status === undefined ? stored : { ...stored, status };
    if (root !== stored) await session.store(root);
    await observe(running, root, definitions);
    return undefined;
  } catch (error) {
    if (!isInvalid(error) && !/strict decoding error/.test(textOf(error))) throw error;
    return textOf(error);
  }
}

/**
 * Stores an object that functions may require. What an Operation may apply to has the defaults that a server sets, unless a server would
 * refuse it: a fixture may have only the fields that a function reads.
 */
async function storeOther(object: KubeObject, { session, inputs, test }: Running): Promise<void> {
  const { status, ...written } = placed(object, inputs.root);
  if (test.kind === "OperationTest" && (await session.client.get(object, keyOf(object))) === undefined) {
    const created = await session.client.create(written, { fieldManager: testManager }).catch(() => written);
    await session.store(status === undefined ? created : { ...created, status });
    return;
  }
  await session.store(status === undefined ? written : { ...written, status });
}

const placed = (object: KubeObject, root: KubeObject): KubeObject =>
  object.metadata.namespace === undefined && root.metadata.namespace !== undefined && object.kind !== "Namespace"
    ? { ...object, metadata: { ...object.metadata, namespace: root.metadata.namespace } }
    : object;

/** Makes composed resources that exist already those of the composite resource. */
async function observe(
  { session, inputs }: Running,
  root: KubeObject,
  definitions: readonly KubeObject[],
): Promise<void> {
  if (inputs.observed.length === 0) return;
  const definition = definitions.find((one) => defines(one, root));
  if (definition === undefined) return;
  const { apiVersion, kind, metadata } = root;
  const owner = {
    apiVersion,
    kind,
    name: metadata.name ?? "",
    uid: metadata.uid ?? "",
    controller: true,
    blockOwnerDeletion: true,
  };
  const refs: JsonObject[] = [];
  for (const object of inputs.observed) {
    const one = placed(object, root);
    const owned = { ...one, metadata: { ...one.metadata, ownerReferences: [owner] } };
    await session.store(owned as KubeObject);
    const { name = "", namespace } = one.metadata;
    // Objects of a namespaced composite resource are in its namespace.
    const elsewhere = metadata.namespace === undefined && namespace !== undefined ? { namespace } : {};
    refs.push({ apiVersion: one.apiVersion, kind: one.kind, name, ...elsewhere });
  }
  const { schema } = definitionFacts(definition);
  await session.store(withCrossplaneFields(root, schema, { resourceRefs: refs }));
}

async function reconcileAll(running: Running): Promise<CaseResult> {
  const { test, deps } = running;
  const found: FailureLine[] = [];
  for (const [index, reconcile] of test.reconciles.entries()) {
    const isLast = index === test.reconciles.length - 1;
    await advance(running, reconcile);
    const prefix = test.reconciles.length === 1 ? "" : `${reconcile.name}: `;
    const expected = [
      ...(reconcile.expect === undefined ? [] : [{ expect: reconcile.expect, at: index }]),
      ...(isLast && test.expect ? [{ expect: test.expect, at: undefined }] : []),
    ];
    // What no expectation says: the objects are valid, and nothing failed that was not expected to.
    for (const { expect, at } of expected.length === 0 ? [{ expect: {}, at: undefined }] : expected) {
      const mismatches = await expectationMismatches(expect, await currentState(running), deps.expecting);
      found.push(...mismatches.map((one) => ({ text: `${prefix}${one.text}`, at: test.locate(one.at, at) })));
    }
    if (found.length > 0) return { lines: found, tree: await stateTree(await currentState(running)) };
  }
  return { lines: found };
}

async function advance(running: Running, { change, until }: Reconcile): Promise<void> {
  const { session, inputs, record } = running;
  record.clear();
  await applyChange(running, change);
  if (until === "settled" && running.test.kind === "OperationTest") {
    await runUntilDone(session, inputs.root);
    return;
  }
  if (until === "settled") {
    await session.step(inputs.root);
    await session.settle();
    // What the change made ready is made ready again for what came of it, until nothing more comes.
    if (change["ready"] !== undefined) await readyUntilSettled(running, change["ready"]);
    return;
  }
  for (let count = 0; count < until; count += 1) await session.step(inputs.root);
}

async function readyUntilSettled(running: Running, ready: JsonValue): Promise<void> {
  for (let round = 0; round < maxRounds; round += 1) {
    if (!(await makeReady(running, ready))) return;
    await running.session.settle();
  }
}

async function currentState({ session, inputs, record, test }: Running): Promise<CaseState> {
  return await stateOf({ session, root: inputs.root, record, test });
}

function invalidMismatches({ test }: Running, text: string): FailureLine[] {
  const expected = [test.expect, ...test.reconciles.map(({ expect }) => expect)].find(
    (one) => one?.["valid"] === false,
  );
  return expected === undefined
    ? [{ text: `valid: expected true, got false: ${text}`, at: test.locate(["valid"]) }]
    : [];
}

/** Plays what users and other controllers do between reconciles. */
async function applyChange(running: Running, change: JsonObject): Promise<void> {
  const { session, inputs, test, deps } = running;
  const { client } = session;
  const { xr, observed, ready, required, functions } = change;
  if (xr !== undefined) {
    const current = await client.get(inputs.root, keyOf(inputs.root));
    if (current !== undefined) {
      const changed = patched(current, xr, test);
      deps.coverage.composite(changed);
      await client.update(changed, { fieldManager: testManager });
    }
  }
  if (isJsonObject(observed)) await changeObserved(running, observed);
  if (ready !== undefined) await makeReady(running, ready);
  for (const object of await deps.inputs.objects(required, test, "change.required")) {
    await defineKind(object, running);
    await storeOther(object, running);
  }
  for (const object of await deps.inputs.objects(functions, test, "change.functions")) {
    await client.apply(asTestFunction(object), { fieldManager: testManager, force: true });
  }
  if (change["delete"] === true) await client.delete({ ...inputs.root, ...keyOf(inputs.root) });
}

async function changeObserved(running: Running, observed: JsonObject): Promise<void> {
  const { session, test } = running;
  const composed = await composedOf(running);
  for (const [name, patch] of Object.entries(observed)) {
    const current = composed.find((object) => annotationOf(object, resourceName) === name);
    if (current === undefined) {
      throw new UserError(`${test.at}: case "${test.name}": change.observed: no composed resource "${name}"`, {
        exitCode: 2,
      });
    }
    if (patch === null) await session.client.delete({ ...current, ...keyOf(current) });
    else await session.store(patched(current, patch as JsonValue, test));
  }
}

async function composedOf({ session, inputs, record, test }: Running): Promise<readonly KubeObject[]> {
  const { xr } = await stateOf({ session, root: inputs.root, record, test });
  return xr === undefined ? [] : await session.composed(xr);
}

/** Resolves to whether anything was not ready before. */
async function makeReady(running: Running, ready: JsonValue): Promise<boolean> {
  const names = isJsonArray(ready) ? ready : undefined;
  let changed = false;
  for (const object of await composedOf(running)) {
    const isNamed = names === undefined || names.includes(annotationOf(object, resourceName) ?? "");
    const now = isNamed ? withReady(object) : object;
    if (now === object) continue;
    changed = true;
    await running.session.store(now);
  }
  return changed;
}

/** With the conditions by which controllers and functions know that an object is ready. */
function withReady(object: KubeObject): KubeObject {
  const status = isJsonObject(object["status"]) ? object["status"] : {};
  const { conditions } = status;
  const kept = isJsonArray(conditions) ? conditions.filter(isJsonObject) : [];
  const wanted = { Synced: "ReconcileSuccess", Ready: "Available", Available: "MinimumReplicasAvailable" };
  const missing = Object.entries(wanted).filter(
    ([type]) => !kept.some((one) => one["type"] === type && one["status"] === "True"),
  );
  if (missing.length === 0) return object;
  const added = missing.map(([type, reason]) => ({
    type,
    status: "True",
    reason,
    lastTransitionTime: "2024-01-01T00:00:00Z",
  }));
  const others = kept.filter(({ type }) => !missing.some(([name]) => name === type));
  return { ...object, status: { ...status, conditions: [...others, ...added] } };
}

/** A function may compose kinds of which no file has the definition. */
function definingKinds(runStep: RunStep, defining: Pick<Running, "base" | "inputs" | "test">): RunStep {
  return async (reference, request, call) => {
    const run = await runStep(reference, request, call);
    for (const { resource } of run.response.desired?.resources.values() ?? []) {
      const object = resource?.value as KubeObject | undefined;
      if (typeof object?.apiVersion === "string" && typeof object.kind === "string") await defineKind(object, defining);
    }
    return run;
  };
}

/** Makes sure that there is a place for an object: its kind and its namespace. */
async function defineKind(
  object: KubeObject,
  { base, inputs, test }: Pick<Running, "base" | "inputs" | "test">,
): Promise<void> {
  const namespace = object.metadata?.namespace ?? inputs.root.metadata.namespace;
  if (namespace !== undefined) await base.ensureNamespace(namespace);
  try {
    await base.client.mapper.mapping(object);
  } catch (error) {
    if (!isNoMatch(error) || !object.apiVersion.includes(".")) return;
    const isNamespaced = (namespaceOf(test, inputs) ?? object.metadata?.namespace) !== undefined;
    await base.define([permissiveCrd(object, isNamespaced)]);
  }
}
