// SPDX-License-Identifier: Apache-2.0
import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import { readText } from "../files/read-text.ts";
import { parseYaml } from "../files/yaml-file.ts";
import type { Io } from "../io.ts";
import { type CommandInput, isSet, listOption, textOption } from "../options/command-spec.ts";
import { readTimeout } from "../options/duration.ts";
import { UserError } from "../user-error.ts";

/** The command line of `purlin render`, understood. */
export interface RenderCommand {
  readonly xr: string;
  readonly composition: string;
  readonly functions: string;
  readonly fullXr: boolean;
  readonly showResults: boolean;
  readonly showContext: boolean;
  readonly observed: readonly string[];
  readonly required: readonly string[];
  readonly schemas: readonly string[];
  readonly credentials: readonly string[];
  readonly annotations: Readonly<Record<string, string>>;
  readonly xrd: string | undefined;
  readonly timeoutMs: number;
}

/** Reads arguments and options. */
export function readRenderCommand(input: CommandInput): RenderCommand {
  const [xr = "", composition = "", functions = ""] = input.args;
  return {
    xr,
    composition,
    functions,
    fullXr: isSet(input, "includeFullXr"),
    showResults: isSet(input, "includeFunctionResults"),
    showContext: isSet(input, "includeContext"),
    observed: listOption(input, "observedResources"),
    required: [...listOption(input, "requiredResources"), ...listOption(input, "extraResources")],
    schemas: listOption(input, "requiredSchemas"),
    credentials: listOption(input, "functionCredentials"),
    annotations: Object.fromEntries(listOption(input, "functionAnnotations").map((text) => pair(text, "-a"))),
    xrd: textOption(input, "xrd"),
    timeoutMs: readTimeout(textOption(input, "timeout") ?? ""),
  };
}

/** The context before the first step, from files and from the command line. */
export async function readContext(input: CommandInput, io: Io): Promise<JsonObject> {
  const values: [string, JsonValue][] = [];
  for (const text of listOption(input, "contextFiles")) {
    const [key, file] = pair(text, "--context-files");
    values.push([key, contextValue(await readText(file, io, { what: "context file" }), file)]);
  }
  for (const text of listOption(input, "contextValues")) {
    const [key, value] = pair(text, "--context-values");
    values.push([key, contextValue(value, `--context-values ${key}`)]);
  }
  return Object.fromEntries(values);
}

function contextValue(text: string, where: string): JsonValue {
  const [document, second] = parseYaml(text, where);
  if (second !== undefined) throw new UserError(`${second.at()}: a second document starts here: expected one value`);
  return (document?.value ?? null) as JsonValue;
}

function pair(text: string, flag: string): [string, string] {
  const at = text.indexOf("=");
  if (at > 0) return [text.slice(0, at), text.slice(at + 1)];
  throw new UserError(`${flag}: expected key=value, not "${text}"`, { exitCode: 2 });
}
