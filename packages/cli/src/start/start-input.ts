// SPDX-License-Identifier: Apache-2.0

import { resolve } from "node:path";
import type { ControlPlaneSettings, FunctionOptions } from "@purlin/control-plane";
import { createInspectorSink, type InspectorSink } from "@purlin/function-runner";
import type { Io } from "../io.ts";
import { type CommandInput, isSet, listOption, parseDuration, textOption } from "../options/command-spec.ts";
import { UserError } from "../user-error.ts";
import { type CrossplaneSetting, crossplaneSettings } from "./crossplane-settings.ts";

/** A setting that was accepted and changes nothing. */
interface UnusedSetting {
  /** Where it was set: `--flag`, or `$VARIABLE`. */
  readonly setting: string;
  readonly value: string;
  readonly reason: string;
}

/** The command line of `purlin start`, completed with the environment. */
export interface StartInput {
  readonly input: CommandInput;
  readonly unused: readonly UnusedSetting[];
}

/** The settings of controllers that are features. */
type Features = Omit<
  ControlPlaneSettings,
  | "syncIntervalMs"
  | "pollIntervalMs"
  | "minPollIntervalMs"
  | "maxConcurrentReconciles"
  | "compositeDeadlineMs"
  | "circuitBreaker"
  | "developmentFunctions"
  | "developmentTrust"
  | "shadowSamplePercent"
>;

/** Switches that Crossplane does not have. */
const ownSwitches = [
  "accept-other-claim-versions",
  "enable-function-revision-selectors",
  "enable-function-rollouts",
  "allow-development-functions",
  "require-sandbox",
];

/**
 * Completes a command line: flag before variable before default, the older name of a flag as the flag itself, and switches
 * as `true` or `false`. Throws a UserError for a switch with another value and for a flag that Crossplane removed.
 */
export function readStartInput({ args, options: given }: CommandInput, { env }: Pick<Io, "env">): StartInput {
  const options = { ...given };
  const unused: UnusedSetting[] = [];
  for (const row of crossplaneSettings) {
    const found = find(row, { args, options: given }, env);
    const value = found?.value ?? row.preset;
    if (row.removed && found !== undefined && value !== "false") throw removed(found.setting);
    if (value === undefined) continue;
    const setting = found?.setting ?? `--${row.flag}`;
    const parsed = row.type === "bool" ? readSwitch(setting, value) : value;
    options[optionName(row.flag)] = parsed;
    if (row.withoutEffect === undefined || found === undefined || row.metBy === String(parsed)) continue;
    unused.push({ setting, value: String(parsed), reason: row.withoutEffect });
  }
  for (const flag of ownSwitches) {
    const text = textOption({ args, options: given }, optionName(flag));
    if (text !== undefined) options[optionName(flag)] = readSwitch(`--${flag}`, text);
  }
  return { input: { args, options }, unused };
}

function find(
  { flag, aliases = [], env: variables = [] }: CrossplaneSetting,
  { options }: CommandInput,
  env: Io["env"],
): { readonly setting: string; readonly value: string } | undefined {
  // An alias first: only the flag itself can have a default value.
  for (const name of [...aliases, flag]) {
    const value = options[optionName(name)];
    if (value !== undefined) return { setting: `--${name}`, value: String(value) };
  }
  const variable = variables.find((name) => env[name]);
  return variable === undefined ? undefined : { setting: `$${variable}`, value: env[variable] ?? "" };
}

const switchValues: Readonly<Record<string, boolean>> = {
  true: true,
  yes: true,
  1: true,
  false: false,
  no: false,
  0: false,
};

function readSwitch(setting: string, text: string): boolean {
  const word = text.toLowerCase();
  const value = Object.hasOwn(switchValues, word) ? switchValues[word] : undefined;
  if (value !== undefined) return value;
  throw new UserError(`${setting}: expected true or false, not "${text}"`, { exitCode: 2 });
}

function removed(setting: string): UserError {
  return new UserError(`${setting} was removed from Crossplane and is not supported: remove it`, { exitCode: 2 });
}

