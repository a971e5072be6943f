// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { findStatusError } from "@purlin/kube-objects/errors";
import { type JsonObject, type JsonValue, parseJson } from "@purlin/kube-objects/json";
import { deepFreeze, memberAt } from "@purlin/kube-objects/object";
import { WebhookCallError } from "../webhooks/webhook-client.ts";
import { webhookConverter } from "./conversion-webhook.ts";

const meta = { name: "a", namespace: "ns", uid: "1", labels: { l: "1" }, annotations: { n: "1" }, generation: 7 };
const thing = (more: JsonObject = {}): JsonObject => ({
  apiVersion: "x.org/v1",
  kind: "Thing",
  metadata: meta,
  ...more,
});
const crd = (...conversionReviewVersions: string[]): JsonObject => ({
  spec: {
    conversion: { strategy: "Webhook", webhook: { clientConfig: { url: "https://hook" }, conversionReviewVersions } },
  },
});

interface Request {
  readonly uid: string;
  readonly desiredAPIVersion: string;
  readonly objects: readonly JsonObject[];
}

type Answer = (request: Request) => JsonValue;

const success = { status: "Success" };
const review = (response: JsonValue, version = "v1"): JsonObject => ({
  apiVersion: `apiextensions.k8s.io/${version}`,
  kind: "ConversionReview",
  response,
});
/** A response with the objects in the version that was asked for, each changed. */
const converting =
  (change: (object: JsonObject) => JsonValue): Answer =>
  ({ uid, desiredAPIVersion, objects }) =>
    review({
      uid,
      result: success,
      convertedObjects: objects.map((object) => change({ ...object, apiVersion: desiredAPIVersion })),
    });

async function converted(
  answer: Answer,
  {
    objects = [thing()],
    versions = ["v1"],
    bodies = [],
  }: { objects?: readonly JsonObject[]; versions?: readonly string[]; bodies?: string[] } = {},
): Promise<readonly JsonObject[]> {
  const converter = webhookConverter(crd(...versions), {
    newUid: () => "u",
    client: {
      async post({ body }) {
        bodies.push(body);
        return answer((parseJson(body) as unknown as { request: Request }).request);
      },
    },
  });
  assert.ok(converter !== undefined);
  return converter.convert(deepFreeze(objects), "x.org/v2");
}

async function errorOf(answer: Answer, options: Parameters<typeof converted>[1] = {}): Promise<string> {
  const error: unknown = await converted(answer, options).then(
    () => assert.fail("the conversion succeeded"),
    (reason: unknown) => reason,
  );
  const status = findStatusError(error);
  assert.equal(status?.code, 500, String(error));
  return status?.message ?? "";
}

const prefix = "conversion webhook for x.org/v1, Kind=Thing";

test("a CRD without a webhook has no converter", () => {
  const deps = { newUid: () => "", client: { post: () => assert.fail() } };
  assert.equal(webhookConverter({ spec: { conversion: { strategy: "None" } } }, deps), undefined);
  assert.equal(webhookConverter({}, deps), undefined);
});

test("objects are sent in one review, and their converted forms are returned in the same order", async () => {
  const bodies: string[] = [];
  const objects = ["a", "b"].map((name) => thing({ metadata: { ...meta, name }, n: 2n ** 60n }));
  const result = await converted(
    converting((object) => ({ ...object, spec: 1 })),
    { objects, bodies },
  );
  assert.deepEqual(
    result,
    objects.map((object) => ({ ...object, apiVersion: "x.org/v2", spec: 1 })),
  );
  assert.equal(bodies.length, 1);
  assert.ok(bodies[0]?.includes('"n":1152921504606846976'), "large integers keep their digits");
  const { request, response, ...rest } = parseJson(bodies[0] ?? "") as JsonObject;
  assert.deepEqual(rest, { kind: "ConversionReview", apiVersion: "apiextensions.k8s.io/v1" });
  assert.deepEqual(response, { uid: "", convertedObjects: null, result: { metadata: {} } });
  assert.deepEqual(
    { ...(request as JsonObject), objects: [] },
    { uid: "u", desiredAPIVersion: "x.org/v2", objects: [] },
  );
});

test("no objects need no call, more than 500 objects or 1 MiB need several", async () => {
  const sizes = async (objects: readonly JsonObject[]): Promise<number[]> => {
    const bodies: string[] = [];
    await converted(
      converting((object) => object),
      { objects, bodies },
    );
    return bodies.map((body) => (parseJson(body) as unknown as { request: Request }).request.objects.length);
  };
  assert.deepEqual(await sizes([]), []);
  assert.deepEqual(await sizes(Array.from({ length: 501 }, () => thing())), [500, 1]);
  const large = thing({ text: "x".repeat(600_000) });
  assert.deepEqual(await sizes([large, large, thing()]), [1, 2]);
});

test("the first version of reviews that the server knows is used", async () => {
  for (const [versions, expected] of [
    [["v1beta1", "v1"], "v1beta1"],
    [["v2", "v1"], "v1"],
    [[], "v1"],
  ] as const) {
    const bodies: string[] = [];
    const answer: Answer = ({ uid, objects }) => {
      const convertedObjects = objects.map((object) => ({ ...object, apiVersion: "x.org/v2" }));
      return review({ uid, result: success, convertedObjects }, expected);
    };
    await converted(answer, { versions, bodies });
    assert.ok(bodies[0]?.includes(`"apiextensions.k8s.io/${expected}"`), expected);
  }
});

