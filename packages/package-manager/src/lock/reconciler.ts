// SPDX-License-Identifier: Apache-2.0
import type { KubeObject } from "@purlin/kube-client";
import {
  type ConditionText,
  hasFinalizer,
  isPaused,
  type ReconcileResult,
  textAt,
  textOf,
  withFinalizer,
  withMember,
  withoutFinalizer,
} from "@purlin/kube-controller";
import { isAlreadyExists } from "@purlin/kube-objects";
import type { PackageRequest } from "../fetch/package-request.ts";
import { type PackagePorts, packageFieldManagers } from "../manager/package-manager-ports.ts";
import { isDigest } from "../oci/digest.ts";
import { parseRepository } from "../oci/image-reference.ts";
import { otherKinds, packageFinalizers, packageTypes } from "../package-kinds.ts";
import { withTexts, writeStatus } from "../package-status.ts";
import { dnsLabel } from "../xpkg/friendly-name.ts";
import { commonDigest, highestAllowed, nearestAllowed } from "./choose-version.ts";
import { buildGraph, type DependencyGraph, findCycle, firstMissing, parentsOf, satisfies } from "./dependency-graph.ts";
import { type LockDependency, type LockEntry, readLock } from "./lock-entry.ts";
import { lockName } from "./lock-store.ts";

/** What the resolver of dependencies may do beyond installing what is missing. */
export interface ResolverOptions {
  readonly allowUpgrades: boolean;
  readonly allowDowngrades: boolean;
}

const timeoutMs = 60_000;

interface LockPass extends PackagePorts, ResolverOptions {
  readonly lock: KubeObject;
  readonly signal: AbortSignal;
}

/** Installs what packages need, one at a time: each new package changes the Lock, and with it what is missing. */
export async function reconcileLock(
  ports: PackagePorts,
  options: ResolverOptions,
  stopping: AbortSignal,
): Promise<ReconcileResult> {
  const signal = AbortSignal.any([stopping, AbortSignal.timeout(timeoutMs)]);
  const found = await ports.client.get(otherKinds.lock, { name: lockName }, { signal });
  if (found === undefined || isPaused(found)) return {};
  const entries = readLock(found);
  if (entries.length === 0) return clear({ ...ports, ...options, lock: found, signal });
  const lock = await ensureFinalizer(ports, found, signal);
  const pass = { ...ports, ...options, lock, signal };
  try {
    await resolveFirst(pass, entries);
    await tell(pass, { type: "Resolved", status: "True", reason: "DependencyResolutionSucceeded" });
    return {};
  } catch (error) {
    const message = `Error occurred during dependency resolution ${textOf(error)}`;
    await tell(pass, { type: "Resolved", status: "False", reason: "DependencyResolutionFailed", message });
    throw error;
  }
}

async function clear({ client, lock, signal }: LockPass): Promise<ReconcileResult> {
  const bare = withMember(lock, ["status", "conditions"], undefined);
  await writeStatus(client, { before: lock, after: bare, signal });
  if (!hasFinalizer(lock, packageFinalizers.lock)) return {};
  const current = (await client.get(otherKinds.lock, { name: lockName }, { signal })) ?? lock;
  const freed = withoutFinalizer(current, packageFinalizers.lock);
  await client.update(freed, { fieldManager: packageFieldManagers.update, signal });
  return {};
}

async function ensureFinalizer({ client }: PackagePorts, lock: KubeObject, signal: AbortSignal): Promise<KubeObject> {
  if (hasFinalizer(lock, packageFinalizers.lock)) return lock;
  const options = { fieldManager: packageFieldManagers.update, signal };
  return client.update(withFinalizer(lock, packageFinalizers.lock), options);
}

async function tell({ client, clock, lock, signal }: LockPass, text: ConditionText): Promise<void> {
  await writeStatus(client, { before: lock, after: withTexts(clock, lock, [text]), signal });
}

