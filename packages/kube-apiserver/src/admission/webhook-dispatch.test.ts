// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { findStatusError, internalError } from "@purlin/kube-objects/errors";
import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import { storeOf } from "../../test/test-server.ts";
import type { AdmissionMetrics, WebhookOutcome } from "../metrics/admission-metrics.ts";
import type { ResourceType } from "../registry/registry.ts";
import { WebhookCallError, type WebhookClient } from "../webhooks/webhook-client.ts";
import type { AdmissionAttributes } from "./admission.ts";
import { webhookOf } from "./admission-webhook.ts";
import {
  callMutating,
  callValidating,
  type DispatchDeps,
  type Reinvocation,
  requireReinvocation,
} from "./webhook-dispatch.ts";

const type = {
  group: "",
  version: "v1",
  kind: "ConfigMap",
  resource: "configmaps",
  namespaced: true,
  subresources: [],
} as unknown as ResourceType;
const domain = "webhook.admission.k8s.io";

type Answer = (object: JsonObject) => JsonValue | Promise<JsonValue>;

/** A response with a patch that sets a member. */
const set = (member: string, value: JsonValue): JsonObject => {
  const patch = Buffer.from(JSON.stringify([{ op: "add", path: `/${member}`, value }])).toString("base64");
  return { allowed: true, patch, patchType: "JSONPatch" };
};

interface Hook {
  readonly name: string;
  readonly answer: Answer;
  readonly more?: JsonObject;
  readonly type?: ResourceType;
}

interface Calls {
  readonly kind?: "mutating" | "validating";
  readonly object?: JsonObject | undefined;
  readonly more?: Partial<AdmissionAttributes>;
  readonly deps?: Partial<DispatchDeps>;
  readonly reinvocation?: Reinvocation;
  readonly isSecond?: boolean;
}

interface Outcome {
  readonly object?: JsonObject | undefined;
  readonly error?: { readonly code: number; readonly message: string };
  /** The webhooks that were called, in this order. */
  readonly called: readonly string[];
  readonly warnings: readonly string[];
  readonly annotations: Readonly<Record<string, string>>;
  readonly outcomes: readonly Omit<WebhookOutcome, "seconds">[];
}

async function call(hooks: readonly Hook[], calls: Calls = {}): Promise<Outcome> {
  await using store = await storeOf({ "//namespaces/ns": { metadata: { name: "ns" } } });
  const called: string[] = [];
  const warnings: string[] = [];
  const annotations: Record<string, string> = {};
  const outcomes: Omit<WebhookOutcome, "seconds">[] = [];
  const configured = hooks.map(({ name, more }) =>
    webhookOf(
      { name, sideEffects: "None", clientConfig: { url: name }, ...more },
      { configuration: "conf", namesakes: 0 },
    ),
  );
  const post: WebhookClient["post"] = async ({ config, body }) => {
    const { request } = JSON.parse(body) as { readonly request: { readonly uid: string; readonly object: JsonObject } };
    called.push(String(config["url"]));
    const response = await hooks.find(({ name }) => name === config["url"])?.answer(request.object);
    return {
      apiVersion: "admission.k8s.io/v1",
      kind: "AdmissionReview",
      response: { uid: request.uid, ...(response as JsonObject) },
    };
  };
  const deps: DispatchDeps = {
    store,
    client: { post } as WebhookClient,
    newUid: () => "u",
    metrics: {
      webhook: ({ seconds: _, ...outcome }: WebhookOutcome) => outcomes.push(outcome),
    } as unknown as AdmissionMetrics,
    convert: async (object, _from, to) => ({ ...object, apiVersion: to.version }),
    // biome-ignore lint/correctness/useYield: decoding in one part
    *decode(object) {
      return object;
    },
    conditionsHold: () => Promise.resolve(true),
    ...calls.deps,
  };
  const attributes: AdmissionAttributes = {
    operation: "CREATE",
    type,
    subresource: "",
    namespace: "ns",
    name: "a",
    object: { a: 1 },
    old: undefined,
    options: {},
    dryRun: false,
    user: { name: "jane", groups: [] },
    warn: (text) => warnings.push(text),
    annotate: (key, value) => {
      annotations[key] = value;
    },
    signal: new AbortController().signal,
    ...("object" in calls && { object: calls.object }),
    ...calls.more,
  };
  const selected = configured.map((hook, index) => ({ hook, type: hooks[index]?.type ?? type, index }));
  const seen = { called, warnings, annotations, outcomes };
  const { reinvocation = { invoked: new Set(), due: new Set() }, isSecond = false } = calls;
  try {
    if (calls.kind === "validating") {
      await callValidating(selected, attributes, deps);
      return seen;
    }
    return { object: await callMutating(selected, attributes, { deps, reinvocation, isSecond }), ...seen };
  } catch (error) {
    const status = findStatusError(error);
    if (status === undefined) throw error;
    return { error: { code: status.code, message: status.message }, ...seen };
  }
}

