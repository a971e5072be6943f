// SPDX-License-Identifier: Apache-2.0
import { availableParallelism } from "node:os";
import { isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import { type KubeObject, memberAt, objectsAt, textsAt } from "@purlin/kube-objects/object";
import { quantityValue } from "@purlin/kube-objects/typed";

/** What all processes of one function may use together, unless a line says otherwise. */
export interface FunctionLimits {
  readonly memoryBytes: number;
  /** Processes and threads. */
  readonly processes: number;
  /** Processors; a function that uses more is slowed down. */
  readonly cpus: number;
  /** Of each process. */
  readonly openFiles: number;
  /** Its temporary folder, and each file that it writes. */
  readonly tmpBytes: number;
  /** Kept of its output in a second, on average; short bursts may be larger. */
  readonly logBytesPerSecond: number;
}

const mebibyte = 1024 ** 2;

/** Generous for a function, and far from what would hold up a machine. */
export const defaultFunctionLimits: FunctionLimits = {
  memoryBytes: 2048 * mebibyte,
  processes: 1024,
  cpus: Math.max(1, availableParallelism() * 0.75),
  openFiles: 16_384,
  tmpBytes: 64 * mebibyte,
  logBytesPerSecond: mebibyte,
};

/** The limit in words, the flag of `purlin up` that changes it, and the field of `resources.limits` in a DeploymentRuntimeConfig. */
export const limitNames: Readonly<Record<keyof FunctionLimits, LimitName>> = {
  memoryBytes: { words: "memory limit", flag: "--function-memory-limit", resource: "memory" },
  processes: { words: "process limit", flag: "--function-process-limit" },
  cpus: { words: "CPU limit", flag: "--function-cpu-limit", resource: "cpu" },
  openFiles: { words: "open file limit", flag: "--function-open-file-limit" },
  tmpBytes: { words: "temporary file limit", flag: "--function-tmp-limit", resource: "ephemeral-storage" },
  logBytesPerSecond: { words: "log limit", flag: "--function-log-limit" },
};

/** How a limit is called. */
interface LimitName {
  readonly words: string;
  readonly flag: string;
  readonly resource?: string;
}

/** How to raise a limit. */
export function raiseAdvice(limit: keyof FunctionLimits): string {
  const { flag, resource } = limitNames[limit];
  const field = resource === undefined ? "" : `, or resources.limits.${resource} in its DeploymentRuntimeConfig`;
  return `raise ${flag}${field}`;
}

/** The value of a limit as users write it. */
export function showLimit(limit: keyof FunctionLimits, value: number): string {
  switch (limit) {
    case "memoryBytes":
    case "tmpBytes":
      return showBytes(value);
    case "logBytesPerSecond":
      return `${showBytes(value)} a second`;
    case "cpus":
      return Number.isInteger(value) ? String(value) : `${Math.round(value * 1000)}m`;
    default:
      return String(value);
  }
}

const units = ["", "Ki", "Mi", "Gi", "Ti"];

/** An amount of memory as Kubernetes writes it, with one decimal at most. */
export function showBytes(bytes: number): string {
  let at = 0;
  let value = bytes;
  // What is rounded up to the next unit is shown in it.
  while (Math.round(value * 10) / 10 >= 1024 && at < units.length - 1) {
    value /= 1024;
    at++;
  }
  return `${Math.round(value * 10) / 10}${units[at]}`;
}

const containerName = "package-runtime";

/** Environment and arguments that a runtime config gives the process of a revision. */
interface RuntimeSettings {
  readonly env: Readonly<Record<string, string>>;
  /** In place of those of the image. */
  readonly args?: readonly string[] | undefined;
  /** Variables whose values come from other objects, which is for Pods. */
  readonly hidden: readonly string[];
}

/** The settings in the spec of a DeploymentRuntimeConfig. */
export function settingsOfRuntimeConfig(spec: object): RuntimeSettings {
  const container = runtimeContainer(spec);
  const variables = objectsAt(container, ["env"]);
  const given = variables.filter((one) => typeof one["value"] === "string");
  const hidden = variables.filter((one) => one["valueFrom"] !== undefined);
  const args = textsAt(container, ["args"]);
  return {
    env: Object.fromEntries(given.map((one) => [String(one["name"]), String(one["value"])])),
    ...(args.length > 0 && { args }),
    hidden: hidden.map((one) => String(one["name"])),
  };
}

function runtimeContainer(spec: object): JsonObject {
  const path = ["deploymentTemplate", "spec", "template", "spec", "containers"];
  return objectsAt(spec as KubeObject, path).find((one) => one["name"] === containerName) ?? {};
}

/** The limits that a DeploymentRuntimeConfig's `spec` sets for the container of a package. */
export function limitsOfRuntimeConfig(spec: object): Partial<FunctionLimits> {
  const limits = memberAt(runtimeContainer(spec), ["resources", "limits"]);
  if (!isJsonObject(limits)) return {};
  const found = Object.entries(limitNames).flatMap(([name, { resource }]) => {
    const value = resource === undefined ? undefined : amount(limits[resource]);
    return value === undefined ? [] : [[name, value] as const];
  });
  return Object.fromEntries(found);
}

function amount(value: unknown): number | undefined {
  if (typeof value !== "string" && typeof value !== "number") return undefined;
  const found = quantityValue(String(value));
  return found !== undefined && found > 0 ? found : undefined;
}
