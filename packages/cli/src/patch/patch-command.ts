// SPDX-License-Identifier: Apache-2.0
import { isNotFound, type JsonValue } from "@purlin/kube-objects";
import { openCluster } from "../cluster/cluster-client.ts";
import { findResource } from "../cluster/find-resource.ts";
import { type CommandInput, textOption } from "../commands/command-spec.ts";
import { parseYaml } from "../files/yaml-file.ts";
import type { Io } from "../io.ts";
import { manifestManager } from "../manifests/apply-manifests.ts";
import { unknownFields } from "../manifests/apply-problem.ts";
import { textOf, UserError } from "../user-error.ts";

/** `purlin patch TYPE NAME PATCH` */
export async function run(input: CommandInput, io: Io): Promise<undefined> {
  const [type = "", name = "", text = ""] = input.args;
  const patch = readPatch(text);
  await using cluster = await openCluster(input, io);
  const resource = await findResource(cluster.client, type, io.signal);
  const namespace = resource.namespaced ? (textOption(input, "namespace") ?? cluster.namespace) : undefined;
  const target = { apiVersion: resource.apiVersion, kind: resource.kind, name, namespace };
  try {
    // As the one who applies files: a file that is applied later then decides about these fields again.
    const options = {
      type: "merge",
      fieldManager: manifestManager,
      fieldValidation: "Strict",
      signal: io.signal,
    } as const;
    await cluster.client.patch(target, patch, options);
  } catch (error) {
    throw new UserError(whyNot(error, resource), { cause: error });
  }
  io.stdout.write(`${resource.kind} ${name} patched\n`);
}

function whyNot(error: unknown, { kind, namespaced }: { readonly kind: string; readonly namespaced: boolean }): string {
  // API servers quote the whole object before they name the field.
  const unknown = unknownFields(textOf(error));
  if (unknown.length > 0) {
    const fields = unknown.map((field) => `"${field}"`).join(", ");
    return `the patch: unknown field ${fields}: ${kind} has none of that name`;
  }
  return `${textOf(error)}${isNotFound(error) && namespaced ? ": check the name and --namespace" : ""}`;
}

function readPatch(text: string): JsonValue {
  const [document] = parseYaml(text, "the patch");
  const value = document?.value;
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as JsonValue;
  throw new UserError(`the patch: expected an object, such as '{"spec": {"size": "large"}}'`, { exitCode: 2 });
}
