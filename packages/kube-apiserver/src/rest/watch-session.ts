// SPDX-License-Identifier: Apache-2.0
import { inTurns, Turns, type Work } from "@purlin/base";
import { expired, isStatusError, type StatusError } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { EventStream, StreamEvent } from "../request/api-request.ts";
import type { Change, Entry, Watch } from "../store/store.ts";
import { isStoreError } from "../store/store-error.ts";
import { objectEvent, type WatchRenderer } from "./watch-renderer.ts";

/** The objects that exist when a watch begins; those that the watch selects are sent before any change. */
export interface InitialState {
  readonly entries: readonly Entry<JsonObject>[];
  readonly revision: number;
  /** Whether a bookmark marks its end. */
  readonly announcesEnd: boolean;
}

interface WatchSessionOptions {
  readonly renderer: WatchRenderer;
  readonly initial: InitialState | undefined;
  readonly bookmarks: boolean;
  readonly timeoutMs: number;
  /** The newest revision of the store. */
  readonly revision: () => number;
}

const bookmarkEveryMs = 60_000;
/** A last bookmark before the end spares the client a new list. */
const lastBookmarkMs = 2000;
const longestTimerMs = 2_147_483_647;
const portionSize = 200;
/** Prepared events with more bytes than this are sent before the next ones are prepared. */
const portionBytes = 1024 * 1024;

/** One watch of one client: first what is there, then what changes, until it times out or is ended. */
export class WatchSession implements EventStream {
  readonly #options: WatchSessionOptions;
  readonly #watch: Watch<JsonObject>;
  readonly #onReady: () => void;
  readonly #onClose: (session: WatchSession) => void;
  readonly #timers: NodeJS.Timeout[] = [];
  #initial: InitialState | undefined;
  #seen = 0;
  /** How many things it waits for before it sends more: a turn of the event loop, a conversion, events that are being prepared. */
  #rests = 0;
  /** Events that are to be prepared. */
  #unprepared: readonly StreamEvent[] = [];
  #prepared: StreamEvent[] = [];
  /** Changes whose objects were converted, not sent yet. */
  #converted: readonly Change<JsonObject>[] = [];
  /** Why objects could not be converted. */
  #problem: unknown;
  #isBookmarkDue = false;
  #isEnding = false;
  #isEnded = false;

  constructor(
    options: WatchSessionOptions,
    watch: Watch<JsonObject>,
    { onReady, onClose }: { readonly onReady: () => void; readonly onClose: (session: WatchSession) => void },
  ) {
    this.#options = options;
    this.#initial = options.initial;
    this.#watch = watch;
    this.#onReady = onReady;
    this.#onClose = onClose;
    this.#schedule(options.timeoutMs, () => this.end());
    if (options.renderer.converts && options.initial !== undefined) this.#convertInitial(options.initial);
    if (options.bookmarks) {
      this.#schedule(options.timeoutMs - lastBookmarkMs, () => this.#wantBookmark());
      this.#timers.push(setInterval(() => this.#wantBookmark(), bookmarkEveryMs).unref());
    }
  }

