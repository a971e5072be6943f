// SPDX-License-Identifier: Apache-2.0
import { createInformerPool, isNoMatch, type KubeClient } from "@purlin/kube-client";
import { isAlreadyExists, isNotFound } from "@purlin/kube-objects/errors";
import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import {
  annotationOf,
  type KubeObject,
  memberAt,
  objectsAt,
  stringAt,
  type TypeRef,
  textAt,
} from "@purlin/kube-objects/object";
import { rolloutAnnotations } from "@purlin/rollout";
import { openCluster } from "../cluster/cluster-client.ts";
import { commandName } from "../command-name.ts";
import type { Io } from "../io.ts";
import { type CommandInput, isSet, textOption } from "../options/command-spec.ts";
import { actionReport, printData, readOutput } from "../options/data-output.ts";
import { createScreen } from "../terminal/screen.ts";
import { UserError } from "../user-error.ts";
import { historyLines, listLines, pictureOf, previewLines, stepName } from "./picture.ts";

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

interface Steering {
  readonly client: KubeClient;
  readonly rollout: KubeObject;
  readonly name: string;
  readonly input: CommandInput;
  /** How the user types this command. */
  readonly purlin: string;
}

type Steer = (input: CommandInput, io: Io) => Promise<undefined>;

/** A command that changes one rollout, and prints what it did. */
function steering(change: (steering: Steering) => Promise<string>): Steer {
  return async (input, io) => {
    const output = readOutput(input, ["text", "json", "yaml"]);
    await using cluster = await openCluster(input, io);
    const [name = ""] = input.args;
    const rollout = await readRollout(cluster.client, name, io.signal);
    const phase = textAt(rollout, ["status", "phase"]) ?? "Pending";
    if (ended.includes(phase)) throw new UserError(`FunctionRollout "${name}" has ended: it is ${phase}`);
    const done = await change({ client: cluster.client, rollout, name, input, purlin: commandName(io.env) });
    if (output === "text") io.stdout.write(`${done}\n`);
    else printData(actionReport([{ object: { ...rollout, ...rolloutType }, action: "patched" }]), output, io);
  };
}

/** `purlin rollout pause NAME` */
export const pause: Steer = steering(async ({ client, name, purlin }) => {
  await patchRollout(client, name, { spec: { paused: true } });
  return `FunctionRollout "${name}" is paused: nothing moves until ${purlin} rollout resume ${name}`;
});

/** `purlin rollout resume NAME` */
export const resume: Steer = steering(async ({ client, rollout, name }) => {
  const token = textAt(rollout, ["status", "pauseToken"]);
  const annotations = token === undefined ? {} : { [rolloutAnnotations.resume]: token };
  await patchRollout(client, name, { metadata: { annotations }, spec: { paused: false } });
  return `FunctionRollout "${name}" continues`;
});

/** `purlin rollout approve NAME [--step STEP]` */
export const approve: Steer = steering(async ({ client, rollout, name, input }) => {
  const step = textOption(input, "step") ?? textAt(rollout, ["status", "awaitingApproval"]);
  if (step === undefined) {
    throw new UserError(`FunctionRollout "${name}" waits for no approval; approve a step in advance with --step NAME`);
  }
  const steps = objectsAt(rollout, ["spec", "steps"]).map(stepName);
  if (!steps.includes(step)) throw new UserError(`no step "${step}": the steps are ${steps.join(", ")}`);
  // An approval that the controller has not seen yet is kept.
  const before = (annotationOf(rollout, rolloutAnnotations.approve) ?? "").split(",").filter((one) => one !== "");
  const approved = [...new Set([...before, step])].join(",");
  await patchRollout(client, name, { metadata: { annotations: { [rolloutAnnotations.approve]: approved } } });
  return `Step "${step}" of FunctionRollout "${name}" is approved`;
});

/** `purlin rollout abort NAME` */
export const abort: Steer = steering(async ({ client, name }) => {
  await patchRollout(client, name, { metadata: { annotations: { [rolloutAnnotations.abort]: "true" } } });
  return `FunctionRollout "${name}" is aborted: composite resources move back to the stable revision`;
});

const functionType = { apiVersion: "pkg.crossplane.io/v1", kind: "Function" };

