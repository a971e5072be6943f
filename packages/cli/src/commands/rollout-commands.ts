// SPDX-License-Identifier: Apache-2.0

import type { CommandSpec } from "../options/command-spec.ts";
import { clusterOptions, dataOption } from "../options/shared-options.ts";

const rollout = { name: "<rollout>", description: "name of the FunctionRollout" };
const anyRollout = { name: "[rollout]", description: "name of the FunctionRollout (all)" };
const steer = () => import("../rollout/steer-commands.ts");
const show = () => import("../rollout/show-commands.ts");

/** The commands about rollouts. */
export const rolloutCommands: readonly CommandSpec[] = [
  {
    name: "rollout start",
    summary: "move composite resources to the next revision of a function, step by step",
    arguments: [{ name: "<target>", description: "name of the Function, or of the Composition with --composition" }],
    options: [
      { flags: "--image <reference>", description: "package to install; without it the next revision is waited for" },
      { flags: "--composition", description: "roll out the next revision of a Composition" },
      { flags: "--name <name>", description: "name of the FunctionRollout (that of the target)" },
      { flags: "--percent <list>", description: "shares of composite resources, step by step", default: "5,25,100" },
      { flags: "--min-duration <duration>", description: "how long each step takes at least" },
      { flags: "--skip-shadow", description: "do not compare the two revisions before the first step" },
      { flags: "--approve", description: "wait for purlin rollout approve after each step but the last" },
      { flags: "--failure-policy <policy>", description: "Rollback or Pause when a gate fails", default: "Rollback" },
      { flags: "--stable <revision>", description: "revision to move from (the one that serves)" },
      { flags: "--candidate <revision>", description: "revision to move to (the next one)" },
      { flags: "--dry-run", description: "print the FunctionRollout instead of creating it" },
      ...clusterOptions,
    ],
    load: () => import("../rollout/start-command.ts"),
  },
  {
    name: "rollout status",
    summary: "show waves, gates and numbers of a rollout",
    arguments: [anyRollout],
    options: [
      {
        flags: "-w, --watch",
        description: "show every change until the rollout has ended; exit 1 unless it succeeded",
      },
      dataOption,
      ...clusterOptions,
    ],
    load: async () => ({ run: (await show()).status }),
  },
  {
    name: "rollout preview",
    summary: "show what the candidate would change, found by running it in shadow",
    arguments: [rollout],
    options: [dataOption, ...clusterOptions],
    load: async () => ({ run: (await show()).preview }),
  },
  {
    name: "rollout pause",
    summary: "stop a rollout where it is",
    arguments: [rollout],
    options: clusterOptions,
    load: async () => ({ run: (await steer()).pause }),
  },
  {
    name: "rollout resume",
    summary: "continue a rollout that is paused, or that a failed gate stopped",
    arguments: [rollout],
    options: clusterOptions,
    load: async () => ({ run: (await steer()).resume }),
  },
  {
    name: "rollout approve",
    summary: "approve the step that a rollout waits at",
    arguments: [rollout],
    options: [{ flags: "--step <name>", description: "step to approve (the one that waits)" }, ...clusterOptions],
    load: async () => ({ run: (await steer()).approve }),
  },
  {
    name: "rollout abort",
    summary: "move all composite resources back to the stable revision",
    arguments: [rollout],
    options: clusterOptions,
    load: async () => ({ run: (await steer()).abort }),
  },
  {
    name: "rollout history",
    summary: "list the decisions about a rollout with their numbers",
    arguments: [anyRollout],
    options: [dataOption, ...clusterOptions],
    load: async () => ({ run: (await show()).history }),
  },
];
