// SPDX-License-Identifier: Apache-2.0

import { type Status, StatusError } from "@purlin/kube-objects/errors";
import type { JsonValue } from "@purlin/kube-objects/json";
import { deepFreeze, type KubeObject, type WatchEvent } from "@purlin/kube-objects/object";

const initialEventsEnd = "k8s.io/initial-events-end";

/** Turns the raw objects of a watch stream into events. An ERROR event throws its Status. */
export async function* readWatchEvents(stream: AsyncIterable<JsonValue>): AsyncGenerator<WatchEvent, void, undefined> {
  for await (const raw of stream) yield toWatchEvent(raw);
}

function toWatchEvent(raw: JsonValue): WatchEvent {
  const { type, object } = raw as { readonly type: string; readonly object: KubeObject };
  switch (type) {
    case "ADDED":
    case "MODIFIED":
    case "DELETED":
      return { type, object: deepFreeze(object) };
    case "BOOKMARK":
      return {
        type,
        resourceVersion: object.metadata.resourceVersion ?? "",
        initialEventsEnd: object.metadata.annotations?.[initialEventsEnd] === "true",
      };
    case "ERROR":
      throw new StatusError(object as Status);
    default:
      throw new Error(`the watch sent an event of unknown type ${JSON.stringify(type)}`);
  }
}
