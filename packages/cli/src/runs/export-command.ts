// SPDX-License-Identifier: Apache-2.0

import { join, resolve } from "node:path";
import { isNoMatch } from "@purlin/kube-client";
import { ignoreNotFound } from "@purlin/kube-objects/errors";
import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import type { Run } from "@purlin/run-store";
import type { Cluster } from "../cluster/cluster-client.ts";
import { makeFolder, replaceFile } from "../files/write-files.ts";
import { printYaml } from "../files/yaml-file.ts";
import type { Io } from "../io.ts";
import { type CommandInput, textOption } from "../options/command-spec.ts";
import { UserError } from "../user-error.ts";
import { exportedFiles } from "./exported-test.ts";
import { openRuns } from "./runs-source.ts";

/** `purlin runs export RUN… -o DIR`: writes each run as a test case. */
export async function run(input: CommandInput, io: Io): Promise<undefined> {
  const folder = resolve(io.cwd, textOption(input, "output") ?? "");
  await using runs = await openRuns(input, io);
  for (const id of input.args) {
    const found = await runs.get(id);
    if (found.steps.length === 0)
      throw new UserError(`run ${found.id} ended before its pipeline: there is nothing to test`);
    const target = input.args.length === 1 ? folder : join(folder, found.id.toLowerCase());
    const files = exportedFiles(found, await definitionsOf(found, runs.cluster, io));
    for (const [name, documents] of files) {
      await makeFolder(resolve(target, name, ".."), 0o755);
      await replaceFile(join(target, name), textOf(documents));
    }
    io.stdout.write(`${found.id}: ${files.size} files in ${target}\n`);
  }
}

function textOf(documents: readonly JsonValue[]): string {
  return documents.map((document) => printYaml(document)).join("---\n");
}

/** The XRD and the Functions of a run, as the control plane has them now. */
async function definitionsOf(
  { xr, steps }: Run,
  cluster: Cluster | undefined,
  { signal }: Io,
): Promise<readonly JsonObject[]> {
  if (cluster === undefined) return [];
  const { client } = cluster;
  const definition = (version: string) => ({
    apiVersion: `apiextensions.crossplane.io/${version}`,
    kind: "CompositeResourceDefinition",
  });
  const { items } = await client.list(definition("v2"), { signal }).catch((error: unknown) => {
    if (isNoMatch(error)) return client.list(definition("v1"), { signal });
    throw error;
  });
  const [group] = xr.apiVersion.split("/");
  const isOurs = (one: KubeObject): boolean => {
    const { group: ofGroup, names } = one["spec"] as {
      readonly group: string;
      readonly names: { readonly kind: string };
    };
    return ofGroup === group && names.kind === xr.kind;
  };
  const fn = { apiVersion: "pkg.crossplane.io/v1", kind: "Function" };
  const functions = await Promise.all(
    [...new Set(steps.map((step) => step.function))].map((name) =>
      ignoreNotFound(client.get(fn, { name }, { signal })),
    ),
  );
  return [...items.filter(isOurs), ...functions.filter((one) => one !== undefined)].map((one) => one as JsonObject);
}
