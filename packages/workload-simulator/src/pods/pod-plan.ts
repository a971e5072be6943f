// SPDX-License-Identifier: Apache-2.0
import { sorting, type Work } from "@purlin/base";
import type { JsonObject } from "@purlin/kube-objects/json";
import {
  annotationOf,
  type KubeObject,
  memberAt,
  objectsAt,
  stringAt,
  textAt,
  textsAt,
} from "@purlin/kube-objects/object";
import { selectorOf, selects } from "../owned/selection.ts";
import { matcherOf } from "./glob.ts";

/** What happens to the containers of a Pod. */
export type Outcome =
  | { readonly kind: "run" }
  | { readonly kind: "exit"; readonly code: number; readonly reason: string }
  | { readonly kind: "image-pull" }
  | { readonly kind: "pending" };

/** How a Pod behaves. */
export interface PodPlan {
  /** From the start of a container until it is ready. */
  readonly readyAfterMs: number;
  readonly outcome: Outcome;
  /** From the start of a container until the outcome. */
  readonly outcomeAfterMs: number;
  /** Whether a container has this outcome; the others run, or complete. */
  readonly concerns: (container: JsonObject) => boolean;
}

const prefix = "simulation.purlin.dev";
const completed: Outcome = { kind: "exit", code: 0, reason: "Completed" };

/** What a container does unless a plan says otherwise: it runs, or completes if it is not restarted after that. */
export function defaultOutcome(pod: KubeObject): Outcome {
  return (textAt(pod, ["spec", "restartPolicy"]) ?? "Always") === "Always" ? { kind: "run" } : completed;
}

/** The plan of a Pod: by its annotations, else by the first Simulation that matches it, in the order of their names. */
export function* planOf(pod: KubeObject, simulations: readonly KubeObject[]): Work<PodPlan> {
  const annotated = Object.keys(pod.metadata.annotations ?? {}).some((name) => name.startsWith(`${prefix}/`));
  if (annotated) return planByAnnotations(pod);
  const sorted = yield* sorting(simulations, (a, b) => ((a.metadata.name ?? "") < (b.metadata.name ?? "") ? -1 : 1));
  for (const simulation of sorted) {
    yield;
    const concerned = yield* concernedBy(simulation, pod);
    if (concerned !== undefined) return planBySimulation(pod, simulation, concerned);
  }
  return planFrom(pod, {});
}

const outcomes = "Running, ImagePullBackOff, CrashLoopBackOff, OOMKilled, Pending or exit N";
const wantedDuration = "a duration such as 5s";

/** What each annotation must be, and whether a text is. */
const annotations: Readonly<Record<string, readonly [want: string, isValid: (text: string) => boolean]>> = {
  "ready-after": [wantedDuration, (text) => readDuration(text) !== undefined],
  outcome: [outcomes, (text) => readOutcome(text) !== undefined],
  "outcome-after": [wantedDuration, (text) => readDuration(text) !== undefined],
  containers: ["names of containers", () => true],
};

const mostProblems = 5;

/** Why annotations about the simulation of a Pod have no effect, one text for each of the first few. */
export function planProblems(pod: KubeObject): string[] {
  const given = Object.entries(pod.metadata.annotations ?? {}).filter(([name]) => name.startsWith(`${prefix}/`));
  const known = Object.keys(annotations);
  const problems: string[] = [];
  for (const [name, text] of given) {
    if (problems.length === mostProblems) break;
    const own = name.slice(prefix.length + 1);
    if (!known.includes(own)) {
      problems.push(`unknown annotation ${name}: expected ${known.join(", ")}`);
      continue;
    }
    const [want, isValid] = annotations[own] ?? ["", () => true];
    if (!isValid(text)) {
      problems.push(`annotation ${name} is ignored: expected ${want}, got ${JSON.stringify(text.slice(0, 100))}`);
    }
  }
  return problems;
}

interface PlanTexts {
  readonly readyAfter?: string | undefined;
  readonly outcome?: string | undefined;
  readonly outcomeAfter?: string | undefined;
  /** The names of the containers that it is for; all unless given. */
  readonly concerned?: ReadonlySet<string> | undefined;
}

