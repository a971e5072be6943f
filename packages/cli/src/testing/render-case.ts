// SPDX-License-Identifier: Apache-2.0
// A render of which the output of the real command is recorded: its inputs as files, and how to compare outputs.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import { parseYaml } from "../files/yaml-file.ts";
import type { Script } from "./scripted-function.ts";

/** Inputs of a render, and what the real command made of them. */
export interface RenderCase {
  readonly name: string;
  /** Over the members of an App "one" in the namespace "ns1". */
  readonly xr?: JsonObject;
  readonly steps: readonly Script[];
  readonly observed?: readonly JsonObject[];
  readonly xrd?: JsonObject;
  readonly args?: readonly string[];
  readonly exitCode: number;
  readonly documents: readonly JsonObject[];
}

/** Where the recorded renders are. */
const renderCasesFile: string = join(import.meta.dirname, "../render/testdata/crossplane-render.json");

/** All recorded renders. */
export function readRenderCases(): RenderCase[] {
  return JSON.parse(readFileSync(renderCasesFile, "utf8")) as RenderCase[];
}

/** The files of a render whose function listens on a port of this machine. */
export function filesOf({ xr, steps, observed, xrd }: RenderCase, port: number): Record<string, string> {
  const type = { apiVersion: "example.org/v1", kind: "App" };
  const composite = { ...type, metadata: { namespace: "ns1", name: "one" }, spec: { size: 3 }, ...xr };
  const files = {
    "xr.yaml": [composite],
    "composition.yaml": [compositionOf(type, steps)],
    "functions.yaml": [functionAt(port)],
    ...(observed && { "observed.yaml": observed }),
    ...(xrd && { "xrd.yaml": [xrd] }),
  };
  return Object.fromEntries(
    Object.entries(files).map(([name, objects]) => [
      name,
      objects.map((object) => JSON.stringify(object)).join("\n---\n"),
    ]),
  );
}

/** The arguments of a render behind the name of the command. */
export function argumentsOf({ observed, xrd, args = [] }: RenderCase): string[] {
  const files = ["xr.yaml", "composition.yaml", "functions.yaml"];
  return [...files, ...(observed ? ["-o", "observed.yaml"] : []), ...(xrd ? ["--xrd", "xrd.yaml"] : []), ...args];
}

function compositionOf(compositeTypeRef: JsonObject, steps: readonly Script[]): JsonObject {
  const input = { apiVersion: "example.org/v1", kind: "Script" };
  const pipeline = steps.map((script, index) => ({
    step: `step-${index}`,
    functionRef: { name: "scripted" },
    input: { ...input, ...(script as JsonObject) },
  }));
  return {
    apiVersion: "apiextensions.crossplane.io/v1",
    kind: "Composition",
    metadata: { name: "comp" },
    spec: { compositeTypeRef, mode: "Pipeline", pipeline },
  };
}

function functionAt(port: number): JsonObject {
  const annotations = {
    "render.crossplane.io/runtime": "Development",
    "render.crossplane.io/runtime-development-target": `localhost:${port}`,
  };
  return {
    apiVersion: "pkg.crossplane.io/v1",
    kind: "Function",
    metadata: { name: "scripted", annotations },
    spec: { package: "example.org/scripted:v1" },
  };
}

/** The documents of an output. The real command lists resources that are not ready in random order; here by name. */
export function documentsIn(output: string): JsonObject[] {
  const documents = parseYaml(output, "output").flatMap(({ value }) =>
    isJsonObject(value) ? [value as JsonObject] : [],
  );
  const unready = documents.filter(isUnready).sort((a, b) => (String(a["message"]) < String(b["message"]) ? -1 : 1));
  return documents.map((document) => (isUnready(document) ? (unready.shift() ?? document) : document));
}

function isUnready({ kind, message }: JsonObject): boolean {
  return kind === "Result" && /^Composed resource ".*" is not yet ready$/.test(String(message));
}
