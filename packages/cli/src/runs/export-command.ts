// SPDX-License-Identifier: Apache-2.0
import { join, resolve } from "node:path";
import { crossplaneAnnotations } from "@purlin/composition";
import type { State } from "@purlin/function-protocol";
import { developmentAnnotations } from "@purlin/function-runner";
import { isNoMatch } from "@purlin/kube-client";
import { ignoreNotFound } from "@purlin/kube-objects/errors";
import { isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";
import { type KubeObject, objectAt, textAt } from "@purlin/kube-objects/object";
import { compositeName, desiredObjects, lastCall, type Run } from "@purlin/run-store";
import type { Cluster } from "../cluster/cluster-client.ts";
import { makeFolder, replaceFile } from "../files/write-files.ts";
import { printYaml } from "../files/yaml-file.ts";
import { harmlessLine } from "../harmless.ts";
import type { Io } from "../io.ts";
import { isOperation } from "../operation/operation-state.ts";
import { type CommandInput, textOption } from "../options/command-spec.ts";
import { literal } from "../test-command/match.ts";
import { UserError } from "../user-error.ts";
import { openRuns } from "./runs-source.ts";

/** `purlin runs export RUN… -o DIR`: writes each run as a test case. */
export async function run(input: CommandInput, io: Io): Promise<undefined> {
  const folder = resolve(io.cwd, textOption(input, "output") ?? "");
  await using runs = await openRuns(input, io);
  for (const id of input.args) {
    const found = await runs.get(id);
    if (found.steps.length === 0)
      throw new UserError(`run ${found.id} ended before its pipeline: there is nothing to test`);
    const target = input.args.length === 1 ? folder : join(folder, fileName(found.id.toLowerCase()));
    const files = exportedFiles(found, await definitionsOf(found, runs.cluster, io));
    for (const [name, documents] of files) {
      await makeFolder(resolve(target, name, ".."), 0o755);
      await replaceFile(join(target, name), textOf(documents));
    }
    io.stdout.write(`${harmlessLine(found.id)}: ${files.size} files in ${target}\n`);
    for (const name of withoutPackage(files.get("functions.yaml") ?? []))
      io.stderr.write(
        `warning: the package of ${harmlessLine(name)} was not recorded: set spec.package or ${developmentAnnotations.source} in ${join(target, "functions.yaml")}\n`,
      );
  }
}

function textOf(documents: readonly JsonValue[]): string {
  return documents.map((document) => printYaml(document)).join("---\n");
}

/** The XRD and the Functions of a run, as the control plane has them now. */
async function definitionsOf(
  { xr, steps }: Run,
  cluster: Cluster | undefined,
  { signal }: Io,
): Promise<readonly JsonObject[]> {
  if (cluster === undefined) return [];
  const { client } = cluster;
  const definition = (version: string) => ({
    apiVersion: `apiextensions.crossplane.io/${version}`,
    kind: "CompositeResourceDefinition",
  });
  const { items } = await client.list(definition("v2"), { signal }).catch((error: unknown) => {
    if (isNoMatch(error)) return client.list(definition("v1"), { signal });
    throw error;
  });
  const [group] = xr.apiVersion.split("/");
  const isOurs = (one: KubeObject): boolean => {
    const { group: ofGroup, names } = one["spec"] as {
      readonly group: string;
      readonly names: { readonly kind: string };
    };
    return ofGroup === group && names.kind === xr.kind;
  };
  const fn = { apiVersion: "pkg.crossplane.io/v1", kind: "Function" };
  const functions = await Promise.all(
    [...new Set(steps.map((step) => step.function))].map((name) =>
      ignoreNotFound(client.get(fn, { name }, { signal })),
    ),
  );
  return [...items.filter(isOurs), ...functions.filter((one) => one !== undefined)].map((one) => one as JsonObject);
}

const { resourceName } = crossplaneAnnotations;
/** Members of metadata that the API server of the run set. */
const serverSet: ReadonlySet<string> = new Set(["managedFields", "selfLink"]);

/** The files of a test case, by name. */
type Files = Map<string, readonly JsonValue[]>;

/** A run as a test case of `purlin test`: its inputs as fixtures, and its desired state as what is expected. */
export function exportedFiles(run: Run, definitions: readonly JsonObject[]): ReadonlyMap<string, readonly JsonValue[]> {
  const redactions = createRedactions();
  const clean = (value: JsonObject): JsonObject => asStored(redactions.replace(portable(value)) as JsonObject);
  const files: Files = new Map();
  const inputs: Record<string, JsonValue> = {};
  const add = (input: string, name: string, documents: readonly JsonObject[]): void => {
    if (documents.length === 0) return;
    inputs[input] = name;
    files.set(name, documents.map(clean));
  };
  const last = run.steps.at(-1);
  // An Operation observes nothing but what its functions require.
  const observed = isOperation(run.xr) ? [] : resourcesIn(last && lastCall(last)?.request.observed);
  if (isOperation(run.xr)) add("operation", "fixtures/operation.yaml", [run.composite]);
  else add("xr", "fixtures/xr.yaml", [run.composite]);
  add(
    "xrd",
    "fixtures/xrd.yaml",
    definitions.filter(({ kind }) => kind === "CompositeResourceDefinition").map(applicable),
  );
  add("composition", "fixtures/composition.yaml", run.revision === undefined ? [] : [compositionOf(run, run.revision)]);
  add("functions", "functions.yaml", functionsOf(run, definitions));
  for (const [name, object] of observed) files.set(freeFile(files, "fixtures/observed", name), [clean(object)]);
  if (observed.length > 0) inputs["observed"] = "fixtures/observed";
  const required = requiredOf(run);
  for (const [name, objects] of required) files.set(freeFile(files, "fixtures/required", name), objects.map(clean));
  if (required.length > 0) inputs["required"] = "fixtures/required";
  if (redactions.values.size > 0) {
    if (!isOperation(run.xr)) inputs["secrets"] = "fixtures/redacted.yaml";
    files.set("fixtures/redacted.yaml", [Object.fromEntries(redactions.values)]);
  }
  files.set(`${fileName(caseName(run))}.test.yaml`, [caseOf(run, inputs, redactions.replace)]);
  return files;
}

/** An XRD in the version that accepts it: v2 is read of every XRD, and has no name for the scope of those with claims. */
function applicable(definition: JsonObject): JsonObject {
  const isLegacy = textAt(definition, ["spec", "scope"]) === "LegacyCluster";
  return isLegacy ? { ...definition, apiVersion: "apiextensions.crossplane.io/v1" } : definition;
}

function caseName({ id, xr }: Run): string {
  return `${xr.name}-${id.slice(0, 8).toLowerCase()}`;
}

function caseOf(run: Run, inputs: JsonObject, replace: (value: JsonValue) => JsonValue): JsonObject {
  const conditions = run.conditions
    .filter(({ type }) => type !== "Responsive")
    .map(({ type, status, reason }) => ({ type, status, reason }));
  const fatal = run.outcome === "failed" && run.error !== undefined ? { fatal: escaped(run.error) } : {};
  // An attempt that fails is recorded before its conditions are written.
  const failed = isOperation(run.xr) ? fatal : { ...fatal, conditions };
  const expect = run.outcome === "failed" ? failed : { ...desiredOf(run), ...outputsOf(run), conditions };
  return {
    apiVersion: "test.purlin.dev/v1alpha1",
    kind: isOperation(run.xr) ? "OperationTest" : "CompositionTest",
    metadata: { name: caseName(run), annotations: { "purlin.dev/run": run.id } },
    spec: { inputs, cases: [{ name: "as recorded", expect: withHidden(replace(expect) as JsonObject) }] },
  };
}

/** Values of Secrets that were hidden may be any. */
function withHidden(expect: JsonObject): JsonObject {
  const { desired, ...rest } = expect;
  if (desired === undefined) return expect;
  const resources = membersOf(objectAt(expect, ["desired", "resources"])).map(([name, object]) => [
    name,
    isJsonObject(object) && isSecret(object) ? expectedSecret(object) : object,
  ]);
  const all = { ...(desired as JsonObject), resources: Object.fromEntries(resources) as JsonObject };
  return { ...rest, desired: all };
}

function expectedSecret(secret: JsonObject): JsonObject {
  const values = (field: string): JsonObject => {
    if (secret[field] === undefined) return {};
    const shown = membersOf(secret[field]).map((one) => [one[0], isHidden(one) ? { $any: true } : one[1]]);
    return { [field]: Object.fromEntries(shown) as JsonObject };
  };
  return { ...secret, ...values("data"), ...values("stringData") };
}

const isSecret = ({ apiVersion, kind }: JsonObject): boolean => apiVersion === "v1" && kind === "Secret";

const isHidden = ([, value]: readonly [string, JsonValue]): boolean => /^redacted-\d+$/.test(String(value));

/** A regular expression that matches a text. */
function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

/** Each secret value has one name in all fixtures. */
function createRedactions() {
  const values = new Map<string, string>();
  const nameOf = (mark: string): string => {
    const known = [...values].find(([, one]) => one === mark)?.[0];
    const name = known ?? `redacted-${values.size + 1}`;
    values.set(name, mark);
    return name;
  };
  const replace = (value: JsonValue): JsonValue => {
    if (typeof value === "string") return value.replaceAll(/\*\*REDACTED(?::[0-9a-f]{8})?\*\*/g, nameOf);
    if (Array.isArray(value)) return value.map(replace);
    if (!isJsonObject(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, replace(member)]));
  };
  return { values, replace };
}