  take(): readonly StreamEvent[] | undefined {
    if (this.#isEnded) return undefined;
    try {
      return this.#next();
    } catch (error) {
      return this.#failed(error);
    }
  }

  close(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#initial = undefined;
    this.#converted = [];
    this.#unprepared = [];
    this.#prepared = [];
    this.#watch.close();
    for (const timer of this.#timers) clearTimeout(timer);
    this.#onClose(this);
  }

  /** Ends the stream after all pending events. */
  end(): void {
    this.#isEnding = true;
    this.#onReady();
  }

  #next(): readonly StreamEvent[] | undefined {
    if (this.#rests > 0) return [];
    if (this.#problem !== undefined) throw this.#problem;
    const events = this.#options.renderer.prepares ? this.#takePrepared() : this.#takeEvents();
    if (events.length > 0 || this.#rests > 0) return events;
    // Nothing is left to take, so everything up to the newest revision has been sent.
    if (this.#isBookmarkDue) {
      this.#isBookmarkDue = false;
      return [this.#options.renderer.bookmark(this.#options.revision(), false)];
    }
    if (this.#isEnding) {
      this.close();
      return undefined;
    }
    return [];
  }

  #takeEvents(): readonly StreamEvent[] {
    return this.#initial === undefined ? this.#takeChanges() : this.#takeInitial(this.#initial);
  }

  /** Events that were prepared; when there are none, the next ones are being prepared. */
  #takePrepared(): readonly StreamEvent[] {
    const events = this.#prepared;
    this.#prepared = [];
    if (events.length > 0) return events;
    if (this.#unprepared.length === 0) this.#unprepared = this.#takeEvents();
    if (this.#unprepared.length > 0) this.#restUntil(inTurns(this.#preparing()));
    return [];
  }

  *#preparing(): Work<void> {
    let bytes = 0;
    for (const [index, event] of this.#unprepared.entries()) {
      yield* event.preparing?.() ?? [];
      // The watch may have been closed.
      if (this.#isEnded) return;
      this.#prepared.push(event);
      bytes += event.parts().reduce((sum, part) => sum + part.length, 0);
      if (bytes > portionBytes || index === this.#unprepared.length - 1) {
        this.#unprepared = this.#unprepared.slice(index + 1);
        return;
      }
    }
  }

  #takeInitial({ entries, revision, announcesEnd }: InitialState): StreamEvent[] {
    const { renderer } = this.#options;
    const events: StreamEvent[] = [];
    const turns = new Turns();
    while (this.#seen < entries.length && events.length < portionSize && this.#rests === 0) {
      const entry = entries[this.#seen] as Entry<JsonObject>;
      this.#seen += 1;
      if (renderer.selects(entry)) events.push(renderer.added(entry));
      if (turns.isOver) this.#rest(turns);
    }
    if (this.#seen < entries.length || this.#rests > 0) return events;
    this.#initial = undefined;
    if (announcesEnd) events.push(renderer.bookmark(revision, true));
    return events.length > 0 ? events : this.#takeChanges();
  }

  #rest(turns: Turns): void {
    this.#restUntil(turns.next());
  }

  /** Changes the client is to see; those it is not to see are passed over. */
  #takeChanges(): StreamEvent[] {
    if (this.#options.renderer.converts) return this.#takeConverted();
    for (;;) {
      const changes = this.#watch.take(portionSize);
      const events = changes.flatMap((change) => this.#options.renderer.change(change) ?? []);
      if (events.length > 0 || changes.length === 0) return events;
    }
  }

  /** Changes whose objects a webhook converts: they are sent when it has answered, and further changes wait. */
  #takeConverted(): StreamEvent[] {
    const events = this.#converted.flatMap((change) => this.#options.renderer.change(change) ?? []);
    this.#converted = [];
    if (events.length > 0) return events;
    const changes = this.#watch.take(portionSize);
    if (changes.length === 0) return [];
    this.#restUntil(
      this.#options.renderer.convertedChanges(changes).then((converted) => {
        this.#converted = converted;
      }),
    );
    return [];
  }

  #convertInitial(initial: InitialState): void {
    this.#restUntil(
      this.#options.renderer.convertedEntries(initial.entries).then((entries) => {
        this.#initial = { ...initial, entries };
      }),
    );
  }

  /** Sends nothing until something is done, such as a conversion. A failure ends the stream with its error. */
  #restUntil(done: Promise<void>): void {
    this.#rests += 1;
    void done
      .catch((error: unknown) => {
        this.#problem = error;
      })
      .then(() => {
        this.#rests -= 1;
        if (!this.#isEnded) this.#onReady();
      });
  }

  #failed(error: unknown): readonly StreamEvent[] | undefined {
    this.close();
    if (isStoreError(error, "expired")) return [errorEvent(expired(error.message))];
    if (isStoreError(error, "closed")) return undefined;
    if (isStatusError(error)) return [errorEvent(error)];
    throw error;
  }

  #wantBookmark(): void {
    this.#isBookmarkDue = true;
    this.#onReady();
  }

  #schedule(ms: number, act: () => void): void {
    this.#timers.push(setTimeout(act, Math.min(Math.max(0, ms), longestTimerMs)).unref());
  }
}

/** A stream that says why it cannot be, and ends. */
export function failedStream(error: StatusError): EventStream {
  let events: readonly StreamEvent[] | undefined = [errorEvent(error)];
  return {
    take: () => {
      const taken = events;
      events = undefined;
      return taken;
    },
    close: () => {},
  };
}

function errorEvent({ status }: StatusError): StreamEvent {
  return objectEvent("ERROR", status);
}
