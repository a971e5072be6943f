// SPDX-License-Identifier: Apache-2.0
import type { JsonObject } from "@purlin/kube-objects/json";
import { stringAt } from "@purlin/kube-objects/object";
import { acceptedNames, isConditionTrue, readNames, type TakenNames } from "./crd-conditions.ts";

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
