// SPDX-License-Identifier: Apache-2.0
import { isJsonObject, isNotFound, type JsonValue } from "@purlin/kube-objects";
import { openCluster } from "../cluster/cluster-client.ts";
import { findResource, pathOf, type Resource } from "../cluster/find-resource.ts";
import { type CommandInput, isSet, textOption } from "../commands/command-spec.ts";
import { printYaml } from "../files/print-yaml.ts";
import type { Io } from "../io.ts";
import { harmlessLine } from "../terminal/harmless.ts";
import { formatTable } from "../terminal/table.ts";
import { textOf, UserError } from "../user-error.ts";

const tableType = "application/json;as=Table;v=v1;g=meta.k8s.io";

/** `purlin get TYPE [NAME]` */
export async function run(input: CommandInput, io: Io): Promise<undefined> {
  const [type = "", name] = input.args;
  const output = textOption(input, "output") ?? "table";
  if (!["table", "yaml", "json", "name"].includes(output)) {
    throw new UserError(`--output ${output}: expected table, yaml, json or name`, { exitCode: 2 });
  }
  await using cluster = await openCluster(input, io);
  const resource = await findResource(cluster.client, type, io.signal);
  const everywhere = isSet(input, "allNamespaces") && name === undefined;
  const namespace = everywhere ? undefined : (textOption(input, "namespace") ?? cluster.namespace);
  const accept = output === "table" ? tableType : "application/json";
  const path = pathOf(resource, { namespace, name });
  const answer = await cluster.client
    .raw({ method: "GET", path, accept, signal: io.signal })
    .catch((error: unknown) => explain(error, resource));
  const text =
    output === "name" ? names(answer, resource) : printAnswer(answer, output, everywhere && resource.namespaced);
  if (text === "") io.stderr.write(nothing(resource, namespace));
  else io.stdout.write(text);
}

function explain(error: unknown, { namespaced }: Resource): never {
  const hint = isNotFound(error) && namespaced ? ": check the name and --namespace" : "";
  throw new UserError(`${textOf(error)}${hint}`, { cause: error });
}

function nothing({ plural, namespaced }: Resource, namespace: string | undefined): string {
  return `There are no ${plural}${namespaced && namespace !== undefined ? ` in namespace ${namespace}` : ""}.\n`;
}

function printAnswer(answer: JsonValue, output: string, withNamespace: boolean): string {
  if (output === "json") return `${JSON.stringify(sorted(withoutManagers(answer)), undefined, 2)}\n`;
  if (output === "yaml") return printYaml(sorted(withoutManagers(answer)));
  const { columnDefinitions, rows } = answer as unknown as Table;
  if (!rows?.length) return "";
  const shown = columnDefinitions.flatMap(({ priority }, index) => (priority === 0 || !priority ? [index] : []));
  const title = shown.map((index) => columnDefinitions[index]?.name.toUpperCase() ?? "");
  const lines = rows.map(({ cells, object }) => [
    ...(withNamespace ? [object?.metadata?.namespace ?? ""] : []),
    ...shown.map((index) => cellText(cells[index])),
  ]);
  return `${formatTable([[...(withNamespace ? ["NAMESPACE"] : []), ...title], ...lines])}\n`;
}

/** One `TYPE/NAME` a line, as this command and kubectl take it again. */
function names(answer: JsonValue, { kind, apiVersion }: Resource): string {
  const [group = ""] = apiVersion.includes("/") ? apiVersion.split("/") : [];
  const type = `${kind.toLowerCase()}${group === "" ? "" : `.${group}`}`;
  const { items } = answer as { readonly items?: readonly Named[] };
  return (items ?? [answer as unknown as Named]).map(({ metadata }) => `${type}/${metadata.name}\n`).join("");
}

interface Named {
  readonly metadata: { readonly name: string };
}

interface Table {
  readonly columnDefinitions: readonly { readonly name: string; readonly priority?: number }[];
  readonly rows?: readonly {
    readonly cells: readonly unknown[];
    readonly object?: { readonly metadata?: { readonly namespace?: string } };
  }[];
}

function cellText(cell: unknown): string {
  return cell === null || cell === undefined ? "" : harmlessLine(String(cell));
}

/** By name, as kubectl has it. */
function sorted(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isJsonObject(value)) return value;
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(members.map(([name, member]) => [name, sorted(member as JsonValue)]));
}

/** Who owns which field is a long story that nobody asks for here. */
function withoutManagers(value: JsonValue): JsonValue {
  const { items, metadata } = value as { readonly items?: JsonValue[]; readonly metadata?: Record<string, JsonValue> };
  if (Array.isArray(items)) return { ...(value as object), items: items.map(withoutManagers) };
  const { managedFields: _, ...kept } = metadata ?? {};
  return { ...(value as object), metadata: kept };
}
