// SPDX-License-Identifier: Apache-2.0

import type { CompositeSubject } from "@purlin/function-runner";
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from "@purlin/kube-objects/json";
import { annotationOf, type KubeObject, objectsAt, withMember } from "@purlin/kube-objects/object";
import { annotations } from "../../composite-resource/constants.ts";
import type { DesiredResource } from "../apply/desired-resources.ts";
import type { Observation, Observed } from "../observe/observe.ts";
import { guardAnnotations, sameGroupKind } from "./guard.ts";

/** A composite resource that takes part in a move. */
export type MoveComposite = {
  readonly apiVersion: string;
  readonly kind: string;
  /** Without it: one of the same name, or one that composes the other. */
  readonly name?: string;
};

/** One end of a move: a name in the pipeline, in this composite resource or in another. */
interface MoveEnd {
  readonly resource: string;
  readonly composite?: MoveComposite | undefined;
}

/** A composed resource that got another name in the pipeline, or another composite resource. */
export interface Move {
  readonly from: MoveEnd;
  readonly to: MoveEnd;
}

const known = new WeakMap<KubeObject, readonly Move[]>();

/** Moves that one XR and its revision may declare. Each is looked for among the resources of the XR, and may need objects to be read. */
const mostMoves = 1000;

/** The moves that an XR and its CompositionRevision declare. Throws when a declaration is not valid. */
export function movesOf(xr: KubeObject, revision: KubeObject | undefined): readonly Move[] {
  const moves = [...(revision === undefined ? [] : revisionMoves(revision)), ...annotatedMoves(xr)];
  if (moves.length <= mostMoves) return moves;
  const declared = `${xr.kind} "${xr.metadata.name ?? ""}" and its Composition declare ${moves.length} moves`;
  throw new Error(`${declared} (limit ${mostMoves}): remove the moves that were done`);
}

/** By annotation and on the steps. Read once for each version of the revision. */
function revisionMoves(revision: KubeObject): readonly Move[] {
  const cached = known.get(revision);
  if (cached !== undefined) return cached;
  const steps = objectsAt(revision, ["spec", "pipeline"]);
  const moves = [...annotatedMoves(revision), ...steps.flatMap((step) => stepMoves(step, revision))];
  if (Object.isFrozen(revision)) known.set(revision, moves);
  return moves;
}

function annotatedMoves(object: KubeObject): readonly Move[] {
  const text = annotationOf(object, guardAnnotations.moved);
  if (text === undefined) return [];
  return parseMoves(text, `annotation ${guardAnnotations.moved} of ${object.kind} "${object.metadata.name ?? ""}"`);
}

/** The moves of a pipeline step, which the schema of Composition has checked. */
function stepMoves(step: JsonObject, { kind, metadata }: KubeObject): readonly Move[] {
  return objectsAt(step, ["moved"]).map((move, index): Move => {
    const from = endOf(withComposite(move, "from"));
    const to = endOf(withComposite(move, "to"));
    if (from !== undefined && to !== undefined && !(from.composite && to.composite)) return { from, to };
    const at = `moved[${index}] of pipeline step "${String(step["step"])}" of ${kind} "${metadata.name ?? ""}"`;
    throw new Error(`${at} is not valid: it needs from and to, and at most one of fromComposite and toComposite`);
  });
}

/** One end of a step's move in the form of the annotation. */
function withComposite(move: JsonObject, end: "from" | "to"): JsonValue | undefined {
  const [name, composite] = [move[end], move[`${end}Composite`]];
  return isJsonObject(composite) && name !== undefined ? { ...composite, resource: name } : name;
}

const example = '[{"from": "old-name", "to": "new-name"}]';

function parseMoves(text: string, where: string): readonly Move[] {
  const refuse = (why: string): never => {
    throw new Error(`${where} ${why}: write it as ${example}`);
  };
  let value: JsonValue;
  try {
    value = parseJson(text);
  } catch {
    return refuse("is not JSON");
  }
  if (!Array.isArray(value)) return refuse("is not a list");
  return value.map((item, index): Move => {
    const [from, to] = isJsonObject(item) ? [endOf(item["from"]), endOf(item["to"])] : [];
    if (from === undefined || to === undefined) return refuse(`has no valid "from" and "to" at [${index}]`);
    if (from.composite !== undefined && to.composite !== undefined) {
      return refuse(`names another composite resource on both sides at [${index}]`);
    }
    return { from, to };
  });
}

