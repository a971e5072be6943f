// SPDX-License-Identifier: Apache-2.0
import type { KubeClient } from "@purlin/kube-client";
import { annotationOf, type KubeObject, objectsAt, textAt } from "@purlin/kube-objects/object";
import { rolloutAnnotations } from "@purlin/rollout";
import { openCluster } from "../cluster/cluster-client.ts";
import { commandName } from "../command-name.ts";
import type { Io } from "../io.ts";
import { type CommandInput, textOption } from "../options/command-spec.ts";
import { UserError } from "../user-error.ts";
import { stepName } from "./picture.ts";
import { patchRollout, readRollout } from "./rollout-object.ts";

const ended = ["Succeeded", "RolledBack", "Failed"];

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
    await using cluster = await openCluster(input, io);
    const [name = ""] = input.args;
    const rollout = await readRollout(cluster.client, name, io.signal);
    const phase = textAt(rollout, ["status", "phase"]) ?? "Pending";
    if (ended.includes(phase)) throw new UserError(`FunctionRollout "${name}" has ended: it is ${phase}`);
    io.stdout.write(`${await change({ client: cluster.client, rollout, name, input, purlin: commandName(io.env) })}\n`);
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
  return `FunctionRollout "${name}" goes on`;
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
