// SPDX-License-Identifier: Apache-2.0

import type { KubeReader } from "@purlin/kube-client";
import { compareUtf8 } from "@purlin/kube-objects/json";
import { groupOf, type KubeObject } from "@purlin/kube-objects/object";
import { composedReport } from "./causes/composed.ts";
import { claimReport, compositeReport } from "./causes/composites.ts";
import { definitionReport } from "./causes/definitions.ts";
import { isOperationKind, operationReport } from "./causes/operations.ts";
import { isHealthyPackage, isPackageRevision, packageReport, revisionReport } from "./causes/packages.ts";
import { circuitOpen, stale } from "./causes/state.ts";
import { ageMs, claimedRef, elapsed, isTrue, refOf, refText, timeToReadyMs } from "./inspect/facts.ts";
import { definitionType, type Inspection, kindKey, readDefinedKinds, referenceableType } from "./inspect/inspection.ts";
import type {
  Cause,
  Edge,
  Evidence,
  Explanation,
  Finding,
  NodeReport,
  Note,
  ObjectRef,
  RunHistory,
  Verdict,
  Waiting,
} from "./model/explanation.ts";
import { type ReadBudget, Reader, textOfRef } from "./read/reader.ts";
import { compositeState, isPackage, isSound, packageTypes } from "./state/object-state.ts";

/** How to explain. */
interface ExplainOptions {
  readonly client: Pick<KubeReader, "get" | "list">;
  readonly signal?: AbortSignal;
  readonly now?: () => number;
  readonly history?: RunHistory | undefined;
  readonly budget?: Partial<ReadBudget>;
  readonly systemNamespace?: string;
}

const youngMs = 5 * 60_000;

/** Explains one object; undefined when it does not exist. */
export async function explainObject(object: KubeObject, options: ExplainOptions): Promise<Explanation> {
  const inspection = await startInspection(options, false);
  inspection.reader.add(object);
  return explainRoot(object, inspection);
}

async function startInspection(options: ExplainOptions, byList: boolean): Promise<Inspection> {
  const { client, signal, now = Date.now, history, budget, systemNamespace = "crossplane-system" } = options;
  const reader = new Reader({ client, signal, budget, byList });
  return { reader, now: now(), history, systemNamespace, kinds: await readDefinedKinds(reader) };
}

async function explainRoot(object: KubeObject, inspection: Inspection): Promise<Explanation> {
  const root = refOf(object);
  const result = await walk(root, inspection);
  const verdict = await verdictOf(object, result, inspection);
  return {
    apiVersion: "explain.purlin.dev/v1alpha1",
    kind: "Explanation",
    object: root,
    verdict,
    causes: ordered(result.causes),
    waiting: result.waiting,
    unknown: result.unknown,
    notes: result.notes,
    notRead: inspection.reader.notRead,
  };
}

/** Nearest to the failed step, then oldest, then most effects; then by text, so that the order is stable. */
function ordered(causes: readonly RankedCause[]): readonly Cause[] {
  const key = ({ cause }: RankedCause): string => `${cause.code} ${JSON.stringify(cause.object)}`;
  return causes
    .toSorted(
      (a, b) =>
        a.stage - b.stage ||
        compareUtf8(a.cause.since ?? "9", b.cause.since ?? "9") ||
        b.effects - a.effects ||
        compareUtf8(key(a), key(b)),
    )
    .map(({ cause }) => cause);
}

async function verdictOf(object: KubeObject, result: WalkResult, inspection: Inspection): Promise<Verdict> {
  if (result.causes.length > 0) return "broken";
  if (result.unknown.length > 0) return "unknown";
  if (result.waiting.length === 0) return isHealthy(object, inspection) ? "healthy" : "unknown";
  const since = Math.min(
    ...result.waiting.map((one) => elapsed(one.since, inspection.now) ?? 0).filter((ms) => ms >= 0),
    ageOfWait(object, inspection),
  );
  return since < (await patience(object, inspection)) ? "waiting" : "unknown";
}

