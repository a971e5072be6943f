// SPDX-License-Identifier: Apache-2.0
// The status of simulated Pods and their containers, step by step.
import assert from "node:assert/strict";
import { test } from "node:test";
import { finish } from "@purlin/base";
import type { JsonObject } from "@purlin/kube-objects/json";
import { conditionsOf, conditionTime, type KubeObject, memberAt, objectsAt } from "@purlin/kube-objects/object";
import { kinds } from "../kinds.ts";
import { containersOf, planOf } from "./pod-plan.ts";
import { nextPod } from "./pod-status.ts";

const start = Date.UTC(2026, 0, 1);

interface PodOptions {
  readonly annotations?: Readonly<Record<string, string>>;
  readonly spec?: JsonObject;
  readonly status?: JsonObject;
  readonly labels?: Readonly<Record<string, string>>;
}

const podWith = ({ annotations = {}, spec = {}, status = {}, labels = {} }: PodOptions = {}): KubeObject => ({
  ...kinds.pod,
  metadata: { name: "web", namespace: "shop", uid: "u", generation: 3, annotations, labels },
  spec: { containers: [{ name: "main", image: "nginx" }], ...spec },
  status,
});

function next(pod: KubeObject, seconds = 0, simulations: readonly KubeObject[] = []) {
  const scene = {
    pod,
    plan: finish(planOf(pod, simulations)),
    now: start + seconds * 1000,
    podIp: "10.244.0.9",
    hostIp: "10.244.0.1",
  };
  const step = finish(nextPod(scene));
  return {
    ...step,
    pod: { ...pod, status: step.status } as KubeObject,
    events: step.events.map(({ reason }) => reason),
  };
}

const said = (pod: KubeObject): readonly string[] =>
  conditionsOf(pod).map(({ type, status, reason }) => [type, status, reason].filter(Boolean).join(" "));

test("a Pod that starts has addresses, a start time, and the conditions of the kubelet", () => {
  const { pod, events, due } = next(podWith());
  const { conditions: _conditions, containerStatuses: _statuses, ...rest } = pod["status"] as JsonObject;
  assert.deepEqual(rest, {
    observedGeneration: 3,
    phase: "Running",
    hostIP: "10.244.0.1",
    hostIPs: [{ ip: "10.244.0.1" }],
    podIP: "10.244.0.9",
    podIPs: [{ ip: "10.244.0.9" }],
    startTime: "2026-01-01T00:00:00Z",
  });
  assert.deepEqual(said(pod), [
    "PodReadyToStartContainers True",
    "Initialized True",
    "Ready True",
    "ContainersReady True",
    "PodScheduled True",
  ]);
  assert.deepEqual(events, ["Pulled", "Created", "Started"]);
  assert.equal(due, undefined);
});

test("a Pod that runs on is not changed by another step", () => {
  const { pod } = next(podWith());
  const again = next(pod, 100);
  assert.deepEqual(again.status, pod["status"]);
  assert.deepEqual(again.events, []);
});

test("a container that is not ready yet is named", () => {
  const annotations = { "simulation.purlin.dev/ready-after": "1m30s" };
  const first = next(podWith({ annotations, spec: { containers: [{ name: "a" }, { name: "b" }] } }));
  const ready = conditionsOf(first.pod).find(({ type }) => type === "Ready");
  assert.equal(ready?.reason, "ContainersNotReady");
  assert.equal(ready?.message, "containers with unready status: [a b]");
  assert.equal(first.due, start + 90_000);
  const later = next(first.pod, 90);
  assert.ok(said(later.pod).includes("Ready True"));
  const time = (type: string): string | undefined =>
    conditionsOf(later.pod).find((one) => one.type === type)?.lastTransitionTime;
  assert.equal(time("Ready"), conditionTime(start + 90_000));
  assert.equal(time("PodScheduled"), conditionTime(start));
});

test("readiness gates hold a Pod back until others open them", () => {
  const spec = { readinessGates: [{ conditionType: "example.org/a" }, { conditionType: "example.org/b" }] };
  const condition = (status: string): JsonObject => ({
    type: "example.org/a",
    status,
    reason: "",
    lastTransitionTime: "",
  });
  const messageOf = (conditions: readonly JsonObject[]): string | undefined =>
    conditionsOf(next(podWith({ spec, status: { conditions } })).pod).find(({ type }) => type === "Ready")?.message;
  const missing = (gate: string): string => `corresponding condition of pod readiness gate "${gate}" does not exist.`;
  assert.equal(messageOf([]), `${missing("example.org/a")}, ${missing("example.org/b")}`);
  assert.equal(
    messageOf([condition("False")]),
    `the status of pod readiness gate "example.org/a" is not "True", but False, ${missing("example.org/b")}`,
  );
  assert.equal(messageOf([condition("True")]), missing("example.org/b"));
});

