// SPDX-License-Identifier: Apache-2.0

import type { CommandSpec, OptionSpec } from "../options/command-spec.ts";
import { clusterOptions } from "../options/shared-options.ts";

const sourceOptions: readonly OptionSpec[] = [
  {
    flags: "--recorder-dir <dir>",
    description: "read the runs in this folder, such as that of purlin start --recorder-dir",
  },
  { flags: "-n, --namespace <name>", description: "namespace of the composite resource" },
  ...clusterOptions,
];

const subject = { name: "[xr...]", description: "composite resource as TYPE/NAME or TYPE NAME (all)" };
const runArgument = { name: "<run>", description: "identifier of the run, or its unique beginning" };
const failedOption: OptionSpec = { flags: "--failed", description: "only runs that failed" };
const ofStep: OptionSpec = { flags: "--step <name>", description: "only runs with this step" };
const oneStep: OptionSpec = { flags: "--step <name>", description: "only this step, by name or zero-based position" };

/** The commands about recorded runs. */
export const runCommands: readonly CommandSpec[] = [
  {
    name: "runs ls",
    summary: "list recorded reconciles of composite resources, newest first",
    arguments: [subject],
    options: [
      failedOption,
      ofStep,
      { flags: "--since <duration>", description: "only runs of the last, such as 1h" },
      { flags: "-o, --output <format>", description: "table or json", default: "table" },
      ...sourceOptions,
    ],
    load: () => import("../runs/ls-command.ts"),
  },
  {
    name: "runs show",
    summary: "show a run: cause, outcome, writes, and what each step changed",
    arguments: [runArgument],
    options: [
      oneStep,
      { flags: "--request", description: "only the requests of the steps, in full" },
      { flags: "--response", description: "only the responses of the steps, in full" },
      { flags: "--desired", description: "only the desired resources after each step, in full" },
      { flags: "-o, --output <format>", description: "text, json or yaml", default: "text" },
      ...sourceOptions,
    ],
    load: () => import("../runs/show-command.ts"),
  },
  {
    name: "runs follow",
    summary: "print each run when it is recorded, until Ctrl-C",
    arguments: [subject],
    options: [failedOption, ofStep, ...sourceOptions],
    load: () => import("../runs/follow-command.ts"),
  },
];