function endOf(value: JsonValue | undefined): MoveEnd | undefined {
  if (typeof value === "string" && value !== "") return { resource: value };
  if (!isJsonObject(value)) return undefined;
  const { resource, apiVersion, kind, name } = value;
  if (typeof resource !== "string" || typeof apiVersion !== "string" || typeof kind !== "string") return undefined;
  if (name !== undefined && typeof name !== "string") return undefined;
  return { resource, composite: { apiVersion, kind, ...(name !== undefined && { name }) } };
}

/** The names of composed resources after their renames. */
interface Renames {
  /** Names before, by names now. */
  readonly renamed: ReadonlyMap<string, string>;
  /** Declared renames that cannot be done, as text. */
  readonly impossible: readonly string[];
}

/**
 * The renames that lead from what exists to what is desired. Names that moves connect belong to one resource, in both directions: a
 * function that is rolled back finds the resource under its old name again.
 */
export function renamesOf(
  moves: readonly Move[],
  { resources }: Pick<Observed, "resources">,
  desired: readonly DesiredResource[],
): Renames {
  const wanted = new Map(desired.map(({ name, object }) => [name, object]));
  const renamed = new Map<string, string>();
  const impossible: string[] = [];
  for (const names of groupsOf(moves)) {
    const before = names.filter((name) => resources.has(name) && !wanted.has(name));
    const after = names.filter((name) => wanted.has(name) && !resources.has(name));
    const [from, to] = [before[0], after[0]];
    if (from === undefined) continue;
    if (to === undefined) {
      // Without a resource under another name the resource is removed, and does not move.
      if (names.some((name) => wanted.has(name))) impossible.push(`"${from}": its new name has a resource already`);
      continue;
    }
    const [old, next] = [resources.get(from)?.object, wanted.get(to)];
    if (before.length > 1 || after.length > 1)
      impossible.push(`"${from}" to "${to}": more than one resource has these names`);
    else if (old === undefined || next === undefined || !sameGroupKind(old, next)) {
      impossible.push(`"${from}" to "${to}": a ${old?.kind ?? ""} cannot become a ${next?.kind ?? ""}`);
    } else renamed.set(to, from);
  }
  return { renamed, impossible };
}

/** What a comparison of desired states has to know of moves: which differences are not deletions. Undefined without moves. */
export function movedNames(moves: readonly Move[]): CompositeSubject["moved"] {
  if (moves.length === 0) return undefined;
  const leaving = moves.filter(({ to }) => to.composite !== undefined).map(({ from }) => from.resource);
  return { renames: groupsOf(moves), leaving };
}

/** The names that moves within one composite resource connect. */
function groupsOf(moves: readonly Move[]): readonly (readonly string[])[] {
  const groups = new Map<string, Set<string>>();
  for (const { from, to } of moves) {
    if (from.composite !== undefined || to.composite !== undefined) continue;
    const [one, other] = [from, to].map(({ resource }) => groups.get(resource) ?? new Set([resource])) as [
      Set<string>,
      Set<string>,
    ];
    if (one === other) continue;
    // The names of the smaller group change sides: each does so a few times at most.
    const [joined, left] = one.size < other.size ? [other, one] : [one, other];
    for (const name of [...left, from.resource, to.resource]) groups.set(name, joined.add(name));
  }
  return [...new Set(groups.values())].map((names) => [...names]);
}

/** The observed resources under their new names. The objects stay as they are stored. */
export function withRenames(observed: Observed, { renamed }: Renames): Observed {
  const left = new Set(renamed.values());
  const resources = new Map([...observed.resources].filter(([name]) => !left.has(name)));
  for (const [to, from] of renamed) {
    const observation = observed.resources.get(from);
    if (observation !== undefined) resources.set(to, observation);
  }
  return { ...observed, resources };
}

/** The observed resources as functions see them: each object carries the name it is observed under. */
export function asNamed(observed: Observed): Observed {
  const resources = [...observed.resources].map(([name, observation]): [string, Observation] => {
    if (annotationOf(observation.object, annotations.resourceName) === name) return [name, observation];
    const object = withMember(observation.object, ["metadata", "annotations", annotations.resourceName], name);
    return [name, { ...observation, object }];
  });
  return { ...observed, resources: new Map(resources) };
}
