// SPDX-License-Identifier: Apache-2.0
import type { ControlPlaneSettings } from "@purlin/control-plane";
import { type CommandInput, isSet, textOption } from "../commands/command-spec.ts";
import { parseDuration } from "../commands/duration.ts";
import { UserError } from "../user-error.ts";

/** The settings of a completed command line. Throws a UserError that names the option and what it takes. */
export function readSettings(input: CommandInput): ControlPlaneSettings {
  return {
    syncIntervalMs: durationOption(input, "syncInterval"),
    pollIntervalMs: durationOption(input, "pollInterval"),
    minPollIntervalMs: durationOption(input, "minPollInterval"),
    maxConcurrentReconciles: wholeOption(input, "maxConcurrentReconciles"),
    circuitBreaker: {
      burst: numberOption(input, "circuitBreakerBurst"),
      refillPerSecond: numberOption(input, "circuitBreakerRefillRate"),
      cooldownMs: durationOption(input, "circuitBreakerCooldown"),
    },
    realtimeCompositions: isSet(input, "enableRealtimeCompositions"),
    serverSideApplyClaims: isSet(input, "enableSsaClaims"),
    acceptOtherClaimVersions: isSet(input, "acceptOtherClaimVersions"),
    functionRevisionSelectors: isSet(input, "enableFunctionRevisionSelectors"),
    developmentFunctions: isSet(input, "allowDevelopmentFunctions"),
    namespacedEventsOnly: isSet(input, "restrictNamespacedEvents"),
  };
}

/** The milliseconds of an option that is a duration. */
export function durationOption(input: CommandInput, name: string): number {
  const text = textOption(input, name) ?? "";
  const milliseconds = parseDuration(text);
  if (milliseconds !== undefined && milliseconds > 0) return milliseconds;
  throw wrong(name, `a duration such as 30s or 1m30s, not "${text}"`);
}

function numberOption(input: CommandInput, name: string): number {
  const text = textOption(input, name) ?? "";
  const value = Number(text);
  if (text !== "" && Number.isFinite(value) && value > 0) return value;
  throw wrong(name, `a number above 0, not "${text}"`);
}

/** The value of an option that counts something. */
export function wholeOption(input: CommandInput, name: string): number {
  const value = Number(textOption(input, name) ?? "");
  if (Number.isInteger(value) && value > 0) return value;
  throw wrong(name, `a whole number above 0, not "${textOption(input, name)}"`);
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
