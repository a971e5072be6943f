// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { isTooLargeResourceVersion } from "@purlin/kube-objects/errors";
import { openNotes, put } from "../../test/store/temp-store.ts";
import { badVersionText, parseResourceVersion, unparsedText, waitForRevision } from "./list-options.ts";

const versions: Record<string, { reason: string; text: string; want: number | undefined; why?: string }> = {
  None: { reason: "any state will do", text: "", want: 0 },
  Zero: { reason: "the same", text: "0", want: 0 },
  Some: { reason: "zeros before it count for nothing", text: "007", want: 7 },
  Largest: { reason: "as many bits as there are", text: "18446744073709551615", want: 2 ** 64 },
  TooLarge: { reason: "one more", text: "18446744073709551616", want: undefined, why: "value out of range" },
  Negative: { reason: "has no sign", text: "-1", want: undefined, why: "invalid syntax" },
  Signed: { reason: "not even this one", text: "+1", want: undefined, why: "invalid syntax" },
  Fraction: { reason: "is whole", text: "1.0", want: undefined, why: "invalid syntax" },
  Word: { reason: "is a number", text: "latest", want: undefined, why: "invalid syntax" },
  Space: { reason: "and nothing else", text: " 1", want: undefined, why: "invalid syntax" },
};

for (const [name, { reason, text, want, why }] of Object.entries(versions)) {
  test(`a resourceVersion: ${name}`, () => {
    assert.equal(parseResourceVersion(text), want, reason);
    if (why === undefined) return;
    assert.equal(unparsedText(text), `strconv.ParseUint: parsing "${text}": ${why}`, reason);
    assert.equal(badVersionText(text), `resourceVersion: Invalid value: "${text}": ${unparsedText(text)}`, reason);
  });
}

test("a read at a future resource version waits for it, and an aborted read stops waiting", async () => {
  await using store = openNotes();
  const never = new AbortController().signal;
  await waitForRevision(store, store.revision, never);
  const coming = waitForRevision(store, store.revision + 1, never);
  await put(store, "/a", "1");
  await coming;
  const leaving = new AbortController();
  const left = waitForRevision(store, store.revision + 1, leaving.signal);
  leaving.abort(new Error("gone"));
  await assert.rejects(left, (error) => !isTooLargeResourceVersion(error));
});

test("a state that does not come in time is too large, and is named exactly as far as it can be", async () => {
  await using store = openNotes();
  const asked = waitForRevision(store, 2 ** 60, new AbortController().signal);
  await assert.rejects(asked, (error: Error) => {
    assert.equal(error.message, `Timeout: Too large resource version: ${2n ** 60n}, current: ${store.revision}`);
    return isTooLargeResourceVersion(error);
  });
});
