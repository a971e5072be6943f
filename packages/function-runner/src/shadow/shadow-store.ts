// SPDX-License-Identifier: Apache-2.0

import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { type Clock, type Log, silentLog, systemClock } from "@purlin/base";
import { isJsonObject, type JsonObject, parseJson } from "@purlin/kube-objects/json";
import { textsAt } from "@purlin/kube-objects/object";
import type { CompositeSubject } from "../function-runner.ts";
import { textOf } from "../runner-error.ts";
import { rank, type ShadowClass, type ShadowDetail, shadowClasses, worse } from "./shadow-class.ts";

/** What shadow runs of a rollout found, in numbers. Every composite resource counts once, by its worst step. */
interface ShadowReport {
  /** Composite resources that were compared. */
  readonly total: number;
  readonly classes: Readonly<Record<ShadowClass, number>>;
  /** Shadow runs, also those of a composite resource that was compared before. */
  readonly runs: number;
  /** Shadow runs that were not made: the queue was full, or the request too large. */
  readonly dropped: number;
  /** Whether there are more composite resources than the report counts. */
  readonly truncated: boolean;
}

/** The reports of shadow runs, by the uid of their rollout. */
export interface ShadowReports {
  report(rolloutUid: string): ShadowReport;
  /** The differences by composite resource and step, worst first. Bounded. */
  details(rolloutUid: string): readonly ShadowDetail[];
  /** Whether a composite resource was compared, in all of its steps. */
  has(rolloutUid: string, compositeUid: string): boolean;
  /** To be called when a rollout is gone. */
  forget(rolloutUid: string): void;
}

/** The reports of one rollout. */
interface RolloutReports {
  /** The class of each step, by `uid/step`. */
  readonly steps: Map<string, ShadowClass>;
  /** How many steps of a composite resource were compared. */
  readonly composites: Map<string, number>;
  /** Steps of the last reconcile of a composite resource that are to be compared, by its uid. */
  readonly expected: Map<string, ExpectedSteps>;
  readonly details: Map<string, ShadowDetail>;
  runs: number;
  dropped: number;
  truncated: boolean;
}

interface ExpectedSteps {
  /** Stands for the reconcile; undefined after a restart. */
  readonly subject: CompositeSubject | undefined;
  readonly steps: Set<string>;
}

/** Where reports are kept. */
interface ShadowStoreOptions {
  /** A file that survives a restart; without one, reports are made again by the first reconcile of each composite resource. */
  readonly file?: string | undefined;
  readonly clock?: Clock | undefined;
  readonly log?: Log | undefined;
}

const maxRollouts = 50;
const maxSteps = 50_000;
const maxDetails = 1000;
const saveAfterMs = 2000;

/** Keeps what shadow runs find: classes of all composite resources, details of those that differ most. */
export class ShadowStore implements ShadowReports {
  readonly #rollouts = new Map<string, RolloutReports>();
  readonly #options: ShadowStoreOptions;
  #stopSave: (() => void) | undefined;

  constructor(options: ShadowStoreOptions = {}) {
    this.#options = options;
    if (options.file !== undefined) this.#load(options.file);
  }

  report(rolloutUid: string): ShadowReport {
    const known = this.#rollouts.get(rolloutUid);
    const classes = Object.fromEntries(shadowClasses.map((one) => [one, 0])) as Record<ShadowClass, number>;
    if (known === undefined) return { total: 0, classes, runs: 0, dropped: 0, truncated: false };
    const worst = new Map<string, ShadowClass>();
    for (const [key, found] of known.steps) {
      const uid = uidIn(key);
      worst.set(uid, worse(found, worst.get(uid) ?? "none"));
    }
    for (const found of worst.values()) classes[found] += 1;
    return { total: worst.size, classes, runs: known.runs, dropped: known.dropped, truncated: known.truncated };
  }

