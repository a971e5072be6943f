// SPDX-License-Identifier: Apache-2.0
// Objects with everything below them: claims, composite resources and packages.
import { isNoMatch, type KubeReader } from "@purlin/kube-client";
import { findStatusError, textOf } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import {
  groupOf,
  type KubeObject,
  labelOf,
  lastAppliedAnnotation,
  objectsAt,
  stringAt,
} from "@purlin/kube-objects/object";
import { condition, functionRevisionsOf, referencesOf, refOf, refText } from "../inspect/facts.ts";
import type { ObjectRef } from "../model/explanation.ts";
import { composedState, compositeState, isPackage, type ObjectState } from "../state/object-state.ts";

/** An object and what it consists of. */
export interface TraceNode {
  /** A child that cannot be read has only its type and name. */
  readonly object: KubeObject;
  readonly error?: unknown;
  readonly children: readonly TraceNode[];
}

/** How to trace. */
export interface TraceOptions {
  readonly client: Pick<KubeReader, "get" | "list">;
  readonly signal?: AbortSignal | undefined;
  /** Which revisions of packages to show. */
  readonly packageRevisions?: "active" | "all" | "none";
  /** Whether to show packages that a package depends on: each once, each time, or not. */
  readonly packageDependencies?: "unique" | "all" | "none";
  /** Whether to show the DeploymentRuntimeConfigs of packages. */
  readonly packageRuntimeConfigs?: boolean;
  /** Whether to show the Secrets with connection details. */
  readonly connectionSecrets?: boolean;
}

/** Far deeper than composite resources are nested; ends the tree of two that compose each other. */
const maxDepth = 20;
const packageLabel = "pkg.crossplane.io/package";

/** Whether an object is a revision of a package. */
export function isRevisionObject({ apiVersion, kind }: KubeObject): boolean {
  return kind.endsWith("Revision") && isPackage({ apiVersion, kind: kind.replace(/Revision$/, "") });
}

/** Reads everything below an object. */
export function traceTree(root: KubeObject, options: TraceOptions): Promise<TraceNode> {
  return grow(root, { options, seen: new Set() }, 0);
}

interface Growing {
  readonly options: TraceOptions;
  /** Packages that are in the tree. */
  readonly seen: Set<string>;
}

async function grow(object: KubeObject, growing: Growing, depth: number): Promise<TraceNode> {
  const tooDeep = new Error(`not shown: nested more than ${maxDepth} levels`);
  if (depth > maxDepth) return { object, error: tooDeep, children: [] };
  const below = isPackage(object) ? await packageParts(object, growing) : await composedParts(object, growing);
  const children = await Promise.all(
    below.map(async ({ object: child, error }) =>
      error === undefined ? await grow(child, growing, depth + 1) : { object: child, error, children: [] },
    ),
  );
  return { object, children };
}

type Part = Pick<TraceNode, "object" | "error">;

/** A claim has its composite resource and nothing else; a composite resource what it refers to. */
function composedParts(object: KubeObject, growing: Growing): Promise<readonly Part[]> {
  const refs = referencesOf(object).toSorted(byType);
  const secret = growing.options.connectionSecrets === true ? connectionSecretOf(object) : undefined;
  return Promise.all([...refs, ...(secret === undefined ? [] : [secret])].map((ref) => readPart(ref, growing)));
}

/** The Secret that a claim, composite resource or managed resource writes its connection details to. */
function connectionSecretOf(object: KubeObject): ObjectRef | undefined {
  const name = stringAt(object, ["spec", "writeConnectionSecretToRef", "name"]);
  if (name === "") return undefined;
  const namespace =
    stringAt(object, ["spec", "writeConnectionSecretToRef", "namespace"]) || (object.metadata.namespace ?? "");
  return { apiVersion: "v1", kind: "Secret", name, namespace };
}

function byType(a: ObjectRef, b: ObjectRef): number {
  const [one, other] = [a, b].map(({ apiVersion, kind, name }) => `${apiVersion}${kind}${name}`);
  return (one ?? "") < (other ?? "") ? -1 : 1;
}

