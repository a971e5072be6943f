// SPDX-License-Identifier: Apache-2.0
import { createInformerPool, type KubeClient } from "@purlin/kube-client";
import { type KubeObject, memberAt, stringAt } from "@purlin/kube-objects/object";
import { openCluster } from "../cluster/cluster-client.ts";
import { commandName } from "../command-name.ts";
import type { Io } from "../io.ts";
import { type CommandInput, isSet } from "../options/command-spec.ts";
import { printData, readOutput } from "../options/data-output.ts";
import { createScreen } from "../terminal/screen.ts";
import { UserError } from "../user-error.ts";
import { historyLines, listLines, pictureOf, previewLines } from "./picture.ts";
import { listRollouts, readRollout, rolloutType } from "./rollout-object.ts";

const ended = ["Succeeded", "RolledBack", "Failed"];

/** `purlin rollout status [NAME] [--watch]` */
export async function status(input: CommandInput, io: Io): Promise<number | undefined> {
  const output = readOutput(input, ["text", "json", "yaml"]);
  await using cluster = await openCluster(input, io);
  const [name] = input.args;
  if (name === undefined) {
    const rollouts = await listRollouts(cluster.client, io.signal);
    if (output !== "text") printData(rolloutList(rollouts), output, io);
    else if (rollouts.length === 0) io.stderr.write("No rollouts found\n");
    else io.stdout.write(`${listLines(rollouts).join("\n")}\n`);
    return undefined;
  }
  const rollout = await readRollout(cluster.client, name, io.signal);
  if (output !== "text") {
    printData(rollout, output, io);
    return undefined;
  }
  if (isSet(input, "watch")) return exitCode(await watch(cluster.client, name, io));
  io.stdout.write(`${pictureOf(rollout, commandName(io.env)).join("\n")}\n`);
  return undefined;
}

/** A rollout that was watched and did not succeed, or that was deleted before it did, is an error, so that scripts notice. */
function exitCode(rollout: KubeObject): number | undefined {
  return stringAt(rollout, ["status", "phase"]) === "Succeeded" ? undefined : 1;
}

/** Prints the picture at every change until the rollout has ended. Off a terminal, changed lines only. */
async function watch(client: KubeClient, name: string, io: Io): Promise<KubeObject> {
  const screen = io.stdout.isTTY && io.env["TERM"] !== "dumb" ? createScreen(io.stdout) : undefined;
  let before: readonly string[] = [];
  const pool = createInformerPool(client);
  const lease = pool.acquire(rolloutType);
  try {
    return await new Promise<KubeObject>((resolve, reject) => {
      io.signal.addEventListener("abort", () => reject(io.signal.reason as Error), { once: true });
      lease.informer.subscribe(({ type, object }) => {
        if (object.metadata.name !== name) return;
        const lines = pictureOf(object, commandName(io.env));
        if (screen !== undefined) screen.draw(lines);
        else for (const line of lines.filter((one) => !before.includes(one))) io.stdout.write(`${line}\n`);
        before = lines;
        if (type === "deleted") reject(new UserError(`FunctionRollout "${name}" was deleted before it ended`));
        else if (ended.includes(stringAt(object, ["status", "phase"]))) resolve(object);
      });
    });
  } finally {
    await lease.release();
  }
}

function rolloutList(items: readonly KubeObject[]): object {
  return { apiVersion: rolloutType.apiVersion, kind: `${rolloutType.kind}List`, items };
}

/** `purlin rollout preview NAME` */
export async function preview(input: CommandInput, io: Io): Promise<undefined> {
  const output = readOutput(input, ["text", "json", "yaml"]);
  await using cluster = await openCluster(input, io);
  const [name = ""] = input.args;
  const rollout = await readRollout(cluster.client, name, io.signal);
  const lines = previewLines(rollout);
  if (lines === undefined) {
    throw new UserError(
      `FunctionRollout "${name}" has no shadow report: it needs a step with shadow: true, and its candidate must serve`,
    );
  }
  if (output === "text") io.stdout.write(`${lines.join("\n")}\n`);
  else printData({ name, shadow: memberAt(rollout, ["status", "shadow"]) }, output, io);
}

/** `purlin rollout history [NAME]` */
export async function history(input: CommandInput, io: Io): Promise<undefined> {
  const output = readOutput(input, ["text", "json", "yaml"]);
  await using cluster = await openCluster(input, io);
  const [name] = input.args;
  if (name === undefined) {
    const rollouts = await listRollouts(cluster.client, io.signal);
    if (output === "text") io.stdout.write(`${listLines(rollouts).join("\n")}\n`);
    else printData(rolloutList(rollouts), output, io);
    return;
  }
  const rollout = await readRollout(cluster.client, name, io.signal);
  if (output === "text") io.stdout.write(`${historyLines(rollout).join("\n")}\n`);
  else printData({ name, items: memberAt(rollout, ["status", "history"]) ?? [] }, output, io);
}
