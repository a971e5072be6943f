// SPDX-License-Identifier: Apache-2.0
import { appendFileSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { basename, dirname, extname, join } from "node:path";
import type { Writable } from "node:stream";
import type { AuditOptions, AuditPolicy } from "@purlin/kube-apiserver";
import { openUnlessFile, unwritableText } from "../files/output-file.ts";

/** The audit log that a user asked for. */
export interface AuditSettings {
  readonly policy: AuditPolicy;
  /** Absolute. */
  readonly path: string;
  readonly maxBytes: number;
  /** Files that are kept beside the one that is written. */
  readonly maxBackups: number;
}

/**
 * Writes events to a file, and moves it aside when it is full. A pipe or device such as /dev/stdout gets them as they come, and is opened
 * again after its reader has gone. A log that cannot be written is reported once, and again when it can be.
 */
export async function openAuditLog(
  settings: AuditSettings,
  warn: (text: string) => void,
): Promise<AuditOptions & Disposable> {
  const log = new AuditLog(settings, await openSink(settings), warn);
  return { policy: settings.policy, write: (line) => log.write(line), [Symbol.dispose]: () => log.close() };
}

class AuditLog {
  readonly #settings: AuditSettings;
  readonly #warn: (text: string) => void;
  #sink: Sink;
  #waiting: string[] = [];
  /** Events of this outage. Undefined while the log can be written. */
  #lost: number | undefined;
  #failures = 0;
  #isClosed = false;

  constructor(settings: AuditSettings, sink: Sink, warn: (text: string) => void) {
    this.#settings = settings;
    this.#sink = sink;
    this.#warn = warn;
  }

  write(line: string): void {
    // One write for all events of a turn.
    if (this.#waiting.push(line) === 1) setImmediate(() => this.#flush());
  }

  close(): void {
    if (!this.#sink.isBroken) this.#flush();
    this.#isClosed = true;
    this.#sink.close();
  }

  #flush(): void {
    if (this.#isClosed) return;
    if (this.#sink.isBroken) {
      void this.#reopen();
      return;
    }
    const lines = this.#take();
    if (lines.length === 0) return;
    const before = this.#failures;
    this.#sink.append(lines.join("")).then(
      () => {
        if (this.#failures === before) this.#worked();
      },
      (error: unknown) => this.#failed(error, lines.length),
    );
  }

  /** Events wait meanwhile: none of them asks for this again. */
  async #reopen(): Promise<void> {
    try {
      this.#sink = await openSink(this.#settings);
      if (this.#isClosed) this.#sink.close();
      else this.#flush();
    } catch (error) {
      this.#failed(error, this.#take().length);
    }
  }

  #take(): readonly string[] {
    const lines = this.#waiting;
    this.#waiting = [];
    return lines;
  }

  #failed(error: unknown, events: number): void {
    this.#failures += 1;
    if (this.#lost === undefined) {
      this.#warn(
        `warning: cannot write the audit log ${this.#settings.path}: ${unwritableText(error)}; events are lost`,
      );
    }
    this.#lost = (this.#lost ?? 0) + events;
  }

  #worked(): void {
    if (this.#lost === undefined) return;
    this.#warn(`warning: the audit log ${this.#settings.path} is written again; ${this.#lost} events were lost`);
    this.#lost = undefined;
  }
}

/** Where events are written. */
interface Sink {
  /** Whether it takes no more, so that another one is needed. */
  readonly isBroken: boolean;
  /** Settles when the text is written. */
  append(text: string): Promise<void>;
  close(): void;
}

async function openSink(settings: AuditSettings): Promise<Sink> {
  const { path, stream } = await openUnlessFile(settings.path);
  return stream === undefined ? fileSink({ ...settings, path }) : streamSink(stream);
}

function fileSink(settings: AuditSettings): Sink {
  const { path, maxBytes } = settings;
  const measure = (): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  let size = measure();
  return {
    isBroken: false,
    // Written at once, also when the process is about to end.
    async append(text) {
      // Other programs may have moved or deleted it.
      if (size > 0 && size + text.length > maxBytes) size = measure();
      if (size > 0 && size + text.length > maxBytes) {
        rotate(settings);
        size = 0;
      }
      appendFileSync(path, text, { mode: 0o600 });
      size += Buffer.byteLength(text);
    },
    close: () => {},
  };
}

/** As much as waits for the reader of a pipe. */
const maxWaitingBytes = 16 * 1024 * 1024;
/** How long a reader may take for the last events. */
const closeMs = 2_000;

function streamSink(stream: Writable): Sink {
  // The writes that fail with it are reported.
  stream.on("error", () => {});
  return {
    get isBroken() {
      return stream.destroyed;
    },
    async append(text) {
      if (stream.writableLength > maxWaitingBytes) throw new Error("its reader is too slow");
      await new Promise<void>((resolve, reject) => {
        stream.write(text, (error) => (error ? reject(error) : resolve()));
      });
    },
    close() {
      stream.end();
      // The process ends although its reader has stopped reading.
      setTimeout(() => stream.destroy(), closeMs).unref();
    },
  };
}

/** Names the file by the time, such as `audit-2026-01-31T12-00-00.000.log`, and deletes the oldest ones. */
function rotate({ path, maxBackups }: Pick<AuditSettings, "path" | "maxBackups">): void {
  const extension = extname(path);
  const stem = basename(path, extension);
  const folder = dirname(path);
  const time = new Date().toISOString().slice(0, -1).replaceAll(":", "-");
  renameSync(path, join(folder, `${stem}-${time}${extension}`));
  const isBackup = (name: string): boolean =>
    name.startsWith(`${stem}-`) &&
    name.endsWith(extension) &&
    /^\d{4}-\d\d-\d\dT[\d.-]+$/.test(name.slice(stem.length + 1, name.length - extension.length));
  const backups = readdirSync(folder).filter(isBackup).toSorted();
  for (const name of backups.slice(0, -maxBackups)) rmSync(join(folder, name), { force: true });
}