  details(rolloutUid: string): readonly ShadowDetail[] {
    const found = [...(this.#rollouts.get(rolloutUid)?.details.values() ?? [])];
    return found.toSorted((a, b) => rank(b.class) - rank(a.class) || (a.composite.name < b.composite.name ? -1 : 1));
  }

  has(rolloutUid: string, compositeUid: string): boolean {
    const reports = this.#rollouts.get(rolloutUid);
    if (reports === undefined || reports.expected.has(compositeUid)) return false;
    return reports.composites.has(compositeUid);
  }

  /** A step will be compared: until then its composite resource is not. A later reconcile may have other steps. */
  expect(rolloutUid: string, subject: CompositeSubject, step: string): void {
    const { expected, steps } = this.#of(rolloutUid);
    const { uid } = subject;
    const known = expected.get(uid);
    const waiting = known?.subject === subject ? known.steps : new Set<string>();
    if (!steps.has(`${uid}/${step}`)) waiting.add(step);
    if (waiting.size === 0) expected.delete(uid);
    else if (expected.has(uid) || expected.size < maxSteps) expected.set(uid, { subject, steps: waiting });
  }

  /** Whether one step of a composite resource was compared. */
  hasStep(rolloutUid: string, compositeUid: string, step: string): boolean {
    return this.#rollouts.get(rolloutUid)?.steps.has(`${compositeUid}/${step}`) ?? false;
  }

  forget(rolloutUid: string): void {
    if (this.#rollouts.delete(rolloutUid)) this.#save();
  }

  /** Adds what a shadow run found; it replaces what the one before it found. */
  add(rolloutUid: string, detail: ShadowDetail): void {
    const reports = this.#of(rolloutUid);
    const { uid } = detail.composite;
    const key = `${uid}/${detail.step}`;
    reports.runs += 1;
    if (!reports.steps.has(key)) {
      reports.truncated ||= reports.steps.size >= maxSteps;
      if (reports.steps.size >= maxSteps) return;
      reports.composites.set(uid, (reports.composites.get(uid) ?? 0) + 1);
    }
    reports.steps.set(key, detail.class);
    const waiting = reports.expected.get(uid)?.steps;
    waiting?.delete(detail.step);
    if (waiting?.size === 0) reports.expected.delete(uid);
    reports.details.delete(key);
    if (detail.class !== "none") keepDetail(reports.details, key, detail);
    this.#save();
  }

  /** Counts a shadow run that was not made. */
  drop(rolloutUid: string): void {
    this.#of(rolloutUid).dropped += 1;
  }

  /** Writes what is not written yet. */
  close(): void {
    if (this.#stopSave === undefined) return;
    this.#stopSave();
    this.#write();
  }

  #of(rolloutUid: string): RolloutReports {
    const known = this.#rollouts.get(rolloutUid);
    if (known !== undefined) return known;
    const made = emptyReports();
    this.#rollouts.set(rolloutUid, made);
    const oldest = this.#rollouts.keys().next().value;
    if (this.#rollouts.size > maxRollouts && oldest !== undefined) this.#rollouts.delete(oldest);
    return made;
  }

  #save(): void {
    const { file, clock = systemClock } = this.#options;
    if (file === undefined || this.#stopSave !== undefined) return;
    this.#stopSave = clock.schedule(saveAfterMs, () => this.#write());
  }

  #write(): void {
    const { file, log = silentLog } = this.#options;
    this.#stopSave = undefined;
    if (file === undefined) return;
    const rollouts = [...this.#rollouts].map(([uid, { steps, expected, details, runs, dropped, truncated }]) => ({
      uid,
      runs,
      dropped,
      truncated,
      steps: Object.fromEntries(steps),
      incomplete: [...expected.keys()],
      details: [...details.values()],
    }));
    try {
      mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
      writeFileSync(`${file}.new`, JSON.stringify({ version: 1, rollouts }), { mode: 0o600 });
      renameSync(`${file}.new`, file);
    } catch (error) {
      log.info("cannot store the reports of shadow runs", { file, error: textOf(error) });
    }
  }

  /** A file that cannot be read is as good as none: the reports are made again. */
  #load(file: string): void {
    try {
      const stored = parseJson(readFileSync(file, "utf8"));
      const rollouts = isJsonObject(stored) && Array.isArray(stored["rollouts"]) ? stored["rollouts"] : [];
      for (const one of rollouts.filter(isJsonObject)) this.#rollouts.set(String(one["uid"]), readReports(one));
    } catch (error) {
      const { log = silentLog } = this.#options;
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") {
        log.info("cannot read the reports of shadow runs", { file, error: textOf(error) });
      }
    }
  }
}

function emptyReports(): RolloutReports {
  const maps = { steps: new Map(), composites: new Map(), expected: new Map(), details: new Map() };
  return { ...maps, runs: 0, dropped: 0, truncated: false };
}

function readReports(stored: JsonObject): RolloutReports {
  const reports = emptyReports();
  for (const [key, found] of Object.entries((stored["steps"] ?? {}) as Record<string, ShadowClass>)) {
    if (!shadowClasses.includes(found)) continue;
    reports.steps.set(key, found);
    reports.composites.set(uidIn(key), (reports.composites.get(uidIn(key)) ?? 0) + 1);
  }
  for (const uid of textsAt(stored, ["incomplete"])) {
    reports.expected.set(uid, { subject: undefined, steps: new Set(["?"]) });
  }
  const details = (Array.isArray(stored["details"]) ? stored["details"] : []) as unknown as readonly ShadowDetail[];
  for (const detail of details) reports.details.set(`${detail.composite.uid}/${detail.step}`, detail);
  reports.runs = Number(stored["runs"] ?? 0);
  reports.dropped = Number(stored["dropped"] ?? 0);
  reports.truncated = stored["truncated"] === true;
  return reports;
}

function uidIn(key: string): string {
  return key.slice(0, key.indexOf("/"));
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
