// SPDX-License-Identifier: Apache-2.0
import type { FunctionLimits } from "@purlin/function-process";
import type { OptionSpec } from "./command-spec.ts";

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