test("conditions of others are kept behind those of the kubelet", () => {
  const conditions = [{ type: "example.org/own", status: "True", reason: "r", lastTransitionTime: "" }];
  assert.equal(said(next(podWith({ status: { conditions } })).pod).at(-1), "example.org/own True r");
});

const outcome = (text: string, spec: JsonObject = { restartPolicy: "Never" }): KubeObject =>
  podWith({ annotations: { "simulation.purlin.dev/outcome": text }, spec });

test("a Pod whose containers all end well has succeeded, and others have failed", () => {
  const ends = (pod: KubeObject): KubeObject => next(next(pod).pod, 1).pod;
  const good = ends(outcome("exit 0"));
  assert.deepEqual(said(good), [
    "PodReadyToStartContainers False",
    "Initialized True PodCompleted",
    "Ready False PodCompleted",
    "ContainersReady False PodCompleted",
    "PodScheduled True",
  ]);
  const bad = ends(outcome("exit 3"));
  assert.equal(memberAt(bad, ["status", "phase"]), "Failed");
  assert.ok(said(bad).includes("Ready False PodFailed"));
  const [container = {}] = objectsAt(bad, ["status", "containerStatuses"]);
  assert.equal(memberAt(container, ["state", "terminated", "exitCode"]), 3);
  assert.equal(memberAt(container, ["state", "terminated", "reason"]), "Error");
});

test("only the containers that a plan concerns have its outcome", () => {
  const annotations = { "simulation.purlin.dev/outcome": "exit 1", "simulation.purlin.dev/containers": "b, c" };
  const spec = { containers: [{ name: "a" }, { name: "b" }], restartPolicy: "Never" };
  const ended = next(next(podWith({ annotations, spec })).pod, 1).pod;
  const codes = objectsAt(ended, ["status", "containerStatuses"]).map((one) =>
    memberAt(one, ["state", "terminated", "exitCode"]),
  );
  assert.deepEqual(codes, [0, 1]);
  assert.equal(memberAt(ended, ["status", "phase"]), "Failed");
});

test("a container that is restarted on failure is not restarted after success", () => {
  const ended = next(next(outcome("exit 0", { restartPolicy: "OnFailure" })).pod, 1).pod;
  assert.equal(memberAt(ended, ["status", "phase"]), "Succeeded");
  const again = next(next(outcome("exit 2", { restartPolicy: "OnFailure" })).pod, 1).pod;
  assert.equal(memberAt(again, ["status", "phase"]), "Running");
  assert.equal(objectsAt(again, ["status", "containerStatuses"])[0]?.["restartCount"], 1);
});

test("the pauses before restarts double up to five minutes", () => {
  let { pod, due } = next(outcome("CrashLoopBackOff", {}));
  const pauses: number[] = [];
  const messages: unknown[] = [];
  for (let step = 0; step < 40 && due !== undefined; step++) {
    const at = due;
    ({ pod, due } = next(pod, (at - start) / 1000));
    const [container = {}] = objectsAt(pod, ["status", "containerStatuses"]);
    const message = memberAt(container, ["state", "waiting", "message"]);
    if (message !== undefined && due !== undefined) {
      pauses.push(Math.round((due - at) / 1000));
      messages.push(message);
    }
  }
  assert.deepEqual(pauses.slice(0, 7), [10, 20, 40, 80, 160, 300, 300]);
  assert.equal(messages[0], "back-off 10s restarting failed container=main pod=web_shop(u)");
  assert.equal(messages[3], "back-off 1m20s restarting failed container=main pod=web_shop(u)");
  assert.equal(messages[5], "back-off 5m0s restarting failed container=main pod=web_shop(u)");
});

test("an image that cannot be pulled is reported once, and pulled when the plan changes", () => {
  const first = next(outcome("ImagePullBackOff"));
  assert.deepEqual(first.events, ["Pulling", "Failed", "Failed", "BackOff", "Failed"]);
  assert.equal(memberAt(first.pod, ["status", "phase"]), "Pending");
  const [container = {}] = objectsAt(first.pod, ["status", "containerStatuses"]);
  assert.equal(
    memberAt(container, ["state", "waiting", "message"]),
    'Back-off pulling image "nginx": ErrImagePull: failed to pull image "nginx": simulated: not found',
  );
  assert.deepEqual(next(first.pod, 5).events, []);
  const fixed = { ...first.pod, metadata: { ...first.pod.metadata, annotations: {} } };
  assert.deepEqual(next(fixed, 6).events, ["Pulled", "Created", "Started"]);
});