test("metadata is that of the original, but for labels and annotations", async () => {
  const metadata = { ...meta, generation: 9, finalizers: ["x"], labels: { l: "2" }, annotations: { m: "3" } };
  const [object] = await converted(converting((one) => ({ ...one, metadata })));
  assert.deepEqual(object?.["metadata"], { ...meta, labels: { l: "2" }, annotations: { m: "3" } });
  const { labels: _, annotations: __, ...bare } = meta;
  const [without] = await converted(converting((one) => ({ ...one, metadata: bare })));
  assert.deepEqual(without?.["metadata"], bare);
});

const failures: readonly (readonly [string, Answer, string])[] = [
  [
    "the call fails",
    () => {
      throw new WebhookCallError("Post: EOF");
    },
    "failed: Post: EOF",
  ],
  ["no response", () => review(null), "failed: no response provided"],
  [
    "no type",
    ({ uid }) => ({ response: { uid, result: success } }),
    "failed: expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got /, Kind=",
  ],
  ["another uid", () => review({ uid: "v", result: success }), 'failed: expected response.uid="u", got "v"'],
  [
    "a failure with a message",
    ({ uid }) => review({ uid, result: { status: "Failure", message: "no" } }),
    "failed: no",
  ],
  [
    "a failure without a message",
    ({ uid }) => review({ uid, result: { status: "Failure" } }),
    "failed: response.result.status was 'Failure', not 'Success'",
  ],
  ["no result", ({ uid }) => review({ uid }), "failed: response.result.status was '', not 'Success'"],
  ["no objects", ({ uid }) => review({ uid, result: success }), "returned 0 objects, expected 1"],
  [
    "another version",
    converting((one) => ({ ...one, apiVersion: "x.org/v3" })),
    "returned invalid object at index 0: invalid groupVersion (expected x.org/v2, received x.org/v3)",
  ],
  [
    "a version of two slashes",
    converting((one) => ({ ...one, apiVersion: "//" })),
    "returned invalid object at index 0: invalid groupVersion (expected x.org/v2, received //)",
  ],
  [
    "a version of the core group",
    converting((one) => ({ ...one, apiVersion: "v1" })),
    "returned invalid object at index 0: invalid groupVersion (expected x.org/v2, received /v1)",
  ],
  [
    "no version",
    converting(({ apiVersion: _, ...one }) => one),
    "returned invalid object at index 0: invalid groupVersion (expected x.org/v2, received /)",
  ],
  [
    "another kind",
    converting((one) => ({ ...one, kind: "Other" })),
    "returned invalid object at index 0: invalid kind (expected Thing, received Other)",
  ],
  [
    "another name",
    converting((one) => ({ ...one, metadata: { ...meta, name: "b" } })),
    "returned invalid object: must have the same name: a != b",
  ],
  [
    "another namespace",
    converting((one) => ({ ...one, metadata: { ...meta, namespace: "" } })),
    "returned invalid object: must have the same namespace: ns != ",
  ],
  [
    "another UID",
    converting((one) => ({ ...one, metadata: { ...meta, uid: "2" } })),
    "returned invalid object: must have the same UID: 1 != 2",
  ],
  [
    "labels that are not a map",
    converting((one) => ({ ...one, metadata: { ...meta, labels: ["a"] } })),
    "returned invalid metadata: invalid metadata.labels of type []interface {} in converted object",
  ],
  [
    "a label that is not a string",
    converting((one) => ({ ...one, metadata: { ...meta, labels: { l: 1 } } })),
    "returned invalid metadata: metadata.labels[l] must be a string, but is int64 in converted object",
  ],
  [
    "an invalid label",
    converting((one) => ({ ...one, metadata: { ...meta, labels: { l: "-" } } })),
    "returned invalid metadata: metadata.labels: Invalid value: \"-\": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
  ],
];

for (const [name, answer, expected] of failures) {
  test(`a conversion fails: ${name}`, async () => {
    assert.equal(await errorOf(answer), `${prefix} ${expected}`);
  });
}

test("labels that have not changed are not validated again", async () => {
  const old = thing({ metadata: { ...meta, labels: { "-": "-" } } });
  const [object] = await converted(
    converting((one) => one),
    { objects: [old] },
  );
  assert.deepEqual(memberAt(object ?? {}, ["metadata", "labels"]), { "-": "-" });
});

test("what is not an object has an error of its own", async () => {
  assert.equal(await errorOf(converting(() => null)), "unexpected end of JSON input");
  const text = "json: cannot unmarshal number into Go value of type map[string]interface {}";
  assert.equal(await errorOf(converting(() => 1)), text);
});

test("an object without a kind has an error of its own", async () => {
  const message = await errorOf(converting(() => ({ apiVersion: "x.org/v2" })));
  assert.equal(message, `Object 'Kind' is missing in '{"apiVersion":"x.org/v2"}'`);
});

test("an object without metadata is refused where its original has no name", async () => {
  const objects = [thing({ metadata: {} })];
  const message = await errorOf(
    converting(({ metadata: _, ...one }) => one),
    { objects },
  );
  assert.equal(message, `${prefix} returned invalid metadata: missing metadata in converted object`);
  const text = await errorOf(
    converting((one) => ({ ...one, metadata: "x" })),
    { objects },
  );
  assert.equal(text, `${prefix} returned invalid metadata: invalid metadata of type string in converted object`);
});

test("an error that is not about the call is passed on", async () => {
  const bug = new TypeError("bug");
  await assert.rejects(
    converted(() => {
      throw bug;
    }),
    bug,
  );
});
