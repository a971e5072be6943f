// SPDX-License-Identifier: Apache-2.0
import { setTimeout } from "node:timers/promises";
import { isNoMatch, isServed, type KubeClient, NoMatchError } from "@purlin/kube-client";
import { findStatusError } from "@purlin/kube-objects/errors";
import { conditionsOf, type KubeObject, keyOf, type TypeRef, textAt } from "@purlin/kube-objects/object";
import { parseFieldPath } from "../files/yaml-position.ts";
import { harmlessLine } from "../harmless.ts";
import { failureOf, findDefinition, isDefinition, isOffered } from "../tree/defined-kinds.ts";
import { UserError } from "../user-error.ts";
import { applyProblems, nameOf, objectProblems } from "./apply-problem.ts";
import type { Manifest } from "./manifest.ts";
import { awaitPackages, bringsKinds } from "./package-kinds.ts";

/** An XRD that was applied. */
interface AppliedDefinition {
  readonly manifest: Manifest;
  readonly stored: KubeObject;
}

/** What has to be there before what, by group and kind; everything else comes last. */
const stages: readonly (readonly string[])[] = [
  ["/Namespace", "apiextensions.k8s.io/CustomResourceDefinition"],
  ["apiextensions.crossplane.io/CompositeResourceDefinition"],
  ["pkg.crossplane.io/*"],
  ["apiextensions.crossplane.io/Composition"],
  // What compositions and their functions may read, before anything is composed.
  ["/ConfigMap", "/Secret", "apiextensions.crossplane.io/EnvironmentConfig"],
];

/** The field manager of applied manifests. */
export const manifestManager = "purlin-apply";

/** How to apply. */
export interface ApplyManifestsOptions {
  /** How long a kind that is being defined is waited for. */
  readonly waitMs: number;
  readonly signal: AbortSignal;
  /** Of objects that name none; `default` unless given. */
  readonly namespace?: string | undefined;
  /** Called with each applied object, what changed, and the object as stored. */
  readonly onApplied?: (manifest: Manifest, change: ApplyChange, stored: KubeObject) => void;
  /** Called once when an object has to wait for its kind. */
  readonly onWait?: (manifest: Manifest, definition: string) => void;
}

/** What applying an object came to. */
type ApplyChange = "created" | "configured" | "unchanged";

const pollMs = 50;

/**
 * Applies manifests, what defines kinds first; objects of a kind that is being defined wait for it, and those of a kind that nothing
 * defines yet wait for the packages among the manifests when all others are applied. An object that is refused keeps none of the others from being applied, and an XRD that makes no kind is a problem too; in the end all problems are
 * reported at once, as one UserError of a line each.
 */
export async function applyManifests(
  client: KubeClient,
  manifests: readonly Manifest[],
  options: ApplyManifestsOptions,
): Promise<void> {
  // A kind may have been defined again since the last time, with another scope.
  client.mapper.forget();
  const problems: string[] = [];
  const applying: Applying = { ...options, limits: new Map(), others: [] };
  const definitions: AppliedDefinition[] = [];
  const packages: KubeObject[] = [];
  const deferred: Manifest[] = [];
  for (const manifest of inApplyOrder(manifests)) {
    options.signal.throwIfAborted();
    const mistakes = isDefinition(manifest.object) ? await definitionMistakes(manifest) : [];
    problems.push(...mistakes);
    if (mistakes.length > 0) continue;
    const definition = definitions.find(({ stored }) => defines(stored, manifest.object));
    if (definition !== undefined) await whyNotServed(client, definition.stored, options);
    try {
      const { change, stored } = await applyOne(client, manifest, applying);
      options.onApplied?.(manifest, change, stored);
      if (isDefinition(stored)) definitions.push({ manifest, stored });
      if (bringsKinds(stored)) packages.push(stored);
    } catch (error) {
      if (options.signal.aborted) throw error;
      if (error instanceof UndefinedKindError && packages.length > 0) deferred.push(manifest);
      else problems.push(...problemsOf(manifest, error, applying));
    }
  }
  if (deferred.length > 0) problems.push(...(await applyAfterPackages(client, { deferred, packages }, applying)));
  problems.push(...(await awaitDefinitions(client, definitions, applying)));
  if (problems.length > 0) throw new ApplyError(problems, { isInput: applying.others.length === 0 });
}

/** What is wrong with one object, a line each. Notes an error that correct files could have as well. */
function problemsOf(manifest: Manifest, error: unknown, { others }: Applying): string[] {
  if (!isOfInput(manifest, error)) others.push(error);
  return applyProblems(manifest, error);
}