function planFrom(pod: KubeObject, { readyAfter, outcome, outcomeAfter, concerned }: PlanTexts): PodPlan {
  return {
    readyAfterMs: readDuration(readyAfter) ?? 0,
    outcome: readOutcome(outcome) ?? defaultOutcome(pod),
    outcomeAfterMs: readDuration(outcomeAfter) ?? 0,
    concerns: (container) => concerned === undefined || concerned.has(stringAt(container, ["name"])),
  };
}

function planByAnnotations(pod: KubeObject): PodPlan {
  const text = (name: string): string | undefined => annotationOf(pod, `${prefix}/${name}`);
  const names = text("containers")
    ?.split(",")
    .map((name) => name.trim());
  return planFrom(pod, {
    readyAfter: text("ready-after"),
    outcome: text("outcome"),
    outcomeAfter: text("outcome-after"),
    ...(names && { concerned: new Set(names) }),
  });
}

function planBySimulation(pod: KubeObject, simulation: KubeObject, concerned: Exclude<Concerned, undefined>): PodPlan {
  const text = (name: string): string | undefined => textAt(simulation, ["spec", name]);
  return planFrom(pod, {
    readyAfter: text("readyAfter"),
    outcome: text("outcome"),
    outcomeAfter: text("outcomeAfter"),
    ...(concerned !== "all" && { concerned }),
  });
}

/** The names of containers that a Simulation is for; undefined when it does not match their Pod. */
type Concerned = ReadonlySet<string> | "all" | undefined;

function* concernedBy(simulation: KubeObject, pod: KubeObject): Work<Concerned> {
  const namespaces = textsAt(simulation, ["spec", "match", "namespaces"]);
  if (namespaces.length > 0 && !namespaces.includes(pod.metadata.namespace ?? "")) return undefined;
  if (selectorOf(simulation) !== undefined && !selects(simulation, pod)) return undefined;
  const images = textsAt(simulation, ["spec", "match", "images"]);
  return images.length === 0 ? "all" : yield* withImage(pod, images);
}

/** The names of containers whose image matches one of the patterns. */
function* withImage(pod: KubeObject, patterns: readonly string[]): Work<Concerned> {
  const names = new Set<string>();
  for (const pattern of patterns) {
    const matches = matcherOf(pattern);
    for (const container of containersOf(pod)) {
      if (matches(stringAt(container, ["image"]))) names.add(stringAt(container, ["name"]));
      yield;
    }
  }
  return names.size === 0 ? undefined : names;
}

/** The containers of a Pod, without init containers. */
export function containersOf(pod: KubeObject): readonly JsonObject[] {
  return objectsAt(pod, ["spec", "containers"]);
}

/** The outcome that a text names; undefined when it names none. */
function readOutcome(text: string | undefined): Outcome | undefined {
  switch (text) {
    case "Running":
      return { kind: "run" };
    case "ImagePullBackOff":
    case "ErrImagePull":
      return { kind: "image-pull" };
    case "CrashLoopBackOff":
      return { kind: "exit", code: 1, reason: "Error" };
    case "OOMKilled":
      return { kind: "exit", code: 137, reason: "OOMKilled" };
    case "Pending":
      return { kind: "pending" };
    default: {
      const [, code] = /^exit (\d{1,3})$/.exec(text ?? "") ?? [];
      if (code === undefined) return undefined;
      return Number(code) === 0 ? completed : { kind: "exit", code: Number(code), reason: "Error" };
    }
  }
}

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

// As the schema of Simulations has it.
const longestDuration = 32;

/** A duration such as `5s` or `1m30s` in milliseconds; undefined when the text is not one. */
function readDuration(text: string | undefined): number | undefined {
  if (text === undefined || text.length > longestDuration || !/^(\d{1,9}(ms|s|m|h))+$/.test(text)) return undefined;
  const parts = text.matchAll(/(\d+)(ms|s|m|h)/g);
  return [...parts].reduce((sum, [, count, unit = ""]) => sum + Number(count) * (unitMs[unit] ?? 0), 0);
}

/** Whether a Pod may not be scheduled yet: other controllers remove its gates. */
export function hasSchedulingGates(pod: KubeObject): boolean {
  const gates = memberAt(pod, ["spec", "schedulingGates"]);
  return Array.isArray(gates) && gates.length > 0;
}
