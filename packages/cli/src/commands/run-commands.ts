// SPDX-License-Identifier: Apache-2.0

import type { CommandSpec, OptionSpec } from "../options/command-spec.ts";
import { clusterOptions, dataOption, redactOption } from "../options/shared-options.ts";

const sourceOptions: readonly OptionSpec[] = [
  {
    flags: "--recorder-dir <dir>",
    description: "read the runs in this folder, such as that of purlin start --recorder-dir",
  },
  {
    flags: "--recorder-service <service>",
    description:
      "Service of purlin start --recorder-address on a cluster, as NAMESPACE/NAME:PORT (crossplane-system/purlin-runs:runs)",
  },
  { flags: "-n, --namespace <name>", description: "namespace of the composite resource" },
  ...clusterOptions,
];

const subject = { name: "[xr...]", description: "composite resource as TYPE/NAME or TYPE NAME (all)" };
const runArgument = {
  name: "<run>",
  description: "identifier of the run, its unique beginning, or TYPE/NAME for the newest run",
};
const failedOption: OptionSpec = { flags: "--failed", description: "only runs that failed" };
const ofStep: OptionSpec = { flags: "--step <name>", description: "only runs with this step" };
const oneStep: OptionSpec = { flags: "--step <name>", description: "only this step, by name or zero-based position" };

const targetOption: OptionSpec = {
  flags: "--recorder-dir <dir>",
  description: "folder to record in; created if missing",
  required: true,
};

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
      { flags: "-o, --output <format>", description: "table, json or yaml", default: "table" },
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
      dataOption,
      ...sourceOptions,
    ],
    load: async () => ({ run: (await import("../runs/show-command.ts")).show }),
  },
  {
    name: "runs follow",
    summary: "print each run when it is recorded, until Ctrl-C",
    arguments: [subject],
    options: [
      failedOption,
      ofStep,
      { flags: "-o, --output <format>", description: "table or json", default: "table" },
      ...sourceOptions,
    ],
    load: async () => ({ run: (await import("../runs/ls-command.ts")).follow }),
  },
  {
    name: "runs blame",
    summary: "name the step that set each field of the desired resources",
    arguments: [
      { name: "<xr>", description: "composite resource as TYPE/NAME" },
      { name: "[resource]", description: "name of the composed resource in the pipeline (all)" },
      { name: "[path]", description: "field, such as spec.containers[name=app].image (all)" },
    ],
    options: [
      { flags: "--run <run>", description: "blame this run (the newest)" },
      { flags: "--live", description: "also the live fields that no step explains, and who owns them" },
      { flags: "-o, --output <format>", description: "table or json", default: "table" },
      ...sourceOptions,
    ],
    load: () => import("../runs/blame-command.ts"),
  },
  {
    name: "runs diff",
    summary: "compare two runs: inputs first, then outputs",
    arguments: [
      { name: "<before>", description: "identifier of a run, or its unique beginning" },
      { name: "<after>", description: "the run to compare it with" },
    ],
    options: [{ flags: "-o, --output <format>", description: "text or json", default: "text" }, ...sourceOptions],
    load: async () => ({ run: (await import("../runs/show-command.ts")).diff }),
  },
  {
    name: "runs replay",
    summary: "call a function with the recorded request and compare its response",
    arguments: [runArgument],
    options: [
      oneStep,
      {
        flags: "--with <function>",
        description:
          "TypeScript or JavaScript file, package file (x.xpkg), image, revision:NAME, host:port or unix:path (the function that serves the step now)",
      },
      { flags: "--inspect-brk", description: "run the file in a debugger that waits for you before the first line" },
      {
        flags: "--with-secrets",
        description: "read the Secrets that the run names again, where they have not changed",
      },
      { flags: "--timeout <duration>", description: "timeout of each call (30s, with a debugger 1h)" },
      { flags: "-o, --output <format>", description: "text or json", default: "text" },
      ...sourceOptions,
    ],
    load: () => import("../runs/replay-command.ts"),
  },
  {
    name: "runs export",
    summary: "write runs as test cases with fixtures",
    arguments: [{ name: "<run...>", description: "identifiers of runs, or their unique beginnings" }],
    options: [
      {
        flags: "-o, --output <dir>",
        description: "folder to write; with several runs a folder for each",
        required: true,
      },
      ...sourceOptions,
    ],
    load: () => import("../runs/export-command.ts"),
  },
  {
    name: "runs import",
    summary: "record the messages of a pipeline inspector from a file",
    arguments: [{ name: "<file>", description: "a JSON object for each message, one on each line" }],
    options: [dataOption, targetOption, redactOption],
    load: async () => ({ run: (await import("../runs/import-command.ts")).importRuns }),
  },
  {
    name: "runs listen",
    summary: "record a Crossplane through its pipeline inspector socket",
    options: [
      { flags: "-o, --output <format>", description: "text or json", default: "text" },
      { flags: "--socket <path>", description: "unix socket to create", required: true },
      targetOption,
      redactOption,
    ],
    load: async () => ({ run: (await import("../runs/import-command.ts")).listen }),
  },
];