const allow: Answer = () => ({ allowed: true });
const unreachable: Answer = () => {
  throw new WebhookCallError("Post: EOF", { code: 503 });
};

test("mutating webhooks are called in order, each with the object of the one before", async () => {
  const { object, called, annotations } = await call([
    { name: "one", answer: () => set("b", 2) },
    { name: "two", answer: ({ b }) => set("c", Number(b) + 1) },
    { name: "three", answer: allow },
  ]);
  assert.deepEqual(object, { a: 1, b: 2, c: 3 });
  assert.deepEqual(called, ["one", "two", "three"]);
  const mutation = (webhook: string, mutated: boolean): string =>
    JSON.stringify({ configuration: "conf", webhook, mutated });
  assert.equal(annotations[`mutation.${domain}/round_0_index_0`], mutation("one", true));
  assert.equal(annotations[`mutation.${domain}/round_0_index_2`], mutation("three", false));
  assert.equal(
    annotations[`patch.${domain}/round_0_index_0`],
    '{"configuration":"conf","webhook":"one","patch":[{"op":"add","path":"/b","value":2}],"patchType":"JSONPatch"}',
  );
  assert.ok(!(`patch.${domain}/round_0_index_2` in annotations));
});

test("an object that no webhook changes is the same object", async () => {
  const object = { a: 1 };
  const unchanged = await call(
    [
      { name: "one", answer: allow },
      { name: "two", answer: () => set("a", 1) },
    ],
    { object },
  );
  assert.deepEqual(unchanged.object, object);
  assert.equal(unchanged.annotations[`mutation.${domain}/round_0_index_1`]?.includes('"mutated":false'), true);
  assert.equal((await call([{ name: "one", answer: allow }], { object })).object, object);
});

test("a denial ends the calls", async () => {
  const { error, called, outcomes } = await call([
    { name: "one", answer: () => ({ allowed: false, status: { message: "no", code: 409 } }) },
    { name: "two", answer: allow },
  ]);
  assert.deepEqual(error, { code: 409, message: 'admission webhook "one" denied the request: no' });
  assert.deepEqual(called, ["one"]);
  assert.deepEqual(outcomes, [{ name: "one", type: "admit", operation: "CREATE", code: 409, refusal: "no_error" }]);
});

test("a call that fails refuses the write, or is ignored where the webhook allows that", async () => {
  const failed = await call([{ name: "one", answer: unreachable }]);
  assert.deepEqual(failed.error, {
    code: 500,
    message: 'Internal error occurred: failed calling webhook "one": failed to call webhook: Post: EOF',
  });
  assert.equal(failed.outcomes[0]?.refusal, "calling_webhook_error");
  const ignored = await call([
    { name: "one", answer: unreachable, more: { failurePolicy: "Ignore" } },
    { name: "two", answer: () => set("b", 2) },
  ]);
  assert.deepEqual(ignored.object, { a: 1, b: 2 });
  assert.equal(ignored.annotations[`failed-open.mutation.${domain}/round_0_index_0`], "one");
  assert.deepEqual(ignored.outcomes[0], {
    name: "one",
    type: "admit",
    operation: "CREATE",
    code: 503,
    isFailedOpen: true,
  });
});

test("a bundle that cannot be read has a text and a code of its own", async () => {
  const text = "unable to load root certificates: unable to parse bytes as PEM block";
  const { error, outcomes } = await call([
    {
      name: "one",
      answer: () => {
        throw new WebhookCallError(text);
      },
    },
  ]);
  assert.equal(
    error?.message,
    `Internal error occurred: failed calling webhook "one": could not get REST client: ${text}`,
  );
  assert.equal(outcomes[0]?.code, 400);
});

test("a response that breaks the protocol is a failed call", async () => {
  const { error } = await call([{ name: "one", answer: () => ({ uid: "other" }) }]);
  assert.equal(
    error?.message,
    'Internal error occurred: failed calling webhook "one": received invalid webhook response: expected response.uid="u", got "other"',
  );
});

test("a patch that does not apply is an error of the server, whatever the webhook says about failures", async () => {
  const { error, outcomes } = await call([
    { name: "one", answer: () => set("x/y", 1), more: { failurePolicy: "Ignore" } },
  ]);
  assert.deepEqual(error, {
    code: 500,
    message: 'Internal error occurred: add operation does not apply: doc is missing path: "/x/y": missing value',
  });
  assert.equal(outcomes[0]?.refusal, "apiserver_internal_error");
});

test("a patch where there is no object is refused", async () => {
  const { error } = await call([{ name: "one", answer: () => set("b", 1) }], {
    object: undefined,
    more: { operation: "DELETE", old: { a: 1 } },
  });
  assert.equal(
    error?.message,
    'Internal error occurred: admission webhook "one" attempted to modify the object, which is not supported for this operation',
  );
});

