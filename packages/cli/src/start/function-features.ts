// SPDX-License-Identifier: Apache-2.0
import { resolve } from "node:path";
import type { FunctionOptions } from "@purlin/control-plane";
import { createInspectorSink, type InspectorSink } from "@purlin/function-runner";
import type { Io } from "../io.ts";
import { type CommandInput, isSet, textOption } from "../options/command-spec.ts";
import { durationOption } from "./start-input.ts";

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
