// SPDX-License-Identifier: Apache-2.0
import { randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { textOf } from "@purlin/kube-objects/errors";
import { conditionOf, conditionsOf, type KubeObject, numberAt, objectsAt, stringAt } from "@purlin/kube-objects/object";
import { operationOf } from "@purlin/operations/render";
import { openCluster } from "../cluster/cluster-client.ts";
import { printYaml } from "../files/yaml-file.ts";
import type { Io } from "../io.ts";
import { type CommandInput, readTimeout, textOption } from "../options/command-spec.ts";
import { only, readInputs } from "../render/render-files.ts";
import { UserError } from "../user-error.ts";
import { endOf, pollMs, unfinishedText } from "./operation-state.ts";

/** `purlin operation run FILE`: creates an Operation, waits for its end and shows the result. Exit code 1 when it failed. */
export async function run(input: CommandInput, io: Io): Promise<number> {
  const [path = ""] = input.args;
  const timeoutMs = readTimeout(textOption(input, "timeout") ?? "");
  const manifest = only(await readInputs([path], io), path, "operation");
  const operation = newRun(manifest.object);
  await using cluster = await openCluster(input, io);
  const created = await cluster.client.create(operation, { signal: io.signal });
  const name = created.metadata.name ?? "";
  io.stderr.write(`Operation ${name} created\n`);
  const end = Date.now() + timeoutMs;
  let failures = 0;
  for (;;) {
    const found = await cluster.client.get(operation, { name }, { signal: io.signal });
    const count = numberAt(found, ["status", "failures"]);
    if (count > failures) {
      failures = count;
      io.stderr.write(`attempt ${count} failed: ${conditionOf(conditionsOf(found), "Synced").message ?? ""}\n`);
    }
    if (endOf(found) !== undefined) return show(found, io);
    if (Date.now() > end) {
      throw new UserError(`Operation ${name} has not ended after ${timeoutMs / 1000}s: ${unfinishedText(found)}`);
    }
    await delay(pollMs, undefined, { signal: io.signal });
  }
}

/** A new Operation for each run: one that is done never runs again. */
function newRun(object: KubeObject): KubeObject {
  try {
    const operation = operationOf(object);
    const name = `${operation.metadata.name ?? "operation"}-${randomBytes(3).toString("hex")}`;
    const { labels, annotations } = operation.metadata;
    const metadata = { name, ...(labels && { labels }), ...(annotations && { annotations }) };
    return { apiVersion: operation.apiVersion, kind: operation.kind, metadata, spec: operation["spec"] } as KubeObject;
  } catch (error) {
    throw new UserError(textOf(error), { cause: error });
  }
}

function show(operation: KubeObject, io: Io): number {
  const { status, message } = conditionOf(conditionsOf(operation), "Succeeded");
  for (const { step, output } of objectsAt(operation, ["status", "pipeline"])) {
    io.stdout.write(`output of step ${String(step)}:\n${printYaml(output ?? {}).replaceAll(/^(?=.)/gm, "  ")}`);
  }
  for (const ref of objectsAt(operation, ["status", "appliedResourceRefs"])) {
    const namespace = stringAt(ref, ["namespace"]);
    const where = namespace === "" ? "" : ` in namespace ${namespace}`;
    io.stdout.write(`applied ${stringAt(ref, ["kind"])} ${stringAt(ref, ["name"])}${where}\n`);
  }
  io.stdout.write(status === "True" ? "succeeded\n" : `failed: ${message ?? ""}\n`);
  return status === "True" ? 0 : 1;
}
