// SPDX-License-Identifier: Apache-2.0
// Evictions of Pods under PodDisruptionBudgets, without a server.
import assert from "node:assert/strict";
import { test } from "node:test";
import { conflict, type Status, StatusError, serviceUnavailable } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { deepFreeze } from "@purlin/kube-objects/object";
import { answerValue, podRequest, storeOf } from "../../test/test-server.ts";
import type { Entry, Store } from "../store/store.ts";
import { podResources } from "./pod-resources.ts";

const podKey = "//pods/default/web";
const budgetKey = "/policy/poddisruptionbudgets/default/budget";
const statusPath = "/apis/policy/v1/namespaces/default/poddisruptionbudgets/budget/status";
const now = "2030-01-02T03:04:05Z";

const ready = [{ type: "Ready", status: "True" }];
const pod = (status: JsonObject = {}, metadata: JsonObject = {}): JsonObject => ({
  metadata: { name: "web", namespace: "default", labels: { app: "web" }, resourceVersion: "1", ...metadata },
  status: { phase: "Running", conditions: ready, ...status },
});
const budget = (status: JsonObject = {}, spec: JsonObject = {}): JsonObject => ({
  metadata: { name: "budget", namespace: "default", generation: 2 },
  spec: { selector: { matchLabels: { app: "web" } }, ...spec },
  status: { observedGeneration: 2, disruptionsAllowed: 2, currentHealthy: 4, desiredHealthy: 2, ...status },
});

interface Scene {
  readonly objects?: Readonly<Record<string, JsonObject>>;
  readonly body?: JsonObject;
  readonly query?: string;
  /** Failures of the writes of the budget, in their order. */
  readonly failures?: readonly Error[];
  /** Other writes of the Pod, each between a look at it and the deletion that rests on it. */
  readonly meanwhile?: readonly JsonObject[];
  /** Called when one of the listed budgets is read. */
  readonly onBudget?: () => void;
}

interface Evicted {
  /** `201`, or the refusal. */
  readonly answer: JsonObject | Status;
  readonly isDeleted: boolean;
  /** The bodies that the status of the budget was replaced by. */
  readonly sent: readonly JsonObject[];
}

async function evict({ objects, body, query = "", failures = [], ...watched }: Scene): Promise<Evicted> {
  await using stored = await storeOf(deepFreeze(objects ?? { [podKey]: pod(), [budgetKey]: budget() }));
  const store = watching(stored, watched);
  const sent: JsonObject[] = [];
  const left = [...failures];
  const send = async (method: string, path: string, request: { readonly body: JsonObject }): Promise<void> => {
    assert.deepEqual([method, path], ["PUT", statusPath]);
    sent.push(request.body);
    const failure = left.shift();
    if (failure !== undefined) throw failure;
  };
  const [eviction] = podResources({ send });
  const url = `/api/v1/namespaces/default/pods/web/eviction${query}`;
  const rest = podRequest(store, url, body ?? { metadata: { name: "web" } });
  const isDeleted = (): boolean => store.get(podKey) === undefined;
  try {
    return { answer: answerValue(await eviction?.(rest)) as JsonObject, isDeleted: isDeleted(), sent };
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    return { answer: error.status, isDeleted: isDeleted(), sent };
  }
}

