// SPDX-License-Identifier: Apache-2.0
import { finish, type Work } from "@purlin/base";
import { type JsonObject, printJson } from "@purlin/kube-objects/json";

import { metaOf, withMeta } from "../objects/object-members.ts";
import { apiVersionOf } from "../registry/registry.ts";
import type { StreamEvent } from "../request/api-request.ts";
import type { Change, Entry } from "../store/store.ts";
import { makingTable, toPartialMetadata } from "../table/table.ts";
import { isSelected, type Selection } from "./list-options.ts";
import { convertedChanges, convertedEntries, inStoredOrder, servedBytes } from "./object-codec.ts";
import { inShapeVersion, type ObjectForm } from "./object-response.ts";
import type { RestRequest } from "./rest-context.ts";

type EventType = "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR";

const encoder = new TextEncoder();
const heads = new Map<EventType, Uint8Array>();
const tail = encoder.encode("}\n");

function headOf(type: EventType): Uint8Array {
  let head = heads.get(type);
  if (head === undefined) {
    head = encoder.encode(`{"type":"${type}","object":`);
    heads.set(type, head);
  }
  return head;
}

/** An event around an object whose bytes are shared with others. */
function encodedEvent(type: EventType, bytes: () => Uint8Array, object: () => JsonObject): StreamEvent {
  return { parts: () => [headOf(type), bytes(), tail], value: () => ({ type, object: object() }) };
}

/** An event around an object that has to be written. */
export function objectEvent(type: EventType, object: JsonObject): StreamEvent {
  return encodedEvent(
    type,
    () => encoder.encode(printJson(object, { htmlSafe: true })),
    () => object,
  );
}

/** An event around an object that has to be made first, which may take long. */
function madeEvent(type: EventType, making: () => Work<JsonObject>): StreamEvent {
  let made: { readonly object: JsonObject; readonly parts: readonly Uint8Array[] } | undefined;
  const preparing = function* (): Work<NonNullable<typeof made>> {
    if (made !== undefined) return made;
    const object = yield* making();
    yield;
    made = { object, parts: objectEvent(type, object).parts() };
    return made;
  };
  return {
    *preparing() {
      yield* preparing();
    },
    parts: () => finish(preparing()).parts,
    value: () => ({ type, object: finish(preparing()).object }),
  };
}

/** The annotation of the bookmark that ends the events about what was there when a watch began. */
const initialEventsEnd = "k8s.io/initial-events-end";

/** Turns changes into the events one watcher is to see. */
export class WatchRenderer {
  readonly #rest: RestRequest;
  readonly #form: ObjectForm;
  readonly #selection: Selection;
  /** Only the first event of a stream of tables describes the columns. */
  #withColumns = true;

  constructor(rest: RestRequest, form: ObjectForm, selection: Selection) {
    this.#rest = rest;
    this.#form = form;
    this.#selection = selection;
  }

  /** Whether objects have to be converted by a webhook before they are rendered. */
  get converts(): boolean {
    return this.#rest.strategy.storage.conversion !== undefined;
  }

  /** Whether events have to be prepared before they are sent. */
  get prepares(): boolean {
    return this.#form.shape === "table";
  }

  /** The changes with objects that can be rendered. */
  convertedChanges(changes: readonly Change<JsonObject>[]): Promise<readonly Change<JsonObject>[]> {
    return convertedChanges(this.#rest.strategy, changes);
  }

  /** The entries with objects that can be rendered. */
  convertedEntries(entries: readonly Entry<JsonObject>[]): Promise<readonly Entry<JsonObject>[]> {
    return convertedEntries(this.#rest.strategy, entries);
  }

  /** Whether the watcher wants to see the object. */
  selects(entry: Entry<JsonObject>): boolean {
    return this.#selection.isEverything || this.#matches(this.#served(entry));
  }

  added(entry: Entry<JsonObject>): StreamEvent {
    return this.#entryEvent("ADDED", entry);
  }

  /** Whether the watcher may want to see a change: one that cannot be judged is reported when it is rendered. */
  concerns({ entry, previous }: Change<JsonObject>): boolean {
    if (this.#selection.isEverything || this.converts) return true;
    try {
      return (entry !== undefined && this.selects(entry)) || (previous !== undefined && this.selects(previous));
    } catch {
      return true;
    }
  }

  /** The event of a change; undefined when the watcher has seen nothing of the object and is to see nothing. */
  change({ entry, previous, revision }: Change<JsonObject>): StreamEvent | undefined {
    const isWanted = entry !== undefined && this.selects(entry);
    const wasWanted = previous !== undefined && this.selects(previous);
    if (isWanted) return this.#entryEvent(wasWanted ? "MODIFIED" : "ADDED", entry);
    if (!wasWanted) return undefined;
    // What was last seen, at the revision at which it went out of sight.
    return this.#objectEvent("DELETED", withMeta(this.#served(previous), { resourceVersion: String(revision) }));
  }

  bookmark(revision: number, endsInitialEvents: boolean): StreamEvent {
    return this.#objectEvent("BOOKMARK", bookmarkObject(this.#rest, revision, endsInitialEvents));
  }

  #served(entry: Entry<JsonObject>): JsonObject {
    return this.#rest.strategy.storage.toServed(entry.value);
  }

  #matches(object: JsonObject): boolean {
    return isSelected(object, this.#selection, this.#rest.strategy.view);
  }

  #entryEvent(type: EventType, entry: Entry<JsonObject>): StreamEvent {
    if (this.#form.shape === "whole") {
      return encodedEvent(
        type,
        () => servedBytes(entry, this.#rest.strategy),
        () => this.#served(entry),
      );
    }
    return this.#objectEvent(type, this.#served(entry));
  }

  #objectEvent(type: EventType, object: JsonObject): StreamEvent {
    switch (this.#form.shape) {
      case "whole":
        return objectEvent(type, object);
      case "metadata":
        return objectEvent(type, inShapeVersion(toPartialMetadata(object), this.#form));
      case "table":
        return this.#tableEvent(type, object);
    }
  }

  #tableEvent(type: EventType, object: JsonObject): StreamEvent {
    const { strategy, now } = this.#rest;
    const { resourceVersion = "" } = metaOf(object);
    const options = {
      metadata: { resourceVersion },
      // The annotation of a bookmark must arrive whatever was asked for.
      include: type === "BOOKMARK" ? ("Metadata" as const) : this.#form.include,
      now: now().getTime(),
      withColumns: this.#withColumns,
    };
    this.#withColumns = false;
    const form = this.#form;
    return madeEvent(type, function* () {
      return inShapeVersion(yield* makingTable(strategy.view.printer, object, options), form);
    });
  }
}

/** The object of a bookmark: an empty object of the watched type with the resource version. */
function bookmarkObject(rest: RestRequest, revision: number, endsInitialEvents: boolean): JsonObject {
  const { type, strategy } = rest;
  const empty = strategy.decoder.emptyObject?.() ?? { apiVersion: apiVersionOf(type), kind: type.kind };
  const annotations = {
    ...metaOf(empty).annotations,
    ...(endsInitialEvents && { [initialEventsEnd]: "true" }),
  };
  const metadata = {
    resourceVersion: String(revision),
    ...(Object.keys(annotations).length > 0 && { annotations }),
  };
  return inStoredOrder({ ...empty, metadata }, type);
}