/** The name of an option in a {@link CommandInput}. */
export function optionName(flag: string): string {
  return flag.replaceAll(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** The features of a completed command line. Throws a UserError for features that exclude each other. */
export function readFeatures(input: CommandInput): Features {
  const usages = isSet(input, "enableUsages");
  const providerDeletionProtection = isSet(input, "enableProviderDeletionProtection");
  if (providerDeletionProtection && !usages) {
    throw new UserError("provider deletion protection requires usages to be enabled (--enable-usages)", {
      exitCode: 2,
    });
  }
  return {
    realtimeCompositions: isSet(input, "enableRealtimeCompositions"),
    serverSideApplyClaims: isSet(input, "enableSsaClaims"),
    acceptOtherClaimVersions: isSet(input, "acceptOtherClaimVersions"),
    ...revisionFeatures(input),
    namespacedEventsOnly: isSet(input, "restrictNamespacedEvents"),
    usages,
    operations: isSet(input, "enableOperations"),
    managedResourceConversion: isSet(input, "enableCustomToManagedResourceConversion"),
    activations: activationsOf(listOption(input, "activation")),
    providerDeletionProtection,
  };
}

/** Rollouts choose revisions, so they need several at a time. */
export function revisionFeatures(
  input: CommandInput,
): Pick<ControlPlaneSettings, "functionRevisionSelectors" | "functionRollouts"> {
  const functionRollouts = isSet(input, "enableFunctionRollouts");
  return {
    functionRevisionSelectors: functionRollouts || isSet(input, "enableFunctionRevisionSelectors"),
    functionRollouts,
  };
}

/** Without patterns everything is activated, as in Crossplane; `none` stands for none. */
function activationsOf(patterns: readonly string[]): readonly string[] {
  if (patterns.includes("none")) {
    if (patterns.length === 1) return [];
    throw new UserError("--activation: none cannot be combined with other patterns", { exitCode: 2 });
  }
  return patterns.length === 0 ? ["*"] : patterns;
}

/** Downgrades imply upgrades. */
export function dependencyVersions(input: CommandInput): "fixed" | "upgrade" | "downgrade" {
  if (isSet(input, "enableDependencyVersionDowngrades")) return "downgrade";
  return isSet(input, "enableDependencyVersionUpgrades") ? "upgrade" : "fixed";
}

/** The settings of a completed command line. Throws a UserError that names the option and what it takes. */
export function readSettings(input: CommandInput): ControlPlaneSettings {
  return {
    ...readFeatures(input),
    syncIntervalMs: durationOption(input, "syncInterval"),
    pollIntervalMs: durationOption(input, "pollInterval"),
    minPollIntervalMs: durationOption(input, "minPollInterval"),
    maxConcurrentReconciles: wholeOption(input, "maxConcurrentReconciles"),
    circuitBreaker: {
      burst: numberOption(input, "circuitBreakerBurst"),
      refillPerSecond: numberOption(input, "circuitBreakerRefillRate"),
      cooldownMs: durationOption(input, "circuitBreakerCooldown"),
    },
    developmentFunctions: isSet(input, "allowDevelopmentFunctions"),
    ...shadowSample(input),
  };
}

function shadowSample(input: CommandInput): Pick<ControlPlaneSettings, "shadowSamplePercent"> {
  const text = textOption(input, "shadowSamplePercent");
  if (text === undefined) return {};
  const value = Number(text);
  if (text !== "" && value >= 0 && value <= 100) return { shadowSamplePercent: value };
  throw wrong("shadowSamplePercent", `a percentage from 0 to 100, not "${text}"`);
}

/** The milliseconds of an option that is a duration. */
function durationOption(input: CommandInput, name: string): number {
  const text = textOption(input, name) ?? "";
  const milliseconds = parseDuration(text);
  if (milliseconds !== undefined && milliseconds > 0) return milliseconds;
  throw wrong(name, `a duration such as 30s or 1m30s, not "${text}"`);
}

function numberOption(input: CommandInput, name: string): number {
  const text = textOption(input, name) ?? "";
  const value = Number(text);
  if (text !== "" && Number.isFinite(value) && value > 0) return value;
  throw wrong(name, `a positive number, not "${text}"`);
}

/** The value of an option that counts something. */
export function wholeOption(input: CommandInput, name: string): number {
  const value = Number(textOption(input, name) ?? "");
  if (Number.isInteger(value) && value > 0) return value;
  throw wrong(name, `a positive integer, not "${textOption(input, name)}"`);
}

/** The value of an option that is a TCP port. */
export function portOption(input: CommandInput, name: string): string | undefined {
  const text = textOption(input, name);
  if (text === undefined || (/^\d{1,5}$/.test(text) && Number(text) <= 65_535)) return text;
  throw wrong(name, `a port between 0 and 65535, not "${text}"`);
}

function wrong(name: string, expected: string): UserError {
  const flag = name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  return new UserError(`--${flag}: expected ${expected}`, { exitCode: 2 });
}

/** The optional features of function calls. */
export interface FunctionFeatures extends Pick<FunctionOptions, "responseCache"> {
  /** Receives requests and responses; the caller closes it. */
  readonly sink: InspectorSink | undefined;
}

/** Reads the response cache and the pipeline inspector from a completed command line. */
export function readFunctionFeatures(input: CommandInput, io: Pick<Io, "cwd">): FunctionFeatures {
  const hasCache = isSet(input, "enableFunctionResponseCache");
  const hasInspector = isSet(input, "enablePipelineInspector");
  const pathOf = (name: string): string => resolve(io.cwd, textOption(input, name) ?? "");
  return {
    responseCache: hasCache
      ? { directory: pathOf("xfnCacheDir"), maxTtlMs: durationOption(input, "xfnCacheMaxTtl") }
      : undefined,
    sink: hasInspector ? createInspectorSink(pathOf("pipelineInspectorSocket")) : undefined,
  };
}
