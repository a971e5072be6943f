// SPDX-License-Identifier: Apache-2.0
import { resolve } from "node:path";
import { readPort } from "../apiserver/embedded-server.ts";
import { defaultDataDir } from "../cluster/cluster-options.ts";
import { type CommandInput, isSet, textOption } from "../commands/command-spec.ts";
import { readTimeout } from "../commands/duration.ts";
import type { Io } from "../io.ts";

/** The command line of `purlin up`, understood. */
export interface UpOptions {
  /** Files and folders as the user named them. */
  readonly paths: readonly string[];
  /** Absolute. */
  readonly directory: string;
  readonly port: number;
  /** Where the registry listens; where it did before unless given. */
  readonly registryPort?: number | undefined;
  /** Leave when all is ready, or with what is not after so many milliseconds. */
  readonly waitMs: number | undefined;
  readonly debug: boolean;
  /** Delete objects that were removed from the files. */
  readonly prune?: boolean;
  /** Several revisions of a function at once, and compositions that choose. */
  readonly functionRevisionSelectors: boolean;
}

/** Reads the command line. */
export function readUpOptions(input: CommandInput, io: Io): UpOptions {
  const timeoutMs = readTimeout(textOption(input, "timeout") ?? "5m");
  return {
    paths: input.args,
    directory: resolve(io.cwd, textOption(input, "dataDir") ?? defaultDataDir),
    port: readPort(input.options["port"]),
    registryPort: readPort(input.options["registryPort"], "--registry-port") || undefined,
    waitMs: isSet(input, "wait") ? timeoutMs : undefined,
    prune: isSet(input, "prune"),
    debug: isSet(input, "debug"),
    functionRevisionSelectors: isSet(input, "enableFunctionRevisionSelectors"),
  };
}
