// SPDX-License-Identifier: Apache-2.0
import { resolve } from "node:path";
import type { FunctionOptions } from "@purlin/control-plane";
import { createInspectorSink, type InspectorSink, type RunnerLog, type TlsSource } from "@purlin/function-runner";
import { type CommandInput, isSet, textOption } from "../commands/command-spec.ts";
import { readFunctionLimits } from "../commands/function-limits.ts";
import { readClientCertificates } from "../function-call/client-certificates.ts";
import type { Io } from "../io.ts";
import { durationOption } from "./start-settings.ts";

/** How functions are called: with the certificates of a folder where one is named, with those of the cluster otherwise. */
export interface StartFunctions extends Pick<FunctionOptions, "responseCache" | "answerLimits"> {
  readonly security: TlsSource | undefined;
  /** Receives requests and responses; the caller closes it. */
  readonly sink: InspectorSink | undefined;
}

/** Reads how functions are called. Throws a UserError when the folder with certificates is of no use. */
export function readFunctions(input: CommandInput, io: Io, log: RunnerLog): StartFunctions {
  return {
    security: readClientCertificates(input, io, log)?.security,
    answerLimits: readFunctionLimits(input),
    responseCache: readCache(input, io),
    sink: openInspector(input, io),
  };
}

function readCache(input: CommandInput, io: Io): FunctionOptions["responseCache"] {
  if (!isSet(input, "enableFunctionResponseCache")) return undefined;
  return {
    directory: resolve(io.cwd, textOption(input, "xfnCacheDir") ?? ""),
    maxTtlMs: durationOption(input, "xfnCacheMaxTtl"),
  };
}

function openInspector(input: CommandInput, io: Io): InspectorSink | undefined {
  if (!isSet(input, "enablePipelineInspector")) return undefined;
  return createInspectorSink(resolve(io.cwd, textOption(input, "pipelineInspectorSocket") ?? ""));
}
