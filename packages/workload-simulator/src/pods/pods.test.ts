// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { finish } from "@purlin/base";
import { eventually } from "@purlin/kube-controller/testing";
import { type KubeObject, memberAt, numberAt, objectsAt, stringAt } from "@purlin/kube-objects/object";
import { startScene } from "../../test/world.ts";
import { kinds } from "../kinds.ts";
import { matcherOf } from "./glob.ts";
import { isReady, templateHash } from "./pod.ts";
import { planOf } from "./pod-plan.ts";
import { nextPod } from "./pod-status.ts";

const podWith = (annotations: Readonly<Record<string, string>>, spec: object = {}): KubeObject => ({
  ...kinds.pod,
  metadata: { name: "web", namespace: "default", uid: "u", generation: 1, annotations },
  spec: { containers: [{ name: "main", image: "nginx" }], restartPolicy: "Always", ...spec },
});

/** The states that a Pod passes through, with the time of each in seconds. */
function life(pod: KubeObject, until: number): string[] {
  const lines: string[] = [];
  let [now, current] = [0, pod];
  while (now / 1000 <= until) {
    const plan = finish(planOf(current, []));
    const { status, due } = finish(nextPod({ pod: current, plan, now, podIp: "10.244.0.10", hostIp: "10.244.0.1" }));
    current = { ...current, status };
    const [container = {}] = objectsAt(current, ["status", "containerStatuses"]);
    const [state = ""] = Object.keys(memberAt(container, ["state"]) ?? {});
    const reason = stringAt(container, ["state", state, "reason"]);
    const restarts = numberAt(container, ["restartCount"]);
    lines.push(
      [Math.round(now / 1000), stringAt(status, ["phase"]), reason || state, restarts, isReady(current) ? "ready" : ""]
        .join(" ")
        .trim(),
    );
    if (due === undefined) break;
    now = due;
  }
  return lines;
}

const outcome = (text: string) => ({ "simulation.purlin.dev/outcome": text });

const lives: readonly { readonly title: string; readonly pod: KubeObject; readonly states: readonly string[] }[] = [
  { title: "runs", pod: podWith({}), states: ["0 Running running 0 ready"] },
  {
    title: "becomes ready after a while",
    pod: podWith({ "simulation.purlin.dev/ready-after": "5s" }),
    states: ["0 Running running 0", "5 Running running 0 ready"],
  },
  {
    title: "cannot pull its image",
    pod: podWith(outcome("ImagePullBackOff")),
    states: ["0 Pending ImagePullBackOff 0"],
  },
  {
    title: "crashes again and again, with growing pauses",
    pod: podWith(outcome("CrashLoopBackOff")),
    states: [
      "0 Running running 0 ready",
      "0 Running running 1 ready",
      "0 Running CrashLoopBackOff 1",
      "10 Running running 2 ready",
      "10 Running CrashLoopBackOff 2",
      "30 Running running 3 ready",
      "30 Running CrashLoopBackOff 3",
    ],
  },
  {
    title: "runs for a while and exits",
    pod: podWith({ ...outcome("exit 3"), "simulation.purlin.dev/outcome-after": "20s" }, { restartPolicy: "Never" }),
    states: ["0 Running running 0 ready", "20 Failed Error 0"],
  },
  {
    title: "completes",
    pod: podWith({}, { restartPolicy: "Never" }),
    states: ["0 Running running 0 ready", "0 Succeeded Completed 0"],
  },
];

for (const { title, pod, states } of lives) {
  test(`a simulated Pod ${title}`, () => assert.deepEqual(life(pod, 35), states));
}

test("a Pod out of memory says so", () => {
  const pod = podWith(outcome("OOMKilled"), { restartPolicy: "Never" });
  assert.equal(life(pod, 1).at(-1), "0 Failed OOMKilled 0");
});

test("a Pod that cannot be scheduled stays pending with the reason", async () => {
  await using scene = await startScene();
  const metadata = { name: "full", namespace: "default", annotations: outcome("Pending") };
  await scene.client.create({ ...kinds.pod, metadata, spec: { containers: [{ name: "main", image: "nginx" }] } });
  const pod = await scene.until(kinds.pod, "full", (one) => objectsAt(one, ["status", "conditions"]).length > 0);
  const [condition = {}] = objectsAt(pod, ["status", "conditions"]);
  assert.equal(condition["reason"], "Unschedulable");
  assert.equal(
    condition["message"],
    "0/1 nodes are available: 1 node(s) are simulated as full. no new claims to deallocate, preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.",
  );
  assert.equal(stringAt(pod, ["status", "phase"]), "Pending");
});

test("the containers of a deleted Pod that run are reported as stopped", async () => {
  await using scene = await startScene();
  const spec = { containers: [{ name: "main", image: "nginx" }] };
  const pending = { name: "pull", namespace: "default", annotations: outcome("ImagePullBackOff") };
  await scene.create(kinds.pod, "web", { spec });
  await scene.client.create({ ...kinds.pod, metadata: pending, spec });
  const pod = await scene.until(kinds.pod, "web", isReady);
  const other = await scene.until(
    kinds.pod,
    "pull",
    (one) => objectsAt(one, ["status", "containerStatuses"]).length > 0,
  );
  await scene.client.delete({ ...kinds.pod, name: "pull", namespace: "default" });
  await scene.client.delete({ ...kinds.pod, name: "web", namespace: "default" });
  await eventually("it is stopped", async () => (await scene.reasons(pod)).includes("Killing"));
  assert.equal((await scene.reasons(pod)).at(-1), "Killing");
  assert.ok(!(await scene.reasons(other)).includes("Killing"));
});

test("the hash of a template distinguishes integers beyond 2^53", () => {
  const hashOf = (tolerationSeconds: bigint): string =>
    templateHash({ spec: { tolerations: [{ tolerationSeconds }] } }, 0);
  assert.equal(hashOf(9007199254740993n), hashOf(9007199254740993n));
  assert.notEqual(hashOf(9007199254740993n), hashOf(9007199254740995n));
});

test("patterns of images", () => {
  const rows: readonly (readonly [string, string, boolean])[] = [
    ["*:broken", "registry.example.org/app:broken", true],
    ["*:broken", "app:broken-2", false],
    ["*/app:*", "registry.example.org/team/app:v1", true],
    ["nginx", "nginx", true],
    ["nginx", "nginx:1", false],
    ["*", "", true],
    ["a*b*c", "aXXbYYbZc", true],
    ["a*b*c", "aXXbYY", false],
    ["a*a", "a", false],
    ["ab*bc", "abc", false],
    ["*aab*", "aaab", true],
    ["*abab*c", "abaababc", true],
    ["**", "x", true],
  ];
  for (const [pattern, text, expected] of rows) assert.equal(matcherOf(pattern)(text), expected, `${pattern} ${text}`);
});
