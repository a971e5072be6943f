// SPDX-License-Identifier: Apache-2.0
// E36: invalid resources, whose details are in events and recorded runs.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { failing, made, type Outcome, recognizedBy, secondsAgo } from "../../test/memory-inspection.ts";
import type { RecordedRun, RunHistory } from "../model/explanation.ts";
import { resourceRules } from "./resources.ts";

const unsynced = "Unsynced resources: db";
const refusal = (text: string): string => `cannot apply composed resource "db": ${text}`;
const invalidReplicas = refusal('Deployment.apps "db" is invalid: spec.replicas: Invalid value: "3": must be integer');
const correct = ["correct the field in the function, or check the manifests with purlin validate"];

interface EventTimes {
  readonly last?: number;
  readonly eventTime?: number;
  readonly series?: number;
  readonly created?: number;
  readonly type?: string;
}

let count = 0;
function event(message: string, { last, eventTime, series, created = 9999, type = "Warning" }: EventTimes): KubeObject {
  count += 1;
  return made("v1/Event", `default/e${count}`, {
    metadata: { creationTimestamp: secondsAgo(created) },
    involvedObject: { uid: "uid-web" },
    type,
    message,
    ...(last === undefined ? {} : { lastTimestamp: secondsAgo(last) }),
    ...(eventTime === undefined ? {} : { eventTime: secondsAgo(eventTime) }),
    ...(series === undefined ? {} : { series: { lastObservedTime: secondsAgo(series) } }),
  });
}

const outcome = async (others: readonly KubeObject[], history?: RunHistory, text = unsynced): Promise<Outcome> =>
  recognizedBy(resourceRules, await failing(text, { others, ...(history === undefined ? {} : { history }) }));

describe("events of the reconcile that the condition is about", () => {
  test("the refusal of the API server has the field and the reason", async () => {
    assert.deepEqual(await outcome([event(invalidReplicas, { last: 30 })]), {
      code: "E36",
      path: "spec.replicas",
      sentence: 'Resource "db" is invalid: spec.replicas: Invalid value: "3": must be integer',
      next: correct,
    });
  });

  test("an event as old as the condition counts, and an older one does not", async () => {
    assert.equal((await outcome([event(invalidReplicas, { last: 60 })])).path, "spec.replicas");
    assert.deepEqual(await outcome([event(invalidReplicas, { last: 61 })]), {
      code: "E36",
      sentence: "The API server refuses resources db as invalid; no event with the details was found",
      next: ["purlin events --for app.example.org/web -n default", "the event is emitted again at the next reconcile"],
    });
  });

  test("without names in the condition it is some resources", async () => {
    const { sentence } = await outcome([], undefined, "some resources were invalid, check events");
    assert.equal(sentence, "The API server refuses some resources as invalid; no event with the details was found");
  });

  test("an event is as old as its last occurrence, in whichever field that is", async () => {
    for (const times of [
      { series: 10, last: 9000 },
      { eventTime: 10 },
      { created: 10 },
      { last: 10, eventTime: 9000 },
    ]) {
      assert.equal((await outcome([event(invalidReplicas, times)])).path, "spec.replicas", JSON.stringify(times));
    }
  });

  test("the newest event counts; of equally new ones the first by text", async () => {
    const other = refusal('Deployment.apps "db" is invalid: spec.paused: Invalid value: 1: must be boolean');
    assert.equal(
      (await outcome([event(other, { last: 30 }), event(invalidReplicas, { last: 20 })])).path,
      "spec.replicas",
    );
    assert.equal(
      (await outcome([event(invalidReplicas, { last: 20 }), event(other, { last: 20 })])).path,
      "spec.paused",
    );
  });

  test("events that are normal or about something else do not count", async () => {
    const events = [event(invalidReplicas, { last: 10, type: "Normal" }), event("pulled image", { last: 10 })];
    assert.match((await outcome(events)).sentence ?? "", /no event with the details was found$/);
  });

  test("an event that another rule recognizes is that cause, with both as evidence", async () => {
    const denied = refusal('admission webhook "v.example.org" denied the request: no');
    const context = await failing(unsynced, { others: [event(denied, { last: 30 })] });
    const found = await Promise.all(resourceRules.map(async (rule) => rule(context)));
    const finding = found.find((one) => one !== undefined);
    assert.ok(finding && "code" in finding);
    assert.equal(finding.code, "E38");
    assert.deepEqual(
      finding.evidence.map(({ path, time }) => [path, time]),
      [
        ["status.conditions[Synced]", secondsAgo(60)],
        ["message", secondsAgo(30)],
      ],
    );
  });

  test("a message without a field is shown as it is", async () => {
    const text = refusal("the server rejected our request");
    assert.deepEqual(await outcome([event(text, { last: 30 })]), {
      code: "E36",
      sentence: `Resource "db" is invalid: ${text}`,
      next: correct,
    });
  });

  const paths: Readonly<Record<string, readonly [string, string]>> = {
    "a list of errors begins with the first field": ["[spec.a: Required value, spec.b: Required value]", "spec.a"],
    "an index": ["spec.containers[0].image: Required value", "spec.containers[0].image"],
    "a key in quotes": ['spec.labels["a b/c"]: Invalid value: 1', 'spec.labels["a b/c"]'],
    "a leading dot": [".spec.a: Required value", "spec.a"],
  };
  for (const [title, [errors, path]] of Object.entries(paths)) {
    test(`the field of an error: ${title}`, async () => {
      assert.equal((await outcome([event(refusal(`X "db" is invalid: ${errors}`), { last: 1 })])).path, path);
    });
  }
});

