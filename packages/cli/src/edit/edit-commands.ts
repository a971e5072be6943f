// SPDX-License-Identifier: Apache-2.0
import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { isNotFound } from "@purlin/kube-objects/errors";
import { isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { type Cluster, openCluster } from "../cluster/cluster-client.ts";
import { findResource, findTargets, type Target } from "../cluster/find-resource.ts";
import { readText } from "../files/read-text.ts";
import { parseYaml } from "../files/yaml-file.ts";
import { fetchTarget, objectsOf, printObject } from "../get/selected-objects.ts";
import { harmlessLine } from "../harmless.ts";
import type { Io } from "../io.ts";
import { manifestManager } from "../manifests/apply-manifests.ts";
import { unknownFields } from "../manifests/apply-problem.ts";
import { type CommandInput, textOption } from "../options/command-spec.ts";
import { actionReport, printData, readOutput } from "../options/data-output.ts";
import { textOf, UserError } from "../user-error.ts";

const header = `# Edit the object below. Lines that begin with a '#' are ignored; an empty file or one
# without a change cancels the edit. If the API server rejects the change, the file is opened again.
#
`;

/** `purlin edit TYPE NAME` */
export async function run(input: CommandInput, io: Io): Promise<undefined> {
  const output = readOutput(input, ["text", "json", "yaml"]);
  await using cluster = await openCluster(input, io);
  const [target, another] = await findTargets(cluster.client, input.args, io.signal);
  if (target?.name === undefined || another !== undefined) {
    throw new UserError("specify one object: TYPE NAME", { exitCode: 2 });
  }
  const selection = { namespace: cluster.namespace };
  const fetched = await fetchTarget(cluster, target, { selection, accept: "application/json", signal: io.signal });
  const [object] = objectsOf(fetched);
  if (object === undefined) return;
  const title = `${object.kind} ${target.name}`;
  const subresource = textOption(input, "subresource");
  const isChanged = await edit({ cluster, target, io, subresource }, object);
  if (output !== "text") {
    return printData(actionReport([{ object, action: isChanged ? "edited" : "unchanged" }]), output, io);
  }
  io.stdout.write(isChanged ? `${title} edited\n` : `Edit cancelled, ${title} is unchanged.\n`);
}

interface Editing {
  readonly cluster: Cluster;
  readonly target: Target;
  readonly io: Io;
  readonly subresource: string | undefined;
}

/** Opens the editor until the change is accepted or the user cancels. */
async function edit(editing: Editing, object: KubeObject): Promise<boolean> {
  const { io, target } = editing;
  const folder = await mkdtemp(join(tmpdir(), "purlin-edit-"));
  const file = join(folder, `${target.name}.yaml`);
  const original = printObject(object, { kind: "yaml" }, target);
  let text = `${header}${original}`;
  for (;;) {
    await writeFile(file, text, { mode: 0o600 });
    await runEditor(file, io);
    const edited = await readText(file, io, { what: "edited object" });
    const isSame = withoutComments(edited) === withoutComments(text);
    if (isSame && text.startsWith(header)) {
      await rm(folder, { recursive: true });
      return false;
    }
    if (isSame) throw new UserError(`no valid change was saved: your edits are in ${file}`);
    const problem = await save(editing, { original, edited });
    if (problem === undefined || problem === "unchanged") {
      await rm(folder, { recursive: true });
      return problem === undefined;
    }
    io.stderr.write(`error: ${harmlessLine(problem)}\n`);
    text = `# ${problem.replaceAll("\n", "\n# ")}\n#\n${edited.replace(header, "")}`;
  }
}

function withoutComments(text: string): string {
  return text.replaceAll(/^#.*\n?/gm, "").trim();
}

/** Sends what changed. Resolves to what is wrong with it. */
async function save(
  { cluster, target, io, subresource }: Editing,
  { original, edited }: { readonly original: string; readonly edited: string },
): Promise<string | undefined> {
  try {
    const [before, after] = [readOne(original), readOne(edited)];
    if (after === undefined || before === undefined) return "unchanged";
    const patch = mergeDifference(before, after);
    if (patch === undefined) return "unchanged";
    const { apiVersion, kind, namespaced } = target.resource;
    const namespace = namespaced ? cluster.namespace : undefined;
    await cluster.client.patch({ apiVersion, kind, name: target.name ?? "", namespace }, patch, {
      type: "merge",
      fieldManager: manifestManager,
      fieldValidation: "Strict",
      subresource,
      signal: io.signal,
    });
    return undefined;
  } catch (error) {
    if (io.signal.aborted) throw error;
    return textOf(error);
  }
}

function readOne(text: string): JsonObject | undefined {
  const [document] = parseYaml(text, "the edited object");
  if (document === undefined) return undefined;
  if (isJsonObject(document.value)) return document.value;
  throw new UserError(`${document.at()}: expected a Kubernetes object`);
}

/** The JSON merge patch that makes one object of another; undefined where they are equal. */
function mergeDifference(from: JsonObject, to: JsonObject): JsonObject | undefined {
  const patch: Record<string, JsonValue> = {};
  for (const name of new Set([...Object.keys(from), ...Object.keys(to)])) {
    const [before, after] = [from[name], to[name]];
    if (isDeepStrictEqual(before, after)) continue;
    if (isJsonObject(before) && isJsonObject(after)) patch[name] = mergeDifference(before, after) ?? {};
    else patch[name] = after === undefined ? null : after;
  }
  return Object.keys(patch).length === 0 ? undefined : patch;
}

/** Opens a file in the user's editor, as kubectl finds it: $KUBE_EDITOR, $EDITOR, or vi. Resolves when it is closed. */
async function runEditor(file: string, io: Io): Promise<void> {
  const editor = io.env["KUBE_EDITOR"] || io.env["EDITOR"] || "vi";
  // A shell, because the variable may hold a command with arguments, as for git and kubectl.
  const child = spawn("/bin/sh", ["-c", `${editor} "$1"`, "sh", file], { stdio: "inherit", signal: io.signal });
  const { promise, resolve, reject } = Promise.withResolvers<number | null>();
  child.on("error", reject);
  child.on("close", resolve);
  const exitCode = await promise;
  if (exitCode !== 0) throw new UserError(`editor "${editor}" exited with ${exitCode}: set $EDITOR to another one`);
}

const patchKinds = ["merge", "json", "strategic"] as const;
type PatchKind = (typeof patchKinds)[number];

/** `purlin patch TYPE NAME PATCH` */
export async function patch(input: CommandInput, io: Io): Promise<undefined> {
  const [type = "", name = "", text] = input.args;
  const output = readOutput(input, ["text", "json", "yaml"]);
  const kind = readKind(textOption(input, "type") ?? "merge");
  const change = readPatch(patchText(text, textOption(input, "patch")), kind);
  await using cluster = await openCluster(input, io);
  const resource = await findResource(cluster.client, type, io.signal);
  const namespace = resource.namespaced ? cluster.namespace : undefined;
  const target = { apiVersion: resource.apiVersion, kind: resource.kind, name, namespace };
  try {
    // As the manager of applied files: a file that is applied later then decides about these fields again.
    await cluster.client.patch(target, change, {
      type: kind,
      fieldManager: manifestManager,
      fieldValidation: "Strict",
      subresource: textOption(input, "subresource"),
      signal: io.signal,
    });
  } catch (error) {
    throw new UserError(whyNot(error, resource), { cause: error });
  }
  const object = { ...resource, metadata: { name, ...(namespace === undefined ? {} : { namespace }) } };
  if (output === "text") io.stdout.write(`${resource.kind} ${name} patched\n`);
  else printData(actionReport([{ object, action: "patched" }]), output, io);
}

function patchText(argument: string | undefined, option: string | undefined): string {
  if (argument !== undefined && option !== undefined) throw new UserError("specify the patch once", { exitCode: 2 });
  const text = argument ?? option;
  if (text !== undefined) return text;
  throw new UserError(`specify the patch, such as '{"spec": {"size": "large"}}'`, { exitCode: 2 });
}

function readKind(text: string): PatchKind {
  const kind = patchKinds.find((one) => one === text);
  if (kind !== undefined) return kind;
  throw new UserError(`--type ${text}: expected ${patchKinds.join(", ")}`, { exitCode: 2 });
}

function whyNot(error: unknown, { kind, namespaced }: { readonly kind: string; readonly namespaced: boolean }): string {
  // API servers quote the whole object before they name the field.
  const unknown = unknownFields(textOf(error));
  if (unknown.length > 0) {
    const fields = unknown.map((field) => `"${field}"`).join(", ");
    return `invalid patch: unknown field ${fields}: check the fields of ${kind}`;
  }
  return `${textOf(error)}${isNotFound(error) && namespaced ? ": check the name and --namespace" : ""}`;
}

function readPatch(text: string, kind: PatchKind): JsonValue {
  const [document] = parseYaml(text, "the patch");
  const value = document?.value;
  const isList = Array.isArray(value);
  if (typeof value === "object" && value !== null && isList === (kind === "json")) return value as JsonValue;
  const expected =
    kind === "json"
      ? `a list of operations, such as '[{"op": "remove", "path": "/spec/size"}]'`
      : `an object, such as '{"spec": {"size": "large"}}'`;
  throw new UserError(`invalid patch: expected ${expected}`, { exitCode: 2 });
}