function portable(object: JsonObject): JsonObject {
  const { metadata } = object;
  if (!isJsonObject(metadata ?? null)) return object;
  const kept = Object.entries(metadata as JsonObject).filter(([name]) => !serverSet.has(name));
  return { ...object, metadata: Object.fromEntries(kept) };
}

function compositionOf({ composition }: Run, revision: JsonObject): JsonObject {
  const { revision: _, ...spec } = revision["spec"] as JsonObject;
  return { apiVersion: "apiextensions.crossplane.io/v1", kind: "Composition", metadata: { name: composition }, spec };
}

function functionsOf({ steps }: Run, definitions: readonly JsonObject[]): readonly JsonObject[] {
  const names = [...new Set(steps.map((step) => step.function))];
  return names.map((name) => {
    const known = definitions.find(
      ({ kind, metadata }) => kind === "Function" && (metadata as JsonObject)["name"] === name,
    );
    const pkg = steps.find((step) => step.function === name)?.package ?? "";
    const type = { apiVersion: "pkg.crossplane.io/v1", kind: "Function" };
    if (known === undefined && pkg !== "") return { ...type, metadata: { name }, spec: { package: pkg } };
    // A pipeline inspector does not name packages: the case is complete once the source is there.
    if (known === undefined)
      return { ...type, metadata: { name, annotations: { [developmentAnnotations.source]: `${name}.ts` } } };
    const { annotations } = known["metadata"] as JsonObject;
    const { spec } = known;
    // A function that runs from a source file has no package.
    return {
      ...type,
      metadata: { name, ...(annotations !== undefined && { annotations }) },
      ...(spec !== undefined && { spec }),
    };
  });
}

