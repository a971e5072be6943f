// SPDX-License-Identifier: Apache-2.0
import { isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";
import { objectAt, stringAt } from "@purlin/kube-objects/object";

/** Whose development annotations count: they run a program on this machine, or send calls elsewhere. */
export interface DevelopmentTrust {
  /**
   * The field managers that may own them, by server-side apply and alone. Without it, every manager but the controllers of a control
   * plane, which write what functions and packages ask for.
   */
  readonly managers?: readonly string[] | undefined;
  /** What to do about annotations that do not count, where it is not to apply the Function in another way. */
  readonly advice?: string | undefined;
}

/** Development annotations that have no effect, and why. */
export interface IgnoredDevelopment {
  readonly kind: "ignored";
  /** What, why and what to do, in one line. */
  readonly message: string;
}

/**
 * What a Function or Provider says about its development, if its author may say so: never where a controller made it, and never where
 * someone else wrote the annotations. Undefined when there are none.
 */
export function trustedDevelopmentOf(
  object: JsonObject,
  trust: DevelopmentTrust,
): DevelopmentFunction | IgnoredDevelopment | undefined {
  const development = developmentOf(object);
  if (development === undefined) return undefined;
  const metadata = objectAt(object, ["metadata"]);
  const names = effective(development, objectAt(metadata, ["annotations"]));
  const kind = stringAt(object, ["kind"]) || "Function";
  const why = controllerProblem(kind, metadata) ?? managerProblem(metadata, names, trust);
  if (why === undefined) return development;
  const what = names.length === 1 ? `annotation ${names[0]} is` : `annotations ${names.join(" and ")} are`;
  return { kind: "ignored", message: `${what} ignored: ${why}; ${adviceFor(kind, trust)}` };
}

/** The development of a Function, where it counts. */
export function honoredDevelopmentOf(object: JsonObject, trust: DevelopmentTrust): DevelopmentFunction | undefined {
  const development = trustedDevelopmentOf(object, trust);
  return development?.kind === "ignored" ? undefined : development;
}

function effective({ kind }: DevelopmentFunction, annotations: JsonObject): string[] {
  const { runtime, target, source } = developmentAnnotations;
  if (kind === "source") return [source];
  return Object.hasOwn(annotations, target) ? [runtime, target] : [runtime];
}

function adviceFor(kind: string, { managers, advice }: DevelopmentTrust): string {
  if (advice !== undefined) return advice;
  if (managers === undefined) return `remove it, or set it with kubectl on a ${kind} that no other object controls`;
  return `remove it, or put the ${kind} into a file of a folder given to purlin up`;
}

function controllerProblem(kind: string, { ownerReferences }: JsonObject): string | undefined {
  const owners = Array.isArray(ownerReferences) ? ownerReferences : [];
  const controller = owners.filter(isJsonObject).find((owner) => owner["controller"] === true);
  if (controller === undefined) return undefined;
  return `the ${kind} is controlled by ${stringAt(controller, ["kind"])} "${stringAt(controller, ["name"])}", so it was not applied from a file`;
}

function managerProblem(
  { managedFields }: JsonObject,
  names: readonly string[],
  { managers }: DevelopmentTrust,
): string | undefined {
  const entries = (Array.isArray(managedFields) ? managedFields : []).filter(isJsonObject);
  for (const name of names) {
    const owners = entries.filter((entry) => owns(entry, name));
    const other = owners.find((entry) => (managers === undefined ? isController(entry) : !applied(entry, managers)));
    if (other !== undefined)
      return `set by field manager "${stringAt(other, ["manager"])}" (${stringAt(other, ["operation"])})`;
    if (managers !== undefined && owners.length === 0) return "metadata.managedFields does not say who set it";
  }
  return undefined;
}

function applied(entry: JsonObject, managers: readonly string[]): boolean {
  const isWhole = stringAt(entry, ["subresource"]) === "" && stringAt(entry, ["operation"]) === "Apply";
  return isWhole && managers.includes(stringAt(entry, ["manager"]));
}

/** Groups whose controllers write for others. Plain updates of all of them are signed "crossplane". */
const controllers = /^(?:crossplane$|[a-z]+\.crossplane\.io\/)/;

function isController(entry: JsonObject): boolean {
  return controllers.test(stringAt(entry, ["manager"]));
}

function owns(entry: JsonObject, annotation: string): boolean {
  let at: JsonValue | undefined = entry["fieldsV1"];
  for (const field of ["metadata", "annotations", annotation]) {
    if (!isJsonObject(at) || !Object.hasOwn(at, `f:${field}`)) return false;
    at = at[`f:${field}`];
  }
  return true;
}

/** How to reach a function without a package: at an address where its author runs it, or by running its source. */
export type DevelopmentFunction =
  /** It is called in plaintext, because its Function says so. */
  | { readonly kind: "target"; readonly endpoint: string }
  /** A source file that we run and reload, over mutual TLS. */
  | { readonly kind: "source"; readonly path: string };

/** The annotations by which a Function says that it is under development. */
export const developmentAnnotations = {
  runtime: "render.crossplane.io/runtime",
  target: "render.crossplane.io/runtime-development-target",
  source: "purlin.dev/source",
} as const;

const defaultTarget = "localhost:9443";

/** What a Function says about its development; undefined when its package is what runs. */
export function developmentOf(object: JsonObject): DevelopmentFunction | undefined {
  const metadata = objectAt(object, ["metadata"]);
  const annotations = objectAt(metadata, ["annotations"]);
  const source = annotations[developmentAnnotations.source];
  if (typeof source === "string" && source !== "") return { kind: "source", path: source };
  if (annotations[developmentAnnotations.runtime] !== "Development") return undefined;
  const target = annotations[developmentAnnotations.target];
  return { kind: "target", endpoint: typeof target === "string" && target !== "" ? target : defaultTarget };
}

/** A pipeline step whose Function does not exist. */
interface MissingFunction {
  readonly functionName: string;
  readonly step: string;
  /** The Composition of the step; empty where it is not known. */
  readonly composition: string;
  /** The names of all Functions. */
  readonly installed: readonly string[];
}

const listedNames = 20;

/** The message about a step that names a Function which does not exist. */
export function functionNotFound({ functionName, step, composition, installed }: MissingFunction): string {
  const of = composition === "" ? "" : ` of Composition "${composition}"`;
  return `Function "${functionName}" not found; referenced by step "${step}"${of}. Installed: ${listOf(installed)}`;
}

function listOf(names: readonly string[]): string {
  if (names.length === 0) return "none";
  const sorted = names.toSorted();
  const more = sorted.length - listedNames;
  return sorted.slice(0, listedNames).join(", ") + (more > 0 ? ` and ${more} more` : "");
}
