// SPDX-License-Identifier: Apache-2.0

import { isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";
import type { CompositeSubject } from "../function-runner.ts";
import { rank, type ShadowClass, type ShadowDetail, shadowClasses, worse } from "./compare-answers.ts";

/** What shadow runs of a rollout found, in numbers. Every composite resource counts once, by its worst step. */
export interface ShadowReport {
  /** Composite resources that were compared. */
  readonly total: number;
  readonly classes: Readonly<Record<ShadowClass, number>>;
  /** Shadow runs, also those of a composite resource that was compared before. */
  readonly runs: number;
  /** Shadow runs that were not made: the queue was full, or the request too large. */
  readonly dropped: number;
}

/** What is known of one composite resource. */
interface CompositeReport {
  /** The class of each step that was compared. */
  readonly steps: Map<string, ShadowClass>;
  /** Steps of its last reconcile that are to be compared. */
  expected: ExpectedSteps | undefined;
}

interface ExpectedSteps {
  /** Stands for the reconcile; undefined after a restart. */
  readonly subject: CompositeSubject | undefined;
  readonly steps: Set<string>;
}

const maxDetails = 1000;

/**
 * The reports of one rollout: a class for each step of each composite resource, and details of those that differ most. It grows with
 * the composite resources that exist, and {@link retain} drops those that no longer exist.
 */
export class RolloutReports {
  readonly #composites = new Map<string, CompositeReport>();
  readonly #details = new Map<string, ShadowDetail>();
  readonly #classes = noClasses();
  #total = 0;
  #runs = 0;
  #dropped = 0;

  report(): ShadowReport {
    return { total: this.#total, classes: { ...this.#classes }, runs: this.#runs, dropped: this.#dropped };
  }

  details(): readonly ShadowDetail[] {
    return [...this.#details.values()].toSorted(
      (a, b) => rank(b.class) - rank(a.class) || (a.composite.name < b.composite.name ? -1 : 1),
    );
  }

  has(uid: string): boolean {
    const known = this.#composites.get(uid);
    return known !== undefined && known.expected === undefined && known.steps.size > 0;
  }

  hasStep(uid: string, step: string): boolean {
    return this.#composites.get(uid)?.steps.has(step) ?? false;
  }

  expect(subject: CompositeSubject, step: string): void {
    const known = this.#of(subject.uid);
    const waiting = known.expected?.subject === subject ? known.expected.steps : new Set<string>();
    if (!known.steps.has(step)) waiting.add(step);
    known.expected = waiting.size === 0 ? undefined : { subject, steps: waiting };
  }

  add(detail: ShadowDetail): void {
    const { composite, step } = detail;
    const known = this.#of(composite.uid);
    this.#runs += 1;
    this.#set(known, step, detail.class);
    known.expected?.steps.delete(step);
    if (known.expected?.steps.size === 0) known.expected = undefined;
    const key = `${composite.uid}/${step}`;
    this.#details.delete(key);
    if (detail.class !== "none") keepDetail(this.#details, key, detail);
  }

  drop(): void {
    this.#dropped += 1;
  }

  /** Forgets composite resources that are not among these. Says whether there were any. */
  retain(composites: readonly { readonly uid: string }[]): boolean {
    if (this.#composites.size === 0) return false;
    const kept = new Set<string>();
    for (const { uid } of composites) kept.add(uid);
    const before = this.#composites.size;
    for (const [uid, { steps }] of this.#composites) {
      if (kept.has(uid)) continue;
      this.#count(steps, -1);
      for (const step of steps.keys()) this.#details.delete(`${uid}/${step}`);
      this.#composites.delete(uid);
    }
    return this.#composites.size < before;
  }

  /** Everything as records, each of them small. */
  *records(): Generator<object, void, void> {
    yield { runs: this.#runs, dropped: this.#dropped };
    for (const [composite, { steps, expected }] of this.#composites) {
      const record = { composite, steps: Object.fromEntries(steps) };
      yield expected === undefined ? record : { ...record, incomplete: true };
    }
    for (const detail of this.#details.values()) yield { detail };
  }

  /** Takes over one record of {@link records}. */
  restore(record: JsonObject): void {
    const { composite, steps, detail } = record;
    if (isDetail(detail)) {
      this.#details.set(`${detail.composite.uid}/${detail.step}`, detail);
    } else if (typeof composite === "string" && isJsonObject(steps)) {
      const known = this.#of(composite);
      for (const [step, found] of Object.entries(steps)) if (isShadowClass(found)) this.#set(known, step, found);
      if (record["incomplete"] === true) known.expected = { subject: undefined, steps: new Set(["?"]) };
    } else {
      this.#runs = Number(record["runs"] ?? 0);
      this.#dropped = Number(record["dropped"] ?? 0);
    }
  }

  #of(uid: string): CompositeReport {
    const known = this.#composites.get(uid) ?? { steps: new Map(), expected: undefined };
    this.#composites.set(uid, known);
    return known;
  }

  #set({ steps }: CompositeReport, step: string, found: ShadowClass): void {
    this.#count(steps, -1);
    steps.set(step, found);
    this.#count(steps, 1);
  }

  #count(steps: ReadonlyMap<string, ShadowClass>, by: 1 | -1): void {
    if (steps.size === 0) return;
    this.#total += by;
    this.#classes[[...steps.values()].reduce(worse)] += by;
  }
}

function noClasses(): Record<ShadowClass, number> {
  return Object.fromEntries(shadowClasses.map((one) => [one, 0])) as Record<ShadowClass, number>;
}

function isShadowClass(value: JsonValue): value is ShadowClass {
  return shadowClasses.some((one) => one === value);
}

/** Whether a value is what {@link RolloutReports.records} made of a detail; other values are not ours. */
function isDetail(value: unknown): value is ShadowDetail {
  return isJsonObject(value) && isJsonObject(value["composite"]) && typeof value["step"] === "string";
}

/** Keeps the worst: a detail that is less bad than all others makes room. */
function keepDetail(details: Map<string, ShadowDetail>, key: string, detail: ShadowDetail): void {
  if (details.size >= maxDetails) {
    let mildest: string | undefined;
    for (const [other, found] of details) {
      if (rank(found.class) < rank(detail.class)) {
        mildest = other;
        break;
      }
    }
    if (mildest === undefined) return;
    details.delete(mildest);
  }
  details.set(key, detail);
}
