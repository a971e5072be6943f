// SPDX-License-Identifier: Apache-2.0

import { type CrossplaneLine, crossplaneLines } from "@purlin/function-runner";
import { type CommandInput, isSet, textOption } from "../commands/command-spec.ts";
import { readTimeout } from "../commands/duration.ts";
import { UserError } from "../user-error.ts";
import { parseTarget, type Target } from "./parse-target.ts";
import type { RequestFiles } from "./read-request.ts";
import type { RequirementPaths } from "./requirement-files.ts";

/** The command line of `purlin function call`, understood. */
export interface CallOptions {
  readonly target: Target;
  /** The folder with our certificates; undefined for plaintext. */
  readonly tlsCertsDir: string | undefined;
  readonly request: RequestFiles;
  readonly paths: RequirementPaths;
  readonly asCrossplane: CrossplaneLine | undefined;
  readonly timeoutMs: number;
}

/** Reads the options, and refuses those that make no sense together. */
export function readCallOptions(input: CommandInput): CallOptions {
  return {
    target: parseTarget(textOption(input, "target") ?? ""),
    tlsCertsDir: securityOf(input),
    request: { request: textOption(input, "request"), xr: textOption(input, "xr") },
    paths: {
      requiredResources: textOption(input, "requiredResources"),
      crds: textOption(input, "crds"),
      openapi: textOption(input, "openapi"),
    },
    asCrossplane: releaseLine(textOption(input, "asCrossplane")),
    timeoutMs: readTimeout(textOption(input, "timeout") ?? ""),
  };
}

function releaseLine(text: string | undefined): CrossplaneLine | undefined {
  const line = crossplaneLines.find((known) => known === text);
  if (text === line) return line;
  throw new UserError(`--as-crossplane: expected one of ${crossplaneLines.join(", ")}, not "${text}"`, { exitCode: 2 });
}

function securityOf(input: CommandInput): string | undefined {
  const directory = textOption(input, "tlsCertsDir");
  const insecure = isSet(input, "insecure");
  if (insecure && directory !== undefined) {
    throw new UserError("--insecure and --tls-certs-dir exclude each other: give one of them", { exitCode: 2 });
  }
  if (insecure || directory !== undefined) return directory;
  throw new UserError(
    "say how to call: --insecure for a function that serves plaintext, or --tls-certs-dir DIR for mutual TLS",
    { exitCode: 2 },
  );
}
