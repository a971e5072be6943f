// SPDX-License-Identifier: Apache-2.0
import { isAlreadyExists, isNotFound } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { openCluster } from "../cluster/cluster-client.ts";
import { commandName } from "../command-name.ts";
import { printYaml } from "../files/yaml-file.ts";
import type { Io } from "../io.ts";
import { type CommandInput, isSet, textOption } from "../options/command-spec.ts";
import { UserError } from "../user-error.ts";
import { explained, rolloutType } from "./rollout-object.ts";

const functionType = { apiVersion: "pkg.crossplane.io/v1", kind: "Function" };

/** `purlin rollout start FUNCTION` */
export async function run(input: CommandInput, io: Io): Promise<undefined> {
  const rollout = rolloutOf(input);
  if (isSet(input, "dryRun")) {
    io.stdout.write(printYaml(rollout));
    return;
  }
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
