// SPDX-License-Identifier: Apache-2.0
import { setTimeout } from "node:timers/promises";
import { isNoMatch, type KubeClient, NoMatchError } from "@purlin/kube-client";
import type { KubeObject, TypeRef } from "@purlin/kube-objects/object";
import { harmlessLine } from "../terminal/harmless.ts";
import { UserError } from "../user-error.ts";
import { applyProblems, nameOf } from "./apply-problem.ts";
import { type AppliedDefinition, awaitDefinitions } from "./await-definitions.ts";
import { findDefinition, isDefinition } from "./defined-kinds.ts";
import type { Manifest } from "./manifest.ts";

/** What has to be there before what, by group and kind; everything else comes last. */
const stages: readonly (readonly string[])[] = [
  ["/Namespace", "apiextensions.k8s.io/CustomResourceDefinition"],
  ["apiextensions.crossplane.io/CompositeResourceDefinition"],
  ["pkg.crossplane.io/*"],
  ["apiextensions.crossplane.io/Composition"],
  // What compositions and their functions may read, before anything is composed.
  ["/ConfigMap", "/Secret", "apiextensions.crossplane.io/EnvironmentConfig"],
];

/** Who owns what was written down. */
export const manifestManager = "purlin-apply";

/** How to apply. */
export interface ApplyManifestsOptions {
  /** How long a kind that is being defined is waited for. */
  readonly waitMs: number;
  readonly signal: AbortSignal;
  /** Of objects that name none; `default` unless given. */
  readonly namespace?: string | undefined;
  /** Told about each object that was applied, what that changed, and the object as it is stored now. */
  readonly onApplied?: (manifest: Manifest, change: ApplyChange, stored: KubeObject) => void;
  /** Told once when an object has to wait for its kind. */
  readonly onWait?: (manifest: Manifest, definition: string) => void;
}

/** What applying an object came to. */
type ApplyChange = "created" | "configured" | "unchanged";

const pollMs = 50;

/**
 * Applies manifests, what defines kinds first; objects of a kind that is being defined wait for it. An object that is
 * refused keeps none of the others from being applied, and an XRD that makes no kind is a problem too; in the end all problems are
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
  const applying: Applying = { ...options, limits: new Map() };
  const definitions: AppliedDefinition[] = [];
  for (const manifest of inApplyOrder(manifests)) {
    options.signal.throwIfAborted();
    const mistakes = isDefinition(manifest.object) ? await definitionMistakes(manifest) : [];
    problems.push(...mistakes);
    if (mistakes.length > 0) continue;
    try {
      const { change, stored } = await applyOne(client, manifest, applying);
      options.onApplied?.(manifest, change, stored);
      if (isDefinition(stored)) definitions.push({ manifest, stored });
    } catch (error) {
      if (options.signal.aborted) throw error;
      problems.push(...applyProblems(manifest, error));
    }
  }
  problems.push(...(await awaitDefinitions(client, definitions, options)));
  if (problems.length > 0) throw new ApplyError(problems);
}

/** Loaded when there is an XRD: it takes longer to load than a small file takes to apply. */
async function definitionMistakes(manifest: Manifest): Promise<string[]> {
  const { definitionProblems } = await import("./definition-problems.ts");
  return definitionProblems(manifest);
}

interface Applying extends ApplyManifestsOptions {
  /** Until when each kind is waited for: many objects of one kind wait together, not one after the other. */
  readonly limits: Map<string, number>;
}

/** Everything that kept objects from being applied. */
export class ApplyError extends UserError {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join("; "));
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
    // The file is what its author wants, whoever changed the object since.
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
    if (definition === undefined) throw new Error(`${new NoMatchError(object).message}: ${undefinedAdvice}`);
    if (definition.failure !== undefined || performance.now() > limit) {
      const reason = definition.failure ?? definition.reason ?? "not reconciled yet";
      throw new Error(`${definition.name} does not offer it: ${reason}`);
    }
    if (!waited) onWait?.(manifest, definition.name);
    await setTimeout(pollMs, undefined, { signal });
  }
}

const undefinedAdvice = "check the spelling, or apply the definition of the kind too";

/** A manifest in a line of progress. */
export function appliedLine(manifest: Manifest, change: ApplyChange): string {
  return harmlessLine(`${nameOf(manifest)} ${change}`);
}

/** Manifests in the order in which they can be applied: what defines first, what is defined last. Else as written. */
export function inApplyOrder(manifests: readonly Manifest[]): Manifest[] {
  return manifests
    .map((manifest, index) => ({ manifest, index, stage: stageOf(manifest.object) }))
    .sort((a, b) => a.stage - b.stage || a.index - b.index)
    .map(({ manifest }) => manifest);
}

function stageOf({ apiVersion, kind }: TypeRef): number {
  const group = apiVersion.includes("/") ? (apiVersion.split("/")[0] ?? "") : "";
  const stage = stages.findIndex((kinds) => kinds.includes(`${group}/${kind}`) || kinds.includes(`${group}/*`));
  return stage === -1 ? stages.length : stage;
}
