// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import type { Target } from "../../conformance/harness/wire.ts";
import { openStream } from "../../conformance/harness/wire-stream.ts";
import { configMaps, type SeenObject } from "./config-maps.ts";
import { isServerGone } from "./server-gone.ts";

/** One change as a watcher received it. */
export interface SeenChange {
  readonly version: bigint;
  /** The text the object has now; undefined when it was deleted. */
  readonly text: string | undefined;
  readonly name: string;
}

interface Event {
  readonly type: string;
  readonly object: SeenObject & { readonly code?: number; readonly message?: string };
}

/** A watcher that continues, from the last version it saw, when its server has gone and come back. */
export class EventLog {
  readonly changes: SeenChange[] = [];
  #last: bigint;

  constructor(from: bigint) {
    this.#last = from;
  }

  /** Watches until the server dies, or until the object with this name was seen. */
  async follow(target: Target, until?: string): Promise<void> {
    const path = `${configMaps}?watch=true&resourceVersion=${this.#last}`;
    const stream = await openStream(target, { method: "GET", path }).catch((error: unknown) => {
      // Killed before it could answer.
      if (until === undefined && isServerGone(error)) return undefined;
      throw error;
    });
    if (stream === undefined) return;
    try {
      for (let event = await next(stream); event !== undefined; event = await next(stream)) {
        this.#take(event);
        if (event.object.metadata.name === until) return;
      }
      assert.equal(until, undefined, `the watch ended before ${until} was seen`);
    } finally {
      stream.close();
    }
  }

  #take({ type, object }: Event): void {
    assert.notEqual(type, "ERROR", `the watch from ${this.#last} failed: ${object.message}`);
    const version = BigInt(object.metadata.resourceVersion);
    assert.ok(version > this.#last, `version ${version} came after ${this.#last}`);
    this.#last = version;
    const text = type === "DELETED" ? undefined : (object.data?.["text"] ?? "");
    this.changes.push({ version, text, name: object.metadata.name });
  }
}

// Silence is not a failure: the server may have no event to send before it dies.
const patienceMs = 120_000;

async function next(stream: { next(withinMs?: number): Promise<unknown> }): Promise<Event | undefined> {
  return (await stream.next(patienceMs)) as Event | undefined;
}
