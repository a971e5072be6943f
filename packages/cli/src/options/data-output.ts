// SPDX-License-Identifier: Apache-2.0
// Documents for other programs: `-o json` and `-o yaml`.
import { type JsonValue, printJson } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { printYaml } from "../files/yaml-file.ts";
import { harmlessJson } from "../harmless.ts";
import type { Io } from "../io.ts";
import { type errorEntry, UserError } from "../user-error.ts";
import { type CommandInput, textOption } from "./command-spec.ts";

/** The value of --output. The first format is the default. */
export function readOutput(input: CommandInput, formats: readonly string[]): string {
  const output = textOption(input, "output") ?? formats[0] ?? "";
  if (formats.includes(output)) return output;
  const [last, ...others] = formats.toReversed();
  throw new UserError(`--output ${output}: expected ${others.toReversed().join(", ")} or ${last}`, { exitCode: 2 });
}

/** A document as JSON, with one line for each member. */
export function jsonText(value: JsonValue | object): string {
  return harmlessJson(`${printJson(value, { indent: 2 })}\n`);
}

/** Prints a document in the format that the user chose, json or yaml. */
export function printData(data: object, output: string, io: Io): undefined {
  io.stdout.write(output === "yaml" ? printYaml(data) : jsonText(data));
}

/** The formats of commands that print objects as documents. */
export const documentFormats: readonly string[] = ["yaml", "json"];

/** Objects as one List in JSON. */
export function listText(items: readonly object[]): string {
  return jsonText({ apiVersion: "v1", kind: "List", items });
}

/** What a command did to an object. */
interface Action {
  readonly object: Pick<KubeObject, "apiVersion" | "kind" | "metadata">;
  readonly action: "created" | "configured" | "unchanged" | "patched" | "edited" | "deleted";
}

/** The document of commands that write objects. */
export function actionReport(
  actions: readonly Action[],
  errors: readonly ReturnType<typeof errorEntry>[] = [],
): object {
  const items = actions.map(({ object: { apiVersion, kind, metadata }, action }) => ({
    apiVersion,
    kind,
    ...(metadata.namespace === undefined ? {} : { namespace: metadata.namespace }),
    name: metadata.name,
    action,
  }));
  return {
    apiVersion: "cli.purlin.dev/v1",
    kind: "ActionReport",
    items,
    ...(errors.length === 0 ? {} : { errors }),
  };
}
