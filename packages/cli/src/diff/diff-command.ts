// SPDX-License-Identifier: Apache-2.0

import { guardTransport } from "@purlin/kube-client";
import { isNotFound } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { ObjectKey, TypeRef } from "@purlin/kube-objects/object";
import { diffText, type Plan, planMarkdown, planReport, planText, preview } from "@purlin/preview";
import { type Cluster, openCluster } from "../cluster/cluster-client.ts";
import { findTargets } from "../cluster/find-resource.ts";
import { printYaml } from "../files/yaml-file.ts";
import { readClientCertificates } from "../function-call/client-certificates.ts";
import type { Io } from "../io.ts";
import { applyStages } from "../manifests/apply-manifests.ts";
import { type Manifest, readManifests, skippedLine } from "../manifests/manifest.ts";
import type { CommandInput } from "../options/command-spec.ts";
import { harmless, harmlessJson, harmlessLine } from "../terminal/harmless.ts";
import { textOf, UserError } from "../user-error.ts";
import { openDiffFunctions, overrideStage } from "./diff-functions.ts";
import { type DiffInput, exitCodeOf, readAssumptions, readDiffInput, refuseDuplicates } from "./diff-input.ts";

/** `purlin diff [PATH…]` */
export async function run(input: CommandInput, io: Io): Promise<number> {
  const diff = readDiffInput(input, io);
  try {
    const plan = await previewFiles(input, diff, io);
    printPlan(plan, diff, io);
    return exitCodeOf(outcomeOf(plan), diff.exitStyle);
  } catch (error) {
    if (diff.format !== "json") throw error;
    // With -o json, stdout is one document in every case.
    const message = textOf(error);
    io.stdout.write(
      `${harmlessJson(JSON.stringify({ apiVersion: "cli.purlin.dev/v1", kind: "DiffReport", errors: [{ message }] }, undefined, 2))}\n`,
    );
    throw error;
  }
}

/** Previews the files of a command line. */
export async function previewFiles(input: CommandInput, diff: DiffInput, io: Io): Promise<Plan> {
  const onSkipped = (files: readonly string[]): void => void io.stderr.write(`${skippedLine(files)}\n`);
  const manifests = diff.paths.length === 0 ? [] : await readManifests(diff.paths, io, { stdin: true, onSkipped });
  if (diff.paths.length > 0 && manifests.length === 0)
    throw new UserError(`${diff.paths.join(", ")}: no objects found: nothing to preview`, { exitCode: 2 });
  refuseDuplicates(manifests);
  const assume = await readAssumptions(input, io);
  await using cluster = await openCluster(input, io, { transport: guardTransport, ignoresWarnings: true });
  const signal = AbortSignal.any([io.signal, AbortSignal.timeout(diff.timeoutMs)]);
  const deletes = await findDeletes(cluster, diff.deletes, signal);
  const certificates = readClientCertificates(input, io);
  const files = manifests.map(({ object }) => object);
  await using functions = await openDiffFunctions({ cluster, certificates, overrides: diff.overrides, files, io });
  try {
    return await preview({
      client: cluster.client,
      changes: { stages: stagesOf(manifests), deletes, applyAs: diff.applyAs, namespace: cluster.namespace },
      functionStages: overrideStage(diff.overrides),
      functions: functions.open,
      settings: functions.settings,
      roots: { functions: diff.overrides.map(({ name }) => name), only: diff.only, namespace: cluster.namespace },
      assume,
      baseline: diff.baseline,
      projection: { status: diff.shows.has("status"), owners: diff.shows.has("owners") },
      ignores: diff.ignores,
      parallel: diff.parallel,
      maxRounds: diff.maxRounds,
      signal,
    });
  } catch (error) {
    if (signal.aborted && !io.signal.aborted)
      throw new UserError(
        `the preview took longer than ${diff.timeoutMs / 1000} s: raise --timeout, or preview less at once with --xr`,
        { cause: error },
      );
    throw error;
  }
}

function stagesOf(manifests: readonly Manifest[]): readonly (readonly Manifest["object"][])[] {
  return applyStages(manifests).map((stage) => stage.map(({ object }) => object));
}

async function findDeletes(
  cluster: Cluster,
  words: readonly string[],
  signal: AbortSignal,
): Promise<readonly (TypeRef & ObjectKey)[]> {
  if (words.length === 0) return [];
  const targets = await findTargets(cluster.client, words, signal);
  const found: (TypeRef & ObjectKey)[] = [];
  for (const { resource, name = "" } of targets) {
    const { apiVersion, kind } = resource;
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
}

function formatted(plan: Plan, { format, shows, isCompact, key }: DiffInput): string {
  const yaml = (value: JsonObject): string => printYaml(value);
  switch (format) {
    case "json":
      return `${JSON.stringify(planReport(plan), undefined, 2)}\n`;
    case "yaml":
      return printYaml(planReport(plan));
    case "diff":
      return diffText(plan, { isCompact, yaml });
    case "markdown":
      return planMarkdown(plan, { isCompact, yaml, key });
    default:
      return planText(plan, { showsUnchanged: shows.has("unchanged"), showsPending: shows.has("pending") });
  }
}

function outcomeOf({ composites, inputs, errors }: Plan): Parameters<typeof exitCodeOf>[0] {
  const all = [...errors, ...composites.flatMap((one) => one.errors)];
  const changes = [...inputs, ...composites.flatMap((one) => one.changes)];
  const refusals = changes.flatMap(({ refusal }) => refusal ?? []);
  return {
    hasFailed: [...all, ...refusals].some(({ isInvalid }) => !isInvalid),
    isInvalid: [...all, ...refusals].some(({ isInvalid }) => isInvalid),
    hasChanges: changes.length > 0,
  };
}
