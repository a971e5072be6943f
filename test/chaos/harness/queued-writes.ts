// SPDX-License-Identifier: Apache-2.0
// Queues writes to the store in argv[2] in one turn: a large one for which its disk has no room, and small ones behind it that rest on
// it. Prints as JSON the outcome of each, what the store holds then, and what is on disk.
import { setImmediate as turn } from "node:timers/promises";
import { openStore } from "../../../packages/kube-apiserver/src/store/open-store.ts";
import { type Note, noteCodec, put, show } from "../../../packages/kube-apiserver/test/store/temp-store.ts";

const [, , directory = ""] = process.argv;
const store = openStore<Note>({ directory, codec: noteCodec });
await put(store, "/base", "1");

const large = put(store, "/base", "x".repeat(16 * 1024 * 1024));
const behind = ["/x", "/y", "/z"].map((key) =>
  store.write(key, ({ peek }) => ({ action: "put", value: { text: `base has ${peek("/base")?.value.text.length}` } })),
);
const outcomes = await Promise.allSettled([large, ...behind]);
// Whatever was still queued has had its turn by then.
await turn();
await turn();
const held = show(store.list({ prefix: "/" }).entries);
const after = await put(store, "/after", "1").then(
  () => "written",
  (error: unknown) => String(error),
);
await store.close();
const reopened = openStore<Note>({ directory, codec: noteCodec });
const onDisk = show(reopened.list({ prefix: "/" }).entries);
await reopened.close();
const texts = outcomes.map((outcome) => (outcome.status === "rejected" ? String(outcome.reason) : outcome.status));
process.stdout.write(JSON.stringify({ outcomes: texts, held, after, onDisk }));
