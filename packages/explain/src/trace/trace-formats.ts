// SPDX-License-Identifier: Apache-2.0
import { isNoMatch } from "@purlin/kube-client";
import { findStatusError, textOf } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { groupOf, type KubeObject } from "@purlin/kube-objects/object";
import { condition, functionRevisionsOf, refOf, refText } from "../inspect/facts.ts";
import { composedState, compositeState, type ObjectState } from "../state/object-state.ts";
import type { TraceNode } from "./trace-tree.ts";

/** The identifier of the last recorded run of an object, where there is one. */
export type LastRun = (object: KubeObject) => string | undefined;

/** A tree for other programs: the members of the peer, and ours under `purlin`. */
export function traceDocument({ object, error, children }: TraceNode, lastRun: LastRun = () => undefined): JsonObject {
  const run = lastRun(object);
  const { state, reasons } = stateOf(object, error);
  return {
    object: withoutSecrets(object),
    ...(error === undefined ? {} : { error: errorOf(error, object) }),
    ...(children.length === 0 ? {} : { children: children.map((child) => traceDocument(child, lastRun)) }),
    purlin: {
      state,
      reasons,
      functionRevisions: functionRevisionsOf(object),
      ...(run === undefined ? {} : { lastRun: run }),
    },
  };
}

/** An error as an API status, whatever it is. */
function errorOf(error: unknown, { apiVersion, kind, metadata }: KubeObject): JsonObject {
  const status = findStatusError(error)?.status;
  const details = { group: groupOf(apiVersion), kind, name: metadata.name ?? "" };
  const reason = isNoMatch(error) ? "NotFound" : "Unknown";
  const own = { status: "Failure", message: textOf(error), reason, details, code: isNoMatch(error) ? 404 : 500 };
  return { ErrStatus: (status ?? own) as unknown as JsonObject };
}

/** The state of a node, by the model that all commands share; `troubled` is ready. */
function stateOf(object: KubeObject, error: unknown): Pick<ObjectState, "reasons"> & { readonly state: string } {
  if (error !== undefined) return { state: "missing", reasons: [textOf(error)] };
  const { health, reasons } = condition(object, "Synced") ? compositeState(object) : composedState(object);
  if (object.metadata.deletionTimestamp) return { state: "deleting", reasons };
  return { state: health === "troubled" ? "ready" : health, reasons };
}

const masked = "***";
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration";

/** An object as it may be shown: a Secret has its keys and not its values. */
export function withoutSecrets(object: KubeObject): KubeObject {
  if (object.kind !== "Secret" || object.apiVersion !== "v1") return object;
  const hidden = (values: unknown): JsonObject =>
    Object.fromEntries(Object.keys((values ?? {}) as object).map((key) => [key, masked]));
  const { annotations } = object.metadata;
  const metadata =
    annotations?.[lastApplied] === undefined
      ? object.metadata
      : { ...object.metadata, annotations: { ...annotations, [lastApplied]: masked } };
  return {
    ...object,
    metadata,
    ...(object["data"] ? { data: hidden(object["data"]) } : {}),
    ...(object["stringData"] ? { stringData: hidden(object["stringData"]) } : {}),
  };
}

/** Every object of trees as `type.group/name`, each once. */
export function traceNames(nodes: readonly TraceNode[]): readonly string[] {
  const names = nodes.flatMap(function namesOf({ object, children }: TraceNode): string[] {
    const group = groupOf(object.apiVersion);
    const type = `${object.kind.toLowerCase()}${group === "" ? "" : `.${group}`}`;
    return [`${type}/${object.metadata.name ?? ""}`, ...children.flatMap(namesOf)];
  });
  return [...new Set(names)];
}

/** Trees as an undirected graph for Graphviz. */
export function traceDot(nodes: readonly TraceNode[]): string {
  const lines: string[] = [];
  let count = 0;
  const visit = (node: TraceNode, parent: string | undefined): void => {
    count += 1;
    const id = `n${count}`;
    lines.push(`\t${id}[label=${JSON.stringify(labelOf(node))}];`);
    if (parent !== undefined) lines.push(`\t${parent}--${id};`);
    for (const child of node.children) visit(child, id);
  };
  for (const node of nodes) visit(node, undefined);
  return `graph  {\n${lines.join("\n")}\n}\n`;
}

function labelOf({ object, error }: TraceNode): string {
  const { namespace } = object.metadata;
  return [
    `Name: ${refText({ ...refOf(object), namespace: undefined }).replace(" ", "/")}`,
    `ApiVersion: ${object.apiVersion}`,
    ...(namespace === undefined ? [] : [`Namespace: ${namespace}`]),
    `Ready: ${condition(object, "Ready")?.status ?? ""}`,
    `Synced: ${condition(object, "Synced")?.status ?? ""}`,
    `Error: ${error === undefined ? "" : textOf(error)}`,
  ].join("\n");
}
