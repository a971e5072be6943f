// SPDX-License-Identifier: Apache-2.0
import { isNotFound } from "@purlin/kube-objects/errors";
import type { JsonValue } from "@purlin/kube-objects/json";
import { openCluster } from "../cluster/cluster-client.ts";
import { findResource } from "../cluster/find-resource.ts";
import { parseYaml } from "../files/yaml-file.ts";
import type { Io } from "../io.ts";
import { manifestManager } from "../manifests/apply-manifests.ts";
import { unknownFields } from "../manifests/apply-problem.ts";
import { type CommandInput, textOption } from "../options/command-spec.ts";
import { actionReport, printData, readOutput } from "../options/data-output.ts";
import { textOf, UserError } from "../user-error.ts";

const patchKinds = ["merge", "json", "strategic"] as const;
type PatchKind = (typeof patchKinds)[number];

/** `purlin patch TYPE NAME PATCH` */
export async function run(input: CommandInput, io: Io): Promise<undefined> {
  const [type = "", name = "", text] = input.args;
  const output = readOutput(input, ["text", "json", "yaml"]);
  const kind = readKind(textOption(input, "type") ?? "merge");
  const patch = readPatch(patchText(text, textOption(input, "patch")), kind);
  await using cluster = await openCluster(input, io);
  const resource = await findResource(cluster.client, type, io.signal);
  const namespace = resource.namespaced ? cluster.namespace : undefined;
  const target = { apiVersion: resource.apiVersion, kind: resource.kind, name, namespace };
  try {
    // As the manager of applied files: a file that is applied later then decides about these fields again.
    await cluster.client.patch(target, patch, {
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