/** Whether the object is wrong, and not the API server: it refuses the object, or nothing defines its kind. */
function isOfInput(manifest: Manifest, error: unknown): boolean {
  const { code = 0 } = findStatusError(error)?.status ?? {};
  if (error instanceof KindError || [400, 404, 409, 422].includes(code)) return true;
  // The answer to a value of another type is an internal error in server-side apply, with the field in its text.
  return objectProblems(manifest, error).some(({ path }) => path.length > 0);
}

/** Applies objects whose kinds packages may bring. Resolves to what is wrong, a line each. */
async function applyAfterPackages(
  client: KubeClient,
  { deferred, packages }: { readonly deferred: readonly Manifest[]; readonly packages: readonly KubeObject[] },
  options: Applying,
): Promise<string[]> {
  const problems: string[] = [];
  const areServed = async (): Promise<boolean> => {
    for (const { object } of deferred) if (!(await isServed(client.mapper, object, options.signal))) return false;
    return true;
  };
  const late = await awaitPackages(client, packages, { ...options, areServed });
  for (const manifest of deferred) {
    try {
      const { change, stored } = await applyOne(client, manifest, options);
      options.onApplied?.(manifest, change, stored);
    } catch (error) {
      if (options.signal.aborted) throw error;
      const isLate = error instanceof UndefinedKindError && late !== undefined;
      if (isLate) options.others.push(error);
      const shown = isLate ? new UndefinedKindError(manifest.object, late) : error;
      problems.push(...problemsOf(manifest, shown, options));
    }
  }
  return problems;
}

/** Loaded when there is an XRD: it takes longer to load than a small file takes to apply. */
async function definitionMistakes(manifest: Manifest): Promise<string[]> {
  const { definitionProblems } = await import("./apply-problem.ts");
  return definitionProblems(manifest);
}

interface Applying extends ApplyManifestsOptions {
  /** Until when each kind is waited for: many objects of one kind wait together, not one after the other. */
  readonly limits: Map<string, number>;
  /** Errors that are not about the objects. */
  readonly others: unknown[];
}

/** Everything that kept objects from being applied. The exit code is 2 if it is all about the objects. */
export class ApplyError extends UserError {
  readonly problems: readonly string[];

  constructor(problems: readonly string[], { isInput }: { readonly isInput: boolean }) {
    super(problems.join("; "), { exitCode: isInput ? 2 : 1 });
    this.name = "ApplyError";
    this.problems = problems;
  }
}

async function applyOne(
  client: KubeClient,
  manifest: Manifest,
  options: Applying,
): Promise<{ readonly change: ApplyChange; readonly stored: KubeObject }> {
  const object = await locate(client, manifest, options);
  const before = await client.get(object, { ...object.metadata, name: object.metadata.name ?? "" }, options).then(
    ({ metadata }) => metadata.resourceVersion,
    () => undefined,
  );
  const stored = await client.apply(object, {
    fieldManager: manifestManager,
    // The file wins over changes by other field managers.
    force: true,
    fieldValidation: "Strict",
    signal: options.signal,
  });
  if (before === undefined) return { change: "created", stored };
  return { change: before === stored.metadata.resourceVersion ? "unchanged" : "configured", stored };
}

/** Waits for the kind, and puts a namespaced object that names no namespace into the given one. */
async function locate(client: KubeClient, manifest: Manifest, options: Applying): Promise<KubeObject> {
  const { object } = manifest;
  const { namespaced } = await mappingOf(client, manifest, options);
  if (!namespaced || object.metadata.namespace) return object;
  return { ...object, metadata: { ...object.metadata, namespace: options.namespace ?? "default" } };
}

async function mappingOf(
  client: KubeClient,
  manifest: Manifest,
  { waitMs, signal, onWait, limits }: Applying,
): Promise<{ readonly namespaced: boolean }> {
  const { object } = manifest;
  const type = `${object.apiVersion}/${object.kind}`;
  const limit = limits.get(type) ?? performance.now() + waitMs;
  limits.set(type, limit);
  for (let waited = false; ; waited = true) {
    try {
      return await client.mapper.mapping(object, signal);
    } catch (error) {
      if (!isNoMatch(error)) throw error;
    }
    const definition = await findDefinition(client, object, signal);
    if (definition === undefined) throw new UndefinedKindError(object, undefinedAdvice);
    if (definition.failure !== undefined || performance.now() > limit) {
      const reason = definition.failure ?? definition.reason ?? "not reconciled yet";
      const text = `${definition.name} does not offer it: ${reason}`;
      throw definition.failure === undefined ? new Error(text) : new KindError(text);
    }
    if (!waited) onWait?.(manifest, definition.name);
    await setTimeout(pollMs, undefined, { signal });
  }
}