function ageOfWait(object: KubeObject, { now }: Inspection): number {
  const ready = elapsed(readyTime(object), now);
  return ready ?? ageMs(object, now);
}

function readyTime(object: KubeObject): string | undefined {
  const conditions = (
    object["status"] as
      | { readonly conditions?: readonly { readonly type: string; readonly lastTransitionTime?: string }[] }
      | undefined
  )?.conditions;
  return conditions?.find(({ type }) => type === "Ready")?.lastTransitionTime;
}

/** Three times what objects of the kind usually take to become ready. */
async function patience(object: KubeObject, { reader, kinds }: Inspection): Promise<number> {
  if (!kinds.has(kindKey(object))) return youngMs;
  const { apiVersion, kind } = object;
  const all = (await reader.list({ apiVersion, kind })) ?? [];
  const times = all.flatMap((one) => timeToReadyMs(one) ?? []).sort((a, b) => a - b);
  const usual = times[Math.floor(times.length / 2)];
  return usual === undefined ? youngMs : Math.max(30_000, 3 * usual);
}

function isHealthy(object: KubeObject, { kinds }: Inspection): boolean {
  if (kinds.has(kindKey(object))) return isSound(compositeState(object));
  return true;
}

/** Whether the conditions of an object are of the past, although they may be met. */
function isStuck(object: KubeObject, inspection: Inspection): boolean {
  const old = stale(object, inspection);
  return (old !== undefined && old !== "young") || circuitOpen(object) !== undefined;
}

/** Explains all unhealthy claims, composite resources and packages. */
export async function explainAll(options: ExplainOptions): Promise<{
  readonly explanations: readonly Explanation[];
  readonly notRead: readonly string[];
  readonly total: number;
}> {
  const inspection = await startInspection(options, true);
  const { reader, kinds } = inspection;
  const types = [...kinds.values()].flatMap((kind) => referenceableType(kind) ?? []);
  const lists = await Promise.all(types.map((type) => reader.list(type)));
  const composites = lists.flatMap((all) => all ?? []);
  const packages = (await Promise.all(packageTypes.map((type) => reader.list(type)))).flatMap((all) => all ?? []);
  const definitions = [...new Set([...kinds.values()].map(({ definition }) => definition))];
  const unhealthy = [
    ...composites.filter(
      (one) => !isHealthy(one, inspection) || one.metadata.deletionTimestamp || isStuck(one, inspection),
    ),
    ...packages.filter((one) => !isHealthyPackage(one)),
    ...definitions.filter((one) => !isTrue(one, "Established") || one.metadata.deletionTimestamp),
  ];
  const explanations: Explanation[] = [];
  for (const object of rootsOf(unhealthy)) {
    reader.add(object);
    explanations.push(await explainRoot(object, inspection));
  }
  return { explanations, notRead: reader.notRead, total: composites.length };
}

/** Objects that another unhealthy one refers to are explained there. */
function rootsOf(objects: readonly KubeObject[]): readonly KubeObject[] {
  const claimed = new Set(objects.flatMap(claimedText));
  return objects
    .filter((one) => !claimed.has(text(refOf(one))))
    .toSorted((a, b) => compareUtf8(text(refOf(a)), text(refOf(b))));
}

/** Names an object among all, whatever version a reference names; in the order in which explanations are shown. */
function text({ apiVersion, kind, name, namespace }: ObjectRef): string {
  return `${kind} ${namespace ?? ""}/${name} ${groupOf(apiVersion)}`;
}

function claimedText(object: KubeObject): string[] {
  const ref = claimedRef(object);
  return ref === undefined ? [] : [text(ref)];
}

// The lazy graph: objects and the objects they wait for, inspected one after the other.

/** Far deeper than composite resources are nested; ends the walk of two that compose each other. */
const maxDepth = 20;

/** A cause with what its order depends on. */
interface RankedCause {
  readonly cause: Cause;
  /** 0 for the object itself and its steps, 1 for what it composes. */
  readonly stage: number;
  /** How many paths lead to it. */
  effects: number;
}

