// SPDX-License-Identifier: Apache-2.0

import { createInterface } from "node:readline/promises";
import { compositionKinds, definitionFacts } from "@purlin/composition";
import { guardTransport, isNoMatch, type KubeTransport } from "@purlin/kube-client";
import { isNotFound } from "@purlin/kube-objects/errors";
import { type JsonObject, printJson } from "@purlin/kube-objects/json";
import {
  controllerOf,
  type KubeObject,
  keyOf,
  type ObjectKey,
  parseApiVersion,
  type TypeRef,
} from "@purlin/kube-objects/object";
import {
  type ApplyStage,
  diffText,
  type Plan,
  planMarkdown,
  planNotes,
  planReport,
  planText,
  preview,
  previewManager,
} from "@purlin/preview";
import { type Cluster, openCluster } from "../cluster/cluster-client.ts";
import { findTargets } from "../cluster/find-resource.ts";
import { printYaml } from "../files/yaml-file.ts";
import { readClientCertificates } from "../function-call/probe-target.ts";
import { harmless, harmlessJson, harmlessLine } from "../harmless.ts";
import type { Io } from "../io.ts";
import { applyStages } from "../manifests/apply-manifests.ts";
import { type Manifest, readManifests, skippedLine } from "../manifests/manifest.ts";
import { type CommandInput, textOption } from "../options/command-spec.ts";
import { asInput, errorEntry, textOf, UserError } from "../user-error.ts";
import { openDiffFunctions } from "./diff-functions.ts";
import { type DiffInput, exitCodeOf, readAssumptions, readDiffInput, refuseDuplicates } from "./diff-input.ts";
import { UsedRights } from "./used-rights.ts";

/** `purlin diff [PATH…]` */
export async function run(input: CommandInput, io: Io): Promise<number> {
  try {
    return await printDiff(input, readDiffInput(input, io), io);
  } catch (error) {
    throw io.signal.aborted ? error : inStyle(error, textOption(input, "exitCode"));
  }
}

async function printDiff(input: CommandInput, diff: DiffInput, io: Io): Promise<number> {
  try {
    if (diff.printsRights) return await printRights(input, diff, io);
    const plan = await previewFiles(input, diff, { io });
    printPlan(plan, diff, io);
    return exitCodeOf(outcomeOf(plan), diff.exitStyle);
  } catch (error) {
    if (diff.format !== "json") throw error;
    // With -o json, stdout is one document in every case.
    io.stdout.write(
      `${harmlessJson(JSON.stringify({ apiVersion: "cli.purlin.dev/v1", kind: "DiffReport", errors: [errorEntry(error)] }, undefined, 2))}\n`,
    );
    throw error;
  }
}

/** In the styles of other tools, the exit code of an error is never one that means changes. */
function inStyle(error: unknown, style: string | undefined): unknown {
  if (style !== "kubectl" && style !== "terraform") return error;
  const { code, message } = errorEntry(error);
  const exitCode = exitCodeOf({ hasFailed: true, isInvalid: false, hasChanges: false }, style);
  return new UserError(message, { cause: error, exitCode, code });
}

/** Prints what a preview reads and dry-runs, whatever it finds. */
async function printRights(input: CommandInput, diff: DiffInput, io: Io): Promise<number> {
  const rights = new UsedRights();
  await previewFiles(input, diff, { io, rights });
  io.stdout.write(printYaml(rights.clusterRole("purlin-diff")));
  return 0;
}

