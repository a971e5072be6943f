// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type ManualClock, manualClock } from "@purlin/base/testing";
import type { KubeWriter } from "@purlin/kube-client";
import { forbidden, internalError, serviceUnavailable, timeout, tooManyRequests } from "@purlin/kube-objects/errors";
import type { KubeObject } from "@purlin/kube-objects/object";
import { type EmbeddedCluster, startEmbeddedCluster } from "../../test/test-server.ts";
import { EventCorrelator, subjectOf } from "./event-correlator.ts";
import { type EventWrite, EventWriter } from "./event-recorder.ts";

const events = { apiVersion: "v1", kind: "Event" };
const start = Date.UTC(2030, 0, 1);
const { signal } = new AbortController();

let cluster: EmbeddedCluster;
before(async () => {
  cluster = await startEmbeddedCluster();
});
after(() => cluster[Symbol.asyncDispose]());

interface Setting {
  readonly clock: ManualClock;
  readonly writer: EventWriter;
  /** The write when this message is emitted once more. */
  eventOf(message: string): EventWrite;
  stored(): Promise<readonly KubeObject[]>;
}

let number = 0;

function setting(client: KubeWriter = cluster.client): Setting {
  const clock = manualClock(start);
  const correlator = new EventCorrelator(clock);
  const name = `thing-${number++}`;
  const object = { ...events, kind: "Thing", metadata: { name, namespace: "default", uid: `uid-${name}` } };
  return {
    clock,
    writer: new EventWriter(client, clock),
    eventOf(message) {
      const event = { type: "Warning", reason: "Failed", message } as const;
      const subject = subjectOf(object, { event, source: "s", controller: "c" });
      const correlated = correlator.correlate(subject);
      assert.ok(correlated.do !== "drop");
      return { subject, correlated, at: clock.now() };
    },
    async stored() {
      const fieldSelector = `involvedObject.uid=uid-${name}`;
      return (await cluster.client.list(events, { namespace: "default", fieldSelector })).items;
    },
  };
}

test("a repeated event increases the count of the existing one, with the time of the last", async () => {
  const { writer, clock, eventOf, stored } = setting();
  for (let time = 0; time < 3; time++) {
    await writer.write(eventOf("x"), signal);
    clock.advance(60_000);
  }
  const [event, ...more] = await stored();
  assert.deepEqual(more, []);
  assert.deepEqual(
    [event?.["count"], event?.["firstTimestamp"], event?.["lastTimestamp"]],
    [3, "2030-01-01T00:00:00Z", "2030-01-01T00:02:00Z"],
  );
});

test("an event that has expired meanwhile is made again", async () => {
  const { writer, clock, eventOf, stored } = setting();
  await writer.write(eventOf("x"), signal);
  const [old] = await stored();
  await cluster.client.delete({ ...events, namespace: "default", name: old?.metadata.name ?? "" });
  clock.advance(1000);
  await writer.write(eventOf("x"), signal);
  const [fresh] = await stored();
  assert.notEqual(fresh?.metadata.name, old?.metadata.name);
  assert.equal(fresh?.["count"], 1);
});

test("no two events have the same name, also when they are emitted in the same millisecond", async () => {
  const { writer, eventOf, stored } = setting();
  for (const message of ["a", "b", "c"]) await writer.write(eventOf(message), signal);
  const names = (await stored()).map(({ metadata }) => metadata.name);
  assert.equal(new Set(names).size, 3);
});

const failures: Readonly<Record<string, { error: Error; rejects: boolean; reason: string }>> = {
  Refused: {
    error: forbidden({ group: "", resource: "events" }, "e", "no"),
    rejects: false,
    reason: "an event that the server refuses is dropped",
  },
  Broken: { error: internalError("boom"), rejects: false, reason: "as is what it cannot take" },
  Busy: { error: tooManyRequests("later", 1), rejects: true, reason: "a server that is too busy asks to come back" },
  Unavailable: { error: serviceUnavailable("starting"), rejects: true, reason: "or says that it is not available" },
  Slow: { error: timeout("too slow"), rejects: true, reason: "or gives up in time" },
  Unreachable: { error: new Error("ECONNREFUSED"), rejects: true, reason: "a server that is away may come back" },
};

for (const [name, { error, rejects, reason }] of Object.entries(failures)) {
  test(`a failure, ${name}: ${reason}`, async () => {
    const broken = { ...cluster.client, create: () => Promise.reject(error) };
    const { writer, eventOf } = setting(broken);
    const written = writer.write(eventOf("x"), signal);
    await (rejects ? assert.rejects(written, error) : written);
  });
}
