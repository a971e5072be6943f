// SPDX-License-Identifier: Apache-2.0

import {
  explainTimeout,
  type ReconcileContext,
  ReconcileError,
  type ReconcileResult,
  type ReconcilerDefinition,
  withConditionTexts,
} from "@purlin/kube-controller";
import { during, isAlreadyExists, textOf } from "@purlin/kube-objects/errors";
import {
  type ConditionText,
  hasFinalizer,
  isDeleted,
  type KubeObject,
  memberAt,
  withFinalizer,
  withMember,
  withoutFinalizer,
} from "@purlin/kube-objects/object";
import { isDigest } from "@purlin/oci";
import { clearConditions, type PackageDeps, packageFieldManagers } from "../package-deps.ts";
import { otherKinds, packageFinalizers, packageTypes } from "../package-kinds.ts";
import { buildGraph, type DependencyGraph, findCycle, firstMissing, parentsOf, satisfies } from "./dependency-graph.ts";
import {
  commonDigest,
  compareClaims,
  dependencyName,
  highestAllowed,
  type LockDependency,
  type LockEntry,
  nearestAllowed,
  readLock,
  resolutionFailed,
  sourceOfPackage,
  versionOfPackage,
} from "./lock-store.ts";

/** What the resolver may do beside installing missing dependencies. */
export interface ResolverOptions {
  readonly allowUpgrades: boolean;
  readonly allowDowngrades: boolean;
}

const timeoutMs = 60_000;
const failedReason = "DependencyResolutionFailed";

interface LockContext extends PackageDeps, ResolverOptions, ReconcileContext {}

/** Installs the dependencies of packages, one at a time: each new package changes the Lock, and with it what is missing. */
export function lockReconciler(deps: PackageDeps, options: ResolverOptions): ReconcilerDefinition<LockContext> {
  const resolved = { type: "Resolved", status: "True", reason: "DependencyResolutionSucceeded" } as const;
  const report = ({ stored, writeStatus }: LockContext, text: ConditionText): Promise<void> =>
    writeStatus(withConditionTexts(stored.object, [text], deps.clock));
  return {
    ...deps,
    type: otherKinds.lock,
    timeoutMs,
    onPause: "stop",
    extend: (context) => ({ ...deps, ...options, ...context }),
    async reconcile(context) {
      const entries = readLock(context.stored.object);
      if (entries.length === 0) return clear(context);
      await ensureFinalizer(context);
      await resolveFirst(context, entries).catch((error: unknown) => {
        throw new ReconcileError(failedReason, `${resolutionFailed}${textOf(error)}`, error);
      });
      await report(context, resolved);
      return {};
    },
    onFailure: ({ message }, context) =>
      report(context, { type: "Resolved", status: "False", reason: failedReason, message }),
  };
}

async function clear(context: LockContext): Promise<ReconcileResult> {
  await clearConditions(context);
  const { client, stored, signal } = context;
  if (!hasFinalizer(stored.object, packageFinalizers.lock)) return {};
  const freed = withoutFinalizer(stored.object, packageFinalizers.lock);
  await client.update(freed, { fieldManager: packageFieldManagers.update, signal });
  return {};
}

async function ensureFinalizer({ client, stored, signal }: LockContext): Promise<void> {
  if (hasFinalizer(stored.object, packageFinalizers.lock)) return;
  const options = { fieldManager: packageFieldManagers.update, signal };
  stored.object = await client.update(withFinalizer(stored.object, packageFinalizers.lock), options);
}

async function resolveFirst(context: LockContext, entries: readonly LockEntry[]): Promise<void> {
  const graph = buildGraph(entries);
  const cycle = findCycle(graph);
  if (cycle !== undefined) throw new Error(`dependency cycle: ${cycle.join(" → ")}`);
  const missing = firstMissing(graph);
  if (missing !== undefined) return install(context, missing.dependency, wishesFor(graph, missing.dependency));
  if (!context.allowUpgrades) return;
  const wrong = firstUnsatisfied(graph);
  if (wrong !== undefined) await move(context, wrong, wishesFor(graph, wrong));
}

/** A constraint on the version of a dependency, and the package that has it. */
interface Wish {
  readonly constraint: string;
  readonly by: string;
}

function wishesFor(graph: DependencyGraph, { source }: { readonly source: string }): readonly Wish[] {
  return parentsOf(graph, source).flatMap((parent) =>
    parent.dependencies
      .filter((dependency) => dependency.source === source)
      .map(({ constraint }) => ({ constraint, by: parent.source })),
  );
}

function unsatisfied(source: string, wishes: readonly Wish[], there: string): Error {
  const wanted = wishes.map(({ constraint, by }) => `${constraint} (required by ${by})`).join(" and ");
  return new Error(`no version of ${source} satisfies ${wanted}; ${there}`);
}