/** Previews the files of a command line. Collects the rights that it uses. */
export async function previewFiles(
  input: CommandInput,
  diff: DiffInput,
  { io, rights = new UsedRights() }: { readonly io: Io; readonly rights?: UsedRights },
): Promise<Plan> {
  const onSkipped = (files: readonly string[]): void => void io.stderr.write(`${skippedLine(files)}\n`);
  const manifests =
    diff.paths.length === 0 ? [] : await asInput(() => readManifests(diff.paths, io, { stdin: true, onSkipped }));
  if (diff.paths.length > 0 && manifests.length === 0)
    throw new UserError(`${diff.paths.join(", ")}: no objects found: nothing to preview`, { exitCode: 2 });
  refuseDuplicates(manifests);
  const credentials = await readCredentials(diff, io);
  const assume = await asInput(() => readAssumptions(input, io));
  const transport = (inner: KubeTransport): KubeTransport => rights.collecting(guardTransport(inner));
  await using cluster = await openCluster(input, io, { transport, ignoresWarnings: true });
  const deadline = AbortSignal.timeout(diff.timeoutMs);
  const files = manifests.map(({ object }) => object);
  const { signal } = io;
  const pruned = diff.prunes ? await findPruned(cluster, files, { ...diff, signal }) : [];
  const deletes = [...(await findDeletes(cluster, diff.deletes, signal)), ...pruned];
  const certificates = readClientCertificates(input, io);
  const { overrides, functionsFrom } = diff;
  await using functions = await openDiffFunctions({
    input,
    cluster,
    certificates,
    overrides,
    functionsFrom,
    files,
    onForward: (target) => rights.forwards(target),
    io,
  });
  try {
    const plan = await preview({
      client: cluster.client,
      changes: { stages: stagesOf(manifests), deletes, applyAs: diff.applyAs, namespace: cluster.namespace },
      sharedStages: [...functions.sharedStages, ...credentialsStage(credentials)],
      functionStages: functions.stages,
      functions: functions.open,
      settings: functions.settings,
      roots: {
        functions: functions.overridden,
        only: diff.only,
        labelSelector: diff.prunes ? undefined : diff.selector,
        namespace: cluster.namespace,
      },
      unlisted: [...credentials, ...functions.moved],
      assume,
      baseline: diff.baseline,
      includesManual: diff.includesManual,
      checksStable: diff.checksStable,
      hasControllerRights: diff.hasControllerRights,
      projection: { status: diff.shows.has("status"), owners: diff.shows.has("owners") },
      ignores: diff.ignores,
      parallel: diff.parallel,
      maxRounds: diff.maxRounds,
      maxDepth: diff.maxDepth,
      signal,
      deadline,
    });
    return { ...plan, functions: plan.functions.map(functions.shown) };
  } catch (error) {
    if (deadline.aborted && !signal.aborted) {
      const calls = error instanceof Error && error.cause === deadline.reason ? error.message : "";
      throw new UserError(
        `the preview took longer than ${diff.timeoutMs / 1000} s${calls && ` (${calls})`}: raise --timeout, or preview less at once with --xr`,
        { cause: error },
      );
    }
    throw error;
  }
}

function stagesOf(manifests: readonly Manifest[]): readonly (readonly Manifest["object"][])[] {
  return applyStages(manifests).map((stage) => stage.map(({ object }) => object));
}

/** Secrets of --function-credentials; nothing else may be in the file. */
async function readCredentials({ credentialsFile }: DiffInput, io: Io): Promise<readonly KubeObject[]> {
  if (credentialsFile === undefined) return [];
  const manifests = await asInput(() => readManifests([credentialsFile], io));
  const other = manifests.find(({ object }) => object.kind !== "Secret");
  if (other !== undefined)
    throw new UserError(`${other.at()}: --function-credentials: expected Secrets, not ${other.object.kind}`, {
      exitCode: 2,
    });
  return manifests.map(({ object }) => object);
}

/** Credentials are written before anything else, in the preview alone. */
function credentialsStage(secrets: readonly KubeObject[]): readonly ApplyStage[] {
  if (secrets.length === 0) return [];
  return [
    async (client) => {
      for (const secret of secrets) await client.apply(secret, { fieldManager: previewManager, force: true });
    },
  ];
}

const ownKinds: readonly TypeRef[] = [
  compositionKinds.definition,
  compositionKinds.composition,
  { apiVersion: "pkg.crossplane.io/v1", kind: "Function" },
];

/** Objects with the labels of --prune that are in no file, of the kinds of the files, of definitions and of composite resources. */
async function findPruned(
  { client, namespace }: Cluster,
  files: readonly KubeObject[],
  { selectorText, signal }: Pick<DiffInput, "selectorText"> & { readonly signal: AbortSignal },
): Promise<readonly (TypeRef & ObjectKey)[]> {
  const { items: definitions } = await client.list(compositionKinds.definition, { signal });
  const defined = definitions
    .map(definitionFacts)
    .flatMap(({ compositeType, claimType }) => [compositeType, claimType]);
  const kinds = new Map<string, TypeRef>();
  for (const type of [...files, ...ownKinds, ...defined]) {
    if (type === undefined) continue;
    const { apiVersion, kind } = type;
    kinds.set(`${parseApiVersion(apiVersion).group}/${kind}`, { apiVersion, kind });
  }
  const idOf = ({ apiVersion, kind, metadata }: KubeObject, implied: string): string =>
    [parseApiVersion(apiVersion).group, kind, metadata.namespace ?? implied, metadata.name].join("\n");
  const kept = new Set(files.flatMap((object) => [idOf(object, namespace), idOf(object, "")]));
  const pruned: (TypeRef & ObjectKey)[] = [];
  for (const type of kinds.values()) {
    if (!(await isServed(client, type, signal))) continue;
    for (const object of (await client.list(type, { labelSelector: selectorText, signal })).items) {
      // What is composed goes with what composes it.
      if (controllerOf(object) !== undefined || kept.has(idOf(object, ""))) continue;
      pruned.push({ ...type, ...keyOf(object) });
    }
  }
  return pruned;
}

/** Whether a kind exists. What cannot be asked is a failure: objects of the kind would be missing from the plan. */
async function isServed({ mapper }: Cluster["client"], type: TypeRef, signal: AbortSignal): Promise<boolean> {
  try {
    await mapper.mapping(type, signal);
    return true;
  } catch (error) {
    if (isNoMatch(error)) return false;
    throw error;
  }
}