/** The names of Functions of which neither package nor source is known. */
function withoutPackage(functions: readonly JsonValue[]): readonly string[] {
  return (functions as readonly KubeObject[]).flatMap(({ metadata, spec }) => {
    const { name = "", annotations } = metadata;
    const isMadeUp = annotations?.[developmentAnnotations.source] === `${name}.ts`;
    return spec === undefined && isMadeUp ? [name] : [];
  });
}

function resourcesIn(state: State | undefined): readonly (readonly [string, JsonObject])[] {
  return [...(state?.resources ?? [])].map(
    ([name, { resource }]) => [name, named(resource?.value ?? {}, name)] as const,
  );
}

function requiredOf({ steps }: Run): readonly (readonly [string, readonly JsonObject[]])[] {
  const found = new Map<string, readonly JsonObject[]>();
  for (const step of steps) {
    const request = lastCall(step)?.request;
    const all = [...(request?.requiredResources ?? []), ...(request?.extraResources ?? [])];
    for (const [name, { items }] of all) {
      const key = `${step.name}-${name}`;
      const objects = items.map(({ resource }): JsonObject => resource?.value ?? {});
      if (items.length > 0) found.set(key, [...(found.get(key) ?? []), ...objects]);
    }
  }
  return [...found];
}

/** What the pipeline wants in the end, exactly: also a field that a function adds later is a difference. */
function desiredOf(run: Run): JsonObject {
  const last = run.steps.findLast((step) => lastCall(step)?.response !== undefined);
  const desired = desiredObjects(last && lastCall(last)?.response?.desired);
  const names = [...desired.keys()].filter((name) => name !== compositeName).sort();
  const composite = isOperation(run.xr) ? undefined : plain(desired.get(compositeName) ?? {});
  const resources = Object.fromEntries(names.map((name) => [name, literal(plain(desired.get(name) ?? {}))]));
  return {
    resources: { only: names },
    desired: { ...(composite !== undefined && { composite: literal(composite) }), resources },
  };
}

