// SPDX-License-Identifier: Apache-2.0
import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import { objectAt, objectsAt, optionalObjectAt, stringAt, textsAt } from "@purlin/kube-objects/object";

/** A condition of a CRD, as far as the server sets it. */
interface CrdCondition {
  readonly type: string;
  readonly status: "True" | "False";
  readonly reason: string;
  readonly message: string;
}

/** Whether a condition of a CRD is True. */
export function isConditionTrue(crd: JsonObject, type: string): boolean {
  const condition = conditionsOf(crd).find((one) => stringAt(one, ["type"]) === type);
  return condition !== undefined && stringAt(condition, ["status"]) === "True";
}

function conditionsOf(crd: JsonObject): JsonObject[] {
  return objectsAt(crd, ["status", "conditions"]);
}

/** The CRD with a condition set; the same CRD when it says so already. The time moves only when the status changes. */
export function withCondition(crd: JsonObject, condition: CrdCondition, time: string): JsonObject {
  const conditions = conditionsOf(crd);
  const known = conditions.find((one) => stringAt(one, ["type"]) === condition.type);
  if (known !== undefined && sameCondition(known, condition)) return crd;
  const lastTransitionTime =
    known !== undefined && stringAt(known, ["status"]) === condition.status
      ? stringAt(known, ["lastTransitionTime"])
      : time;
  const { type, status, reason, message } = condition;
  const next: JsonObject = { type, status, lastTransitionTime, reason, message };
  const list = known === undefined ? [...conditions, next] : conditions.map((one) => (one === known ? next : one));
  return withStatus(crd, { conditions: list });
}

function sameCondition(known: JsonObject, { status, reason, message }: CrdCondition): boolean {
  return (
    stringAt(known, ["status"]) === status &&
    stringAt(known, ["reason"]) === reason &&
    stringAt(known, ["message"]) === message
  );
}

/** The CRD with some members of its status replaced. */
function withStatus(crd: JsonObject, members: Readonly<Record<string, JsonValue>>): JsonObject {
  return { ...crd, status: { ...optionalObjectAt(crd, ["status"]), ...members } };
}

/** A condition of older versions of this server, which did not call conversion webhooks. */
const conversionCalled = "ConversionWebhookCalled";

/** The CRD without the condition that its conversion webhook is not called. */
export function withoutConversionNotice(crd: JsonObject): JsonObject {
  const others = conditionsOf(crd).filter((one) => stringAt(one, ["type"]) !== conversionCalled);
  return others.length === conditionsOf(crd).length ? crd : withStatus(crd, { conditions: others });
}

interface Names {
  readonly plural: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly kind: string;
  readonly listKind: string;
  readonly categories: readonly string[];
}

/** The names in `spec.names` or `status.acceptedNames`. */
function readNames(names: JsonObject): Names {
  return {
    plural: stringAt(names, ["plural"]),
    singular: stringAt(names, ["singular"]),
    shortNames: textsAt(names, ["shortNames"]),
    kind: stringAt(names, ["kind"]),
    listKind: stringAt(names, ["listKind"]),
    categories: textsAt(names, ["categories"]),
  };
}

/** The names a CRD was given and may use. */
export function acceptedNames(crd: JsonObject): JsonObject {
  return objectAt(crd, ["status", "acceptedNames"]);
}

/** Names that other CRDs of a group have. */
export interface TakenNames {
  /** As a plural, singular or short name. */
  readonly hasResource: (name: string) => boolean;
  /** As a kind or the kind of a list. */
  readonly hasKind: (name: string) => boolean;
}

/**
 * The CRD with the names it may have among the others of its group, and with conditions that say so. A name another CRD
 * already has is not taken from it.
 */
export function withAcceptedNames(crd: JsonObject, taken: TakenNames, time: string): JsonObject {
  const wanted = readNames(objectAt(crd, ["spec", "names"]));
  const current = readNames(acceptedNames(crd));
  const conflicts: CrdCondition[] = [];
  const conflict = (reason: string, name: string): void => {
    conflicts.push({
      type: "NamesAccepted",
      status: "False",
      reason,
      message: `${JSON.stringify(name)} is already in use`,
    });
  };
  const accept = (name: string, isTaken: (name: string) => boolean, reason: string): boolean => {
    if (name === "" || !isTaken(name)) return true;
    conflict(reason, name);
    return false;
  };
  const plural = accept(wanted.plural, taken.hasResource, "PluralConflict") ? wanted.plural : current.plural;
  const singular = accept(wanted.singular, taken.hasResource, "SingularConflict") ? wanted.singular : current.singular;
  const clash = wanted.shortNames.find(taken.hasResource);
  if (clash !== undefined) conflict("ShortNamesConflict", clash);
  const kind = accept(wanted.kind, taken.hasKind, "KindConflict") ? wanted.kind : current.kind;
  const listKind = accept(wanted.listKind, taken.hasKind, "ListKindConflict") ? wanted.listKind : current.listKind;
  const names = {
    plural,
    singular,
    shortNames: clash === undefined ? wanted.shortNames : current.shortNames,
    kind,
    listKind,
    categories: wanted.categories,
  };
  const named = withStatus(crd, { acceptedNames: namesJson(names) });
  const last = conflicts.at(-1);
  // The reference keeps the last conflict it meets.
  const accepted: CrdCondition = last ?? {
    type: "NamesAccepted",
    status: "True",
    reason: "NoConflicts",
    message: "no conflicts found",
  };
  return withInitialEstablished(withCondition(named, accepted, time), last !== undefined, time);
}