async function resolveFirst(pass: LockPass, entries: readonly LockEntry[]): Promise<void> {
  const graph = buildGraph(entries);
  const cycle = findCycle(graph);
  if (cycle !== undefined) throw new Error(`packages need each other in a circle: ${cycle.join(" → ")}`);
  const missing = firstMissing(graph);
  if (missing !== undefined)
    return install(pass, missing.dependency, constraintsOn(missing.parents, missing.dependency));
  if (!pass.allowUpgrades) return;
  const wrong = firstUnsatisfied(graph);
  if (wrong !== undefined) await move(pass, wrong, constraintsOn(parentsOf(graph, wrong.source), wrong));
}

function constraintsOn(parents: readonly LockEntry[], { source }: { readonly source: string }): readonly string[] {
  return parents.flatMap(({ dependencies }) =>
    dependencies.filter((dependency) => dependency.source === source).map(({ constraint }) => constraint),
  );
}

function firstUnsatisfied(graph: DependencyGraph): LockEntry | undefined {
  for (const entry of graph.values()) {
    const constraints = constraintsOn(parentsOf(graph, entry.source), entry);
    if (constraints.some((constraint) => !satisfies(entry.version, constraint))) return entry;
  }
  return undefined;
}

/** Creates the package of a dependency. One of that name that is there already is somebody's choice, and stays. */
async function install(pass: LockPass, dependency: LockDependency, constraints: readonly string[]): Promise<void> {
  const { source, kind } = dependency;
  const version = await versionFor(pass, source, constraints);
  const name = dnsLabel(parseRepository(source).repository);
  const object = { ...packageTypes[kind].package, metadata: { name }, spec: { package: referenceTo(source, version) } };
  try {
    await pass.client.create(object, { fieldManager: packageFieldManagers.update, signal: pass.signal });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
}

async function versionFor(pass: LockPass, source: string, constraints: readonly string[]): Promise<string> {
  const digest = commonDigest(constraints, source);
  if (digest !== undefined) return digest;
  const tags = await pass.packages.tags(source, requestOf(pass));
  const version = highestAllowed(tags, constraints);
  if (version !== undefined) return version;
  throw new Error(`no version of ${source} satisfies ${constraints.join(" and ")}; it has ${listed(tags)}`);
}

/** Moves a package that does not suit everybody who needs it. */
async function move(pass: LockPass, entry: LockEntry, constraints: readonly string[]): Promise<void> {
  const { client, allowDowngrades, signal } = pass;
  const digest = commonDigest(constraints, entry.source);
  const tags = digest === undefined ? await pass.packages.tags(entry.source, requestOf(pass)) : [];
  const choice = { installed: entry.version, constraints, allowDowngrade: allowDowngrades };
  const version = digest ?? nearestAllowed(tags, choice);
  if (version === undefined) {
    throw new Error(
      `no version of ${entry.source} satisfies ${constraints.join(" and ")}; ${entry.version} is installed, it has ${listed(tags)}`,
    );
  }
  const all = await client.list(packageTypes[entry.kind].package, { signal });
  const owner = all.find((one) => sourceOfPackage(one) === entry.source);
  if (owner === undefined) throw new Error(`cannot find the installed package of ${entry.source}`);
  const changed = withMember(owner, ["spec", "package"], referenceTo(entry.source, version));
  await client.update(changed, { fieldManager: packageFieldManagers.update, signal });
}

function sourceOfPackage(object: KubeObject): string | undefined {
  const reference = textAt(object, ["spec", "package"]);
  if (reference === undefined) return undefined;
  const { registry, repository } = parseRepository(reference);
  return `${registry}/${repository}`;
}

function referenceTo(source: string, version: string): string {
  return isDigest(version) ? `${source}@${version}` : `${source}:${version}`;
}

function requestOf({ signal }: LockPass): Omit<PackageRequest, "reference"> {
  return { pullSecrets: [], pullPolicy: "IfNotPresent", signal };
}

function listed(tags: readonly string[]): string {
  return tags.length === 0 ? "none" : tags.slice(-10).join(", ");
}
