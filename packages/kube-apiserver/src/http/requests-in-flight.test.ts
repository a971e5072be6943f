// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { isStatusError } from "@purlin/kube-objects/errors";
import { isExempt, largeResponses, RequestsInFlight } from "./requests-in-flight.ts";

const limits = { atOnce: 2, waiting: 1 };

test("requests beyond the limit wait in order, and are refused when too many wait", async () => {
  const inFlight = new RequestsInFlight(limits);
  const order: string[] = [];
  const [first, second] = [await inFlight.begin("a"), await inFlight.begin("a")];
  const third = inFlight.begin("a").then((end) => {
    order.push("third");
    return end;
  });
  await assert.rejects(inFlight.begin("a"), (error) => {
    assert.ok(isStatusError(error));
    const { code, reason, message, details } = error.status;
    assert.deepEqual([code, reason, details?.retryAfterSeconds], [429, "TooManyRequests", 1]);
    assert.match(
      message ?? "",
      /too many requests of user "a": at most 2 are answered at once and 1 wait: .*--max-requests-inflight/,
    );
    return true;
  });
  assert.deepEqual(order, []);
  first();
  first();
  (await third)();
  assert.deepEqual(order, ["third"]);
  second();
  const again = await Promise.all([inFlight.begin("a"), inFlight.begin("a")]);
  for (const end of again) end();
});

test("requests whose client goes leave the queue, and the others keep their place", async () => {
  const inFlight = new RequestsInFlight({ atOnce: 1, waiting: 2 });
  const first = await inFlight.begin("a");
  let proceed = (): void => {};
  const gone = inFlight.begin("a", (callback) => {
    proceed = callback;
  });
  const second = inFlight.begin("a");
  await assert.rejects(inFlight.begin("a"));
  proceed();
  await assert.rejects(gone, /the client has gone/);
  const third = inFlight.begin("a");
  first();
  (await second)();
  (await third)();
  proceed();
  (await inFlight.begin("a"))();
});

test("large responses of a user that wait are at most half of the requests in progress; those to writes are not refused", async () => {
  for (const [atOnce, waiting] of [
    [400, 192],
    [16, 0],
    [1, 0],
  ] as const) {
    const large = largeResponses({ atOnce, waiting: 1600 });
    const ends = await Promise.all(Array.from({ length: 8 }, () => large.begin("a")));
    const others = Array.from({ length: waiting }, () => large.begin("a"));
    await assert.rejects(large.begin("a"), /too many large responses of user "a": 8 are being sent and \d+ wait/);
    let hasBegun = false;
    const written = large.begin("a", undefined, false).then(() => (hasBegun = true));
    for (const end of ends) end();
    for (const other of others) (await other)();
    await written;
    assert.ok(hasBegun);
  }
});

test("the requests of one user do not count for another", async () => {
  const inFlight = new RequestsInFlight({ atOnce: 1, waiting: 0 });
  await inFlight.begin("a");
  await inFlight.begin("b");
  await assert.rejects(inFlight.begin("a"));
});

test("probes are exempt, and only they", () => {
  for (const path of ["/livez", "/readyz", "/healthz", "/livez/ping"]) assert.ok(isExempt(path), path);
  for (const path of ["/", "/livezz", "/api", "/metrics"]) assert.ok(!isExempt(path), path);
});
