// SPDX-License-Identifier: Apache-2.0
import { functionReferences } from "@purlin/composition";
import {
  buildForest,
  type ForestSource,
  type Health,
  isSound,
  packageState,
  packageTypes,
  type TreeNode,
} from "@purlin/explain";
import type { FunctionProcess } from "@purlin/function-process";
import { functionNotFound, honoredDevelopmentOf } from "@purlin/function-runner";
import type { InformerLease, InformerPool } from "@purlin/kube-client";
import { conditionsOf, type KubeObject, keyOf, type TypeRef } from "@purlin/kube-objects/object";
import { harmlessLine } from "../harmless.ts";
import type { Style } from "../terminal/style.ts";
import { renderForest, type StateLine, stateLines, stateText } from "../tree/render-forest.ts";
import { upTrust } from "./source-functions.ts";

const compositionLabel = "crossplane.io/composition-name";

/** The status of everything at one moment. */
export interface StatusSnapshot {
  readonly forest: readonly TreeNode[];
  /** Packages and the processes of functions. */
  readonly functions: readonly Part[];
  /** Compositions that cannot work. */
  readonly compositions: readonly Part[];
  /** Definitions that do not offer their kinds yet. */
  readonly definitions: readonly Part[];
  /** Objects that were applied but have not been seen since. */
  readonly unseen: number;
}

/** The status of an object other than a claim or composite resource. */
interface Part {
  /** Such as `Function quickstart-app`. */
  readonly title: string;
  /** Its state in one line. */
  readonly text: string;
  /** `waiting` may become ready by itself, `problem` needs attention, `covered` has a problem that another part reports. */
  readonly state: "ready" | "waiting" | "problem" | "covered";
}

/** Where the status is read from. */
export interface StatusSource extends ForestSource {
  readonly pending: readonly KubeObject[];
  /** Packages and Compositions. */
  readonly packages: PackageSource;
}

/** Collects the status. `applied` are objects with the caches that must have seen them as stored. */
export function collectStatus(
  source: StatusSource,
  processes: readonly FunctionProcess[],
  applied: readonly AppliedObject[] = [],
): StatusSnapshot {
  const unseen = applied.filter(({ object, seen }) => !isSeen(object, seen(object)));
  return {
    forest: buildForest(source),
    functions: packageParts(source.packages.packages, processes),
    compositions: pipelineParts(source.packages),
    definitions: source.pending.map(definitionPart),
    unseen: unseen.length,
  };
}

/** An object that was applied, and where its changes are seen. */
export interface AppliedObject {
  readonly object: KubeObject;
  readonly seen: (object: KubeObject) => KubeObject | undefined;
}

function definitionPart(definition: KubeObject): Part {
  const reason = conditionsOf(definition).find(({ status, message }) => status !== "True" && message);
  const title = `${definition.kind} ${definition.metadata.name ?? ""}`;
  if (reason === undefined) return { title, text: "not offered yet", state: "waiting" };
  return { title, text: harmlessLine(reason.message ?? ""), state: "problem" };
}

/** Resource versions of the embedded API server are increasing numbers. */
function isSeen(applied: KubeObject, seen: KubeObject | undefined): boolean {
  return Number(seen?.metadata.resourceVersion ?? 0) >= Number(applied.metadata.resourceVersion ?? 0);
}

/** Whether nothing is left to wait for. */
export function isSettled(snapshot: StatusSnapshot): boolean {
  return snapshot.unseen === 0 && unreadyParts(snapshot).length === 0 && snapshot.forest.every(isReady);
}

function partsOf({ definitions, functions, compositions }: StatusSnapshot): readonly Part[] {
  return [...definitions, ...functions, ...compositions];
}

function unreadyParts(snapshot: StatusSnapshot): readonly Part[] {
  return partsOf(snapshot).filter(({ state }) => state === "waiting" || state === "problem");
}

function isReady({ state, children }: TreeNode): boolean {
  return isSound(state) && children.every(isReady);
}

/** Whether an object or a part reports an error. */
export function hasFailed(snapshot: StatusSnapshot): boolean {
  const failed = ({ state, children }: TreeNode): boolean => state.health === "failed" || children.some(failed);
  return partsOf(snapshot).some(({ state }) => state === "problem") || snapshot.forest.some(failed);
}