/** Everything that a walk found. */
interface WalkResult {
  readonly causes: RankedCause[];
  readonly waiting: Waiting[];
  readonly unknown: Evidence[];
  readonly notes: Note[];
}

interface Position {
  readonly chain: readonly string[];
  readonly stage: number;
}

/** Walks from an object to the causes of its state. */
async function walk(root: ObjectRef, inspection: Inspection): Promise<WalkResult> {
  const walker = new Walker(inspection);
  await walker.visit({ to: root }, { chain: [], stage: 0 });
  return walker.result;
}

class Walker {
  readonly result: WalkResult = { causes: [], waiting: [], unknown: [], notes: [] };
  readonly #inspection: Inspection;
  readonly #visited = new Map<string, RankedCause[]>();

  constructor(inspection: Inspection) {
    this.#inspection = inspection;
  }

  /** Inspects an object and what it waits for. Returns the causes found there. */
  async visit({ to, via }: Edge, { chain, stage }: Position): Promise<readonly RankedCause[]> {
    const key = textOfRef(to);
    const known = this.#visited.get(key);
    if (known !== undefined) {
      for (const one of known) one.effects += 1;
      return known;
    }
    const found: RankedCause[] = [];
    this.#visited.set(key, found);
    const at: Position = { chain: [...chain, ...(via === undefined ? [] : [via]), refText(to)], stage };
    if (chain.length >= maxDepth) return found;
    const object = await this.#inspection.reader.find(to);
    if (object === undefined) return found;
    const report = await inspectObject(object, this.#inspection);
    this.#keep(to, report, at);
    for (const finding of report.findings ?? []) found.push(...(await this.#follow(finding, at)));
    for (const edge of report.edges ?? []) {
      const isOwn = this.#inspection.kinds.get(kindKey(to))?.role === "claim" || isPackage(to);
      found.push(...(await this.visit(edge, { chain: at.chain, stage: isOwn ? stage : 1 })));
    }
    return found;
  }

  #keep(object: ObjectRef, report: NodeReport, { chain }: Position): void {
    this.result.waiting.push(...(report.waiting ?? []).map((one) => ({ object, ...one, effects: chain })));
    this.result.notes.push(...(report.notes ?? []).map((one) => ({ object, ...one })));
    this.result.unknown.push(...(report.unknown ?? []));
  }

  /** A finding is a cause unless what it waits for is broken. */
  async #follow(finding: Finding, { chain, stage }: Position): Promise<readonly RankedCause[]> {
    const { waitsFor = [], effectOnly = false, via, ...own } = finding;
    const below: RankedCause[] = [];
    for (const edge of waitsFor) below.push(...(await this.visit(edge, { chain, stage })));
    if (below.length > 0) return below;
    const effects = [...chain, ...(via === undefined ? [] : [via])];
    if (effectOnly) {
      this.result.waiting.push({ object: own.object, since: own.since, text: own.sentence, effects });
      return [];
    }
    const last = refText(own.object);
    const cause = { ...own, effects: effects.at(-1) === last || effects.includes(last) ? effects : [...effects, last] };
    const ranked: RankedCause = { cause, stage, effects: 1 };
    this.result.causes.push(ranked);
    return [ranked];
  }
}

/** Inspects one object, by its kind. */
function inspectObject(object: KubeObject, inspection: Inspection): Promise<NodeReport> {
  const defined = inspection.kinds.get(kindKey(object));
  if (defined?.role === "claim") return claimReport(object, inspection);
  if (defined?.role === "composite") return compositeReport(object, inspection);
  if (isPackage(object)) return packageReport(object, inspection);
  if (isPackageRevision(object)) return revisionReport(object, inspection);
  if (object.kind === definitionType.kind && object.apiVersion.startsWith("apiextensions.crossplane.io/")) {
    return definitionReport(object, inspection);
  }
  if (isOperationKind(object)) return operationReport(object, inspection);
  return composedReport(object, inspection);
}