/** The kind of an object is not offered, and waiting for it does not help. */
class KindError extends Error {}

/** Neither an XRD nor a CRD defines the kind of an object. */
class UndefinedKindError extends KindError {
  constructor(type: TypeRef, why: string) {
    super(`${new NoMatchError(type).message}: ${why}`);
    this.name = "UndefinedKindError";
  }
}

const undefinedAdvice = "check the spelling, or apply the definition of the kind too";

/** A manifest in a line of progress. */
export function appliedLine(manifest: Manifest, change: ApplyChange): string {
  return harmlessLine(`${nameOf(manifest)} ${change}`);
}

/** Waits until XRDs offer their kinds. Resolves to why some do not, a line each. */
async function awaitDefinitions(
  client: KubeClient,
  definitions: readonly AppliedDefinition[],
  options: Applying,
): Promise<string[]> {
  const problems: string[] = [];
  for (const { manifest, stored } of definitions) {
    const found = await whyNotServed(client, stored, options);
    if (found === undefined) continue;
    if (found.isLate) options.others.push(found);
    problems.push(problemOf(manifest, found.text));
  }
  return problems;
}

type Waiting = Pick<ApplyManifestsOptions, "waitMs" | "signal">;

/** Waits until an XRD serves its kinds with the schema that was applied. Resolves to why it does not, if it does not. */
async function whyNotServed(
  client: KubeClient,
  applied: KubeObject,
  options: Waiting,
): Promise<{ readonly text: string; readonly isLate: boolean } | undefined> {
  const { waitMs, signal } = options;
  const limit = performance.now() + waitMs;
  for (
    let current = applied;
    !isEstablished(current);
    current = await client.get(applied, keyOf(applied), { signal })
  ) {
    const failure = failureOf(current);
    if (failure !== undefined) return { text: failure, isLate: false };
    if (performance.now() > limit) return { text: lateness(current, waitMs), isLate: true };
    await setTimeout(pollMs, undefined, { signal });
  }
  return undefined;
}

/** Whether an XRD defines the kind of an object. */
function defines(definition: KubeObject, { apiVersion, kind }: TypeRef): boolean {
  const kinds = [
    ["spec", "names", "kind"],
    ["spec", "claimNames", "kind"],
  ].map((path) => textAt(definition, path));
  return apiVersion.startsWith(`${textAt(definition, ["spec", "group"])}/`) && kinds.includes(kind);
}

/** Offered for the schema that was applied, not for the one before it. */
function isEstablished(definition: KubeObject): boolean {
  const { generation = 0, deletionTimestamp } = definition.metadata;
  if (deletionTimestamp) return true;
  const seen = conditionsOf(definition).find(({ type }) => type === "Established")?.observedGeneration ?? generation;
  return isOffered(definition) && seen >= generation && failureOf(definition) === undefined;
}

function lateness(definition: KubeObject, waitMs: number): string {
  const said = conditionsOf(definition).length > 0 ? "" : ": no control plane has reconciled it";
  return `does not offer its kind after ${waitMs / 1000}s${said}`;
}

/** The API server names the place in the CRD, which is the same in the XRD it was made of. */
function problemOf(manifest: Manifest, failure: string): string {
  const field = /(?<=[\s"])spec\.versions\[\d+\][^:\s]*/.exec(failure)?.[0];
  return `${manifest.at(field === undefined ? [] : parseFieldPath(field))}: ${nameOf(manifest)}: ${failure}`;
}

/** Manifests in the order in which they can be applied: what defines first, what is defined last. Else as written. */
export function inApplyOrder(manifests: readonly Manifest[]): Manifest[] {
  return manifests
    .map((manifest, index) => ({ manifest, index, stage: stageOf(manifest.object) }))
    .sort((a, b) => a.stage - b.stage || a.index - b.index)
    .map(({ manifest }) => manifest);
}

/** Manifests in the stages in which they can be applied. */
export function applyStages(manifests: readonly Manifest[]): readonly (readonly Manifest[])[] {
  const byStage = Map.groupBy(inApplyOrder(manifests), ({ object }) => stageOf(object));
  return [...byStage.values()];
}

function stageOf({ apiVersion, kind }: TypeRef): number {
  const group = apiVersion.includes("/") ? (apiVersion.split("/")[0] ?? "") : "";
  const stage = stages.findIndex((kinds) => kinds.includes(`${group}/${kind}`) || kinds.includes(`${group}/*`));
  return stage === -1 ? stages.length : stage;
}