/** What was established stays so; what is not says why. */
function withInitialEstablished(crd: JsonObject, hasConflict: boolean, time: string): JsonObject {
  if (isConditionTrue(crd, "Established")) return crd;
  const installing = {
    type: "Established",
    status: "False",
    reason: "Installing",
    message: "the initial names have been accepted",
  } as const;
  const refused = {
    type: "Established",
    status: "False",
    reason: "NotAccepted",
    message: "not all names are accepted",
  } as const;
  return withCondition(crd, hasConflict ? refused : installing, time);
}

/** The CRD, now that it is served. */
export function withEstablished(crd: JsonObject, time: string): JsonObject {
  const established = {
    type: "Established",
    status: "True",
    reason: "InitialNamesAccepted",
    message: "the initial names have been accepted",
  } as const;
  return withCondition(crd, established, time);
}

function namesJson({ plural, singular, shortNames, kind, listKind, categories }: Names): JsonObject {
  return {
    plural,
    ...(singular !== "" && { singular }),
    ...(shortNames.length > 0 && { shortNames: [...shortNames] }),
    kind,
    ...(listKind !== "" && { listKind }),
    ...(categories.length > 0 && { categories: [...categories] }),
  };
}

/** The names of one definition, each with its group and the room that it shares with others. */
interface Entry {
  readonly names: readonly string[];
  readonly isAccepted: boolean;
}

/**
 * The names that definitions have, by group. Kept as definitions change: with a thousand definitions, reading those of all others for each
 * one takes seconds.
 */
export class AcceptedNames {
  readonly #definitions = new Map<string, Entry>();
  readonly #owners = new Map<string, Set<string>>();

  /** Notes the state of a definition, undefined when it is deleted. Returns whether a name is free now. */
  set(key: string, crd: JsonObject | undefined): boolean {
    const before = this.#definitions.get(key)?.names ?? [];
    const names = crd === undefined ? [] : namesIn(crd);
    for (const name of before) this.#release(name, key);
    for (const name of names) this.#take(name, key);
    if (crd === undefined) this.#definitions.delete(key);
    else this.#definitions.set(key, { names, isAccepted: isConditionTrue(crd, "NamesAccepted") });
    return before.some((name) => !this.#owners.has(name));
  }

  /** The definitions that lack a name they ask for. */
  waiting(): string[] {
    return [...this.#definitions].filter(([, { isAccepted }]) => !isAccepted).map(([key]) => key);
  }

  /** The names of the other definitions of a group. */
  othersOf(key: string, group: string): TakenNames {
    const isTaken = (room: Room, name: string): boolean => {
      const owners = this.#owners.get(nameIn(group, room, name));
      return owners !== undefined && (owners.size > 1 || !owners.has(key));
    };
    return { hasResource: (name) => isTaken("resource", name), hasKind: (name) => isTaken("kind", name) };
  }

  #take(name: string, key: string): void {
    const owners = this.#owners.get(name);
    if (owners === undefined) this.#owners.set(name, new Set([key]));
    else owners.add(key);
  }

  #release(name: string, key: string): void {
    const owners = this.#owners.get(name);
    owners?.delete(key);
    if (owners?.size === 0) this.#owners.delete(name);
  }
}

/** Resources and kinds have names that do not conflict with each other. */
type Room = "resource" | "kind";

const nameIn = (group: string, room: Room, name: string): string => JSON.stringify([group, room, name]);

function namesIn(crd: JsonObject): string[] {
  const group = stringAt(crd, ["spec", "group"]);
  const { plural, singular, shortNames, kind, listKind } = readNames(acceptedNames(crd));
  const resources = [plural, singular, ...shortNames].map((name) => nameIn(group, "resource", name));
  return [...resources, ...[kind, listKind].map((name) => nameIn(group, "kind", name))];
}