/** `purlin rollout start FUNCTION` */
export async function start(input: CommandInput, io: Io): Promise<undefined> {
  const output = readOutput(input, ["text", "json", "yaml"]);
  const rollout = rolloutOf(input);
  if (isSet(input, "dryRun")) return printData(rollout, output === "json" ? "json" : "yaml", io);
  await using cluster = await openCluster(input, io);
  const { client } = cluster;
  const [target = ""] = input.args;
  const name = rollout.metadata.name ?? "";
  const image = textOption(input, "image");
  try {
    if (!isSet(input, "composition")) await client.get(functionType, { name: target }, { signal: io.signal });
    // Before the new version: composite resources stay where they are when it arrives.
    await client.create(rollout, { fieldManager: "purlin-rollout" });
  } catch (error) {
    if (isNotFound(error))
      throw new UserError(`Function "${target}" not found: check its name with ${commandName(io.env)} get functions`);
    if (isAlreadyExists(error)) throw new UserError(`FunctionRollout "${name}" exists: give this one another --name`);
    throw explained(error);
  }
  if (image !== undefined)
    await client.patch({ ...functionType, name: target }, { spec: { package: image } }, { type: "merge" });
  if (output !== "text") {
    const owner = { ...functionType, metadata: { name: target } };
    const changed = image === undefined ? [] : [{ object: owner, action: "patched" as const }];
    return printData(actionReport([{ object: rollout, action: "created" }, ...changed]), output, io);
  }
  io.stdout.write(
    `FunctionRollout "${name}" started: watch it with ${commandName(io.env)} rollout status ${name} --watch\n`,
  );
}

/** The rollout that the command line describes. */
function rolloutOf(input: CommandInput): KubeObject {
  const [target = ""] = input.args;
  const isComposition = isSet(input, "composition");
  const revisions = isComposition ? "compositionRevisionRef" : "functionRevisionRef";
  const side = (option: string): JsonObject => {
    const name = textOption(input, option);
    return name === undefined ? {} : { [option]: { [revisions]: { name } } };
  };
  const policy = textOption(input, "failurePolicy") ?? "Rollback";
  if (policy !== "Rollback" && policy !== "Pause") {
    throw new UserError(`--failure-policy ${policy}: expected Rollback or Pause`, { exitCode: 2 });
  }
  if (isComposition && textOption(input, "image") !== undefined) {
    throw new UserError("--image is for functions: apply the new Composition instead", { exitCode: 2 });
  }
  return {
    ...rolloutType,
    metadata: { name: textOption(input, "name") ?? target },
    spec: {
      [isComposition ? "compositionRef" : "functionRef"]: { name: target },
      ...side("stable"),
      ...side("candidate"),
      steps: stepsOf(input, isComposition),
      failurePolicy: policy,
    },
  };
}

function stepsOf(input: CommandInput, isComposition: boolean): readonly JsonObject[] {
  const percents = (textOption(input, "percent") ?? "").split(",").map((text) => Number(text));
  const isGrowing = percents.every(
    (one, index) => Number.isInteger(one) && one > (percents[index - 1] ?? 0) && one <= 100,
  );
  if (!isGrowing || percents.at(-1) !== 100) {
    throw new UserError("--percent: expected growing numbers up to 100, such as 5,25,100", { exitCode: 2 });
  }
  const minDuration = textOption(input, "minDuration");
  const common = minDuration === undefined ? {} : { minDuration };
  const approval = isSet(input, "approve") ? { approval: "Manual" } : {};
  const waves = percents.map((percent) => ({ percent, ...common, ...(percent < 100 && approval) }));
  const isShadowed = !isComposition && !isSet(input, "skipShadow");
  return [...(isShadowed ? [{ name: "shadow", shadow: true, ...approval }] : []), ...waves];
}

/** The kind of rollouts. */
export const rolloutType: TypeRef = { apiVersion: "pkg.crossplane.io/v1alpha1", kind: "FunctionRollout" };

/** A rollout by name. Throws a UserError that says which there are. */
export async function readRollout(client: KubeClient, name: string, signal: AbortSignal): Promise<KubeObject> {
  try {
    return await client.get(rolloutType, { name }, { signal });
  } catch (error) {
    if (!isNotFound(error)) throw explained(error);
    const names = (await listRollouts(client, signal)).map(({ metadata }) => metadata.name ?? "");
    const known = names.length === 0 ? "there are none" : `there are ${names.join(", ")}`;
    throw new UserError(`FunctionRollout "${name}" not found: ${known}`);
  }
}

/** All rollouts, the newest first. */
export async function listRollouts(client: KubeClient, signal: AbortSignal): Promise<readonly KubeObject[]> {
  try {
    const { items } = await client.list(rolloutType, { signal });
    return items.toSorted((a, b) =>
      (a.metadata.creationTimestamp ?? "") < (b.metadata.creationTimestamp ?? "") ? 1 : -1,
    );
  } catch (error) {
    throw explained(error);
  }
}

/** A server without the kind was started without the flag. */
export function explained(error: unknown): unknown {
  if (!isNoMatch(error)) return error;
  return new UserError("the control plane does not serve FunctionRollout: start it with --enable-function-rollouts");
}

/** Changes a rollout. */
export async function patchRollout(client: KubeClient, name: string, patch: JsonObject): Promise<void> {
  await client.patch({ ...rolloutType, name }, patch as JsonValue, { type: "merge" });
}
