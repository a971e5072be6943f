// SPDX-License-Identifier: Apache-2.0
// A render of which the output of the real command is recorded: its inputs as files, and how to compare outputs.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import {
  Condition,
  create,
  type FunctionHandler,
  fromJson,
  Ready,
  Resource,
  Result,
  type RunFunctionRequest,
  request,
  response,
  State,
  Struct,
} from "@purlin/function-sdk";
import { isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import { parseYaml } from "../src/files/yaml-file.ts";

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
const renderCasesFile: string = join(import.meta.dirname, "../src/render/testdata/crossplane-render.json");

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

/** Inputs of a render of an operation, and what the real command made of them. */
export interface OperationRenderCase extends Pick<RenderCase, "name" | "steps" | "args" | "exitCode" | "documents"> {
  /** Operation unless given. */
  readonly kind?: string;
  /** Over the members of the object. */
  readonly object?: JsonObject;
  /** Over the members of the spec of the Operation, or of the template. */
  readonly spec?: JsonObject;
  /** Over the members of the first step. */
  readonly first?: JsonObject;
  readonly required?: readonly JsonObject[];
  readonly watched?: readonly JsonObject[];
  readonly credentials?: readonly JsonObject[];
}

/** All recorded renders of operations. */
export function readOperationRenderCases(): OperationRenderCase[] {
  const file = join(import.meta.dirname, "../src/operation/testdata/crossplane-operation-render.json");
  return JSON.parse(readFileSync(file, "utf8")) as OperationRenderCase[];
}

/** The files of a render of an operation, and its arguments behind the name of the command. */
export function operationInputs(
  { kind = "Operation", object, spec, first, steps, required, watched, credentials, args = [] }: OperationRenderCase,
  port: number,
): { readonly files: Record<string, string>; readonly args: readonly string[] } {
  const pipeline = pipelineOf(steps).map((step, index) => (index === 0 ? { ...step, ...first } : step));
  const own = { mode: "Pipeline", pipeline, ...spec };
  const rest = kind === "Operation" ? own : { operationTemplate: { spec: own } };
  const operation = {
    apiVersion: "ops.crossplane.io/v1alpha1",
    kind,
    metadata: { name: "one" },
    spec: rest,
    ...object,
  };
  const more = [
    ["-e", "required.yaml", required],
    ["-w", "watched.yaml", watched],
    ["--function-credentials", "credentials.yaml", credentials],
  ] as const;
  const given = more.flatMap(([flag, file, objects]) => (objects === undefined ? [] : [{ flag, file, objects }]));
  const files = [
    { file: "operation.yaml", objects: [operation] },
    { file: "functions.yaml", objects: [functionAt(port)] },
    ...given,
  ];
  const text = (objects: readonly JsonObject[]): string => objects.map((one) => JSON.stringify(one)).join("\n---\n");
  return {
    files: Object.fromEntries(files.map(({ file, objects }) => [file, text(objects as readonly JsonObject[])])),
    args: ["operation.yaml", "functions.yaml", ...given.flatMap(({ flag, file }) => [flag, file]), ...args],
  };
}

/**
 * The documents of a render of an operation, without what depends on the version and time of the real command: it prints the spec also
 * without `-o` (its help says otherwise), a resourceVersion of its memory, and the time at which it ran.
 */
export function operationDocuments(output: string, { args = [] }: Pick<OperationRenderCase, "args">): JsonObject[] {
  const [operation, ...others] = documentsIn(output);
  const applied = others.filter(({ kind }) => kind !== "Result" && kind !== "Context");
  // The real command applies resources in random order.
  const sorted = applied.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
  const documents = operation === undefined ? [] : [operation, ...sorted, ...others.slice(applied.length)];
  return documents.map((document) => {
    if (document["kind"] !== "Operation") return document;
    const { spec, metadata, status, ...type } = document as Record<string, JsonObject>;
    const { resourceVersion: _version, ...named } = metadata ?? {};
    const { conditions = [], ...others } = status ?? {};
    const timeless = (conditions as readonly JsonObject[]).map(({ lastTransitionTime: _time, ...one }) => one);
    const kept = args.includes("-o") && spec !== undefined ? { spec } : {};
    return { ...type, metadata: named, ...kept, status: { conditions: timeless, ...others } };
  });
}

function pipelineOf(steps: readonly Script[]): JsonObject[] {
  const input = { apiVersion: "example.org/v1", kind: "Script" };
  return steps.map((script, index) => ({
    step: `step-${index}`,
    functionRef: { name: "scripted" },
    input: { ...input, ...(script as JsonObject) },
  }));
}

function compositionOf(compositeTypeRef: JsonObject, steps: readonly Script[]): JsonObject {
  return {
    apiVersion: "apiextensions.crossplane.io/v1",
    kind: "Composition",
    metadata: { name: "comp" },
    spec: { compositeTypeRef, mode: "Pipeline", pipeline: pipelineOf(steps) },
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

/** What a step of a pipeline answers with: its input says it. */
interface Script {
  /** The desired composite resource. */
  readonly composite?: JsonObject;
  readonly compositeReady?: Ready;
  /** Desired composed resources by resource name. */
  readonly resources?: Readonly<Record<string, JsonObject>>;
  /** The resource names of those that are ready. */
  readonly ready?: readonly string[];
  readonly conditions?: readonly JsonObject[];
  readonly results?: readonly JsonObject[];
  /** Whether the desired status lists the resource names of what is observed. */
  readonly listObserved?: boolean;
  readonly output?: JsonObject;
  /** Keys that are added to the context. */
  readonly context?: Readonly<Record<string, string | object>>;
  /** Whether the output says which objects and credentials the function was given. */
  readonly listGiven?: boolean;
}

/** A function that answers with what its input says. */
export const scriptedFunction: FunctionHandler = (req, ctx) => {
  const rsp = ctx.to(req);
  const script = (request.getInput(req) ?? {}) as Script;
  const desired = rsp.desired ?? create(State);
  rsp.desired = desired;
  const observed = [...(req.observed?.resources.keys() ?? [])].sort();
  const composite = script.listObserved ? { status: { observed } } : script.composite;
  if (composite !== undefined || script.compositeReady !== undefined) {
    const ready = script.compositeReady ?? Ready.READY_UNSPECIFIED;
    desired.composite = create(Resource, { resource: composite && Struct.from(composite), ready });
  }
  for (const [name, object] of Object.entries(script.resources ?? {})) {
    const ready = script.ready?.includes(name) ? Ready.READY_TRUE : Ready.READY_UNSPECIFIED;
    desired.resources.set(name, create(Resource, { resource: Struct.from(object), ready }));
  }
  const output = script.listGiven ? givenTo(req) : script.output;
  if (output !== undefined) rsp.output = Struct.from(output);
  for (const [key, value] of Object.entries(script.context ?? {})) response.setContextKey(rsp, key, value);
  rsp.conditions.push(...(script.conditions ?? []).map((condition) => fromJson(Condition, condition)));
  rsp.results.push(...(script.results ?? []).map((result) => fromJson(Result, result)));
  return rsp;
};

function givenTo(req: RunFunctionRequest): JsonObject {
  const required = [...req.requiredResources].map(([name, { items }]) => [
    name,
    items.map(({ resource }) => resource?.value["metadata"] ?? {}),
  ]);
  const credentials = [...req.credentials].map(([name, { source }]) => [
    name,
    source?.case === "credentialData" ? [...source.value.data.keys()].sort() : [],
  ]);
  return { required: Object.fromEntries(required), credentials: Object.fromEntries(credentials) };
}
