// SPDX-License-Identifier: Apache-2.0
import {
  developmentAnnotations,
  developmentOf,
  type FunctionReference,
  type FunctionRevisions,
  trustedDevelopmentOf,
} from "@purlin/function-runner";
import { isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import { textAt } from "@purlin/kube-objects/object";
import { parseTarget } from "../function-call/probe-target.ts";
import type { Manifest } from "../manifests/manifest.ts";
import { UserError } from "../user-error.ts";

/** A field by which a step chooses a revision. */
type Selection = "functionRevisionRef" | "functionRevisionSelector" | "function";

const selections: readonly Selection[] = ["functionRevisionRef", "functionRevisionSelector", "function"];

/** How a step chooses its revision; undefined when it leaves that to others. */
export function selectionOf(step: Pick<FunctionReference, Selection>): Selection | undefined {
  return selections.find((name) => step[name] !== undefined);
}

/** Whether a FunctionRevision is of a Function. */
export function isRevisionOf(functionName: string): (revision: Manifest) => boolean {
  return ({ object }) => object.metadata.labels?.["pkg.crossplane.io/package"] === functionName;
}

/** The FunctionRevisions in files, to choose from as a control plane does. */
export function revisionsIn(manifests: readonly Manifest[]): FunctionRevisions {
  const objects = manifests.map(({ object }) => object);
  const asJson = (object: Manifest["object"]): JsonObject => object;
  return {
    async get(name) {
      const found = objects.find(({ metadata }) => metadata.name === name);
      return found && asJson(found);
    },
    async list(labels) {
      const carries = ({ metadata }: Manifest["object"]): boolean =>
        [...labels].every(([key, value]) => metadata.labels?.[key] === value);
      return objects.filter(carries).map(asJson);
    },
    async withDigest(digest) {
      return objects.filter((object) => textAt(object, ["spec", "digest"]) === digest).map(asJson);
    },
  };
}

/** What may serve the steps of a pipeline. */
export interface FunctionFiles {
  readonly composition: Manifest;
  readonly functions: readonly Manifest[];
  readonly revisions: readonly Manifest[];
  /** Over every Function's own. */
  readonly annotations: Readonly<Record<string, string>>;
}

/** A Function that a pipeline uses. */
export interface UsedFunction {
  readonly name: string;
  readonly object: JsonObject;
  /** Where it runs; undefined when only its revisions do. */
  readonly development: ReturnType<typeof developmentOf>;
}

/** The Functions of the pipeline. One that is missing or cannot be called is an error with the line of its step. */
export function usedFunctions({ composition, functions, revisions, annotations }: FunctionFiles): UsedFunction[] {
  const known = new Map(functions.map((manifest) => [manifest.object.metadata.name ?? "", manifest]));
  const used = new Map<string, UsedFunction>();
  for (const [index, { step, functionRef }] of stepsOf(composition).entries()) {
    const name = functionRef?.name ?? "";
    if (name === "" || used.has(name)) continue;
    const manifest = known.get(name);
    const hasRevision = revisions.some(isRevisionOf(name));
    if (manifest === undefined && hasRevision) continue;
    if (manifest === undefined) {
      const where = composition.at(["spec", "pipeline", index, "functionRef", "name"]);
      throw new UserError(
        `${where}: step "${step}" uses function "${name}", which is not among FUNCTIONS: add it there`,
      );
    }
    const ignored = ignoredIn(manifest);
    const object = annotated(manifest, ignored === undefined ? annotations : { ...undeveloped, ...annotations });
    const development = developmentOf(object);
    if (development === undefined && !hasRevision) throw notCallable(manifest, name, ignored);
    if (development?.kind === "target") requireTarget(manifest, development.endpoint);
    used.set(name, { name, object, development });
  }
  return [...used.values()];
}

function requireTarget(manifest: Manifest, endpoint: string): void {
  try {
    parseTarget(endpoint);
  } catch (error) {
    const { target } = developmentAnnotations;
    const where = manifest.at(["metadata", "annotations", target]);
    const text = `${target}: expected host:port, such as localhost:9443, or unix:path, not "${endpoint}"`;
    throw new UserError(`${where}: ${text}`, { cause: error });
  }
}

/** Why the annotations of a file count for nothing: it was saved from a server, where a function composed the Function. */
function ignoredIn({ object }: Manifest): string | undefined {
  const development = trustedDevelopmentOf(object, {});
  return development?.kind === "ignored" ? development.message : undefined;
}

const undeveloped = Object.fromEntries(Object.values(developmentAnnotations).map((name) => [name, ""]));

function notCallable(manifest: Manifest, name: string, ignored: string | undefined): UserError {
  if (ignored !== undefined) return new UserError(`${manifest.at(["metadata", "annotations"])}: ${ignored}`);
  const advice =
    "run it and add the annotation render.crossplane.io/runtime: Development, set purlin.dev/source to its file, " +
    "or add its FunctionRevisions";
  return new UserError(
    `${manifest.at(["metadata"])}: Function "${name}" has no endpoint that render can call: ${advice}`,
  );
}

/** A Function with the annotations of the command line over its own. The command line may set them on any Function, whichever object controls it. */
function annotated({ object }: Manifest, annotations: Readonly<Record<string, string>>): JsonObject {
  const { ownerReferences: _owners, managedFields: _managers, ...metadata } = object.metadata;
  const all = { ...metadata.annotations, ...annotations };
  return { ...object, metadata: { ...metadata, annotations: all } };
}

/** A step of a pipeline, as far as it says which function it wants. */
type Step = Pick<FunctionReference, Selection> & {
  readonly step: string;
  readonly functionRef?: { readonly name?: string };
};

/** The steps of a Composition's pipeline. */
export function stepsOf({ object }: Manifest): readonly Step[] {
  const pipeline = (object["spec"] as { pipeline?: unknown } | undefined)?.pipeline;
  return Array.isArray(pipeline) ? pipeline.filter(isJsonObject).map((step) => step as Step) : [];
}
