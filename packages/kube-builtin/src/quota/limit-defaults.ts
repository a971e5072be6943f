// SPDX-License-Identifier: Apache-2.0
// The limits and requests that LimitRanges give to the containers of a new Pod.
import { isPartDone, sorting, type Work } from "@purlin/base";
import { listAt, metaOf, withMeta } from "@purlin/kube-apiserver/kinds";
import { invalid, tooLong } from "@purlin/kube-objects/errors";
import { compareUtf8, type JsonObject } from "@purlin/kube-objects/json";
import { objectAt, stringAt } from "@purlin/kube-objects/object";
import { type Amounts, amountsAt } from "../checks/resource-names.ts";

const annotation = "kubernetes.io/limit-ranger";
/** Most bytes that the annotations of an object may have. */
const mostBytes = 256 * 1024;

/** The items of a LimitRange for one type of objects. */
const limitsOf = (range: JsonObject, type: string): JsonObject[] =>
  listAt(range, "spec", "limits").filter((item) => stringAt(item, ["type"]) === type);

/** The default of one resource, and the index of the LimitRange that has it. */
interface Default {
  readonly name: string;
  readonly amount: string;
  readonly range: number;
}

interface Defaults {
  readonly requests: readonly Default[];
  readonly limits: readonly Default[];
}

/**
 * The Pod with the defaults of LimitRanges, and an annotation that lists those of the last range that gave some. Throws 422 when it would
 * list more than annotations may have, so that what a Pod gets is bounded however many defaults and containers there are.
 */
export function* fillingContainers(pod: JsonObject, ranges: readonly JsonObject[]): Work<JsonObject> {
  const [first] = [...listAt(pod, "spec", "containers"), ...listAt(pod, "spec", "initContainers")];
  if (first === undefined || ranges.length === 0) return pod;
  const defaults: Defaults = {
    requests: yield* mergedDefaults(ranges, "defaultRequest", lengthCount(pod, amountsOf(first, "requests"))),
    limits: yield* mergedDefaults(ranges, "default", lengthCount(pod, amountsOf(first, "limits"))),
  };
  if (defaults.requests.length + defaults.limits.length === 0) return pod;
  const notes = new Notes(pod);
  const containers = yield* fillingList(pod, "containers", { defaults, noun: "container", notes });
  const initContainers = yield* fillingList(pod, "initContainers", { defaults, noun: "init container", notes });
  const text = notes.ofLastRange();
  if (text === "") return pod;
  const spec = {
    ...objectAt(pod, ["spec"]),
    containers,
    ...(initContainers.length > 0 && { initContainers }),
  };
  return withMeta({ ...pod, spec }, { annotations: { ...metaOf(pod).annotations, [annotation]: text } });
}

const amountsOf = (container: JsonObject, member: "requests" | "limits"): Amounts =>
  amountsAt(container, ["resources", member]);

/** Counts the characters of what is noted about a Pod. */
class NoteLength {
  readonly #pod: JsonObject;
  #length = 0;

  constructor(pod: JsonObject) {
    this.#pod = pod;
  }

  /** Throws 422 when there are more characters than annotations may have bytes. */
  add(count: number): void {
    this.#length += count;
    if (this.#length <= mostBytes) return;
    const { name, generateName = "" } = metaOf(this.#pod);
    throw invalid({ group: "", kind: "Pod" }, name || generateName, [tooLong("metadata.annotations", mostBytes)]);
  }
}

/** Counts the names that a container lacks: these alone are noted about it. */
function lengthCount(pod: JsonObject, own: Amounts): (name: string) => void {
  const length = new NoteLength(pod);
  return (name) => {
    if (own[name] === undefined) length.add(name.length);
  };
}

/** The defaults of all ranges in the order of their names. The first range that has a default for a resource gives it. */
function* mergedDefaults(
  ranges: readonly JsonObject[],
  member: "default" | "defaultRequest",
  count: (name: string) => void,
): Work<readonly Default[]> {
  const found = new Map<string, Default>();
  for (const [range, object] of ranges.entries()) {
    for (const item of limitsOf(object, "Container")) {
      const amounts = amountsAt(item, [member]);
      for (const name of Object.keys(amounts)) {
        if (isPartDone()) yield;
        if (found.has(name)) continue;
        count(name);
        found.set(name, { name, amount: amounts[name] ?? "0", range });
      }
    }
    yield;
  }
  return yield* sorting([...found.values()], (a, b) => compareUtf8(a.name, b.name));
}

/** What was given to containers, by the LimitRange that gave it. */
class Notes {
  readonly #byRange = new Map<number, string[]>();
  readonly #length: NoteLength;

  constructor(pod: JsonObject) {
    this.#length = new NoteLength(pod);
  }

  /** Counts the name of a resource that will be in a note. */
  count(name: string): void {
    this.#length.add(name.length + ", ".length);
  }

  add(given: readonly Default[], target: string): void {
    for (const [range, ofRange] of Map.groupBy(given, (one) => one.range)) {
      this.#length.add(target.length);
      const notes = this.#byRange.get(range) ?? [];
      this.#byRange.set(range, notes);
      notes.push(`${ofRange.map(({ name }) => name).join(", ")} ${target}`);
    }
  }

  /** The text of the annotation; empty when nothing was given. */
  ofLastRange(): string {
    const notes = this.#byRange.get(Math.max(...this.#byRange.keys()));
    return notes === undefined ? "" : `LimitRanger plugin set: ${notes.join("; ")}`;
  }
}

interface Filling {
  readonly defaults: Defaults;
  readonly noun: string;
  readonly notes: Notes;
}

function* fillingList(pod: JsonObject, list: string, filling: Filling): Work<JsonObject[]> {
  const filled: JsonObject[] = [];
  for (const container of listAt(pod, "spec", list)) {
    filled.push(yield* fillingContainer(container, filling));
    if (isPartDone()) yield;
  }
  return filled;
}

function* fillingContainer(container: JsonObject, { defaults, noun, notes }: Filling): Work<JsonObject> {
  const target = `for ${noun} ${stringAt(container, ["name"])}`;
  const requests = yield* lacking(amountsOf(container, "requests"), defaults.requests, notes);
  notes.add(requests, `request ${target}`);
  const limits = yield* lacking(amountsOf(container, "limits"), defaults.limits, notes);
  notes.add(limits, `limit ${target}`);
  if (requests.length + limits.length === 0) return container;
  const filled = (member: "requests" | "limits", given: readonly Default[]): JsonObject =>
    given.length === 0 ? {} : { [member]: { ...amountsByName(given), ...amountsOf(container, member) } };
  const resources = {
    ...objectAt(container, ["resources"]),
    ...filled("requests", requests),
    ...filled("limits", limits),
  };
  return { ...container, resources };
}

/** The defaults that a container has no amounts of its own for. */
function* lacking(own: Amounts, defaults: readonly Default[], notes: Notes): Work<readonly Default[]> {
  const missing: Default[] = [];
  for (const one of defaults) {
    if (isPartDone()) yield;
    if (own[one.name] !== undefined) continue;
    notes.count(one.name);
    missing.push(one);
  }
  return missing;
}

const amountsByName = (given: readonly Default[]): Amounts =>
  Object.fromEntries(given.map(({ name, amount }) => [name, amount]));
