// SPDX-License-Identifier: Apache-2.0

import type { FunctionLimits } from "@purlin/function-process";
import type { OptionSpec } from "./command-spec.ts";

/** The control plane that a command is about. */
export const dataDirOption: OptionSpec = {
  flags: "--data-dir <dir>",
  description: "data directory of purlin up ($PURLIN_DATA_DIR, purlin.yaml, or .purlin here or in a parent)",
};

/** How a command finds the API server it talks to. */
export const clusterOptions: readonly OptionSpec[] = [
  dataDirOption,
  { flags: "--kubeconfig <file>", description: "kubeconfig of another API server ($KUBECONFIG)" },
  { flags: "--context <name>", description: "kubeconfig context (the current context)" },
  { flags: "--as <user>", description: "act as this user: what that user may not do fails" },
  { flags: "--as-group <group>", description: "with --as: a group of that user; repeatable", repeatable: true },
  {
    flags: "--request-timeout <duration>",
    description: "time limit of each request to the API server, such as 30s (none); watches have none",
  },
];

/** How much a function may answer, for every command that runs a control plane. Apart from its reading, so that help stays quick. */
export const functionLimit: OptionSpec = {
  flags: "--function-limit <name=number>",
  description: "limit of a function's response, such as resources=20000",
  repeatable: true,
};

export const selectorOption: OptionSpec = {
  flags: "-l, --selector <labels>",
  description: "label selector, such as app=shop,tier!=test or 'tier in (a,b)'",
};

/** Fields that recorded runs do not contain, for every command that records runs. */
export const redactOption: OptionSpec = {
  flags: "--redact <path>",
  description:
    "hide a field in recorded runs, such as spec.license or context['example.org/token']; repeatable; secrets are always hidden",
  repeatable: true,
};

/** The format of commands that print text for people, or a document for programs. */
export const dataOption: OptionSpec = {
  flags: "-o, --output <format>",
  description: "text, json or yaml",
  default: "text",
};

/** A limit of functions, as flags and purlin.yaml have it. */
export interface LimitSetting {
  /** In lowerCamelCase: the option is `function…`, the field of purlin.yaml's `functions` is the same without it. */
  readonly field: string;
  readonly flags: string;
  readonly description: string;
  /** Smaller values would stop any function. */
  readonly least: number;
  readonly isWhole: boolean;
  readonly example: string;
}

export const mebibyte: number = 1024 ** 2;

/** All limits. */
export const limitSettings: Readonly<Record<keyof FunctionLimits, LimitSetting>> = {
  memoryBytes: {
    ...{ field: "memoryLimit", flags: "--function-memory-limit <quantity>", least: 16 * mebibyte, isWhole: true },
    ...{ description: "memory limit of a function (2Gi)", example: "512Mi" },
  },
  cpus: {
    ...{ field: "cpuLimit", flags: "--function-cpu-limit <quantity>", least: 0.01, isWhole: false },
    ...{ description: "CPU limit of a function (three quarters of the machine's CPUs)", example: "1500m" },
  },
  processes: {
    ...{ field: "processLimit", flags: "--function-process-limit <n>", least: 32, isWhole: true },
    ...{
      description: "maximum number of processes and threads of a function (1024)",
      example: "256",
    },
  },
  openFiles: {
    ...{ field: "openFileLimit", flags: "--function-open-file-limit <n>", least: 64, isWhole: true },
    ...{ description: "maximum number of open files and sockets per process of a function (16384)", example: "1024" },
  },
  tmpBytes: {
    ...{ field: "tmpLimit", flags: "--function-tmp-limit <quantity>", least: mebibyte, isWhole: true },
    ...{ description: "size limit of a function's temporary files (64Mi)", example: "256Mi" },
  },
  logBytesPerSecond: {
    ...{ field: "logLimit", flags: "--function-log-limit <quantity>", least: 1024, isWhole: true },
    ...{ description: "maximum log output of a function per second (1Mi)", example: "4Mi" },
  },
};

/** The flags that set limits. */
export const limitFlags: readonly OptionSpec[] = Object.values(limitSettings).map(({ flags, description }) => ({
  flags,
  description,
}));