test("a dry run is refused by a webhook with side effects", async () => {
  const more = { dryRun: true };
  const refused = await call([{ name: "one", answer: allow, more: { sideEffects: "Some", failurePolicy: "Ignore" } }], {
    more,
  });
  assert.deepEqual(refused.error, { code: 400, message: 'admission webhook "one" does not support dry run' });
  assert.deepEqual(refused.called, []);
  const hooks = [{ name: "one", answer: allow, more: { sideEffects: "NoneOnDryRun" } }];
  assert.deepEqual((await call(hooks, { more })).called, ["one"]);
});

test("warnings and annotations of a webhook are passed on, also with a denial", async () => {
  const { warnings, annotations } = await call([
    { name: "one", answer: () => ({ allowed: false, warnings: ["a", "b"], auditAnnotations: { k: "v" } }) },
  ]);
  assert.deepEqual(warnings, ["a", "b"]);
  assert.equal(annotations["one/k"], "v");
});

test("a webhook that the selectors or conditions exclude is not called", async () => {
  const excluding = { matchLabels: { app: "other" } };
  const { called, object } = await call([
    { name: "one", answer: allow, more: { namespaceSelector: excluding } },
    { name: "two", answer: allow, more: { objectSelector: excluding } },
    { name: "three", answer: allow },
  ]);
  assert.deepEqual([called, object], [["three"], { a: 1 }]);
  assert.deepEqual(
    (await call([{ name: "one", answer: allow }], { deps: { conditionsHold: () => Promise.resolve(false) } })).called,
    [],
  );
});

test("a webhook of another version sees the object converted, and its result is converted back", async () => {
  const other = { ...type, version: "v2" };
  const { object } = await call([
    { name: "one", answer: ({ apiVersion }) => set("seen", apiVersion ?? null), type: other },
  ]);
  assert.deepEqual(object, { a: 1, apiVersion: "v1", seen: "v2" });
  const convert = (): Promise<JsonObject> => Promise.reject(new Error("no conversion"));
  const failed = await call([{ name: "one", answer: allow, type: other }], { deps: { convert } });
  assert.deepEqual(failed.error, { code: 500, message: "Internal error occurred: no conversion" });
});

test("a webhook that asks for it is due again after a later change", async () => {
  const reinvocation: Reinvocation = { invoked: new Set(), due: new Set() };
  const again = { reinvocationPolicy: "IfNeeded" };
  const hooks = [
    { name: "one", answer: allow, more: again },
    { name: "two", answer: () => set("b", 2) },
    { name: "three", answer: allow, more: again },
  ];
  await call(hooks, { reinvocation });
  assert.deepEqual([...reinvocation.due], ["conf/one/0"]);
  assert.deepEqual([...reinvocation.invoked], ["conf/three/0"]);
  const second = await call(hooks, { reinvocation, isSecond: true });
  assert.deepEqual(second.called, ["one"]);
  assert.ok(`mutation.${domain}/round_1_index_0` in second.annotations);
});

test("a change makes everything due that was invoked before it", () => {
  const reinvocation = { invoked: new Set(["a", "b"]), due: new Set(["c"]) };
  requireReinvocation(reinvocation);
  assert.deepEqual(reinvocation, { invoked: new Set(), due: new Set(["c", "a", "b"]) });
});

test("validating webhooks are called at the same time, and all of them are waited for", async () => {
  let release = (): void => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const { called, error, outcomes } = await call(
    [
      { name: "one", answer: () => held.then(() => ({ allowed: true })) },
      { name: "two", answer: () => ({ allowed: false, status: { message: "no" } }) },
      {
        name: "three",
        answer: () => {
          release();
          return { allowed: true };
        },
      },
    ],
    { kind: "validating" },
  );
  assert.deepEqual(called, ["one", "two", "three"]);
  assert.deepEqual(error, { code: 400, message: 'admission webhook "two" denied the request: no' });
  assert.deepEqual(outcomes.map(({ name, type: of }) => `${name} ${of}`).sort(), [
    "one validating",
    "three validating",
    "two validating",
  ]);
});

test("a validating webhook that fails is ignored where it allows that", async () => {
  const { error, annotations } = await call(
    [
      { name: "one", answer: allow },
      { name: "two", answer: unreachable, more: { failurePolicy: "Ignore" } },
    ],
    { kind: "validating" },
  );
  assert.equal(error, undefined);
  assert.deepEqual(annotations, { [`failed-open.validating.${domain}/round_0_index_1`]: "two" });
});

test("a validating webhook may not return a patch", async () => {
  const { error } = await call([{ name: "one", answer: () => set("b", 1) }], { kind: "validating" });
  const text = "received invalid webhook response: validating webhook may not return response.patch";
  assert.deepEqual(error, { code: 500, message: internalError(`failed calling webhook "one": ${text}`).message });
});