/** Everything as lines for a screen of this many rows. Where not all of it fits, what needs attention comes first. */
export function snapshotLines(
  snapshot: StatusSnapshot,
  style: Style,
  rows: number = Number.POSITIVE_INFINITY,
): string[] {
  const { forest } = snapshot;
  const parts = unreadyParts(snapshot).toSorted(
    (a, b) => Number(a.state === "waiting") - Number(b.state === "waiting"),
  );
  const lines = parts.flatMap(({ title, text, state }) => {
    const mark = state === "problem" ? style.bad("✗") : style.doubtful("…");
    return [`${mark} ${title}`, `    ${text}`];
  });
  const all = [...renderForest(forest, style), ...lines];
  if (all.length <= rows) return all;
  const ranked = forest.map((node) => ({ node, urgency: urgencyOf(node) }));
  const sorted = ranked.toSorted((a, b) => b.urgency - a.urgency).map(({ node }) => node);
  return [...lines, ...renderForest(sorted, style)];
}

const urgencies: Readonly<Record<Health, number>> = { none: 0, ready: 0, troubled: 1, waiting: 2, failed: 3 };

/** The highest urgency in a tree. */
function urgencyOf({ state, children }: TreeNode): number {
  return Math.max(urgencies[state.health], ...children.map(urgencyOf));
}

/** The state of functions, packages, claims and composite resources by name, in a line each, to see what changes. */
export function snapshotTexts({ forest, functions }: StatusSnapshot): Map<string, StateLine> {
  return new Map([...textsOf(functions), ...stateLines(forest)]);
}

/** The problems of definitions and Compositions by name. Without a problem they are not listed, although they exist. */
export function problemTexts({ definitions, compositions }: StatusSnapshot): Map<string, StateLine> {
  return new Map(textsOf([...definitions, ...compositions].filter(({ state }) => state === "problem")));
}

function textsOf(parts: readonly Part[]): (readonly [string, StateLine])[] {
  return parts.map((part) => [part.title, part] as const);
}

/** What is not ready, and why, in a line each. */
export function unsettledLines(snapshot: StatusSnapshot): string[] {
  const waiting: string[] = unreadyParts(snapshot).map(({ title, text }) => `${title}: ${text}`);
  const visit = ({ title, state, children }: TreeNode): void => {
    if (!isSound(state)) waiting.push(harmlessLine(`${title}: ${stateText(state)}`));
    children.forEach(visit);
  };
  snapshot.forest.forEach(visit);
  return waiting;
}

/** Compositions that cannot work, whether or not an XR uses them: a Function is missing, or a pipeline is invalid. */
function pipelineParts({ packages, compositions, compositionRevisions }: PackageSource): Part[] {
  const installed = packages.filter(({ kind }) => kind === "Function").map(({ metadata }) => metadata.name ?? "");
  const latest = latestRevisions(compositionRevisions);
  return compositions.flatMap((composition) => {
    const name = composition.metadata.name ?? "";
    const text = missingFunction(composition, installed) ?? invalidity(latest.get(name));
    return text === undefined ? [] : [{ title: `Composition ${name}`, text: harmlessLine(text), state: "problem" }];
  });
}

function missingFunction(composition: KubeObject, installed: readonly string[]): string | undefined {
  const known = new Set(installed);
  const missing = functionReferences(composition).find(
    ({ functionName }) => functionName !== "" && !known.has(functionName),
  );
  if (missing === undefined) return undefined;
  const { functionName, step } = missing;
  return functionNotFound({ functionName, step, composition: composition.metadata.name ?? "", installed });
}

function latestRevisions(revisions: readonly KubeObject[]): ReadonlyMap<string, KubeObject> {
  const latest = new Map<string, KubeObject>();
  for (const revision of revisions) {
    const name = revision.metadata.labels?.[compositionLabel] ?? "";
    const known = latest.get(name);
    if (known === undefined || numberOf(known) < numberOf(revision)) latest.set(name, revision);
  }
  return latest;
}

function numberOf(revision: KubeObject): number {
  return (revision["spec"] as { readonly revision?: number } | undefined)?.revision ?? 0;
}

function invalidity(revision: KubeObject | undefined): string | undefined {
  const condition = revision && conditionsOf(revision).find(({ type }) => type === "ValidPipeline");
  return condition?.status === "False" ? `${condition.reason}: ${condition.message}` : undefined;
}

/**
 * The packages and the processes of functions. What a process reports is newer than the conditions that an earlier run of the
 * control plane left on its Function, so a Function that should run here is ready only when its process serves.
 */
