// SPDX-License-Identifier: Apache-2.0
import {
  type Condition,
  groupOf,
  type KubeObject,
  objectsAt,
  stringAt,
  type TypeRef,
} from "@purlin/kube-objects/object";
import type { CauseCode } from "../model/cause-table.ts";
import type { Edge, Evidence, Finding, RunHistory } from "../model/explanation.ts";
import type { Reader } from "../read/reader.ts";
import { conditionEvidence, refOf } from "./facts.ts";

/** Everything that recognizers may use. */
export interface Inspection {
  readonly reader: Reader;
  readonly now: number;
  /** Recorded runs; without it the causes that need them are not found. */
  readonly history?: RunHistory | undefined;
  readonly kinds: DefinedKinds;
  /** Namespace of packages and of the leader election Lease. */
  readonly systemNamespace: string;
}

/** An unhealthy condition, and the text to recognize: its message, or that of an event about it. */
export interface TextContext {
  readonly object: KubeObject;
  readonly condition: Condition;
  readonly text: string;
  readonly evidence: readonly Evidence[];
  readonly inspection: Inspection;
}

/** A reported cause that no longer exists. */
export interface Healed {
  readonly healed: string;
  /** Since when, if it is known. */
  readonly at?: string | null | undefined;
}

/** The result of a recognizer. */
export type Recognized = Finding | Healed | undefined;

/** Recognizes one cause, or a few that share a text. */
export type TextRule = (context: TextContext) => Promise<Recognized> | Recognized;

/** A rule for texts that match a pattern. */
export function rule(
  pattern: RegExp,
  recognize: (match: RegExpExecArray, context: TextContext) => Promise<Recognized> | Recognized,
): TextRule {
  return (context) => {
    const match = pattern.exec(context.text);
    return match === null ? undefined : recognize(match, context);
  };
}

/** What a finding adds to its context. */
interface FindingParts {
  readonly sentence: string;
  readonly next: readonly string[];
  readonly path?: string;
  readonly evidence?: readonly Evidence[];
  readonly waitsFor?: readonly Edge[];
  readonly effectOnly?: boolean;
  readonly via?: string;
}

/** A finding about an unhealthy condition. */
export function found(
  code: CauseCode,
  context: Omit<TextContext, "inspection" | "text">,
  parts: FindingParts,
): Finding {
  const { object, condition, evidence } = context;
  return {
    code,
    object: refOf(object),
    since: condition.lastTransitionTime || undefined,
    ...parts,
    evidence: [...evidence, ...(parts.evidence ?? [])],
  };
}

/** Causes are recognized by this many characters. Functions can write messages of any length, and patterns are slow on long ones. */
const longestText = 4096;

function shortened(text: string): string {
  return text.length <= longestText ? text : `${text.slice(0, longestText)}…`;
}

/** The context of a condition's message. */
export function messageContext(object: KubeObject, condition: Condition, inspection: Inspection): TextContext {
  const evidence = [conditionEvidence(object, condition)];
  return { object, condition, text: shortened(condition.message ?? ""), evidence, inspection };
}

/** The type of XRDs. */
export const definitionType: TypeRef = {
  apiVersion: "apiextensions.crossplane.io/v2",
  kind: "CompositeResourceDefinition",
};
const oldDefinitionType: TypeRef = { ...definitionType, apiVersion: "apiextensions.crossplane.io/v1" };

/** What an XRD defines a kind for. */
interface DefinedKind {
  readonly role: "composite" | "claim";
  readonly definition: KubeObject;
}

/** The kinds of composite resources and claims, by group and kind. */
type DefinedKinds = ReadonlyMap<string, DefinedKind>;

/** The key of a kind in {@link DefinedKinds}. */
export function kindKey({ apiVersion, kind }: TypeRef): string {
  return `${groupOf(apiVersion)}/${kind}`;
}

/** Reads all XRDs: those of v2, or of v1 from a Crossplane without v2. */
export async function readDefinedKinds(reader: Reader): Promise<DefinedKinds> {
  const served = await reader.list(definitionType);
  const definitions = served?.length ? served : ((await reader.list(oldDefinitionType)) ?? []);
  const kinds = new Map<string, DefinedKind>();
  for (const definition of definitions) {
    const group = stringAt(definition, ["spec", "group"]);
    const composite = stringAt(definition, ["spec", "names", "kind"]);
    const claim = stringAt(definition, ["spec", "claimNames", "kind"]);
    if (composite !== "") kinds.set(`${group}/${composite}`, { role: "composite", definition });
    if (claim !== "") kinds.set(`${group}/${claim}`, { role: "claim", definition });
  }
  return kinds;
}

/** The referenceable version of an XRD's kind. */
export function referenceableType({ role, definition }: DefinedKind): TypeRef | undefined {
  const version = objectsAt(definition, ["spec", "versions"]).find((one) => one["referenceable"] === true);
  const kind = stringAt(definition, ["spec", role === "claim" ? "claimNames" : "names", "kind"]);
  if (version === undefined) return undefined;
  return { apiVersion: `${stringAt(definition, ["spec", "group"])}/${stringAt(version, ["name"])}`, kind };
}