async function findDeletes(
  cluster: Cluster,
  words: readonly string[],
  signal: AbortSignal,
): Promise<readonly (TypeRef & ObjectKey)[]> {
  if (words.length === 0) return [];
  const targets = await asInput(() => findTargets(cluster.client, words, signal));
  const found: (TypeRef & ObjectKey)[] = [];
  for (const { resource, name } of targets) {
    const { apiVersion, kind } = resource;
    if (name === undefined)
      throw new UserError(`--delete ${words.join(" ")}: expected TYPE/NAME: name the objects of ${kind}`, {
        exitCode: 2,
      });
    const key = resource.namespaced ? { namespace: cluster.namespace, name } : { name };
    await cluster.client.get(resource, key, { signal }).catch((error: unknown) => {
      if (isNotFound(error)) throw new UserError(`--delete: ${textOf(error)}`, { exitCode: 2, cause: error });
      throw error;
    });
    found.push({ apiVersion, kind, ...key });
  }
  return found;
}

/** Prints a plan in the format that the command line asks for. */
export function printPlan(plan: Plan, diff: DiffInput, io: Io): void {
  const text = formatted(plan, diff);
  io.stdout.write(diff.format === "json" ? harmlessJson(text) : harmless(text));
  if (diff.format === "json") return;
  const composite = plan.composites.flatMap(({ kind, name, errors }) =>
    errors.map(({ text: message }) => `${kind}/${name}: ${message}`),
  );
  const errors = [...plan.errors.map(({ text: message }) => message), ...(diff.format === "plan" ? [] : composite)];
  for (const message of errors) io.stderr.write(`error: ${harmlessLine(message)}\n`);
  // The text of crossplane-diff has no place for them.
  if (diff.format === "diff") for (const note of planNotes(plan)) io.stderr.write(`${harmlessLine(note)}\n`);
}

function formatted(plan: Plan, { format, shows, isCompact, key, isCompositionMinimized }: DiffInput): string {
  const yaml = (value: JsonObject): string => printYaml(value);
  switch (format) {
    case "json":
      return `${printJson(planReport(plan), { indent: 2 })}\n`;
    case "yaml":
      return printYaml(planReport(plan));
    case "diff":
      return diffText(plan, { isCompact, yaml, isCompositionMinimized });
    case "markdown":
      return planMarkdown(plan, { isCompact, yaml, key, isCompositionMinimized });
    default:
      return planText(plan, {
        showsUnchanged: shows.has("unchanged"),
        showsPending: shows.has("pending"),
        isCompositionMinimized,
      });
  }
}

function outcomeOf({ composites: all, inputs, errors }: Plan): Parameters<typeof exitCodeOf>[0] {
  // What happens only when an owner moves a composite resource is shown, and does not count.
  const composites = all.filter(({ isDeferred }) => !isDeferred);
  const failures = [...errors, ...composites.flatMap((one) => one.errors)];
  const changes = [...inputs, ...composites.flatMap((one) => one.changes)];
  const refusals = changes.flatMap(({ refusal }) => refusal ?? []);
  return {
    hasFailed: [...failures, ...refusals].some(({ isInvalid }) => !isInvalid),
    isInvalid: [...failures, ...refusals].some(({ isInvalid }) => isInvalid),
    hasChanges: changes.length > 0,
  };
}

/** Previews files and asks whether to apply them. With a hash it asks nothing: the plan must be the one with that hash. */
export async function confirmPlan(input: CommandInput, hash: string | undefined, io: Io): Promise<boolean> {
  const diff = readDiffInput(input, io);
  const plan = await previewFiles(input, diff, { io });
  if (hash !== undefined && plan.hash !== hash) {
    throw new UserError(
      `the plan has changed: its hash is ${plan.hash}, not ${hash}: preview it again with purlin diff`,
    );
  }
  printPlan(plan, diff, io);
  if (plan.isStale) throw new UserError("the control plane changes too fast to preview: nothing was applied");
  const failed = plan.composites.some(({ errors, isDeferred }) => errors.length > 0 && !isDeferred);
  if (plan.errors.length > 0 || failed) throw new UserError("the preview has errors: nothing was applied");
  if (hash !== undefined) return true;
  if (!io.stdout.isTTY)
    throw new UserError(
      "--confirm needs a terminal; elsewhere use --confirm HASH with the hash of purlin diff -o json",
      { exitCode: 2 },
    );
  return asked(io);
}

async function asked(io: Io): Promise<boolean> {
  io.stdout.write("Apply these changes? Only 'yes' is accepted: ");
  const lines = createInterface({ input: io.stdin });
  try {
    for await (const line of lines) return line.trim() === "yes";
    return false;
  } finally {
    lines.close();
  }
}