test("init containers end at once, and those that are always restarted keep running", () => {
  const initContainers = [
    { name: "migrate", image: "m" },
    { name: "proxy", image: "p", restartPolicy: "Always" },
  ];
  const { pod } = next(podWith({ spec: { initContainers } }));
  const [migrate = {}, proxy = {}] = objectsAt(pod, ["status", "initContainerStatuses"]);
  assert.equal(memberAt(migrate, ["state", "terminated", "reason"]), "Completed");
  assert.equal(memberAt(migrate, ["ready"]), true);
  assert.equal(memberAt(proxy, ["state", "running", "startedAt"]), "2026-01-01T00:00:00Z");
  assert.deepEqual(memberAt(next(pod, 50).pod, ["status", "initContainerStatuses"]), [migrate, proxy]);
});

const simulation = (name: string, spec: JsonObject): KubeObject => ({ ...kinds.simulation, metadata: { name }, spec });

const matches: readonly { readonly why: string; readonly match: JsonObject; readonly isMatch: boolean }[] = [
  { why: "everything", match: {}, isMatch: true },
  { why: "its namespace", match: { namespaces: ["a", "shop"] }, isMatch: true },
  { why: "another namespace", match: { namespaces: ["a"] }, isMatch: false },
  { why: "its image", match: { images: ["ngin*"] }, isMatch: true },
  { why: "another image", match: { images: ["redis"] }, isMatch: false },
  { why: "its labels", match: { podSelector: { matchLabels: { app: "web" } } }, isMatch: true },
  { why: "other labels", match: { podSelector: { matchLabels: { app: "db" } } }, isMatch: false },
  { why: "its image in another namespace", match: { images: ["nginx"], namespaces: ["a"] }, isMatch: false },
];

for (const { why, match, isMatch } of matches) {
  test(`a Simulation for ${why} ${isMatch ? "concerns" : "does not concern"} a Pod`, () => {
    const plan = finish(planOf(podWith({ labels: { app: "web" } }), [simulation("s", { match, outcome: "exit 7" })]));
    assert.deepEqual(plan.outcome, isMatch ? { kind: "exit", code: 7, reason: "Error" } : { kind: "run" });
  });
}

test("annotations win over Simulations, and the first of these by name counts", () => {
  const simulations = [simulation("b", { outcome: "exit 2" }), simulation("a", { outcome: "exit 1" })];
  assert.deepEqual(finish(planOf(podWith(), simulations)).outcome, { kind: "exit", code: 1, reason: "Error" });
  const annotated = podWith({ annotations: { "simulation.purlin.dev/outcome": "Pending" } });
  assert.deepEqual(finish(planOf(annotated, simulations)).outcome, { kind: "pending" });
});

test("a Simulation for images concerns the containers that have them", () => {
  const pod = podWith({
    spec: {
      containers: [
        { name: "a", image: "x:1" },
        { name: "b", image: "y:1" },
      ],
    },
  });
  const plan = finish(planOf(pod, [simulation("s", { match: { images: ["x:*"] }, outcome: "exit 1" })]));
  assert.deepEqual(containersOf(pod).map(plan.concerns), [true, false]);
});

const texts: Readonly<Record<string, unknown>> = {
  Running: { kind: "run" },
  ErrImagePull: { kind: "image-pull" },
  OOMKilled: { kind: "exit", code: 137, reason: "OOMKilled" },
  "exit 0": { kind: "exit", code: 0, reason: "Completed" },
  "exit 255": { kind: "exit", code: 255, reason: "Error" },
  "exit 1000": { kind: "run" },
  exit: { kind: "run" },
  nonsense: { kind: "run" },
};

for (const [text, expected] of Object.entries(texts)) {
  test(`the outcome "${text}"`, () => assert.deepEqual(finish(planOf(outcome(text, {}), [])).outcome, expected));
}

test("a duration that cannot be read has no effect", () => {
  const after = (text: string): number =>
    finish(planOf(podWith({ annotations: { "simulation.purlin.dev/ready-after": text } }), [])).readyAfterMs;
  assert.deepEqual(
    ["1h", "1m30s", "250ms", "0s", "5", "-5s", "1.5s", ""].map(after),
    [3_600_000, 90_000, 250, 0, 0, 0, 0, 0],
  );
});
