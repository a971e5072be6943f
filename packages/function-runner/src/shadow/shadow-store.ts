// SPDX-License-Identifier: Apache-2.0

import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { dirname } from "node:path";
import { type Clock, type Log, silentLog, systemClock, Turns } from "@purlin/base";
import { isJsonObject, parseJson, printJson } from "@purlin/kube-objects/json";
import { type CompositeSubject, textOf } from "../function-runner.ts";
import type { ShadowDetail } from "./compare-answers.ts";
import { RolloutReports, type ShadowReport } from "./rollout-reports.ts";

/** The reports of shadow runs, by the uid of their rollout. */
export interface ShadowReports {
  report(rolloutUid: string): ShadowReport;
  /** The differences by composite resource and step, worst first. Bounded. */
  details(rolloutUid: string): readonly ShadowDetail[];
  /** Whether a composite resource was compared, in all of its steps. */
  has(rolloutUid: string, compositeUid: string): boolean;
  /** To be called when a rollout is gone. */
  forget(rolloutUid: string): void;
  /** Forgets all rollouts but these. */
  retainRollouts(rolloutUids: readonly string[]): void;
  /** Forgets all composite resources of a rollout but these. */
  retainComposites(rolloutUid: string, composites: readonly { readonly uid: string }[]): void;
}

/** Where reports are kept. */
interface ShadowStoreOptions {
  /** A file that survives a restart; without one, reports are made again by the first reconcile of each composite resource. */
  readonly file?: string | undefined;
  readonly clock?: Clock | undefined;
  readonly log?: Log | undefined;
}

const fileVersion = 2;
const saveAfterMs = 2000;
/** A large file is written less often: writing takes a twentieth of the time at most. */
const restFactor = 20;
/** A clock that jumps while the file is written must not put the next time off for long. */
const longestRestMs = 60_000;
const chunkChars = 64 * 1024;

/** Keeps what shadow runs find. The file is written in parts that let other work run, and as a whole when the store is closed. */
export class ShadowStore implements ShadowReports {
  readonly #rollouts = new Map<string, RolloutReports>();
  readonly #options: ShadowStoreOptions;
  readonly #clock: Clock;
  #stopSave: (() => void) | undefined;
  #isDirty = false;
  #isWriting = false;
  #isClosed = false;
  #restMs = saveAfterMs;

  constructor(options: ShadowStoreOptions = {}) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    if (options.file !== undefined) this.#load(options.file);
  }

  report(rolloutUid: string): ShadowReport {
    return (this.#rollouts.get(rolloutUid) ?? new RolloutReports()).report();
  }

  details(rolloutUid: string): readonly ShadowDetail[] {
    return this.#rollouts.get(rolloutUid)?.details() ?? [];
  }

  has(rolloutUid: string, compositeUid: string): boolean {
    return this.#rollouts.get(rolloutUid)?.has(compositeUid) ?? false;
  }

  /** A step will be compared: until then its composite resource is not. A later reconcile may have other steps. */
  expect(rolloutUid: string, subject: CompositeSubject, step: string): void {
    this.#of(rolloutUid).expect(subject, step);
  }

  /** Whether one step of a composite resource was compared. */
  hasStep(rolloutUid: string, compositeUid: string, step: string): boolean {
    return this.#rollouts.get(rolloutUid)?.hasStep(compositeUid, step) ?? false;
  }

  forget(rolloutUid: string): void {
    if (this.#rollouts.delete(rolloutUid)) this.#save();
  }

  retainRollouts(rolloutUids: readonly string[]): void {
    for (const uid of this.#rollouts.keys()) if (!rolloutUids.includes(uid)) this.forget(uid);
  }

  retainComposites(rolloutUid: string, composites: readonly { readonly uid: string }[]): void {
    if (this.#rollouts.get(rolloutUid)?.retain(composites) === true) this.#save();
  }

  /** Adds what a shadow run found; it replaces what the one before it found. */
  add(rolloutUid: string, detail: ShadowDetail): void {
    this.#of(rolloutUid).add(detail);
    this.#save();
  }

  /** Counts a shadow run that was not made. */
  drop(rolloutUid: string): void {
    this.#of(rolloutUid).drop();
  }

  /** Writes what is not written yet, at once. */
  close(): void {
    const { file } = this.#options;
    this.#stopSave?.();
    if (file === undefined || this.#isClosed) return;
    this.#isClosed = true;
    if (!this.#isDirty && !this.#isWriting) return;
    try {
      mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
      // Another name than that of a file that is being written.
      writeFileSync(`${file}.last`, [...this.#lines()].join(""), { mode: 0o600 });
      renameSync(`${file}.last`, file);
    } catch (error) {
      this.#failed(error);
    }
  }

  #of(rolloutUid: string): RolloutReports {
    const reports = this.#rollouts.get(rolloutUid) ?? new RolloutReports();
    this.#rollouts.set(rolloutUid, reports);
    return reports;
  }

  #save(): void {
    const { file } = this.#options;
    if (file === undefined || this.#isClosed) return;
    this.#isDirty = true;
    if (this.#stopSave !== undefined || this.#isWriting) return;
    this.#stopSave = this.#clock.schedule(this.#restMs, () => void this.#write(file));
  }

  async #write(file: string): Promise<void> {
    this.#stopSave = undefined;
    this.#isDirty = false;
    this.#isWriting = true;
    const began = this.#clock.now();
    try {
      mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
      await using handle = await open(`${file}.new`, "w", 0o600);
      await this.#writeLines(handle);
      // At once: a store that is closed in the meantime has written newer reports.
      if (!this.#isClosed) renameSync(`${file}.new`, file);
    } catch (error) {
      this.#failed(error);
    }
    this.#isWriting = false;
    const rest = (this.#clock.now() - began) * restFactor;
    this.#restMs = Math.min(longestRestMs, Math.max(saveAfterMs, rest));
    if (this.#isDirty) this.#save();
  }

  /** Reports may change on the way; each line is right for the moment at which it is made. */
  async #writeLines(handle: FileHandle): Promise<void> {
    const turns = new Turns();
    let chunk = "";
    for (const line of this.#lines()) {
      chunk += line;
      if (chunk.length >= chunkChars) {
        await handle.appendFile(chunk);
        chunk = "";
      }
      if (turns.isOver) await turns.next();
    }
    await handle.appendFile(chunk);
  }

  *#lines(): Generator<string, void, void> {
    yield `${JSON.stringify({ version: fileVersion })}\n`;
    for (const [rollout, reports] of this.#rollouts) {
      yield `${JSON.stringify({ rollout })}\n`;
      for (const record of reports.records()) yield `${printJson(record)}\n`;
    }
  }

  /** A file that cannot be read is as good as none: the reports are made again. */
  #load(file: string): void {
    try {
      const [first = "", ...lines] = readFileSync(file, "utf8").split("\n");
      const header = parseJson(first);
      if (!isJsonObject(header) || header["version"] !== fileVersion) return;
      let reports = new RolloutReports();
      for (const record of lines.filter((line) => line !== "").map((line) => parseJson(line))) {
        if (!isJsonObject(record)) continue;
        if (typeof record["rollout"] === "string") reports = this.#of(record["rollout"]);
        else reports.restore(record);
      }
    } catch (error) {
      this.#rollouts.clear();
      const { log = silentLog } = this.#options;
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") {
        log.info("cannot read the reports of shadow runs", { file, error: textOf(error) });
      }
    }
  }

  #failed(error: unknown): void {
    const { file, log = silentLog } = this.#options;
    log.info("cannot store the reports of shadow runs", { file, error: textOf(error) });
  }
}