/** The outputs of the steps of an Operation. */
function outputsOf(run: Run): JsonObject {
  if (!isOperation(run.xr)) return {};
  const outputs = run.steps.flatMap((step) => {
    const output = lastCall(step)?.response?.output;
    return output === undefined ? [] : [[step.name, output.value] as const];
  });
  return outputs.length === 0 ? {} : { outputs: Object.fromEntries(outputs) };
}

/** A Secret as an API server stores it: text is in `data`, and replaced values are base64 as those before them were. */
function asStored(object: JsonObject): JsonObject {
  if (!isSecret(object)) return object;
  const { stringData, data, ...rest } = object;
  const base64 = (text: JsonValue): JsonValue => Buffer.from(String(text)).toString("base64");
  const encoded = membersOf(data).map(([key, value]) => [key, isHidden([key, value]) ? base64(value) : value]);
  const written = membersOf(stringData).map(([key, value]) => [key, base64(value)]);
  return { ...rest, data: Object.fromEntries([...encoded, ...written]) as JsonObject };
}

const membersOf = (value: JsonValue | undefined): [string, JsonValue][] =>
  isJsonObject(value ?? null) ? (Object.entries(value as JsonObject) as [string, JsonValue][]) : [];

function plain({ "(ready)": _, ...object }: JsonObject): JsonObject {
  return object as JsonObject;
}

function named(object: JsonObject, name: string): JsonObject {
  const metadata = isJsonObject(object["metadata"] ?? null) ? (object["metadata"] as JsonObject) : {};
  const annotations = { ...(metadata["annotations"] as JsonObject | undefined), [resourceName]: name };
  return { ...object, metadata: { ...metadata, annotations } };
}

/** A name that a run states, as that of a file in the folder: an imported run may state any text. */
function fileName(name: string): string {
  return (
    name
      .slice(0, 200)
      .replaceAll(/[^\w.-]/g, "_")
      .replace(/^\.+$/, "_") || "_"
  );
}

/** A file for a resource of any name. Names that differ only in what file names cannot have get files of their own. */
function freeFile(files: ReadonlyMap<string, unknown>, folder: string, name: string): string {
  const file = `${folder}/${fileName(name)}`;
  let free = file;
  for (let number = 2; files.has(`${free}.yaml`); number += 1) free = `${file}-${number}`;
  return `${free}.yaml`;
}