/** A store whose Pod is written by others after it was read. */
function watching(
  store: Store<JsonObject>,
  { meanwhile = [], onBudget = () => undefined }: Pick<Scene, "meanwhile" | "onBudget">,
): Store<JsonObject> {
  const left = [...meanwhile];
  const get = (key: string): Entry<JsonObject> | undefined => {
    const entry = store.get(key);
    const value = key === podKey ? left.shift() : undefined;
    if (value !== undefined) void store.write(key, () => ({ action: "put", value }));
    return entry;
  };
  const list = (options: Parameters<typeof store.list>[0]): ReturnType<typeof store.list> => {
    const page = store.list(options);
    const reading = (entry: Entry<JsonObject>, name: string | symbol): unknown => {
      if (name === "value") onBudget();
      return Reflect.get(entry, name);
    };
    return { ...page, entries: page.entries.map((entry) => new Proxy(entry, { get: reading })) };
  };
  return new Proxy(store, {
    get: (target, name) => {
      if (name === "get") return get;
      if (name === "list") return list;
      const member = Reflect.get(target, name, target);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
}

const success = { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", code: 201 };

test("an eviction takes one disruption from the budget and deletes the Pod", async () => {
  const { answer, isDeleted, sent } = await evict({});
  assert.deepEqual(answer, success);
  assert.equal(isDeleted, true);
  assert.deepEqual(sent, [budget({ disruptionsAllowed: 1, disruptedPods: { web: now } })]);
});

test("disruptions that are not confirmed yet stay in the status", async () => {
  const status = { disruptedPods: { other: "2030-01-01T00:00:00Z" } };
  const { sent } = await evict({ objects: { [podKey]: pod(), [budgetKey]: budget(status) } });
  assert.deepEqual(sent, [budget({ disruptionsAllowed: 1, disruptedPods: { ...status.disruptedPods, web: now } })]);
});

test("the last disruption sets the condition DisruptionAllowed to False, in its place", async () => {
  const other = { type: "Other", status: "True" };
  const insufficient = {
    type: "DisruptionAllowed",
    status: "False",
    reason: "InsufficientPods",
    message: "",
    observedGeneration: 2,
    lastTransitionTime: now,
  };
  const cases: readonly (readonly [JsonObject[], JsonObject[]])[] = [
    [[], [insufficient]],
    [
      [{ type: "DisruptionAllowed", status: "True", lastTransitionTime: "2029-01-01T00:00:00Z" }, other],
      [insufficient, other],
    ],
    [
      [other, { type: "DisruptionAllowed", status: "False", lastTransitionTime: "2029-01-01T00:00:00Z" }],
      [other, { ...insufficient, lastTransitionTime: "2029-01-01T00:00:00Z" }],
    ],
  ];
  for (const [before, after] of cases) {
    const status = { disruptionsAllowed: 1, conditions: before };
    const { sent } = await evict({ objects: { [podKey]: pod(), [budgetKey]: budget(status) } });
    assert.deepEqual(sent, [budget({ disruptionsAllowed: 0, disruptedPods: { web: now }, conditions: after })]);
  }
});

const violation = "Cannot evict pod as it would violate the pod's disruption budget.";
const forbiddenText = (why: string): string => `poddisruptionbudget.policy "budget" is forbidden: ${why}`;
const disrupted = (count: number): JsonObject =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`pod-${index}`, now]));
const condition = (more: JsonObject): JsonObject => ({
  disruptionsAllowed: 0,
  conditions: [{ type: "DisruptionAllowed", status: "False", reason: "SyncFailed", message: "no scale", ...more }],
});

interface Refusal {
  readonly status: JsonObject;
  readonly code: number;
  readonly message?: string;
  readonly cause?: string;
  readonly retryAfterSeconds?: number;
}

const refusals: Readonly<Record<string, Refusal>> = {
  "the controller has not seen the last change of the budget": {
    status: { observedGeneration: 1 },
    code: 429,
    cause: "The disruption budget budget is still being processed by the server.",
    retryAfterSeconds: 10,
  },
  "no disruption is left and there are too few healthy Pods": {
    status: { disruptionsAllowed: 0, currentHealthy: 1 },
    code: 429,
    cause: "The disruption budget budget needs 2 healthy pods and has 1 currently",
  },
  "no disruption is left and there are exactly enough healthy Pods": {
    status: { disruptionsAllowed: 0, currentHealthy: 2 },
    code: 429,
    cause: "The disruption budget budget needs 2 healthy pods and has 2 currently",
  },
  "no disruption is left although there are more healthy Pods": {
    status: { disruptionsAllowed: 0, currentHealthy: 3 },
    code: 429,
    cause: "The disruption budget budget does not allow evicting pods currently",
  },
  "the sync of the budget failed, so that its counts are not reliable": {
    status: { ...condition({}), currentHealthy: 1 },
    code: 429,
    cause: "The disruption budget budget does not allow evicting pods currently because it failed sync: no scale",
  },
  "a failed sync without a message is not shown": {
    status: condition({ message: "" }),
    code: 429,
    cause: "The disruption budget budget does not allow evicting pods currently",
  },
  "a condition of another reason is shown with its reason": {
    status: condition({ reason: "Held" }),
    code: 429,
    cause: "The disruption budget budget does not allow evicting pods currently (Held): no scale",
  },
  "a condition that is not False is ignored": {
    status: condition({ status: "True" }),
    code: 429,
    cause: "The disruption budget budget does not allow evicting pods currently",
  },
  "the count of disruptions is negative": {
    status: { disruptionsAllowed: -1 },
    code: 403,
    message: forbiddenText("pdb disruptions allowed is negative"),
  },
  "more than 2000 evictions are not confirmed": {
    status: { disruptedPods: disrupted(2001), disruptionsAllowed: 0 },
    code: 403,
    message: forbiddenText("DisruptedPods map too big - too many evictions not confirmed by PDB controller"),
  },
};
for (const [name, { status, code, message = violation, cause, retryAfterSeconds }] of Object.entries(refusals)) {
  test(`an eviction is refused: ${name}`, async () => {
    const { answer, isDeleted, sent } = await evict({ objects: { [podKey]: pod(), [budgetKey]: budget(status) } });
    const { details, ...rest } = answer as Status;
    assert.deepEqual([rest.code, rest.message], [code, message]);
    assert.deepEqual(
      details?.causes,
      cause === undefined ? undefined : [{ reason: "DisruptionBudget", message: cause }],
    );
    assert.equal(details?.retryAfterSeconds, retryAfterSeconds);
    assert.deepEqual([isDeleted, sent], [false, []]);
  });
}

test("2000 evictions that are not confirmed are allowed", async () => {
  const { isDeleted } = await evict({
    objects: { [podKey]: pod(), [budgetKey]: budget({ disruptedPods: disrupted(2000) }) },
  });
  assert.equal(isDeleted, true);
});

const blocked = { disruptionsAllowed: 0 };
const notReady = { conditions: [{ type: "Ready", status: "False" }] };
const passing: Readonly<Record<string, Readonly<Record<string, JsonObject>>>> = {
  "no budget": { [podKey]: pod() },
  "a budget of another namespace": { [podKey]: pod(), "/policy/poddisruptionbudgets/other/budget": budget(blocked) },
  "a budget for other labels": {
    [podKey]: pod(),
    [budgetKey]: budget(blocked, { selector: { matchLabels: { app: "db" } } }),
  },
  "a budget without a selector": { [podKey]: pod(), [budgetKey]: budget(blocked, { selector: null }) },
  "a Pod that has succeeded": { [podKey]: pod({ phase: "Succeeded" }), [budgetKey]: budget(blocked) },
  "a Pod that has failed": { [podKey]: pod({ phase: "Failed" }), [budgetKey]: budget(blocked) },
  "a Pod that is pending": { [podKey]: pod({ phase: "Pending" }), [budgetKey]: budget(blocked) },
  "a Pod that is being deleted": { [podKey]: pod({}, { deletionTimestamp: now }), [budgetKey]: budget(blocked) },
  "a Pod that is not ready, of a budget that is met": {
    [podKey]: pod(notReady),
    [budgetKey]: budget({ ...blocked, currentHealthy: 2 }),
  },
  "a Pod that is not ready, of a budget that always allows that": {
    [podKey]: pod({ conditions: [] }),
    [budgetKey]: budget({ ...blocked, currentHealthy: 0 }, { unhealthyPodEvictionPolicy: "AlwaysAllow" }),
  },
};
for (const [name, objects] of Object.entries(passing)) {
  test(`an eviction does not count for a budget: ${name}`, async () => {
    assert.deepEqual(await evict({ objects }), { answer: success, isDeleted: true, sent: [] });
  });
}

const counting: Readonly<Record<string, Readonly<Record<string, JsonObject>>>> = {
  "the selector is empty, which selects all Pods of the namespace": {
    [podKey]: pod({}, { labels: {} }),
    [budgetKey]: budget(blocked, { selector: {} }),
  },
  "the Pod is not ready and the budget is not met": {
    [podKey]: pod(notReady),
    [budgetKey]: budget({ ...blocked, currentHealthy: 1 }),
  },
  "the Pod is not ready and the budget requires no Pods": {
    [podKey]: pod(notReady),
    [budgetKey]: budget({ ...blocked, desiredHealthy: 0 }),
  },
  "the Pod is ready, whatever the policy for others": {
    [podKey]: pod(),
    [budgetKey]: budget(blocked, { unhealthyPodEvictionPolicy: "AlwaysAllow" }),
  },
};
for (const [name, objects] of Object.entries(counting)) {
  test(`an eviction counts for a budget: ${name}`, async () => {
    const { answer, isDeleted } = await evict({ objects });
    assert.deepEqual([(answer as Status).code, isDeleted], [429, false]);
  });
}

test("a Pod with several budgets cannot be evicted", async () => {
  const objects = { [podKey]: pod(), [budgetKey]: budget(), [`${budgetKey}-2`]: budget() };
  const { answer, isDeleted } = await evict({ objects });
  const message = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";
  assert.deepEqual(answer, { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", message, code: 500 });
  assert.equal(isDeleted, false);
});

test("a dry run decides like an eviction and changes nothing", async () => {
  const body = { metadata: { name: "web" }, deleteOptions: { dryRun: ["All"] } };
  for (const scene of [{ query: "?dryRun=All" }, { body }]) {
    assert.deepEqual(await evict(scene), { answer: success, isDeleted: false, sent: [] });
    const objects = { [podKey]: pod(), [budgetKey]: budget(blocked) };
    assert.equal(((await evict({ ...scene, objects })).answer as Status).code, 429);
  }
});

test("an empty list of dry runs is not a dry run", async () => {
  for (const dryRun of [[], null]) {
    const { isDeleted } = await evict({ body: { metadata: { name: "web" }, deleteOptions: { dryRun } } });
    assert.equal(isDeleted, true);
  }
});

test("options that are not valid do not take a disruption", async () => {
  const body = { metadata: { name: "web" }, deleteOptions: { propagationPolicy: "Sideways" } };
  const { answer, isDeleted, sent } = await evict({ body });
  assert.deepEqual([(answer as Status).code, isDeleted, sent], [422, false, []]);
});

test("the name must be that of the Pod, which must exist", async () => {
  const other = (await evict({ body: { metadata: { name: "other" } } })).answer as Status;
  assert.deepEqual([other.code, other.message], [400, "name in URL does not match name in Eviction object"]);
  const missing = (await evict({ objects: {} })).answer as Status;
  assert.deepEqual([missing.code, missing.message], [404, 'pods "web" not found']);
});

const changed = conflict({ group: "policy", resource: "poddisruptionbudgets" }, "budget", "changed");

test("conflicts of the budget are retried four times", async () => {
  const retried = await evict({ failures: Array<Error>(4).fill(changed) });
  assert.deepEqual([retried.answer, retried.isDeleted, retried.sent.length], [success, true, 5]);
  const exhausted = await evict({ failures: Array<Error>(5).fill(changed) });
  assert.deepEqual([exhausted.answer, exhausted.isDeleted, exhausted.sent.length], [changed.status, false, 5]);
});

test("other failures of the budget are not retried", async () => {
  const unavailable = serviceUnavailable("no");
  const { answer, isDeleted, sent } = await evict({ failures: [unavailable] });
  assert.deepEqual([answer, isDeleted, sent.length], [unavailable.status, false, 1]);
});

const pending = pod({ phase: "Pending" }, { uid: "1" });
const changedPod = (status: JsonObject, resourceVersion: string, uid = "1"): JsonObject =>
  pod(status, { uid, resourceVersion });

test("a Pod that begins to run while its eviction is decided counts for its budget", async () => {
  const exhausted = { [podKey]: pending, [budgetKey]: budget(blocked) };
  const refused = await evict({ objects: exhausted, meanwhile: [changedPod({}, "2")] });
  assert.deepEqual([(refused.answer as Status).code, refused.isDeleted], [429, false]);
  const allowed = await evict({
    objects: { [podKey]: pending, [budgetKey]: budget() },
    meanwhile: [changedPod({}, "2")],
  });
  assert.deepEqual([allowed.answer, allowed.isDeleted, allowed.sent.length], [success, true, 1]);
});

test("a Pod that becomes ready while its eviction is decided counts for its budget", async () => {
  const objects = {
    [podKey]: pod(notReady, { uid: "1" }),
    [budgetKey]: budget({ ...blocked, currentHealthy: 2 }),
  };
  const { answer, isDeleted } = await evict({ objects, meanwhile: [changedPod({}, "2")] });
  assert.deepEqual([(answer as Status).code, isDeleted], [429, false]);
});

test("a disruption that was taken is used although the Pod has changed, and not for another Pod of its name", async () => {
  const objects = { [podKey]: pod({}, { uid: "1" }), [budgetKey]: budget() };
  const same = await evict({ objects, meanwhile: [changedPod({ podIP: "10.0.0.1" }, "2")] });
  assert.deepEqual([same.isDeleted, same.sent.length], [true, 1]);
  const replaced = await evict({ objects, meanwhile: [changedPod({}, "2", "2")] });
  assert.deepEqual([replaced.isDeleted, replaced.sent.length], [true, 2]);
});

test("an eviction of a Pod that changes again and again ends with a conflict, and so does one with preconditions at once", async () => {
  const objects = { [podKey]: pending, [budgetKey]: budget() };
  const changes = Array.from({ length: 10 }, (_, i) => changedPod({ phase: "Pending" }, `${i + 2}`));
  const refused = await evict({ objects, meanwhile: changes });
  assert.deepEqual([(refused.answer as Status).code, refused.isDeleted], [409, false]);
  const body = { metadata: { name: "web" }, deleteOptions: { preconditions: { resourceVersion: "1" } } };
  const exact = await evict({ objects, body, meanwhile: changes.slice(0, 1) });
  assert.deepEqual([(exact.answer as Status).code, exact.isDeleted], [409, false]);
});

test("other work runs between the budgets that are compared with a Pod", async () => {
  const other = budget({}, { selector: { matchLabels: { app: "other" } } });
  const others = Array.from({ length: 4 }, (_, i) => [`/policy/poddisruptionbudgets/default/other${i}`, other]);
  const objects = { [podKey]: pod(), [budgetKey]: budget(), ...Object.fromEntries(others) };
  let turn = 0;
  const turns = new Set<number>();
  const next = (): void => {
    turn += 1;
  };
  // As long as a turn may take.
  const onBudget = (): void => {
    const until = performance.now() + 15;
    while (performance.now() < until);
    turns.add(turn);
    setImmediate(next);
  };
  const { isDeleted } = await evict({ objects, onBudget });
  assert.equal(isDeleted, true);
  assert.ok(turns.size >= 3, `5 budgets in ${turns.size} turns`);
});
