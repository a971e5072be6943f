// SPDX-License-Identifier: Apache-2.0
// A process to be killed: writes to the store in argv[2] as fast as it can with argv[3] writers until it dies. Says on stdout, one
// line each and before it goes on: "ack <revision> <key> <text or ->" for every write that was answered, "saw <revision>" for every
// change a watcher was given.
import { writeSync } from "node:fs";
import { openStore } from "../../src/store/open-store.ts";
import type { Store } from "../../src/store/store.ts";
import { type Note, noteCodec } from "./temp-store.ts";

const [, , directory = "", writers = "8"] = process.argv;
const store = openStore<Note>({ directory, codec: noteCodec, history: { keepChanges: 500, keepMs: 0 } });

const pause = new Int32Array(new SharedArrayBuffer(4));

/** Returns when the text is out of this process; the reader may be slow, and the pipe does not wait by itself. */
function say(text: string): void {
  let rest: Uint8Array = Buffer.from(text);
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(1, rest));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN") throw error;
      Atomics.wait(pause, 0, 0, 1);
    }
  }
}

const watch = store.watch({
  scope: "/",
  after: store.revision,
  onReady: () => {
    for (let changes = watch.take(); changes.length > 0; changes = watch.take()) {
      say(changes.map(({ revision }) => `saw ${revision}\n`).join(""));
    }
  },
});

async function writeForever(target: Store<Note>, writer: number): Promise<never> {
  for (let round = 0; ; round += 1) {
    const key = `/w${writer}/${round % 20}`;
    const text = round % 7 === 6 ? undefined : `${process.pid}-${round}-${"x".repeat((round * 37) % 3000)}`;
    const { revision } = await target.write(key, () =>
      text === undefined ? { action: "delete" } : { action: "put", value: { text } },
    );
    if (revision !== undefined) say(`ack ${revision} ${key} ${text ?? "-"}\n`);
  }
}

await Promise.all(Array.from({ length: Number(writers) }, (_, writer) => writeForever(store, writer)));