describe("the step that set a field", () => {
  const step = (name: string, object: JsonObject): RecordedRun["steps"][number] => ({
    step: name,
    functionName: "fn",
    durationMs: 1,
    rounds: [],
    missing: [],
    warnings: [],
    desired: { resources: { db: { object, ready: "Unspecified" } } },
  });
  const historyOf = (...steps: RecordedRun["steps"]): RunHistory => ({
    runsOf: async () => [
      { id: "r", time: secondsAgo(60), observedHash: "h", observed: {}, steps, desired: { resources: {} } },
    ],
  });

  test("the last step that changed the value is named, with the value", async () => {
    const history = historyOf(
      step("first", { spec: { replicas: 1 } }),
      step("second", { spec: { replicas: "3" } }),
      step("third", { spec: { replicas: "3" } }),
    );
    const { sentence } = await outcome([event(invalidReplicas, { last: 30 })], history);
    assert.match(sentence ?? "", /must be integer; set by step "second" to "3"$/);
  });

  test("a field in a list is found by its index", async () => {
    const history = historyOf(step("only", { spec: { containers: [{ image: "a" }, { image: 5 }] } }));
    const text = refusal('X "db" is invalid: spec.containers[1].image: Invalid value: 5');
    assert.match((await outcome([event(text, { last: 30 })], history)).sentence ?? "", /; set by step "only" to 5$/);
  });

  test("a field in a list is found by its keys, as server-side apply writes them", async () => {
    const ports = [{ containerPort: 1 }, { containerPort: 80, protocol: "TCP", name: 5 }];
    const containers = [{ name: "a" }, { name: "web", ports }];
    const history = historyOf(step("only", { spec: { containers } }));
    const path = '.spec.containers[name="web"].ports[containerPort=80,protocol="TCP"].name';
    const text = refusal(`failed to create typed patch object (default/db; v1, Kind=Pod): ${path}: expected string`);
    const { code, sentence } = await outcome([], history, text);
    assert.equal(code, "E36");
    assert.equal(sentence, `Resource "db" is invalid: ${path.slice(1)}: expected string; set by step "only" to 5`);
  });

  test("no step is named if none set the field", async () => {
    const history = historyOf(step("only", { spec: {} }));
    assert.match((await outcome([event(invalidReplicas, { last: 30 })], history)).sentence ?? "", /must be integer$/);
  });
});
