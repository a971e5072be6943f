// SPDX-License-Identifier: Apache-2.0
import {
  badRequest,
  expired,
  isTooLargeResourceVersion,
  notAcceptable,
  type StatusError,
  unclassifiedError,
} from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { exactFieldValue } from "@purlin/kube-objects/selector";
import { keyPrefix, oneKey } from "../registry/registry.ts";
import type { EventStream, StreamResponse } from "../request/api-request.ts";
import { watchedName } from "../request/request-target.ts";
import type { Change, Entry, Store } from "../store/store.ts";
import { isStoreError } from "../store/store-error.ts";
import {
  badVersionText,
  parseResourceVersion,
  readBoolean,
  readInteger,
  readSelection,
  readVersionOptions,
  type Selection,
  type VersionOptions,
  waitForRevision,
} from "./list-options.ts";
import { negotiateForm } from "./object-response.ts";
import type { RestRequest } from "./rest-context.ts";
import { WatchRenderer } from "./watch-renderer.ts";
import { failedStream, type InitialState, WatchSession } from "./watch-session.ts";

/** The watches that are open, so that they can be ended when what they watch goes away. */
export class OpenWatches {
  readonly #sessions = new Map<WatchSession, RestRequest>();

  get size(): number {
    return this.#sessions.size;
  }

  add(session: WatchSession, rest: RestRequest): void {
    this.#sessions.set(session, rest);
  }

  remove(session: WatchSession): void {
    this.#sessions.delete(session);
  }

  /** Ends the watches of which the function says so. */
  end(isOver: (rest: RestRequest) => boolean): void {
    for (const [session, rest] of this.#sessions) {
      if (isOver(rest)) session.end();
    }
  }
}

const minTimeoutSeconds = 1800;

/** Answers with what changes, from the state asked for on. */
export async function watchObjects(rest: RestRequest, open: OpenWatches): Promise<StreamResponse> {
  const { request, store, strategy } = rest;
  const form = negotiateForm(request);
  if (form.mediaType !== "application/json") throw notAcceptable(["application/json;stream=watch"]);
  const options = readVersionOptions(request.query, true);
  const selection = ofName(watchedName(request.path) ?? "", readSelection(request.query, strategy.view));
  const after = requireVersion(options.resourceVersion);
  const timeoutSeconds = readInteger(request.query, "timeoutSeconds") ?? 0;
  const bookmarks = readBoolean(request.query, "allowWatchBookmarks") ?? false;
  const problem = await waitForVersion(rest, options, after);
  const begin = (onReady: () => void): EventStream => {
    const renderer = new WatchRenderer(rest, form, selection);
    const start = startOf(rest, { options, after, bookmarks });
    const timeoutMs = 1000 * (timeoutSeconds > 0 ? timeoutSeconds : minTimeoutSeconds * (1 + Math.random()));
    const isOfInterest = (change: Change<JsonObject>): boolean => renderer.concerns(change);
    const watch = store.watch({ scope: scopeOf(rest), after: start.after, onReady, isOfInterest });
    const session = new WatchSession(
      { renderer, initial: start.initial, bookmarks, timeoutMs, revision: () => store.revision },
      watch,
      { onReady, onClose: (closed) => open.remove(closed) },
    );
    open.add(session, rest);
    return form.transform?.as === "PartialObjectMetadataList" ? endingAtFirst(session) : session;
  };
  return {
    kind: "stream",
    code: 200,
    contentType: "application/json",
    open: (onReady) => (problem === undefined ? orFailed(store, after, () => begin(onReady)) : failedStream(problem)),
  };
}

/** A selection that the path of a watch narrows to one name. */
function ofName(name: string, selection: Selection): Selection {
  if (name === "") return selection;
  if (selection.fields.length === 0) {
    return { ...selection, fields: [{ field: "metadata.name", operator: "=", value: name }], isEverything: false };
  }
  if (exactFieldValue(selection.fields, "metadata.name") !== name) {
    throw badRequest("fieldSelector metadata.name doesn't match requested name");
  }
  return selection;
}

/** An event is not a list: a client that asks for lists gets no event, and the stream ends at the first one. */
function endingAtFirst(session: WatchSession): EventStream {
  return {
    take: () => {
      const events = session.take();
      if (events?.length === 0) return events;
      session.close();
      return undefined;
    },
    close: () => session.close(),
  };
}

function orFailed(store: Store<object>, after: number, begin: () => EventStream): EventStream {
  try {
    return begin();
  } catch (error) {
    if (isStoreError(error, "expired")) {
      return failedStream(expired(`too old resource version: ${after} (${store.compactedRevision + 1})`));
    }
    throw error;
  }
}

/** A client that asks for initial events at a future version waits for it briefly. */
async function waitForVersion(
  { store, request }: RestRequest,
  options: VersionOptions,
  after: number,
): Promise<StatusError | undefined> {
  if (options.sendInitialEvents !== true) return undefined;
  try {
    await waitForRevision(store, after, request.signal);
    return undefined;
  } catch (error) {
    if (isTooLargeResourceVersion(error)) return error as StatusError;
    throw error;
  }
}

function requireVersion(text: string): number {
  const revision = parseResourceVersion(text);
  if (revision === undefined) throw unclassifiedError(badVersionText(text));
  return revision;
}

interface StartOptions {
  readonly options: VersionOptions;
  readonly after: number;
  readonly bookmarks: boolean;
}

interface Start {
  /** Changes after this revision are sent. */
  readonly after: number;
  readonly initial: InitialState | undefined;
}

/** Where a watch begins: at a revision, with what is there now, or with nothing but what comes. */
function startOf(rest: RestRequest, { options, after, bookmarks }: StartOptions): Start {
  const { store } = rest;
  const isFromAnywhere = after === 0;
  if (options.sendInitialEvents === false && isFromAnywhere) return { after: store.revision, initial: undefined };
  if (options.sendInitialEvents !== true && !isFromAnywhere) return { after, initial: undefined };
  const announcesEnd = options.sendInitialEvents === true && bookmarks;
  return { after: store.revision, initial: { entries: presentEntries(rest), revision: store.revision, announcesEnd } };
}

/** What is there now of what is watched. */
function presentEntries({ store, target, type }: RestRequest): readonly Entry<JsonObject>[] {
  const key = oneKey(type, target);
  if (key === undefined) return store.list({ prefix: keyPrefix(type, target.namespace) }).entries;
  const entry = store.get(key);
  return entry === undefined ? [] : [entry];
}

/** What of the store is watched: one key when one name is wanted, else everything in the list. */
function scopeOf({ type, target }: RestRequest): string {
  return oneKey(type, target) ?? keyPrefix(type, target.namespace);
}
