// SPDX-License-Identifier: Apache-2.0
// Objects with everything below them: claims, composite resources and packages.
import type { KubeReader } from "@purlin/kube-client";
import { type KubeObject, labelOf, objectsAt, stringAt } from "@purlin/kube-objects/object";
import { referencesOf } from "../inspect/facts.ts";
import type { ObjectRef } from "../model/explanation.ts";
import { isPackage } from "../state/object-state.ts";

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
  return [...revisions.map((revision) => ({ object: revision })), ...dependencies];
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