function firstUnsatisfied(graph: DependencyGraph): LockEntry | undefined {
  for (const entry of graph.values()) {
    const isWrong = ({ constraint }: Wish): boolean => !satisfies(entry.version, constraint);
    if (wishesFor(graph, entry).some(isWrong)) return entry;
  }
  return undefined;
}

/** Installs a dependency, unless a package of its source exists under any name. */
async function install(context: LockContext, dependency: LockDependency, wishes: readonly Wish[]): Promise<void> {
  const { source, kind } = dependency;
  if (!Object.hasOwn(packageTypes, kind)) throw new Error(`dependency ${source} has the unknown package kind ${kind}`);
  const installed = await installedFrom(context, dependency);
  if (installed !== undefined) return adopt(context, { dependency, installed, wishes });
  const version = await versionFor(context, source, wishes);
  const metadata = { name: dependencyName(source) };
  const object = { ...packageTypes[kind].package, metadata, spec: { package: referenceTo(source, version) } };
  try {
    await context.client.create(object, { fieldManager: packageFieldManagers.update, signal: context.signal });
  } catch (error) {
    // An existing package of that name is a user's choice, and stays.
    if (!isAlreadyExists(error)) throw error;
  }
}

/**
 * The package of a source; of several, the one that has the place in the Lock. It need not be in the Lock: between two revisions
 * of a package neither may be. Packages that skip dependency resolution never are, and do not count.
 */
async function installedFrom(
  { client, signal }: LockContext,
  { source, kind }: Pick<LockDependency, "source" | "kind">,
): Promise<KubeObject | undefined> {
  // Read from the server: one that the cache does not have yet would be installed twice.
  const { items } = await client.live.list(packageTypes[kind].package, { signal });
  const found = items.filter(
    (one) => sourceOfPackage(one) === source && memberAt(one, ["spec", "skipDependencyResolution"]) !== true,
  );
  const [first] = found.toSorted((a, b) => Number(isDeleted(a)) - Number(isDeleted(b)) || compareClaims(a, b));
  return first;
}

interface Adoption {
  readonly dependency: LockDependency;
  readonly installed: KubeObject;
  readonly wishes: readonly Wish[];
}

/** Keeps an installed package, or moves it to a version that satisfies all constraints. Its revision enters the Lock by itself. */
async function adopt(context: LockContext, { dependency, installed, wishes }: Adoption): Promise<void> {
  const { source, kind } = dependency;
  const { name } = installed.metadata;
  if (isDeleted(installed)) throw new Error(`${kind} "${name}" of ${source} is being deleted; retrying`);
  const version = versionOfPackage(installed);
  if (!context.allowUpgrades || wishes.every(({ constraint }) => satisfies(version, constraint))) return;
  await move(context, { source, kind, version }, wishes);
}

async function versionFor(context: LockContext, source: string, wishes: readonly Wish[]): Promise<string> {
  const constraints = wishes.map(({ constraint }) => constraint);
  const digest = commonDigest(constraints, source);
  if (digest !== undefined) return digest;
  const tags = await tagsOf(context, source);
  const version = highestAllowed(tags, constraints);
  if (version !== undefined) return version;
  throw unsatisfied(source, wishes, `available: ${listed(tags)}`);
}

function tagsOf(context: LockContext, source: string): Promise<readonly string[]> {
  const request = { pullSecrets: [], pullPolicy: "IfNotPresent", signal: context.signal } as const;
  const read = (): Promise<readonly string[]> => context.packages.tags(source, request);
  return during(`cannot list the versions of ${source}`, () => explainTimeout(context, read));
}

/** Moves a package that does not satisfy all constraints. */
async function move(
  context: LockContext,
  entry: Pick<LockEntry, "source" | "kind" | "version">,
  wishes: readonly Wish[],
): Promise<void> {
  const { client, allowDowngrades, signal } = context;
  const constraints = wishes.map(({ constraint }) => constraint);
  const digest = commonDigest(constraints, entry.source);
  const tags = digest === undefined ? await tagsOf(context, entry.source) : [];
  const choice = { installed: entry.version, constraints, allowDowngrade: allowDowngrades };
  const version = digest ?? nearestAllowed(tags, choice);
  if (version === undefined)
    throw unsatisfied(entry.source, wishes, `installed: ${entry.version}, available: ${listed(tags)}`);
  const owner = await installedFrom(context, entry);
  if (owner === undefined) throw new Error(`cannot find the installed package of ${entry.source}`);
  const changed = withMember(owner, ["spec", "package"], referenceTo(entry.source, version));
  await client.update(changed, { fieldManager: packageFieldManagers.update, signal });
}

function referenceTo(source: string, version: string): string {
  return isDigest(version) ? `${source}@${version}` : `${source}:${version}`;
}

function listed(tags: readonly string[]): string {
  return tags.length === 0 ? "none" : tags.slice(-10).join(", ");
}