async function readPart({ apiVersion, kind, name, namespace }: ObjectRef, { options }: Growing): Promise<Part> {
  const { client, signal } = options;
  try {
    return { object: await client.get({ apiVersion, kind }, { name, namespace }, { signal }) };
  } catch (error) {
    signal?.throwIfAborted();
    return {
      object: { apiVersion, kind, metadata: { name, ...(namespace === undefined ? {} : { namespace }) } },
      error,
    };
  }
}

async function packageParts(object: KubeObject, growing: Growing): Promise<readonly Part[]> {
  const { packageRevisions = "active", packageDependencies = "unique", client, signal } = growing.options;
  const name = object.metadata.name ?? "";
  growing.seen.add(`${object.kind} ${name}`);
  const type = { apiVersion: object.apiVersion, kind: `${object.kind}Revision` };
  const { items } = await client.list(type, { labelSelector: `${packageLabel}=${name}`, signal });
  const wanted = items.filter(
    (one) => packageRevisions === "all" || stringAt(one, ["spec", "desiredState"]) === "Active",
  );
  const revisions = packageRevisions === "none" ? [] : wanted;
  const dependencies = packageDependencies === "none" ? [] : await dependenciesOf(object, growing);
  return [
    ...(await runtimeConfigOf(object, growing)),
    ...revisions.map((revision) => ({ object: revision })),
    ...dependencies,
  ];
}

async function runtimeConfigOf(object: KubeObject, growing: Growing): Promise<readonly Part[]> {
  const name = stringAt(object, ["spec", "runtimeConfigRef", "name"]);
  if (growing.options.packageRuntimeConfigs !== true || name === "") return [];
  return [await readPart({ apiVersion: "pkg.crossplane.io/v1beta1", kind: "DeploymentRuntimeConfig", name }, growing)];
}

/** The packages that a package depends on, by the Lock. */
async function dependenciesOf(object: KubeObject, growing: Growing): Promise<readonly Part[]> {
  const { client, signal, packageDependencies = "unique" } = growing.options;
  const lock = await client
    .get({ apiVersion: "pkg.crossplane.io/v1beta1", kind: "Lock" }, { name: "lock" }, { signal })
    .catch(() => undefined);
  const entries = lock === undefined ? [] : objectsAt(lock, ["packages"]);
  const own = entries.find((entry) => stringAt(entry, ["name"]) === stringAt(object, ["status", "currentRevision"]));
  const sources = own === undefined ? [] : objectsAt(own, ["dependencies"]).map((one) => stringAt(one, ["package"]));
  const parts: Part[] = [];
  for (const source of sources.toSorted()) {
    const entry = entries.find((one) => stringAt(one, ["source"]) === source);
    const kind = entry === undefined ? "" : stringAt(entry, ["kind"]) || stringAt(entry, ["type"]);
    if (entry === undefined || kind === "") continue;
    const revision = await readPart(
      { apiVersion: object.apiVersion, kind: `${kind}Revision`, name: stringAt(entry, ["name"]) },
      growing,
    );
    const name = labelOf(revision.object, packageLabel);
    if (name === undefined || (packageDependencies === "unique" && growing.seen.has(`${kind} ${name}`))) continue;
    growing.seen.add(`${kind} ${name}`);
    parts.push(await readPart({ apiVersion: object.apiVersion, kind, name }, growing));
  }
  return parts;
}

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

/** An object as it may be shown: a Secret has its keys and not its values. */
export function withoutSecrets(object: KubeObject): KubeObject {
  if (object.kind !== "Secret" || object.apiVersion !== "v1") return object;
  const hidden = (values: unknown): JsonObject =>
    Object.fromEntries(Object.keys((values ?? {}) as object).map((key) => [key, masked]));
  const { annotations } = object.metadata;
  const metadata =
    annotations?.[lastAppliedAnnotation] === undefined
      ? object.metadata
      : { ...object.metadata, annotations: { ...annotations, [lastAppliedAnnotation]: masked } };
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
    lines.push(`\t${id}[label=${JSON.stringify(dotLabelOf(node))}];`);
    if (parent !== undefined) lines.push(`\t${parent}--${id};`);
    for (const child of node.children) visit(child, id);
  };
  for (const node of nodes) visit(node, undefined);
  return `graph  {\n${lines.join("\n")}\n}\n`;
}

function dotLabelOf({ object, error }: TraceNode): string {
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