function packageParts(packages: readonly KubeObject[], processes: readonly FunctionProcess[]): Part[] {
  const running = new Map(processes.map((process) => [process.name, process]));
  const ofPackages = packages.flatMap((object) => partOf(object, running));
  const listed = new Set(ofPackages.map(({ title }) => title));
  return [...ofPackages, ...processes.map(processPart).filter(({ title }) => !listed.has(title))];
}

type Running = ReadonlyMap<string, FunctionProcess>;

function partOf(object: KubeObject, running: Running): readonly Part[] {
  const name = object.metadata.name ?? "";
  const title = `${object.kind} ${name}`;
  const development = object.kind === "Function" ? honoredDevelopmentOf(object, upTrust) : undefined;
  if (development?.kind === "source") {
    const process = running.get(name);
    return [process === undefined ? { title, text: "starting", state: "waiting" } : processPart(process)];
  }
  // Another program serves it; its failures are seen where it is called.
  if (development !== undefined) return [];
  return packagePart(object, title, running);
}

function packagePart(object: KubeObject, title: string, running: Running): readonly Part[] {
  const state = packageState(object);
  const revision = (object["status"] as { readonly currentRevision?: string } | undefined)?.currentRevision ?? "";
  const process = running.get(revision);
  if (state.health === "ready") {
    const isStarting = object.kind === "Function" && process === undefined;
    return [isStarting ? { title, text: "starting", state: "waiting" } : { title, text: "ready", state: "ready" }];
  }
  if (process?.state.phase === "failed") {
    return [{ title, text: `waiting for ${object.kind}Revision ${revision}`, state: "covered" }];
  }
  return [{ title, text: stateText(state), state: isFinal(object) ? "problem" : "waiting" }];
}

/** A package that could not be fetched needs attention; one that is being installed needs time. */
function isFinal(object: KubeObject): boolean {
  return packageState(object).reasons.some((reason) => reason.includes("UnpackingPackage"));
}

function processPart({ name, state, root, isProvider }: FunctionProcess): Part {
  // A process that runs from an image is that of a revision.
  const kind = root === undefined ? "Function" : "FunctionRevision";
  const title = `${isProvider ? "ProviderRevision" : kind} ${name}`;
  if (state.phase === "failed") return { title, text: harmlessLine(state.problem), state: "problem" };
  if (state.phase === "starting") return { title, text: "starting", state: "waiting" };
  if (state.problem === undefined) return { title, text: "serving", state: "ready" };
  const text = `${harmlessLine(state.problem)} (the last working version keeps serving)`;
  return { title, text, state: "problem" };
}

const extensions = "apiextensions.crossplane.io/v1";
const compositionType: TypeRef = { apiVersion: extensions, kind: "Composition" };
const revisionType: TypeRef = { apiVersion: extensions, kind: "CompositionRevision" };

/** What composing needs beside definitions: packages and Compositions, as they are now. */
export interface PackageSource {
  readonly packages: readonly KubeObject[];
  readonly compositions: readonly KubeObject[];
  readonly compositionRevisions: readonly KubeObject[];
}

/** A {@link PackageSource} that follows an API server. */
export interface PackageWatch extends PackageSource, AsyncDisposable {
  /** Whether objects of a type are followed here. */
  has(type: TypeRef): boolean;
  find(object: KubeObject): KubeObject | undefined;
  ready(signal: AbortSignal): Promise<void>;
}

/** Follows packages and Compositions through informers that controllers share. */
export function watchPackages(informers: InformerPool, onChange: () => void): PackageWatch {
  const types = [...packageTypes, compositionType, revisionType];
  const leases = new Map<string, InformerLease>(types.map((type) => [textOf(type), informers.acquire(type)]));
  const stops = [...leases.values()].map(({ informer }) => informer.subscribe(onChange));
  const list = (...wanted: readonly TypeRef[]): readonly KubeObject[] =>
    wanted.flatMap((type) => leases.get(textOf(type))?.informer.list() ?? []);
  return {
    get packages() {
      return list(...packageTypes);
    },
    get compositions() {
      return list(compositionType);
    },
    get compositionRevisions() {
      return list(revisionType);
    },
    has: (type) => leases.has(textOf(type)),
    find: (object) => leases.get(textOf(object))?.informer.get(keyOf(object)),
    async ready(signal) {
      await Promise.all([...leases.values()].map(({ informer }) => informer.ready(signal)));
    },
    async [Symbol.asyncDispose]() {
      for (const stop of stops) stop();
      await Promise.all([...leases.values()].map((lease) => lease.release()));
    },
  };
}

function textOf({ apiVersion, kind }: TypeRef): string {
  return `${apiVersion}/${kind}`;
}
